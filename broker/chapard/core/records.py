"""What is recorded of a node, as data: the columns of each dataset, and the rows that effects of the core come to.

`chapar_audit.schema` holds the same table on the other side, from where compaction and the audit read it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from chapard.core.effects import (
    AcknowledgementRow,
    DeliveryRow,
    Drop,
    FrameRow,
    InterestRow,
    Loss,
    PublishRow,
    Reason,
    RoleRow,
    RouteRow,
    SessionRow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chapard.core.config import Config
    from chapard.core.effects import Effect

Values: TypeAlias = tuple[Any, ...]
"""A row's, in the order of the columns of its dataset."""

VERSION: Final = 1
"""Of the schema. Raised when a column changes its meaning."""


class Column(NamedTuple):
    name: str
    type: str
    nullable: bool = False


def _columns(words: str) -> tuple[Column, ...]:
    """Columns from `name:type` words, with a question mark where a value may be missing."""
    parts = [word.partition(":") for word in words.split()]
    return tuple(Column(name, kind.removesuffix("?"), kind.endswith("?")) for name, _, kind in parts)


COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = MappingProxyType(
    {
        name: _columns(f"ts_us:i64 {words}")
        for name, words in (
            (
                "frames",
                """direction:str peer:i32? kind:str traffic_class:str bytes:i32 event_id:event_id? filter_id:filter_id?
                retry:i16""",
            ),
            ("publishes", "client:str event_id:event_id delivery:str lifetime_ms:i64 bytes:i32 subject:str?"),
            (
                "deliveries",
                "client:str event_id:event_id origin:i32 published_us:i64? hops:i16 via:str queued_us:i64",
            ),
            ("acknowledgements", "client:str events:i32 waited_us:i64 served:i32 busy_us:i64"),
            ("interests", "client:str? peer:i32? direction:str? filter_id:filter_id change:str"),
            ("sessions", "client:str state:str queue_length:i32"),
            ("roles", "role:str reason:str"),
            ("routes", "destination:i32 next_hop:i32? hops:i16"),
            ("losses", "event_id:event_id home:i32 client:str? reason:str"),
            ("removals", "dataset:str rows:i64 bytes:i64"),
            ("runs", "schema_version:i32 program:str world:str settings:str"),
            (
                "air",
                """sender:i32 receivers:list<i32> bytes:i32 port:i32 lost:list<i32> kinds:list<str>
                kind_bytes:list<i32> source:i32?""",
            ),
        )
    }
)
AIR: Final = "air"
"""Written by the medium; all others are a node's."""
OF_A_NODE: Final = tuple(name for name in COLUMNS if name != AIR)


RUNS: Final = frozenset({"publishes", "deliveries"})
"""Datasets in which a row may stand for several, of events that follow each other, each with the next id."""
MOST_TIMES: Final = 2**16 - 1


Row: TypeAlias = tuple[str, Values, int]
"""A dataset, a row of it, and how many rows that stands for, if the dataset has runs."""


def rows_of(effect: Effect, node: int, ts_us: int) -> Sequence[Row]:
    """What an effect that `node` drained at this time comes to: none, or one row; of a loss, one for each home."""
    make = _MAKERS.get(type(effect))
    return () if make is None else make(effect, node, ts_us)


def _frame(row: FrameRow, _: int, ts_us: int) -> Sequence[Row]:
    return (("frames", (ts_us, *row), 1),)


def _publish(row: PublishRow, _: int, ts_us: int) -> Sequence[Row]:
    *values, times = row
    return (("publishes", (ts_us, *values), times),)


def _delivery(row: DeliveryRow, _: int, ts_us: int) -> Sequence[Row]:
    clients, event_id, origin, hops, via, queued_us, times = row
    return [("deliveries", (ts_us, client, event_id, origin, None, hops, via, queued_us), times) for client in clients]


def _acknowledgement(row: AcknowledgementRow, _: int, ts_us: int) -> Sequence[Row]:
    return (("acknowledgements", (ts_us, *row), 1),)


def _interest(row: InterestRow, _: int, ts_us: int) -> Sequence[Row]:
    return (("interests", (ts_us, row.client, row.peer, row.direction, row.filter_id, row.change), 1),)


def _session(row: SessionRow, _: int, ts_us: int) -> Sequence[Row]:
    return (("sessions", (ts_us, *row), 1),)


def _role(row: RoleRow, _: int, ts_us: int) -> Sequence[Row]:
    return (("roles", (ts_us, *row), 1),)


def _route(row: RouteRow, _: int, ts_us: int) -> Sequence[Row]:
    return (("routes", (ts_us, *row), 1),)


def _loss(loss: Loss, _: int, ts_us: int) -> Sequence[Row]:
    event_id, homes, reason, client = loss
    return [("losses", (ts_us, event_id, home, client, reason), 1) for home in homes.indexes()]


def _drop(drop: Drop, node: int, ts_us: int) -> Sequence[Row]:
    """An event that came to nothing here. One that came twice did not."""
    if drop.event_id is None or drop.reason is Reason.DUPLICATE:
        return ()
    return (("losses", (ts_us, drop.event_id, node, drop.client, drop.reason), 1),)


_MAKERS: Final[Mapping[type, Callable[[Any, int, int], Sequence[Row]]]] = MappingProxyType(
    {
        FrameRow: _frame,
        PublishRow: _publish,
        DeliveryRow: _delivery,
        AcknowledgementRow: _acknowledgement,
        InterestRow: _interest,
        SessionRow: _session,
        RoleRow: _role,
        RouteRow: _route,
        Loss: _loss,
        Drop: _drop,
    }
)
RECORDED: Final = frozenset(_MAKERS)
"""The effects that come to rows."""


def run_settings(config: Config) -> dict[str, Any]:
    """What the audit must know of a node, ready for JSON: how it routes, and every parameter of the protocol."""
    protocol = _plain(config)
    routing, overlay = protocol.pop("routing"), protocol.pop("overlay")
    return {"mode": routing["mode"], "routing": routing, "overlay": overlay, "protocol": protocol}


def _plain(value: Any) -> Any:
    """Ready for JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, MappingProxyType | dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(_plain(each) for each in value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
