"""`chapar-sim traffic`: traffic on a tree of brokers, measured message by message.

It measures what the models of the traffic on broker trees predict: subscribers that come and go at the end-brokers of
an m-ary tree, or in the radio nets of a battalion, and one publisher; or, on one multicast network, clients that all
are both. With `--static`, the messages of one round.
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
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_sim.broker_tree import BrokerTree
from chapar_sim.datasets import write
from chapar_sim.multicast import Clients, MulticastTree, multicast
from chapar_sim.recorded_tree import RecordedTree
from chapar_sim.tree_round import Rounds
from chapar_sim.tree_shapes import apart, battalion, distance, m_ary
from chapar_sim.tree_traffic import Crowd, Rates, Source, Swell, Traffic
from chapard.core.config import ConfigError
from chapard.core.overlay.router import Algorithm, RouterConfig

if TYPE_CHECKING:
    from argparse import Namespace, _SubParsersAction
    from collections.abc import Callable, Sequence

    from chapar.cli.arguments import Parser
    from chapar_sim.tree_shapes import Tree

MOST_BROKERS: Final = 20_000
MOST_SUBSCRIBERS: Final = 500
"""On average, at one broker, if there may be any number. More does not differ from always somebody."""
MOST_LOCALITY: Final = 1e9
"""Beyond, nobody who is far away ever subscribes."""
MOST_CLIENTS: Final = 1_000
"""On a multicast network, where each may subscribe to each."""
BATTALION, MULTICAST = "battalion", "multicast"
RATES: Final = ("lam", "psi", "mu", "omega", "gamma", "nu")
RANDOM, TOGETHER, APART = "random", "together", "apart"
EPILOG: Final = """\
examples:
  chapar-sim traffic --tree 2,4 --lam .5 --mu 1 --omega 2 --r 1 --duration 1000
  chapar-sim traffic --battalion --psi 110 --mu 1 --omega 6 --r 1/6 --algorithm flooding --duration 100 --json
  chapar-sim traffic --multicast 3,4 --lam 1/60 --mu 1 --omega 1 --gamma 1/30 --nu 1/60 --r 2 --runs 10
  chapar-sim traffic --tree 3,4 --static 8 --placements 30

Figures are messages on links per unit of time; with --static, messages of one round. The deviation is that of the
total, from run to run or from round to round.
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
    shape.add_argument(f"--{MULTICAST}", type=_routers, metavar="N,C", help="N routers, one network, C clients each")
    names = [each.value for each in Algorithm]
    parser.add_argument("--algorithm", choices=names, default="identity", help="how to route (%(default)s)")
    parser.add_argument("--lam", type=_number, metavar="RATE", help="λ: arrivals; with a population, of each one away")
    parser.add_argument("--psi", type=_number, metavar="N", help="instead of --lam: N subscribers on average in all")
    parser.add_argument("--mu", type=_positive, metavar="RATE", help="μ: departures of each that is there")
    parser.add_argument("--population", type=_count, metavar="N", help="subscribers at each end-broker (any number)")
    parser.add_argument("--omega", type=_number, metavar="RATE", help="ω: notifications")
    parser.add_argument("--regular", action="store_true", help="notifications every 1/ω, not at random times")
    parser.add_argument("--gamma", type=_number, metavar="RATE", help="γ: publishers' beginnings; with --multicast")
    parser.add_argument("--nu", type=_number, metavar="RATE", help="ν: their endings (0 is always active)")
    parser.add_argument("--r", type=_positive, metavar="TIME", help="the refresh period")
    parser.add_argument("--locality", type=_positive, metavar="Q", help="λ/Q outside the platoon, λ/Q² the company")
    parser.add_argument("--wave-amplitude", type=_number, metavar="B", help="arrivals λ + B sin(A t), with B up to λ")
    parser.add_argument("--wave-frequency", type=_positive, metavar="A", help="A, in radians per unit of time")
    parser.add_argument("--duration", type=_positive, default=1000.0, metavar="TIME", help="how long (%(default)g)")
    parser.add_argument("--runs", type=_count, default=1, metavar="N", help="runs to average (%(default)s)")
    parser.add_argument("--static", type=_count, metavar="S", help="one round: S subscribers, one at an end-broker")
    parser.add_argument("--place", choices=(RANDOM, TOGETHER, APART), default=RANDOM, help="where (%(default)s)")
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


class Network(NamedTuple):
    """Who is where."""

    name: str
    shape: Tree
    sources: tuple[Source, ...]
    crowds: tuple[Crowd, ...]
    make: Callable[..., BrokerTree] = BrokerTree


def _measured(args: Namespace) -> dict[str, float]:
    lacking = [f"--{name}" for name in ("mu", "omega", "r") if getattr(args, name) is None]
    if lacking:
        raise UsageError(f"{', '.join(lacking)} missing: give the rates μ, ω and the refresh period r")
    if args.placements != 1 or args.place != RANDOM:
        raise UsageError("--placements and --place go with --static")
    if args.runs < 1:
        raise UsageError("--runs is 0: average at least 1")
    network, rng = _network(args), Random(args.seed)
    config = RouterConfig(nodes=network.shape.nodes, algorithm=Algorithm(args.algorithm), refresh_period=args.r)
    if args.out is not None:
        return _recorded(args, network, config, rng)
    each = [
        Traffic(network.shape, config, network.sources, network.crowds, rng, network.make).run(args.duration)
        for _ in range(args.runs)
    ]
    figures = _figures(Rates(*map(fmean, zip(*each, strict=True))))
    return figures if args.runs == 1 else {**figures, "deviation": pstdev(one.total for one in each)}


def _recorded(args: Namespace, network: Network, config: RouterConfig, rng: Random) -> dict[str, float]:
    if args.runs != 1 or network.make is not BrokerTree:
        raise UsageError("--out records one run, on a tree: it goes neither with --runs nor with --multicast")
    run, out = f"{network.name}-{args.algorithm}", args.out
    try:
        make = partial(RecordedTree, run=run)
        traffic = Traffic(network.shape, config, network.sources, network.crowds, rng, make)
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
    if args.runs != 1:
        raise UsageError("--runs has no meaning with --static: say how many --placements")
    for name in (*RATES, "r", "population", "locality", "wave_amplitude", "wave_frequency"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} has no meaning with --static, where nothing changes")
    if args.regular:
        raise UsageError("--regular has no meaning with --static, where there is one notification")
    shape = m_ary(*args.tree)
    if args.static > len(shape.leaves):
        raise UsageError(f"--static {args.static}: there are {len(shape.leaves)} end-brokers, one subscriber at each")
    rounds, place = Rounds(shape, Algorithm(args.algorithm)), _placing(args, shape)
    each = [rounds.run(place()) for _ in range(args.placements)]
    totals = [one.total for one in each]
    return {**_figures(Rates(*map(fmean, zip(*each, strict=True)))), "deviation": pstdev(totals)}


def _placing(args: Namespace, shape: Tree) -> Callable[[], Sequence[int]]:
    """Where the subscribers of a round are (2.2): at random, as close together or as far apart as can be."""
    if args.place == RANDOM:
        return partial(Random(args.seed).sample, shape.leaves, args.static)
    if args.placements != 1:
        raise UsageError(f"--placements has no meaning with --place {args.place}: there is one")
    order = shape.leaves if args.place == TOGETHER else apart(shape)
    return lambda: order[: args.static]


def _network(args: Namespace) -> Network:
    """The network, its publishers, and where subscribers are."""
    if args.multicast is not None:
        return _multicast(args)
    for name in ("gamma", "nu"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} goes with --multicast; the publisher of a tree is always active")
    if args.locality is not None and not args.battalion:
        raise UsageError("--locality goes with --battalion")
    if args.locality is not None and not 1 <= args.locality <= MOST_LOCALITY:
        raise UsageError(f"--locality {args.locality:g}: must be from 1 to {MOST_LOCALITY:g}")
    if args.tree is not None:
        shape = m_ary(*args.tree)
        return _tree(args, "tree-{}-{}".format(*args.tree), shape, 0, dict.fromkeys(shape.leaves, args.population))
    if args.population is not None:
        raise UsageError("--population goes with --tree; a battalion has its own")
    shape, units = battalion()
    publisher = shape.leaves[0]
    return _tree(args, BATTALION, shape, publisher, {net: n for net, n in units.items() if net != publisher})


def _tree(args: Namespace, name: str, shape: Tree, publisher: int, members: dict[int, int | None]) -> Network:
    """With so many subscribers at each broker; None is any number."""
    lam = _arrivals(args, members)
    swell, near = _swell(args, lam), args.locality or 1.0
    away = distance(shape, publisher) if args.locality else {}
    crowds = (Crowd(at, lam / near ** away.get(at, 0), args.mu, count, swell=swell) for at, count in members.items())
    return Network(name, shape, (Source(publisher, args.omega, is_regular=args.regular),), tuple(crowds))


def _multicast(args: Namespace) -> Network:
    for name in ("psi", "population", "locality", "wave_amplitude", "wave_frequency"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} has no meaning with --multicast")
    if args.regular:
        raise UsageError("--regular has no meaning with --multicast, where publishers come and go")
    lacking = [f"--{name}" for name in ("lam", "gamma", "nu") if getattr(args, name) is None]
    if lacking:
        raise UsageError(f"{', '.join(lacking)} missing: give the rates λ, γ and ν of the clients")
    if args.gamma == 0 < args.nu:
        raise UsageError("--gamma 0: nobody would ever publish")
    clients = Clients(args.lam, args.mu, args.omega, args.gamma, args.nu)
    routers, each = args.multicast
    return Network(MULTICAST, *multicast(routers, each, clients), MulticastTree)


def _arrivals(args: Namespace, members: dict[int, int | None]) -> float:
    """λ, given or such that ψ subscribe on average."""
    if (args.lam is None) == (args.psi is None):
        raise UsageError("give either the rate of arrivals, --lam, or the average number of subscribers, --psi")
    if args.locality is not None and args.lam is None:
        raise UsageError("--locality goes with --lam, the rate near the publisher")
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
    m, k = _pair(text, "a tree; write M,K as in 3,4")
    if m < 1 or k < 2:
        raise argparse.ArgumentTypeError(f"{text}: a broker has at least 1 child, and a tree at least 2 levels")
    brokers, width = 1, 1
    for _ in range(min(k - 1, MOST_BROKERS)):
        width *= m
        brokers += width
        if brokers > MOST_BROKERS:
            raise argparse.ArgumentTypeError(f"{text}: more than {MOST_BROKERS} brokers")
    return m, k


def _routers(text: str) -> tuple[int, int]:
    routers, clients = _pair(text, "routers and clients; write N,C as in 3,4")
    if routers < 2 or not 1 <= clients * routers <= MOST_CLIENTS:
        raise argparse.ArgumentTypeError(f"{text}: at least 2 routers, and from 1 to {MOST_CLIENTS} clients in all")
    return routers, clients


def _pair(text: str, what: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return int(parts[0][:9]), int(parts[1][:9])


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
