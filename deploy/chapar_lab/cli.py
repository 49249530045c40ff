"""The command `chapar-lab`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final

from chapar.cli.arguments import Parser
from chapar_lab.box import NoBoxError, can_box, inside_box
from chapar_lab.control import ControlError, ask, listen
from chapar_lab.lineup import check_lineup
from chapar_lab.program import LabError
from chapar_lab.run import DONE, FAILED, INTERRUPTED, USAGE, Options, complain, run
from chapar_lab.visit import visit
from chapar_lab.ways import check_programs
from chapar_sim.compare import CompareError
from chapar_sim.compare import add_parser as add_compare
from chapar_sim.scenario import ScenarioError, load

if TYPE_CHECKING:
    from collections.abc import Sequence

EPILOG: Final = """\
examples:
  chapar-lab run deploy/scenarios/chain.toml             five daemons in a row, and what became of each event
  chapar-lab run deploy/scenarios/grid.toml --out grid   with result.json, the datasets, a drawing and all logs
  chapar-lab run deploy/scenarios/star.toml --hold       and stay up; meanwhile, in other terminals:
  chapar-lab status                                        who is up, who is a broker
  chapar-lab topology --svg star.svg                       who hears whom, and the ways of events
  chapar-lab shell 3                                       a shell on node 3, where chapar sub, pub, status work
  chapar-lab compare simple identity                       the results of runs on a tree, side by side
  chapar-lab shell 2 chapar pub temp -m hello              one command there

No privileges are needed where the kernel allows namespaces of users; root will do where it does not.

exit codes: 0 every promise kept, 1 one was broken, or the run failed, 2 wrong usage or scenario, 130 Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    args = _parser().parse_args(arguments)
    try:
        return int(args.act(args))
    except (ScenarioError, LabError, CompareError) as error:
        complain(str(error))
        return USAGE
    except (ControlError, NoBoxError) as error:
        complain(str(error))
        return FAILED
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED


def _parser() -> Parser:
    parser = Parser(
        prog="chapar-lab",
        description="A mobile ad hoc network on this machine: real daemons, in namespaces, over an emulated radio.",
        epilog=EPILOG,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    begin = commands.add_parser("run", help="run one scenario and judge it")
    begin.add_argument("scenario", metavar="SCENARIO.toml", type=Path)
    begin.add_argument("--out", metavar="DIR", type=Path, help="write result.json, datasets, drawing and logs there")
    begin.add_argument("--seed", type=_seed, help="seed of all chance (default: the scenario's own)")
    begin.add_argument("--json", action="store_true", help="print the result as JSON")
    begin.add_argument("--hold", action="store_true", help="keep the network up afterwards, until Ctrl-C")
    begin.add_argument("--algorithm", metavar="NAME", help="route by this algorithm, on the scenario's tree")
    begin.set_defaults(act=_run)
    add_compare(commands)
    status = commands.add_parser("status", help="what runs in a lab that is up")
    status.add_argument("--json", action="store_true", help="with all that each daemon says")
    status.set_defaults(act=_status)
    topology = commands.add_parser("topology", help="draw the network of a lab that is up")
    topology.add_argument("--svg", metavar="FILE", type=Path, help="as a picture in this file (- for standard output)")
    topology.set_defaults(act=_topology)
    shell = commands.add_parser("shell", help="a shell, or one command, on a node of a lab that is up")
    shell.add_argument("node", metavar="NODE", type=int)
    shell.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER, help="what to run (default: a shell)")
    shell.set_defaults(act=_shell)
    for each in (status, topology, shell):
        each.add_argument("--run", metavar="PID", type=int, help="which run, if several are up")
    able = commands.add_parser("check", help="say whether this machine can run a lab")
    able.set_defaults(act=_check)
    return parser


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; write a whole number from 0")
    return int(text)


def _run(args: argparse.Namespace) -> int:
    scenario = load(args.scenario)
    if args.algorithm is not None:
        scenario = scenario.routed_by(args.algorithm)
    seed = scenario.seed if args.seed is None else args.seed
    check_lineup(scenario, args.scenario, seed)
    check_programs(scenario.routes)
    out: Path | None = args.out
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            complain(f"--out {out}: cannot make this directory: {error.strerror}")
            return USAGE
        try:
            TemporaryFile(dir=out).close()
        except OSError as error:
            complain(f"--out {out}: cannot write there: {error.strerror}")
            return USAGE
    options = Options(
        scenario=args.scenario.resolve(),
        seed=seed,
        out=out.resolve() if out is not None else None,
        as_json=args.json,
        hold=args.hold,
    )
    control = listen()
    try:
        return inside_box(lambda: run(scenario, options, control))
    except NoBoxError as error:
        complain(f"no network namespaces here ({error}); run it as root, or chapar-sim run {args.scenario} instead")
        return FAILED


def _check(_: argparse.Namespace) -> int:
    why = can_box()
    if why:
        complain(f"no network namespaces here ({why}): run labs as root, or use the simulator, chapar-sim")
        return FAILED
    sys.stdout.write("chapar-lab: this machine can run a lab\n")
    return DONE


def _status(args: argparse.Namespace) -> int:
    data = ask(args.run, "status").data
    sys.stdout.write(json.dumps(data, indent=2) + "\n" if args.json else _as_text(data))
    return DONE


def _topology(args: argparse.Namespace) -> int:
    text = str(ask(args.run, "topology", "svg" if args.svg else "text").data)
    if args.svg is None or str(args.svg) == "-":
        sys.stdout.write(text)
        return DONE
    try:
        args.svg.write_text(text, encoding="utf-8")
    except OSError as error:
        complain(f"--svg {args.svg}: {error.strerror}")
        return USAGE
    return DONE


def _shell(args: argparse.Namespace) -> int:
    answer = ask(args.run, "namespaces", str(args.node))
    if not answer.descriptors:
        complain(f"there is no node {args.node}; nodes are {', '.join(map(str, answer.data))}")
        return USAGE
    return visit(answer.descriptors, args.node, args.command)


def _as_text(data: dict[str, Any]) -> str:
    """Who runs, and what each daemon is, as a table."""
    head = f"{data['scenario']}: {data['phase']}, {data['t']:g} of {data['duration']:g} s, "
    lines = [head + f"{data['published']} events accepted, {data['delivered']} deliveries"]
    lines.append(f"{'node':>4}  {'state':<8}  {'role':<9}  {'broker':>6}  {'peers':>5}  {'routes':>6}  {'clients':>7}")
    for node in data["nodes"]:
        role, *numbers = _in_brief(node["status"])
        cells = "  ".join(f"{text:>{width}}" for text, width in zip(numbers, (6, 5, 6, 7), strict=True))
        lines.append(f"{node['index']:>4}  {node['state']:<8}  {role:<9}  {cells}")
    return "\n".join(lines) + "\n"


def _in_brief(page: dict[str, Any] | None) -> list[str]:
    """Role, broker, peers, routes, clients."""
    if page is None:
        return ["–"] * 5
    role = page["role"]
    broker = "–" if role["broker"] is None else str(role["broker"])
    return [role["role"], broker, *map(str, (page["peers"], page["routes"]["destinations"], page["sessions"]["on"]))]
