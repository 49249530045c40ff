"""The architecture, held by tests: who may import whom, what the pure modules may touch, how large things may grow.

Each law is a function from a parsed module to complaints. One test runs it over every module of our packages; a
second shows it sources it must refuse and sources it must let pass, so that a law that went blind is noticed.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 70

TOP_LEVEL = frozenset(
    {"client_sdk", "broker", "olsr_adapter", "deploy", "analytics", "tests"}
    | {"README.md", "CHANGELOG.md", "LICENSE", "Makefile", "pyproject.toml"}
)
BUILD_OUTPUT = frozenset({"build", "dist"})  # made by packaging tools, ignored by git

PACKAGES = {
    "chapar": "client_sdk/chapar",
    "chapard": "broker/chapard",
    "chapar_olsr": "olsr_adapter/chapar_olsr",
    "chapar_audit": "analytics/chapar_audit",
    "chapar_sim": "analytics/chapar_sim",
    "chapar_lab": "deploy/chapar_lab",
}
PACKAGE_FOLDERS = ("client_sdk", "broker", "olsr_adapter", "analytics", "deploy")

# What the modules under a name may import of ours; the longest name that fits a module decides.
MAY_IMPORT = {
    "chapar": ("chapar",),
    "chapar_olsr": ("chapar_olsr",),
    "chapard": ("chapard", "chapar", "chapar_olsr"),
    "chapard.core": ("chapard.core", "chapar"),
    "chapar_audit": ("chapar_audit",),
    "chapar_audit.models": ("chapar_audit.models",),
    "chapar_sim": ("chapar_sim", "chapar", "chapard.core", "chapar_olsr"),
    "chapar_lab": ("chapar_lab", "chapar", "chapar_sim"),
}
# A module under these names is pure unless DRIVERS says why it is not, so a new module starts out pure.
PURE = ("chapar", "chapard.core", "chapar_olsr", "chapar_lab", "chapar_audit.models")
DRIVERS = {
    "chapar.cli.command": "the chapar command: environment, standard output",
    "chapar.cli.publish": "asyncio, files, standard input",
    "chapar.cli.show": "HTTP, the size of the terminal",
    "chapar.cli.stopping": "asyncio, signals",
    "chapar.cli.streams": "standard input and output in the event loop",
    "chapar.cli.subscribe": "asyncio, standard error",
    "chapar.client": "asyncio: the client",
    "chapar.connection": "the client's socket and timer",
    "chapar.inboxes": "asyncio: a timer for claims",
    "chapar.receipt": "asyncio: receipts are awaited",
    "chapar.subscription": "asyncio: events are awaited",
    "chapar.sync": "threads: the blocking client",
    "chapar_lab.actor": "asyncio: the SDK",
    "chapar_lab.air": "asyncio: pipes to the medium's process",
    "chapar_lab.box": "forks and signals",
    "chapar_lab.cli": "the chapar-lab command",
    "chapar_lab.control": "asyncio: the socket of a run",
    "chapar_lab.lab": "asyncio: a run",
    "chapar_lab.medium": "the sockets and the loop of the medium's process",
    "chapar_lab.namespaces": "system calls",
    "chapar_lab.node": "asyncio: the processes of a node",
    "chapar_lab.offload": "asks the kernel about interfaces",
    "chapar_lab.page": "asyncio: HTTP",
    "chapar_lab.portrait": "asyncio: asks daemons",
    "chapar_lab.program": "asyncio: a process",
    "chapar_lab.report": "writes the result",
    "chapar_lab.run": "asyncio, signals, standard output",
    "chapar_lab.stage": "asyncio, standard input and output",
    "chapar_lab.visit": "forks into a node",
    "chapar_lab.watch": "asks daemons",
    "chapar_lab.ways": "looks for installed programs, writes their configuration",
    "chapar_lab.wiring": "netlink",
    "chapar_olsr.babeld": "asyncio: babeld's local socket",
    "chapar_olsr.cli": "the chapar-olsrd command",
    "chapar_olsr.embedded": "the agent's timer",
    "chapar_olsr.interfaces": "what the kernel knows of interfaces",
    "chapar_olsr.jsoninfo_server": "asyncio: HTTP",
    "chapar_olsr.kernel": "asyncio: netlink",
    "chapar_olsr.live": "asyncio: restarts a source, ages its view",
    "chapar_olsr.netlink": "a thread for netlink",
    "chapar_olsr.olsrd": "asks olsrd over HTTP",
    "chapar_olsr.olsrd2": "asks olsrd2 over HTTP or telnet",
    "chapar_olsr.polling": "asyncio: waits between questions",
    "chapar_olsr.route_table": "netlink: the kernel's routes",
    "chapar_olsr.sockets": "the agent's sockets",
    "chapar_olsr.static_file": "asyncio: watches a file",
    "chapar_olsr.webget": "asyncio: one HTTP request",
}
# These talk to a person: they print, and may time themselves by the wall clock.
COMMAND_LINES = {
    "chapar_sim.cli": "the chapar-sim command",
    "chapar_sim.swarm": "the chapar-sim swarm command: says how long it took",
}
# This re-exports the public names of pure modules and drivers alike, and does nothing itself.
FACADES = {"chapar": "the public names of the SDK"}
# Here the real daemon meets the world that the core is told of, the lab's medium the time in which frames travel, and
# the audit a cluster.
CLOCKS = {
    "chapar_audit.session": "waits for the workers of a cluster",
    "chapard.clock": "the daemon's clock",
    "chapar_lab.lab": "when a run began, by the clock of its daemons",
    "chapar_lab.medium": "carries frames in real time",
}
CHANCE = {"chapard.daemon": "the seed of a daemon's core: nobody shall foresee it"}
# These judge the core, so nothing of it runs in them.
_JUDGES = ("checkers", "tablecheck", "oracle", "tree_oracle", "history", "spells", "case")
CHECKERS = tuple(f"chapar_sim.{name}" for name in _JUDGES)
# Modules without a test file of their own, each with the reason.
UNTESTED = {
    "chapar.cli.exits": "declares exit codes and one error",
    "chapar.errors": "declares the error classes; the tests of those who raise them cover it",
    "chapar.limits": "constants; the relations between them are asserted in the module, at import",
    "chapar_olsr.agent.messages": "declares values without behaviour; the codec's tests cover it",
    "chapard.core.effects": "declares records without behaviour",
    "chapard.core.overlay.interest": "declares records without behaviour",
    "chapard.core.strategy": "declares an interface",
}

THE_WORLD = frozenset(
    {"datetime", "time", "random", "secrets", "uuid"}
    | {"asyncio", "concurrent", "multiprocessing", "select", "selectors", "signal", "subprocess", "threading"}
    | {"http", "socket", "ssl", "urllib"}
    | {"fcntl", "logging", "os", "pathlib", "shutil", "sqlite3", "tempfile"}
)
WORLD_NAMES = frozenset(
    {"breakpoint", "input", "open", "print", "io.open", "sys.argv", "sys.stdin", "sys.stdout", "sys.stderr"}
)
BANNED = frozenset({"__import__", "eval", "exec", "importlib.import_module", "os.urandom", "uuid.uuid1", "uuid.uuid4"})
WALL_CLOCK = frozenset(
    {"datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"}
)

DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
CONTAINERS = frozenset({"list", "dict", "set"})
STATEFUL = frozenset({"bytearray", "bitarray", "count", "Counter", "cycle", "defaultdict", "deque", "OrderedDict"})
MUTATORS = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft"}
    | {"remove", "reverse", "setdefault", "sort", "update"}
)


class Module(NamedTuple):
    """One source file of ours, parsed."""

    name: str
    path: Path
    source: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def at(self, node: ast.stmt | ast.expr, complaint: str) -> str:
        return f"{self.path}:{node.lineno}: {complaint}"


class Import(NamedTuple):
    """One imported name in full (`from a import b` is `a.b`), and the local name it is bound to."""

    name: str
    bound: str
    meaning: str
    node: ast.stmt
    type_only: bool


def parsed(name: str, source: str, path: str = "example.py") -> Module:
    return Module(name, Path(path), source, ast.parse(source))


def our_modules() -> list[Module]:
    """Every module present in the package folders, in a stable order."""
    modules = []
    for package, folder in PACKAGES.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            parts = file.relative_to(ROOT / folder).with_suffix("").parts
            name = ".".join((package, *parts)).removesuffix(".__init__")
            modules.append(parsed(name, file.read_text(encoding="utf-8"), str(file.relative_to(ROOT))))
    return modules


def under(name: str, prefixes: Iterable[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def is_pure(name: str) -> bool:
    return under(name, PURE) and not under(name, DRIVERS)


def type_only_nodes(tree: ast.Module) -> set[ast.AST]:
    """All nodes inside `if TYPE_CHECKING:`, whose imports never run."""
    guards = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    guarded = (guard.body for guard in guards if ast.unparse(guard.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"})
    return {node for body in guarded for statement in body for node in ast.walk(statement)}


def imports(module: Module) -> Iterator[Import]:
    """Every import of a module, inside functions and conditions too, with relative ones resolved."""
    type_only = type_only_nodes(module.tree)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                meaning = alias.name if alias.asname else bound
                yield Import(alias.name, bound, meaning, node, node in type_only)
        elif isinstance(node, ast.ImportFrom):
            package = module.name if module.is_package else module.name.rpartition(".")[0]
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join((*above, *([node.module] if node.module else [])))
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield Import(name, alias.asname or alias.name, name, node, node in type_only)


def references(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """Every name read, with what its first part was imported as put in full (`r.random` after `import random as r`)."""
    meanings = {each.bound: each.meaning for each in imports(module)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            first, dot, rest = ast.unparse(node).partition(".")
            if first in meanings:
                yield meanings[first] + dot + rest, node
            elif isinstance(node, ast.Name):
                yield first, node


def import_law(module: Module) -> list[str]:
    """Our packages import each other only as MAY_IMPORT says, types included; pure modules import pure ones only."""
    scope = max((name for name in MAY_IMPORT if under(module.name, [name])), key=len)
    complaints = []
    for each in imports(module):
        if not under(each.name, PACKAGES):
            continue
        foreign = each.name.partition(".")[0] != module.name.partition(".")[0]
        if not under(each.name, MAY_IMPORT[scope]):
            complaints.append(module.at(each.node, f"{scope} may not import {each.name}"))
        elif module.name in FACADES:
            continue
        elif under(each.name, DRIVERS) and (is_pure(module.name) or (foreign and scope == "chapar_sim")):
            complaints.append(module.at(each.node, f"{module.name} may import pure modules only, not {each.name}"))
    return complaints


def route_source_law(modules: Iterable[Module]) -> list[str]:
    """One module of chapard at most knows where routes come from."""
    users = [
        module.name
        for module in modules
        if under(module.name, ["chapard"]) and any(under(each.name, ["chapar_olsr"]) for each in imports(module))
    ]
    return [f"chapar_olsr is imported by {', '.join(users)}; one module only may"] if len(users) > 1 else []


def independence_law(module: Module) -> list[str]:
    """What judges the core shares no code with it: a checker imports chapard for its types only."""
    return [
        module.at(each.node, f"a checker may not use {each.name}: it would repeat the mistake it looks for")
        for each in imports(module)
        if module.name in CHECKERS and under(each.name, ["chapard"]) and not each.type_only
    ]


def purity_law(module: Module) -> list[str]:
    """A pure module imports nothing of the world (clock, chance, network, files, logs), except for its types."""
    if not is_pure(module.name):
        return []
    complaints = [
        module.at(each.node, f"a pure module may not import {each.name}; take it as an argument or emit an effect")
        for each in imports(module)
        if each.name.partition(".")[0] in THE_WORLD and not each.type_only
    ]
    return complaints + [
        module.at(node, f"a pure module may not use {name}")
        for name, node in references(module)
        if name in WORLD_NAMES
    ]


def banned_call_law(module: Module) -> list[str]:
    """A seed decides everything: no global chance anywhere, no wall clock and no print outside the command lines."""
    complaints = []
    for name, node in references(module):
        first, _, rest = name.partition(".")
        chance = first in {"random", "secrets"} and rest not in {"", "Random"}
        clock = (first == "time" and rest != "") or name in WALL_CLOCK
        if (chance or name in BANNED) and module.name not in CHANCE:
            complaints.append(module.at(node, f"{name} is banned: a run follows from its seed and its imports"))
        elif (clock or name == "print") and module.name not in {**COMMAND_LINES, **(CLOCKS if clock else {})}:
            complaints.append(module.at(node, f"{name} is for command lines only"))
    generators = {node for name, node in references(module) if name == "random.Random"}
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call) and node.func in generators]
    unseeded = [call for call in calls if not call.args and not call.keywords]
    return complaints + [module.at(call, "random.Random() without a seed is banned") for call in unseeded]


def shared_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run once per process: module and class bodies without the functions in them."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from shared_nodes(child)


def mutability(value: ast.expr | None) -> str:
    """What a shared value is: "" for immutable, "constant" for a filled container, "state" for one to be filled."""
    if isinstance(value, DISPLAYS):
        return "state" if ast.unparse(value) in {"[]", "{}"} else "constant"
    if isinstance(value, ast.Call):
        called = ast.unparse(value.func).rpartition(".")[2]
        if called in STATEFUL:
            return "state"
        if called in CONTAINERS:
            return "constant" if value.args or value.keywords else "state"
    return ""


def state_law(module: Module) -> list[str]:
    """Two nodes live in one process: nothing at module or class level is there to be changed."""
    if not is_pure(module.name):
        return []
    complaints, constants = [], set()
    for node in shared_nodes(module.tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            kind = mutability(node.value)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (target.id for target in targets if isinstance(target, ast.Name)):
                if kind == "state" or (kind == "constant" and not re.fullmatch(r"_*[A-Z][A-Z0-9_]*|__\w+__", name)):
                    complaints.append(module.at(node, f"{name} is mutable and shared by all nodes of the process"))
                elif kind:
                    constants.add(name)
    return complaints + changes_of(module, constants)


def changes_of(module: Module, constants: set[str]) -> list[str]:
    """Where a module writes to its own constants, or rebinds a module-level name."""
    complaints = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Global):
            complaints.append(module.at(node, "a module-level name may not be rebound with global"))
            continue
        written = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
        mutated = isinstance(node, ast.Attribute) and node.attr in MUTATORS
        if isinstance(node, ast.Subscript | ast.Attribute) and (written or mutated):
            name = ast.unparse(node.value)
            if name in constants:
                complaints.append(module.at(node, f"the constant {name} is changed"))
    return complaints


def size_law(module: Module) -> list[str]:
    """A module can be held in mind and a function seen on one screen."""
    complaints = []
    lines = len(module.source.splitlines())
    if lines > MAX_FILE_LINES:
        complaints.append(f"{module.path}: {lines} lines, at most {MAX_FILE_LINES}; split it")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                complaints.append(module.at(node, f"{node.name} has {length} lines, at most {MAX_FUNCTION_LINES}"))
    return complaints


def is_facade(module: Module) -> bool:
    """A package's `__init__` that only re-exports has nothing of its own to test."""
    return module.is_package and not any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in ast.walk(module.tree)
    )


def mirror_of(module: Module) -> str:
    """Where the tests of a module are: its dotted name as a path under `tests/`, `test_` before the last part."""
    *folders, last = module.name.split(".")
    return "/".join(("tests", *folders, f"test_{last}.py"))


def mirror_law(module: Module, present: Callable[[str], bool]) -> list[str]:
    """Each pure module has the test file that carries its name; an exemption that is not needed any more goes."""
    if not under(module.name, PURE) or is_facade(module):
        return []
    expected = mirror_of(module)
    if module.name in UNTESTED:
        return [f"{module.path}: has {expected}; drop its exemption in UNTESTED"] if present(expected) else []
    return [] if present(expected) else [f"{module.path}: its tests are missing: {expected}"]


def layout_law(entries: Iterable[str]) -> list[str]:
    """Nothing else than the named folders and files, and dot-files, stands at the top level."""
    strangers = sorted(set(entries) - TOP_LEVEL - BUILD_OUTPUT)
    return [f"{name}: does not belong at the top level" for name in strangers if not name.startswith(".")]


LAWS = (import_law, independence_law, purity_law, banned_call_law, state_law, size_law)


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    return our_modules()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_every_module_obeys(law: Callable[[Module], list[str]], modules: list[Module]) -> None:
    """No module of ours breaks the law."""
    complaints = [complaint for module in modules for complaint in law(module)]
    assert not complaints, "\n".join(complaints)


def test_one_module_knows_the_route_source(modules: list[Module]) -> None:
    """chapard meets chapar_olsr in one module at most."""
    assert not route_source_law(modules)


def test_every_pure_module_has_its_test_file(modules: list[Module]) -> None:
    """A reader finds the tests of a module by its name."""
    complaints = [each for module in modules for each in mirror_law(module, lambda path: (ROOT / path).is_file())]
    assert not complaints, "\n".join(complaints)


def test_top_level_is_as_designed() -> None:
    """The repository shows its folders and a handful of files, nothing more."""
    assert not layout_law(entry.name for entry in ROOT.iterdir())


def test_no_package_escapes_the_laws(modules: list[Module]) -> None:
    """Every package on disk is under the laws, and the laws saw every package they name."""
    on_disk = {init.parent.name for folder in PACKAGE_FOLDERS for init in (ROOT / folder).glob("*/__init__.py")}
    assert on_disk == set(PACKAGES) == {module.name for module in modules if "." not in module.name}


def test_the_tables_name_modules_that_exist(modules: list[Module]) -> None:
    """A name in the tables above does not outlive its module, and an exemption says why it is there."""
    exempt = {**DRIVERS, **COMMAND_LINES, **FACADES, **CLOCKS, **CHANCE, **UNTESTED}
    assert exempt.keys() | set(CHECKERS) <= {module.name for module in modules}
    assert all(exempt.values())


REFUSED = [
    (import_law, "chapar.event", "import chapard"),
    (import_law, "chapar.event", "from chapard.core.node import Node"),
    (import_law, "chapar_olsr.view", "def late():\n    from chapar import Event"),
    (import_law, "chapard.core.roles", "from chapar_olsr.view import RouteView"),
    (import_law, "chapard.core.roles", "if TYPE_CHECKING:\n    from chapar_olsr.view import RouteView"),
    (import_law, "chapard.core.roles", "from ..driver import run"),
    (import_law, "chapard.core.roles", "from chapard import driver"),
    (import_law, "chapar_sim.world", "from chapard import driver"),
    (import_law, "chapard.driver", "import chapar_sim"),
    (import_law, "chapar_audit.cli", "from chapar.event import Event"),
    (import_law, "chapar_audit.models.tree", "from chapar_audit import cli"),
    (independence_law, "chapar_sim.oracle", "from chapard.core.roles import is_broker"),
    (purity_law, "chapar.wire.envelope", "import time"),
    (purity_law, "chapard.core.node", "from random import Random"),
    (purity_law, "chapard.core.node", "def f() -> None:\n    import asyncio"),
    (purity_law, "chapard.core.node", "import logging.handlers as handlers"),
    (purity_law, "chapard.core.node", "if TYPE_CHECKING:\n    pass\nelse:\n    import os"),
    (purity_law, "chapar_olsr.view", "lines = open('routes')"),
    (purity_law, "chapar_audit.models.onoff", "import random"),
    (purity_law, "chapar_olsr.view", "import sys\nsys.stderr.write('lost')"),
    (banned_call_law, "chapar_sim.radio", "import random\nlost = random.random() < 0.1"),
    (banned_call_law, "chapar_sim.radio", "import random as r\nr.seed(1)"),
    (banned_call_law, "chapar_sim.radio", "from random import choice\npick = choice"),
    (banned_call_law, "chapar_sim.radio", "from random import Random\nrng = Random()"),
    (banned_call_law, "chapar_sim.radio", "import time\ndef f(clock=time.time): ..."),
    (banned_call_law, "chapar_sim.radio", "from datetime import datetime\nnow = datetime.now()"),
    (banned_call_law, "chapar_sim.radio", "print('lost')"),
    (banned_call_law, "chapar_sim.cli", "import random\nrandom.shuffle(seeds)"),
    (banned_call_law, "chapar_sim.cli", "import secrets\nseed = secrets.randbits(32)"),
    (state_law, "chapard.core.met", "seen = set()"),
    (state_law, "chapard.core.met", "limits = {'a': 1}"),
    (state_law, "chapard.core.met", "limits: dict[str, int] = {'a': 1}"),
    (state_law, "chapard.core.met", "_CACHE = {}"),
    (state_law, "chapard.core.met", "import collections\nRECENT = collections.deque(maxlen=9)"),
    (state_law, "chapard.core.met", "if True:\n    names = [n for n in 'ab']"),
    (state_law, "chapard.core.met", "class Met:\n    records = []"),
    (state_law, "chapard.core.met", "count = 0\ndef f():\n    global count\n    count += 1"),
    (state_law, "chapard.core.met", "NAMES = {1: 'a'}\ndef f():\n    NAMES[2] = 'b'"),
    (state_law, "chapard.core.met", "NAMES = ['a']\ndef f():\n    NAMES.append('b')"),
    (size_law, "chapard.core.met", "\n" * (MAX_FILE_LINES + 1)),
    (size_law, "chapard.core.met", "def f():" + "\n    ..." * MAX_FUNCTION_LINES),
]

ALLOWED = [
    (import_law, "chapar.filter", "from chapar.event import Event\nfrom . import limits"),
    (import_law, "chapard.core.node", "from .met import Met\nfrom chapar.wire import frames"),
    (import_law, "chapard.core.node", "from chapard.core import fmt\nimport msgpack"),
    (import_law, "chapard.routes", "from chapar_olsr.view import RouteView"),
    (import_law, "chapar_sim.world", "from chapard.core.node import Node\nfrom chapard import core"),
    (import_law, "chapar_audit.cli", "from chapar_audit.models.tree import usage"),
    (independence_law, "chapar_sim.oracle", "if TYPE_CHECKING:\n    from chapard.core.config import Config"),
    (independence_law, "chapar_sim.world", "from chapard.core.node import Node"),
    (purity_law, "chapard.core.node", "if TYPE_CHECKING:\n    from random import Random"),
    (purity_law, "chapar.filter", "import sys\nlast = chr(sys.maxunicode)"),
    (purity_law, "chapar_sim.cli", "import os, time"),
    (banned_call_law, "chapar_sim.radio", "import random\ndef f(rng: random.Random): return rng.random()"),
    (banned_call_law, "chapar_sim.radio", "from random import Random\nrng = Random(7)"),
    (banned_call_law, "chapar_sim.radio", "def f(time, random): return random.random() + time.time"),
    (banned_call_law, "chapar_sim.cli", "import time\nprint(time.perf_counter())"),
    (state_law, "chapard.core.met", "__all__ = ['Met']\nKINDS = {1: 'a'}\nnone = ()\nmodes = frozenset({1})"),
    (state_law, "chapard.core.met", "class Met:\n    def __init__(self):\n        self.records = {}"),
    (state_law, "chapard.core.met", "Table = dict[str, list[int]]"),
    (state_law, "chapar_sim.world", "progress = []"),
    (size_law, "chapard.core.met", "def f():" + "\n    ..." * (MAX_FUNCTION_LINES - 1)),
]


@pytest.mark.parametrize(("law", "name", "source"), REFUSED)
def test_a_law_refuses(law: Callable[[Module], list[str]], name: str, source: str) -> None:
    """Each of these breaks the law it is shown to, and the complaint says where."""
    complaints = law(parsed(name, source))
    assert complaints
    assert all(complaint.startswith("example.py:") for complaint in complaints)


@pytest.mark.parametrize(("law", "name", "source"), ALLOWED)
def test_a_law_lets_pass(law: Callable[[Module], list[str]], name: str, source: str) -> None:
    """What the design allows is not refused."""
    assert law(parsed(name, source)) == []


def test_relative_imports_of_a_package_start_at_the_package_itself() -> None:
    """In `chapar/wire/__init__.py` one dot is chapar.wire; in `chapar/wire/frames.py` it is the same."""
    for name, path in (("chapar.wire", "wire/__init__.py"), ("chapar.wire.frames", "wire/frames.py")):
        module = parsed(name, "from .envelope import encode", path)
        assert [each.name for each in imports(module)] == ["chapar.wire.envelope.encode"]


def test_two_route_sources_are_refused() -> None:
    """The second module of chapard that imports chapar_olsr breaks the law; the simulator is free to."""
    users = [parsed(name, "import chapar_olsr.view") for name in ("chapard.routes", "chapar_sim.world")]
    assert route_source_law(users) == []
    assert route_source_law([*users, parsed("chapard.driver", "from chapar_olsr import view")])


def test_a_missing_test_file_is_refused() -> None:
    """The mirror law wants exactly the file with the module's name, and nothing of a facade."""
    module = parsed("chapard.core.met", "class Met: ...", "met.py")
    assert mirror_law(module, lambda _: False) == ["met.py: its tests are missing: tests/chapard/core/test_met.py"]
    assert mirror_law(module, {"tests/chapard/core/test_met.py"}.__contains__) == []
    assert mirror_law(parsed("chapar.wire", "from .frames import Beacon", "wire/__init__.py"), lambda _: False) == []
    assert mirror_law(parsed("chapar.wire", "def f(): ...", "wire/__init__.py"), lambda _: False)


def test_a_stranger_at_the_top_level_is_refused() -> None:
    """A scripts folder or a stray file is refused; dot-files and build output are not."""
    assert layout_law(["scripts", "tests", ".venv", "dist", "notes.txt"]) == [
        "notes.txt: does not belong at the top level",
        "scripts: does not belong at the top level",
    ]
