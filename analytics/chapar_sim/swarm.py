"""`chapar-sim swarm`: random scenarios, run and judged, many at a time.

A seed stands for one scenario and one run of it, so every failure can be had again from its number alone. Nothing is
shrunk or left out: a failure is printed with what was drawn and with every promise it broke.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_sim.case import Violation
from chapar_sim.checkers import check
from chapar_sim.draw import draw, scenario_of
from chapar_sim.tomltext import dumps
from chapar_sim.tree_draw import draw_tree, tree_of
from chapar_sim.world import World
from chapard.core.node import Node

if TYPE_CHECKING:
    from argparse import Namespace, _SubParsersAction
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Future

    from chapar.cli.arguments import Parser
    from chapar_sim.daemon import NodeFactory
    from chapar_sim.draw import Entry
    from chapar_sim.scenario import Scenario
    from chapar_sim.terrain import RouteSpec

DEFAULT_SEEDS: Final = 100
SHOWN: Final = 20
"""Violations printed of one seed; of more, the number is told."""


class Kind(Enum):
    """What a seed draws."""

    TABLES = "networks of replicated tables"
    TREES = "trees of brokers"

    @property
    def option(self) -> str:
        return " --trees" if self is Kind.TREES else ""

    def drawn(self, seed: int) -> Entry:
        return draw_tree(seed) if self is Kind.TREES else draw(seed)

    def scenario(self, seed: int) -> Scenario:
        return tree_of(seed) if self is Kind.TREES else scenario_of(seed)


class Outcome(NamedTuple):
    """What became of one seed."""

    seed: int
    violations: tuple[Violation, ...]
    published: int
    delivered: int
    virtual: float
    """Seconds of virtual time."""


def add_parser(commands: _SubParsersAction[Parser]) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser("swarm", help="run many random scenarios and judge them")
    parser.add_argument("--seeds", type=int, default=DEFAULT_SEEDS, metavar="N", help="how many seeds (%(default)s)")
    parser.add_argument("--start", type=int, default=0, metavar="K", help="the first seed (%(default)s)")
    parser.add_argument("--trees", action="store_true", help="on random trees of brokers (other scenarios)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="J", help="processes (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--print", type=int, metavar="K", dest="shown", help="print seed K's scenario as TOML and stop")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Carry out the command; returns its exit code."""
    kind = Kind.TREES if arguments.trees else Kind.TABLES
    if arguments.shown is not None:
        return _show(kind, arguments.shown)
    if arguments.seeds < 1 or arguments.start < 0 or arguments.jobs < 1:
        sys.stderr.write("chapar-sim swarm: --seeds and --jobs must be at least 1, --start at least 0\n")
        return 2
    seeds = range(arguments.start, arguments.start + arguments.seeds)
    began = time.monotonic()
    outcomes = []
    with ProcessPoolExecutor(min(arguments.jobs, len(seeds))) as pool:
        for outcome in _watched(_judged(pool, seeds, kind), len(seeds)):
            outcomes.append(outcome)
            if outcome.violations and not arguments.json:
                _say(describe(outcome, kind))
    seconds = time.monotonic() - began
    _say(_as_json(seeds, outcomes, seconds, kind) if arguments.json else _summary(outcomes, seconds))
    return 1 if any(outcome.violations for outcome in outcomes) else 0


def judge_seed(seed: int, node_factory: NodeFactory = Node, kind: Kind = Kind.TABLES) -> Outcome:
    """Run the scenario of a seed and judge it."""
    scenario = kind.scenario(seed)
    trace = World(scenario, node_factory=node_factory).run()
    violations = tuple(check(trace, scenario))
    return Outcome(seed, violations, len(trace.accepted), len(trace.delivered), scenario.duration)


def first_failure(seeds: Iterable[int], node_factory: NodeFactory) -> Outcome | None:
    """The first of `seeds` that fails with this kind of node; None if all pass."""
    return next((outcome for seed in seeds if (outcome := judge_seed(seed, node_factory)).violations), None)


def describe(outcome: Outcome, kind: Kind = Kind.TABLES) -> str:
    """A failure for a reader: its seed, what was drawn, what broke, and how to have it again."""
    lines = [f"seed {outcome.seed} failed: {options(kind.scenario(outcome.seed))}"]
    lines += [f"  {violation}" for violation in outcome.violations[:SHOWN]]
    if len(outcome.violations) > SHOWN:
        lines.append(f"  and {len(outcome.violations) - SHOWN} more")
    lines.append(f"  again: chapar-sim swarm{kind.option} --seeds 1 --start {outcome.seed}")
    return "\n".join(lines)


def options(scenario: Scenario) -> str:
    """What was drawn for a scenario, in three lines."""
    radio, routes, topology = scenario.radio, scenario.routes, scenario.topology
    plain = [spec.index for spec in scenario.nodes if not spec.chapard]
    words = [f"{scenario.about}, {len(scenario.nodes)} nodes, {topology.kind}", f"loss {radio.loss:.1%}"]
    words += [f"one way {list(topology.one_way)}"] if topology.one_way else []
    words += [f"without chapard {plain}"] if plain else []
    words += [f"jitter {radio.jitter:g} s", _routes(routes)]
    words += ["no MPRs known"] if not routes.mprs else []
    words += [f"duplicates {radio.duplicate:.0%}"] if radio.duplicate else []
    words += [f"tree {list(map(list, scenario.overlay.links))}"] if scenario.is_tree else []
    words += [f"{scenario.active:g} + {scenario.settle:g} s", f"{len(scenario.clients)} clients"]
    groups = [f"group {name} {sorted(group.nodes)}" for name, group in scenario.config.get("groups", {}).items()]
    chosen = ", ".join([f"{key}={value}" for key, value in scenario.config.items() if key != "groups"] + groups)
    faults = "; ".join(
        f"{fault.kind} {' '.join(map(str, fault.nodes or fault.groups or fault.edges or fault.one_way))}"
        f"{'' if fault.disk else ' wiped'} at {fault.at:g}{f' to {fault.until:g}' if fault.until is not None else ''}"
        for fault in scenario.faults
    )
    return "\n  ".join([", ".join(words), chosen, f"faults: {faults or 'none'}"])


def _routes(routes: RouteSpec) -> str:
    if routes.has_agents:
        return f"OLSR agents, HELLO every {routes.hello_interval:g} s, TC every {routes.tc_interval:g} s"
    return f"routes within {max(*routes.convergence, *routes.neighbour_delay):g} s"


def _show(kind: Kind, seed: int) -> int:
    if seed < 0:
        sys.stderr.write("chapar-sim swarm: --print takes a seed, 0 or above\n")
        return 2
    _say(dumps(kind.drawn(seed)).rstrip())
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _judged(pool: ProcessPoolExecutor, seeds: Iterable[int], kind: Kind) -> Iterator[Outcome]:
    """Outcomes in order of seed, each as soon as it is there."""
    futures = [(seed, pool.submit(judge_seed, seed, kind=kind)) for seed in seeds]
    for seed, future in futures:
        yield outcome_of(seed, future)


def outcome_of(seed: int, future: Future[Outcome]) -> Outcome:
    """A run that ended in an exception is a failure of that seed like any other."""
    error = future.exception()
    if error is None:
        return future.result()
    trace = str(error.__cause__ or "").strip().splitlines()
    places = [line.strip() for line in trace if line.strip().startswith("File ")]
    what = f"{type(error).__name__}: {error} ({places[-1] if places else 'no traceback'})"
    return Outcome(seed, (Violation("exception", 0.0, what),), 0, 0, 0.0)


def _watched(outcomes: Iterable[Outcome], total: int) -> Iterator[Outcome]:
    """Pass outcomes on, with a progress bar on a terminal's stderr."""
    began, failed, is_shown = time.monotonic(), 0, sys.stderr.isatty()
    for done, outcome in enumerate(outcomes, start=1):
        failed += bool(outcome.violations)
        if is_shown:
            sys.stderr.write("\r\033[K")
        yield outcome
        if is_shown:
            filled = 30 * done // total
            left = (time.monotonic() - began) / done * (total - done)
            bar = "#" * filled + "." * (30 - filled)
            sys.stderr.write(f"\r[{bar}] {done}/{total} seeds, {failed} failed, about {left:.0f} s left\033[K")
            sys.stderr.flush()
    if is_shown:
        sys.stderr.write("\r\033[K")


def _summary(outcomes: list[Outcome], seconds: float) -> str:
    failed = [outcome.seed for outcome in outcomes if outcome.violations]
    published, delivered = sum(each.published for each in outcomes), sum(each.delivered for each in outcomes)
    what = f"{len(outcomes)} seeds, {published} events published, {delivered} deliveries"
    verdict = f"{len(failed)} seeds failed: {' '.join(map(str, failed))}" if failed else "no violation"
    return f"{what}, {sum(each.virtual for each in outcomes):.0f} virtual seconds in {seconds:.0f} s: {verdict}"


def _as_json(seeds: range, outcomes: list[Outcome], seconds: float, kind: Kind) -> str:
    failures = [
        {
            "seed": outcome.seed,
            "options": options(kind.scenario(outcome.seed)),
            "violations": [violation._asdict() for violation in outcome.violations],
        }
        for outcome in outcomes
        if outcome.violations
    ]
    return json.dumps(
        {
            "start": seeds.start,
            "seeds": len(seeds),
            "published": sum(each.published for each in outcomes),
            "delivered": sum(each.delivered for each in outcomes),
            "virtual_seconds": round(sum(each.virtual for each in outcomes), 2),
            "seconds": round(seconds, 2),
            "failures": failures,
        },
        indent=2,
    )
