"""The command `chapar-sim`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from chapar.cli.arguments import Parser
from chapar_sim import matching, swarm, traffic_cli
from chapar_sim.checkers import check
from chapar_sim.clock import SimulationError
from chapar_sim.compare import RESULT, CompareError
from chapar_sim.compare import add_parser as add_compare
from chapar_sim.datasets import DatasetsError, write
from chapar_sim.outcome import outcomes
from chapar_sim.scenario import ScenarioError, load
from chapar_sim.summary import as_text, summarise
from chapar_sim.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
BAR: Final = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 0 done, 1 a promise was broken, 2 wrong usage or scenario."""
    args = _parser().parse_args(arguments)
    try:
        return int(args.run(args))
    except ScenarioError as error:
        _complain(str(error))
        return USAGE
    except CompareError as error:
        _complain(str(error))
        return USAGE
    except (SimulationError, DatasetsError) as error:
        _complain(str(error))
        return FAILED
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED


def _parser() -> Parser:
    parser = Parser(
        prog="chapar-sim",
        description="Run many Chapar daemons in virtual time over a simulated radio.",
        epilog="Exit code 0: every promise kept; 1: one was broken; 2: wrong usage or scenario.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run one scenario and judge it")
    run.add_argument("scenario", metavar="SCENARIO.toml", type=Path)
    run.add_argument("--seed", type=_seed, help="seed of all chance (default: the scenario's own)")
    run.add_argument("--json", action="store_true", help="print the summary as JSON")
    run.add_argument("--out", metavar="DIR", type=Path, help="write result.json and the datasets there")
    run.add_argument("--algorithm", metavar="NAME", help="route by this algorithm, on the scenario's tree")
    run.set_defaults(run=_run)
    add_compare(commands)
    swarm.add_parser(commands)
    traffic_cli.add_parser(commands)
    matching.add_parser(commands)
    return parser


def _complain(text: str) -> None:
    sys.stderr.write(f"chapar-sim: {text}\n")


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; write a whole number from 0")
    return int(text)


def _run(args: argparse.Namespace) -> int:
    scenario = load(args.scenario)
    if args.algorithm is not None:
        scenario = scenario.routed_by(args.algorithm)
    out: Path | None = args.out
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _complain(f"--out {out}: cannot make this directory: {error.strerror}")
            return USAGE
    world = World(scenario, args.seed, record_rows=out is not None)
    trace = world.run(_progress(scenario.duration, sys.stderr))
    violations = check(trace, scenario)
    figures = summarise(trace, scenario, world.seed, violations)
    sys.stdout.write((json.dumps(figures, indent=2) if args.json else as_text(figures)) + "\n")
    if out is not None:
        write(trace, scenario.name, out)
        result = {"world": "sim", **figures, "per_event": [each.to_json() for each in outcomes(trace)]}
        try:
            (out / RESULT).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise DatasetsError(f"{out}: {error.strerror}") from None
    return FAILED if violations else DONE


def _progress(duration: float, stream: TextIO) -> Callable[[float], None] | None:
    """A bar on a terminal; nothing elsewhere."""
    if not stream.isatty():
        return None

    def show(now: float) -> None:
        done = int(BAR * now / duration)
        bar = "#" * done + "." * (BAR - done)
        end = "\n" if now >= duration else ""
        stream.write(f"\r[{bar}] {now:6.1f} of {duration:g} s{end}")
        stream.flush()

    return show
