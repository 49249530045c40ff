"""What is recorded of a node, as data: the columns of each dataset, and the rows that effects of the core come to.

`chapar_audit.schema` holds the same table on the other side, from where compaction and the audit read it.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from chapard.core.effects import (
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
    from collections.abc import Callable, Iterator, Mapping

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


class Row(NamedTuple):
    """A row of a dataset, without its time."""

    dataset: str
    values: Values


def rows_of(effect: Effect, node: int) -> Iterator[Row]:
    """What an effect that `node` drained comes to: none, or one row; of a loss, one for each home."""
    make = _MAKERS.get(type(effect))
    if make is not None:
        yield from make(effect, node)


def _interest(row: InterestRow, _: int) -> Iterator[Row]:
    yield Row("interests", (row.client, row.peer, row.direction, row.filter_id, row.change))


def _delivery(row: DeliveryRow, _: int) -> Iterator[Row]:
    yield Row("deliveries", (row.client, row.event_id, row.origin, None, row.hops, row.via, row.queued_us))


def _frame(row: FrameRow, _: int) -> Iterator[Row]:
    values = (row.direction, row.peer, row.kind, row.traffic_class, row.bytes, row.event_id, row.filter_id, row.retry)
    yield Row("frames", values)


def _loss(loss: Loss, _: int) -> Iterator[Row]:
    for home in loss.homes.indexes():
        yield Row("losses", (loss.event_id, home, loss.client, loss.reason))


def _drop(drop: Drop, node: int) -> Iterator[Row]:
    """An event that came to nothing here. One that came twice did not."""
    if drop.event_id is not None and drop.reason is not Reason.DUPLICATE:
        yield Row("losses", (drop.event_id, node, drop.client, drop.reason))


def _as_it_is(dataset: str) -> Callable[[Any, int], Iterator[Row]]:
    def make(row: Any, _: int) -> Iterator[Row]:
        yield Row(dataset, tuple(row))

    return make


_MAKERS: Final[Mapping[type, Callable[[Any, int], Iterator[Row]]]] = MappingProxyType(
    {
        FrameRow: _frame,
        PublishRow: _as_it_is("publishes"),
        DeliveryRow: _delivery,
        InterestRow: _interest,
        SessionRow: _as_it_is("sessions"),
        RoleRow: _as_it_is("roles"),
        RouteRow: _as_it_is("routes"),
        Loss: _loss,
        Drop: _drop,
    }
)


def run_settings(config: Config) -> dict[str, Any]:
    """What the audit must know of a node, ready for JSON: how it routes, and every parameter of the protocol."""
    return {"mode": "chapar", "protocol": _plain(config)}


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
