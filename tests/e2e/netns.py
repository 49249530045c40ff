"""A radio network in network namespaces: one per node, and a cut or a healed link is one call.

    with Mesh(nodes=3, edges=[(1, 2), (2, 3)]) as mesh:
        mesh[1].popen(["babeld", …])
        mesh.cut(1, 2)

Node I has the interface `wlan0` with 10.66.0.I/24 and fd66::I/64. All of them hang at one bridge in a namespace of its
own, the hub, whose nftables chain lets a frame pass from one node to another if that pair is in a set. So a node has
one interface, and what it sends by broadcast is heard by its neighbours and nobody else, as with one radio. Without the
bridge nobody hears anybody, until a process in the hub (`mesh.hub`) relays between the interfaces nI.

Names of namespaces carry the id of the process that made them. Whatever a test leaves running is ended when its `with`
block is left, by pid; what a process that died at once has left is removed by the next mesh of anybody.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

INTERFACE: Final = "wlan0"
PREFIXES: Final = ("10.66.0.0/24", "fd66::/64")
MAX_NODES: Final = 254
COMMAND_PATIENCE: Final = 20.0
"""Seconds for one `ip` or `nft` on a busy machine; an idle one takes milliseconds."""
STOP_PATIENCE: Final = 3.0
"""Seconds for all processes of a mesh to end in good order, before they are killed."""
LOOK_EVERY: Final = 0.05
"""Seconds between two looks at a condition."""
TAIL: Final = 20
"""Lines of a log that are shown."""
PACKAGES: Final = {"ip": "iproute2", "nft": "nftables"}
"""Of Debian, by command."""

_NODE_SYSCTLS: Final = {
    "ipv4/ip_forward": 1,
    "ipv6/conf/all/forwarding": 1,
    # A node answers on the interface it was asked on, so nothing that comes in is a stranger, and there is always a
    # "better" way to a neighbour of a neighbour on the same interface: the kernel must not tell hosts of it.
    **{f"ipv4/conf/{each}/rp_filter": 0 for each in ("all", "default", INTERFACE)},
    **{f"ipv4/conf/{each}/send_redirects": 0 for each in ("all", "default", INTERFACE)},
    **{f"ipv{v}/conf/{each}/accept_redirects": 0 for v in (4, 6) for each in ("all", "default", INTERFACE)},
}
_serial = count(1)
_T = TypeVar("_T")


def _sbin_too() -> str:
    """Where commands are looked for: `ip`, `nft` and routing daemons are not on everybody's path."""
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"))


def command(name: str) -> str | None:
    """The path of a command, or None where it is not installed."""
    return shutil.which(name, path=_sbin_too())


@functools.cache
def needs_namespaces() -> str | None:
    """Why there can be no mesh on this machine, and what to do about it; None if there can."""
    missing = [name for name in PACKAGES if command(name) is None]
    if missing:
        return f"no {' and '.join(missing)} here: apt install {' '.join(PACKAGES[name] for name in missing)}"
    try:
        with Mesh(nodes=2, edges=[(1, 2)]):
            return None
    except MeshError as error:
        hint = "" if os.geteuid() == 0 else " (run the tests as root)"
        return f"no network namespaces here{hint}: {error}"


def require(*commands: str) -> None:
    """Skip the test where there can be no mesh, or where one of these commands is not installed."""
    reason = needs_namespaces()
    missing = [name for name in commands if command(name) is None]
    if reason is None and missing:
        reason = f"no {' and '.join(missing)} here: install it"
    if reason is not None:
        pytest.skip(reason)


def wait_until(condition: Callable[[], _T], timeout: float, what: str | Callable[[], str]) -> _T:
    """What the condition gives once it is true; fails after `timeout` seconds, saying what was waited for."""
    end = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout:g} s: {what if isinstance(what, str) else what()}")
        time.sleep(LOOK_EVERY)
    return found


class MeshError(Exception):
    """A namespace could not be made or changed; the message is what the command said."""


class Node:
    """One namespace of a mesh."""

    def __init__(self, index: int, namespace: str, folder: Path) -> None:
        self.index = index
        self.namespace = namespace
        self.address = f"10.66.0.{index}"
        self.address6 = f"fd66::{index:x}"
        self.interface = INTERFACE
        self.folder = folder
        """For what its processes write; it goes with the mesh."""
        self.processes: list[subprocess.Popen[Any]] = []
        self._serial = count(1)

    def popen(self, arguments: Sequence[str], **kw: Any) -> subprocess.Popen[Any]:
        """Start a process here. What it says goes to a log of its own, unless `stdout` or `stderr` say otherwise."""
        log = self.folder / f"{next(self._serial):02d}-{Path(arguments[0]).name}.log"
        with log.open("wb") as file:
            kw = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file, **kw}
            # `ip netns exec` becomes the process: its pid is the one we know, and signals reach it.
            process: subprocess.Popen[Any] = subprocess.Popen(self._inside(arguments), **kw)  # noqa: S603 - a test's own
        self.processes.append(process)
        return process

    def run(self, arguments: Sequence[str], timeout: float = COMMAND_PATIENCE) -> subprocess.CompletedProcess[str]:
        """Run a command here to its end."""
        return subprocess.run(  # noqa: S603 - a test's own command
            self._inside(arguments), capture_output=True, text=True, timeout=timeout, check=False
        )

    def logs(self) -> str:
        """The last lines of what its processes said."""
        tails = []
        for log in sorted(self.folder.glob("*.log")):
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
            tails += [f"--- node {self.index}, {log.name}", *lines] if lines else []
        return "\n".join(tails)

    def _inside(self, arguments: Sequence[str]) -> list[str]:
        program = command(arguments[0])
        assert program is not None, f"{arguments[0]} is installed"
        return [command("ip") or "ip", "netns", "exec", self.namespace, program, *arguments[1:]]


class Mesh:
    """Nodes 1 to `nodes`, of which those hear each other that an edge joins."""

    def __init__(
        self, nodes: int, edges: Iterable[tuple[int, int]] = (), *, ipv6: bool = True, bridged: bool = True
    ) -> None:
        assert 1 <= nodes <= MAX_NODES
        self._bridged = bridged
        self._ipv6 = ipv6
        self._edges = list(edges)
        self._name = f"chapar-{os.getpid()}-{next(_serial)}"
        self._folder = Path(tempfile.mkdtemp(prefix=f"{self._name}-"))
        self.hub = Node(0, f"{self._name}-hub", self._folder)
        self._nodes = {}
        for index in range(1, nodes + 1):
            folder = self._folder / str(index)
            folder.mkdir()
            self._nodes[index] = Node(index, f"{self._name}-n{index}", folder)

    def __getitem__(self, index: int) -> Node:
        return self._nodes[index]

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def __enter__(self) -> Self:
        try:
            remove_leftovers()
            self._build()
        except BaseException:
            self._demolish()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print("\n".join(text for node in self if (text := node.logs())))
        self._demolish()

    # Who hears whom

    def heal(self, a: int, b: int) -> None:
        """Have two nodes hear each other."""
        self._change("add", a, b)

    def cut(self, a: int, b: int) -> None:
        """Have two nodes that heard each other do so no more."""
        self._change("delete", a, b)

    def _change(self, verb: str, a: int, b: int) -> None:
        assert a != b
        assert {a, b} <= self._nodes.keys()
        self._nft(f"{verb} element bridge air links {_pairs(a, b)}\n")

    def _nft(self, text: str) -> None:
        _run("ip", "netns", "exec", self.hub.namespace, command("nft") or "nft", "-f", "-", text=text)

    # Making and removing

    def _build(self) -> None:
        _run("ip", "-batch", "-", text="".join(f"netns add {each}\n" for each in self._namespaces()))
        _run("ip", "-n", self.hub.namespace, "-batch", "-", text=self._hub_links())
        if self._bridged:
            self._nft(self._hub_rules())
        for node in self:
            # Sysctls first: they are to hold for an address before it is used, and this one spares the 1 to 2 s in
            # which an IPv6 address waits for somebody to object to it.
            _sysctls(node.namespace, {f"ipv6/conf/{INTERFACE}/accept_dad": 0, **_NODE_SYSCTLS})
            _run("ip", "-n", node.namespace, "-batch", "-", text=self._node_links(node))

    def _namespaces(self) -> list[str]:
        return [self.hub.namespace, *(node.namespace for node in self)]

    def _hub_links(self) -> str:
        lines = []
        if self._bridged:  # without snooping multicast goes to every port, as broadcast does
            lines += ["link add air type bridge stp_state 0 forward_delay 0 mcast_snooping 0"]
            lines += ["link set air addrgenmode none", "link set air up"]
        for node in self:
            mac = f"02:66:00:00:00:{node.index:02x}"
            lines.append(f"link add n{node.index} type veth peer name {INTERFACE} address {mac} netns {node.namespace}")
            lines.append(f"link set n{node.index} addrgenmode none")  # the hub itself says nothing
            lines.append(f"link set n{node.index}{' master air' if self._bridged else ''} up")
        return "\n".join([*lines, ""])

    def _hub_rules(self) -> str:
        links = "".join(f"add element bridge air links {_pairs(a, b)}\n" for a, b in self._edges)
        return (
            "add table bridge air\n"
            "add set bridge air links { typeof iifname . oifname; }\n"
            "add chain bridge air forward { type filter hook forward priority 0; policy drop; }\n"
            "add rule bridge air forward iifname . oifname @links accept\n" + links
        )

    def _node_links(self, node: Node) -> str:
        lines = ["link set lo up", f"link set {INTERFACE} up", f"addr add {node.address}/24 brd + dev {INTERFACE}"]
        if self._ipv6:
            lines.append(f"addr add {node.address6}/64 dev {INTERFACE} nodad")
        return "\n".join([*lines, ""])

    def _demolish(self) -> None:
        _end([process for node in (self.hub, *self) for process in node.processes])
        _remove(self._namespaces())
        shutil.rmtree(self._folder, ignore_errors=True)


def remove_leftovers() -> None:
    """Remove the namespaces of meshes whose process is gone, and what still runs in them."""
    try:
        names = os.listdir("/run/netns")
    except OSError:
        return
    found = {name: re.fullmatch(r"chapar-(\d+)-\d+-(?:hub|n\d+)", name) for name in names}
    dead = [name for name, match in found.items() if match and not Path("/proc", match[1]).exists()]
    for name in dead:
        with suppress(MeshError):
            for pid in _run("ip", "netns", "pids", name).split():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(int(pid), signal.SIGKILL)
    _remove(dead)


def _remove(namespaces: Iterable[str]) -> None:
    for name in namespaces:
        with suppress(MeshError):  # it was never made, or somebody else removed it
            _run("ip", "netns", "delete", name)


def _end(processes: Sequence[subprocess.Popen[Any]]) -> None:
    """End processes, the newest first, and wait for them."""
    running = [process for process in reversed(processes) if process.poll() is None]
    for process in running:
        process.terminate()
        process.send_signal(signal.SIGCONT)  # one that was stopped could not end
    deadline = time.monotonic() + STOP_PATIENCE
    for process in running:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for process in processes:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                _close(stream)


def _close(stream: IO[Any]) -> None:
    with suppress(BrokenPipeError):
        stream.close()


def _pairs(a: int, b: int) -> str:
    return f"{{ n{a} . n{b}, n{b} . n{a} }}"


def _sysctls(namespace: str, values: Mapping[str, int]) -> None:
    """Set what is there of these; a kernel without IPv6 has not all of them."""
    settings = ((f"/proc/sys/net/{path}", value) for path, value in values.items())
    script = "".join(f"[ ! -e {path} ] || echo {value} >{path}\n" for path, value in settings)
    _run("ip", "netns", "exec", namespace, "/bin/sh", "-e", text=script)


def _run(name: str, *arguments: str, text: str = "") -> str:
    """Run a command on its input; what it printed. Whatever it says on failure is the error."""
    try:
        done = subprocess.run(  # noqa: S603 - `ip`, with our own arguments
            [command(name) or name, *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=COMMAND_PATIENCE,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        raise MeshError(" ".join(f"{name}: {error.stderr}".split())) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MeshError(str(error)) from None
    return done.stdout
