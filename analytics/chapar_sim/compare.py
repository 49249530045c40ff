"""Runs of one scenario side by side: what went over the links of the tree, and whether all delivered the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chapar_sim.summary import MESSAGES, table_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

Figures = dict[str, Any]
RESULT: Final = "result.json"
"""What `run --out DIR` leaves in DIR for programs."""
SHOWN: Final = 5
"""Differences that are named."""


class CompareError(Exception):
    """These cannot be compared; one line."""


def add_parser(commands: Any) -> None:
    """The command `compare`, of the simulator and of the lab."""
    parser = commands.add_parser("compare", help="show runs on a tree side by side, message by message")
    parser.add_argument("folders", metavar="DIR", nargs="+", type=Path, help="what --out of a run was")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.set_defaults(run=compare, act=compare)


def compare(args: argparse.Namespace) -> int:
    """0: all delivered the same events to the same clients; 1: they did not. Raises CompareError."""
    figures = [_read(folder) for folder in args.folders]
    differences = different(figures)
    if args.json:
        runs = [{**each["routing"], "events": each["events"]} for each in figures]
        text = json.dumps({"runs": runs, "differences": differences}, indent=2)
    else:
        text = as_text(figures, differences)
    sys.stdout.write(text + "\n")
    return 1 if differences else 0


def _read(folder: Path) -> Figures:
    file = folder / RESULT
    try:
        figures = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompareError(f"{file}: cannot read it: {error.strerror}; name what --out of a run was") from None
    except ValueError:
        raise CompareError(f"{file}: not the result of a run") from None
    if not isinstance(figures, dict) or "per_event" not in figures:
        raise CompareError(f"{file}: not the result of a run")
    if "routing" not in figures:
        raise CompareError(f"{folder}: not a run on a tree of brokers; give its scenario [routing] and [overlay]")
    return figures


def delivered(figures: Figures) -> set[tuple[str, int, str]]:
    """Publisher, which of its events, and who got it: ids are of a run, and no two have the same."""
    counts: dict[str, int] = {}
    found = set()
    for event in figures["per_event"]:
        counts[event["publisher"]] = counts.get(event["publisher"], 0) + 1
        found |= {(event["publisher"], counts[event["publisher"]], client) for client in event["got"]}
    return found


def different(figures: Sequence[Figures]) -> list[str]:
    """In what the runs differ from the first."""
    first = delivered(figures[0])
    found = []
    for each in figures[1:]:
        name, others = _name(each), delivered(each)
        for words, some in (("did not get", first - others), ("got", others - first)):
            found += [f"{name}: {client} {words} event {number} of {who}" for who, number, client in sorted(some)]
    return found


def as_text(figures: Sequence[Figures], differences: Sequence[str]) -> str:
    """A table with a column for each run, and whether they delivered the same."""
    rows = [("messages on the tree", *(_name(each) for each in figures))]
    rows += [(kind, *(str(each["routing"]["messages"][kind]) for each in figures)) for kind in MESSAGES]
    rows.append(("all", *(str(sum(each["routing"]["messages"].values())) for each in figures)))
    rows.append(("events delivered", *(str(len(delivered(each))) for each in figures)))
    rows.append(("bytes on the air", *(str(each["air"]["total"]["bytes"]) for each in figures)))
    more = [f"and {len(differences) - SHOWN} more"] if len(differences) > SHOWN else []
    verdict = [*differences[:SHOWN], *more] or ["all delivered the same events to the same clients"]
    return "\n".join([table_text(rows), "", *verdict])


def _name(figures: Figures) -> str:
    routing = figures["routing"]
    return f"{routing['algorithm']}{' + adv.' if routing['advertisements'] else ''}"
