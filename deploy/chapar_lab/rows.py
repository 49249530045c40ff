"""What clients did and saw, as lines: how the processes of a run hand the rows of a trace to the one that judges it.

A line is a JSON array of the row's name and its fields; events travel as their bodies, filters as their text.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from chapar.errors import ChaparError
from chapar.event import Event, EventId
from chapar.filter import Filter
from chapar_sim.trace import Accepted, Delivered, Interest, Presence, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Dropped(NamedTuple):
    """Something that a client wanted came to nothing."""

    t: float
    client: str
    home: int
    reason: str


Row: TypeAlias = Accepted | Delivered | Interest | Presence | Dropped

_FORMS: Final[Mapping[str, type[Any]]] = MappingProxyType(
    {form.__name__.lower(): form for form in (Accepted, Delivered, Interest, Presence, Dropped)}
)
_TO_JSON: Final[Mapping[type[Any], Callable[[Any], object]]] = MappingProxyType(
    {bytes: bytes.hex, Event: lambda event: event.encode().hex(), Filter: str}
)
_FROM_JSON: Final[Mapping[str, Callable[[Any], object]]] = MappingProxyType(
    {
        "event_id": lambda text: EventId(bytes.fromhex(text)),
        "event": lambda text: Event.decode_untrusted(bytes.fromhex(text)),
        "filter": Filter.parse,
    }
)


class RowError(ValueError):
    """A line that is no row."""


def to_line(row: Row) -> str:
    """One row, with the end of its line."""
    fields = [_TO_JSON.get(type(value), _itself)(value) for value in row]
    return json.dumps([type(row).__name__.lower(), *fields], separators=(",", ":")) + "\n"


def from_line(line: str | bytes) -> Row:
    """The row of a line. Raises RowError if it is none."""
    try:
        name, *values = json.loads(line)
        form = _FORMS[name]
        fields = zip(form._fields, values, strict=True)
        row: Row = form(*(_FROM_JSON.get(field, _itself)(value) for field, value in fields))
    except (ValueError, KeyError, TypeError, ChaparError) as error:
        raise RowError(f"{line!r} is no row of a trace: {error}") from None
    return row


def enter(row: Row, trace: Trace) -> None:
    """Add a row to the trace of its run."""
    match row:
        case Accepted():
            trace.accepted.append(row)
        case Delivered():
            trace.delivered.append(row)
        case Interest():
            trace.interests.append(row)
        case Presence():
            trace.presence.append(row)
        case Dropped():
            trace.drops[row.home, row.reason] += 1


def _itself(value: object) -> object:
    return value
