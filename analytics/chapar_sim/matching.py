"""`chapar-sim matching`: the table of a broker with random filters, how large it is, and what a lookup takes.

It measures what the report on Chapar works out for its filter mapping table (3.4.5): filters that ask for some values,
held by nodes. Steps are lines of the broker's own code that run during a lookup, which does not depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar.event import Event
from chapar.filter import Filter
from chapar.limits import MAX_CONSTRAINTS, MAX_NODES
from chapard.core.config import Config
from chapard.core.fmt import FMT, key_of
from chapard.core.matcher import Matcher

if TYPE_CHECKING:
    from argparse import Namespace, _SubParsersAction
    from types import FrameType

    from chapar.cli.arguments import Parser

VALUES: Final = 2**16
"""An element of the report has 16 bits."""
MOST: Final = {"filters": 4096, "nodes": MAX_NODES, "elements": MAX_CONSTRAINTS}
"""What one home may hold, a network may have and a filter may ask for."""


class Lookup(NamedTuple):
    """What looking one event up took."""

    steps: int
    found: int
    """Nodes with a filter that it matches."""


def add_parser(commands: _SubParsersAction[Parser]) -> None:
    """Add the command and its arguments."""
    about = "measure the size of a broker's filter table, and the steps of a lookup"
    parser = commands.add_parser("matching", help=about, description=f"{about.capitalize()}.")
    parser.add_argument("--filters", type=_count, required=True, metavar="N", help="how many different filters")
    parser.add_argument("--nodes", type=_count, default=40, metavar="N", help="nodes of the network (%(default)s)")
    parser.add_argument("--elements", type=_count, default=5, metavar="N", help="values asked for (%(default)s)")
    parser.add_argument("--holders", type=_count, default=1, metavar="N", help="nodes that hold each filter")
    parser.add_argument("--lookups", type=_count, default=100, metavar="N", help="events to look up (%(default)s)")
    parser.add_argument("--seed", type=_count, default=1, help="seed of all chance (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Carry out the command; returns its exit code."""
    if args.holders > args.nodes:
        sys.stderr.write(f"chapar-sim matching: --holders {args.holders}: there are {args.nodes} nodes\n")
        return 2
    for name, most in MOST.items():
        if getattr(args, name) > most:
            sys.stderr.write(f"chapar-sim matching: --{name} {getattr(args, name)}: at most {most}\n")
            return 2
    figures = measured(args.filters, args.nodes, args.elements, args.holders, args.lookups, args.seed)
    text = json.dumps(figures) if args.json else "\n".join(f"{name:16}{value:12.2f}" for name, value in figures.items())
    sys.stdout.write(text + "\n")
    return 0


def measured(filters: int, nodes: int, elements: int, holders: int, lookups: int, seed: int) -> dict[str, float]:
    """Fill a table and look events up that match at least one of its filters."""
    rng = Random(seed)
    wanted = [_filter(elements, rng) for _ in range(filters)]
    held = {each: rng.sample(range(nodes), holders) for each in wanted}
    matcher = Matcher(nodes)
    for each, by in held.items():
        for node in by:
            matcher.add(each, node)
    found = [look_up(matcher, _event(rng.choice(wanted))) for _ in range(lookups)]
    return {
        "filters": len(matcher),
        "index_bytes": sum(8 * len(each.fid) + len(matcher.vector(each)) for each in matcher.filters()) / 8,
        "record_bytes": _records(held, nodes),
        "steps": sum(each.steps for each in found) / lookups,
        "most_steps": max(each.steps for each in found),
        "found": sum(each.found for each in found) / lookups,
    }


def look_up(matcher: Matcher, event: Event) -> Lookup:
    """Look an event up, and count the lines that run."""
    steps = 0

    def count(_frame: FrameType, what: str, _argument: Any) -> Any:
        nonlocal steps
        steps += what == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        vector = matcher.match(event)
    finally:
        sys.settrace(before)
    return Lookup(steps, vector.count())


def _filter(elements: int, rng: Random) -> Filter:
    return Filter(where=" and ".join(f"e{place} = {rng.randrange(VALUES)}" for place in range(elements)))


def _event(filter_: Filter) -> Event:
    """One that the filter, which asks for numbers, matches."""
    return Event(attributes={name: int(str(value)) for name, _, value in filter_.constraints})


def _records(held: dict[Filter, list[int]], nodes: int) -> int:
    """Bytes of the table as brokers hand it on, home by home."""
    table = FMT(Config(nodes=nodes))
    homes: dict[int, list[Filter]] = {}
    for each, by in held.items():
        for node in by:
            homes.setdefault(node, []).append(each)
    for home, filters in homes.items():
        table.merge(home, 1, filters, 0.0, 0.0)
    return sum(len(table.encoded(key_of(home), 0.0) or b"") for home in homes)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text[:9]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text[:9])
