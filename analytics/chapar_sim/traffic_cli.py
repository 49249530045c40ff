"""`chapar-sim traffic`: traffic on a tree of brokers, measured message by message.

It measures what the models of the traffic on broker trees predict: subscribers that come and go at the end-brokers of
an m-ary tree, or in the radio nets of a battalion, and one publisher. With `--static`, the messages of one round.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from functools import partial
from pathlib import Path
from random import Random
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Final

from chapar_sim.datasets import write
from chapar_sim.recorded_tree import RecordedTree
from chapar_sim.tree_round import Rounds
from chapar_sim.tree_shapes import battalion, m_ary
from chapar_sim.tree_traffic import Crowd, Rates, Source, Swell, Traffic
from chapard.core.config import ConfigError
from chapard.core.overlay.router import Algorithm, RouterConfig

if TYPE_CHECKING:
    from argparse import Namespace, _SubParsersAction

    from chapar.cli.arguments import Parser
    from chapar_sim.tree_shapes import Tree

MOST_BROKERS: Final = 20_000
MOST_SUBSCRIBERS: Final = 500
"""On average, at one broker, if there may be any number. More does not differ from always somebody."""
BATTALION: Final = "battalion"
EPILOG: Final = """\
examples:
  chapar-sim traffic --tree 2,4 --lam .5 --mu 1 --omega 2 --r 1 --duration 1000
  chapar-sim traffic --battalion --psi 110 --mu 1 --omega 6 --r 1/6 --algorithm flooding --duration 100 --json
  chapar-sim traffic --tree 3,4 --static 8 --placements 30

Figures are messages on links per unit of time; with --static, messages of one round.
"""


class UsageError(Exception):
    """Options that do not fit together; says which, and what to write."""


def add_parser(commands: _SubParsersAction[Parser]) -> None:
    """Add the command and its arguments."""
    about = "measure the traffic of one routing algorithm on a tree of brokers"
    parser = commands.add_parser("traffic", help=about, description=f"{about.capitalize()}.", epilog=EPILOG)
    shape = parser.add_mutually_exclusive_group(required=True)
    shape.add_argument("--tree", type=_shape, metavar="M,K", help="M children each, K levels; the root publishes")
    shape.add_argument(f"--{BATTALION}", action="store_true", help="125 radio nets; the first squad publishes")
    names = [each.value for each in Algorithm]
    parser.add_argument("--algorithm", choices=names, default="identity", help="how to route (%(default)s)")
    parser.add_argument("--lam", type=_number, metavar="RATE", help="λ: arrivals; with a population, of each one away")
    parser.add_argument("--psi", type=_number, metavar="N", help="instead of --lam: N subscribers on average in all")
    parser.add_argument("--mu", type=_positive, metavar="RATE", help="μ: departures of each that is there")
    parser.add_argument("--population", type=_count, metavar="N", help="subscribers at each end-broker (any number)")
    parser.add_argument("--omega", type=_number, metavar="RATE", help="ω: notifications")
    parser.add_argument("--r", type=_positive, metavar="TIME", help="the refresh period")
    parser.add_argument("--wave-amplitude", type=_number, metavar="B", help="arrivals λ + B sin(A t), with B up to λ")
    parser.add_argument("--wave-frequency", type=_positive, metavar="A", help="A, in radians per unit of time")
    parser.add_argument("--duration", type=_positive, default=1000.0, metavar="TIME", help="how long (%(default)g)")
    parser.add_argument("--static", type=_count, metavar="S", help="one round: S subscribers at random end-brokers")
    parser.add_argument("--placements", type=_count, default=1, metavar="N", help="rounds to average (%(default)s)")
    parser.add_argument("--seed", type=_count, default=0, help="seed of all chance (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--out", metavar="DIR", type=Path, help="write the datasets there, for chapar-audit")
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Carry out the command; returns its exit code."""
    try:
        figures = _measured(args) if args.static is None else _rounds(args)
    except UsageError as error:
        sys.stderr.write(f"chapar-sim traffic: {error}\n")
        return 2
    text = json.dumps(figures) if args.json else "\n".join(f"{name:20}{value:12.4f}" for name, value in figures.items())
    sys.stdout.write(text + "\n")
    return 0


def _measured(args: Namespace) -> dict[str, float]:
    lacking = [f"--{name}" for name in ("mu", "omega", "r") if getattr(args, name) is None]
    if lacking:
        raise UsageError(f"{', '.join(lacking)} missing: give the rates μ, ω and the refresh period r")
    if args.placements != 1:
        raise UsageError("--placements goes with --static")
    shape, source, members = _network(args)
    lam = _arrivals(args, members)
    swell = _swell(args, lam)
    crowds = [Crowd(at, lam, args.mu, count, swell=swell) for at, count in members.items()]
    config = RouterConfig(nodes=shape.nodes, algorithm=Algorithm(args.algorithm), refresh_period=args.r)
    if args.out is None:
        return _figures(Traffic(shape, config, [source], crowds, Random(args.seed)).run(args.duration))
    name = BATTALION if args.battalion else "tree-{}-{}".format(*args.tree)
    run, out = f"{name}-{args.algorithm}", args.out
    try:
        make = partial(RecordedTree, run=run)
        traffic = Traffic(shape, config, [source], crowds, Random(args.seed), make)
    except ConfigError as error:
        raise UsageError(f"--out records what daemons can be configured to: {error}") from None
    figures = _figures(traffic.run(args.duration))
    assert isinstance(traffic.tree, RecordedTree), "made so"
    write(traffic.tree.trace, run, out, has_medium=False)
    return figures


def _rounds(args: Namespace) -> dict[str, float]:
    if args.tree is None:
        raise UsageError("--static needs --tree M,K")
    if args.placements < 1:
        raise UsageError("--placements is 0: average at least 1")
    if args.out is not None:
        raise UsageError("--out has no meaning with --static: its rounds take no time")
    for name in ("lam", "psi", "mu", "population", "omega", "r", "wave_amplitude", "wave_frequency"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} has no meaning with --static, where nothing changes")
    shape = m_ary(*args.tree)
    if args.static > len(shape.leaves):
        raise UsageError(f"--static {args.static}: there are {len(shape.leaves)} end-brokers, one subscriber at each")
    rounds, rng = Rounds(shape, Algorithm(args.algorithm)), Random(args.seed)
    each = [rounds.run(rng.sample(shape.leaves, args.static)) for _ in range(args.placements)]
    totals = [one.total for one in each]
    return {**_figures(Rates(*map(fmean, zip(*each, strict=True)))), "deviation": pstdev(totals)}


def _network(args: Namespace) -> tuple[Tree, Source, dict[int, int | None]]:
    """The tree, its publisher, and where subscribers are, with how many there are; None is any number."""
    if args.tree is not None:
        shape = m_ary(*args.tree)
        return shape, Source(0, args.omega), dict.fromkeys(shape.leaves, args.population)
    if args.population is not None:
        raise UsageError("--population goes with --tree; a battalion has its own")
    shape, units = battalion()
    publisher = shape.leaves[0]
    return shape, Source(publisher, args.omega), {net: count for net, count in units.items() if net != publisher}


def _arrivals(args: Namespace, members: dict[int, int | None]) -> float:
    """λ, given or such that ψ subscribe on average."""
    if (args.lam is None) == (args.psi is None):
        raise UsageError("give either the rate of arrivals, --lam, or the average number of subscribers, --psi")
    counts = list(members.values())
    lam = args.lam
    if lam is None:
        everybody = sum(count or 0 for count in counts)
        if None not in counts and args.psi >= everybody:
            raise UsageError(f"--psi {args.psi:g}: must be below {everybody}, all who can subscribe")
        lam = args.psi * args.mu / (len(counts) if None in counts else everybody - args.psi)
    if None in counts and lam / args.mu > MOST_SUBSCRIBERS:
        raise UsageError(f"λ/μ is {lam / args.mu:g}: at most {MOST_SUBSCRIBERS} subscribers on average at one broker")
    return float(lam)


def _swell(args: Namespace, lam: float) -> Swell | None:
    amplitude, frequency = args.wave_amplitude, args.wave_frequency
    if (amplitude is None) != (frequency is None):
        raise UsageError("--wave-amplitude and --wave-frequency go together")
    if not amplitude:
        return None
    if amplitude > lam:
        raise UsageError(f"--wave-amplitude {amplitude:g}: must be at most λ = {lam:g}, or the rate turns negative")
    share = amplitude / lam
    return Swell(lambda t: 1 + share * math.sin(frequency * t), 1 + share)


def _figures(rates: Rates) -> dict[str, float]:
    return {
        "subscriptions": rates.subscriptions,
        "unsubscriptions": rates.unsubscriptions,
        "refreshes": rates.refreshes,
        "notifications": rates.notifications,
        "total": rates.total,
    }


def _shape(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a tree; write M,K as in 3,4")
    m, k = int(parts[0][:9]), int(parts[1][:9])
    if m < 1 or k < 2:
        raise argparse.ArgumentTypeError(f"{text}: a broker has at least 1 child, and a tree at least 2 levels")
    brokers, width = 1, 1
    for _ in range(min(k - 1, MOST_BROKERS)):
        width *= m
        brokers += width
        if brokers > MOST_BROKERS:
            raise argparse.ArgumentTypeError(f"{text}: more than {MOST_BROKERS} brokers")
    return m, k


def _number(text: str) -> float:
    """A number from 0, or a fraction like 1/6."""
    above, slash, below = text.partition("/")
    try:
        value = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0; write 0.5 or 1/6")
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be above 0")
    return value


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)
