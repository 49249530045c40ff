"""The datasets of a run as plain data: which columns each has, of which type, and what may be missing.

A file is `DIR/<dataset>/run=<run>/node=<node>/<name>.parquet`, of `air` `DIR/air/run=<run>/<name>.parquet`: run and
node are in the path only. Times are microseconds since the epoch of the run's clock, and may be negative.

In `acknowledgements`, a row sums up a second or more: `waited_us` is how long so many events had been at the client's
home, and ahead of time at the client, until the application asked for them. `busy_us` is how long it was ON with
`served` others in hand, of which each was begun while the next waited already.

In `air`, `kinds` and `kind_bytes` are the frames of a datagram of chapard's, one by one and without the headers around
them, so that they compare with `frames`; `source` is whose datagram it is, which `sender` may only pass on: null where
that is no node. A receiver that heard it twice is named twice.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION: Final = 1
"""Raised when a column changes its meaning."""
METADATA_KEY: Final = "chapar.schema"
"""In the key-value metadata of each Parquet file: the version."""
TYPES: Final = ("i16", "i32", "i64", "str", "event_id", "filter_id", "list<i32>", "list<str>")
"""Signed integers by bits, text, ids of EVENT_ID_BYTES and FILTER_ID_BYTES, lists."""
EVENT_ID_BYTES: Final = 10
FILTER_ID_BYTES: Final = 20


class Column(NamedTuple):
    name: str
    type: str
    nullable: bool = False


def _columns(*words: str) -> tuple[Column, ...]:
    """Columns from `name:type`, with a question mark where a value may be missing."""
    columns = []
    for word in words:
        name, _, kind = word.partition(":")
        columns.append(Column(name, kind.removesuffix("?"), kind.endswith("?")))
    return tuple(columns)


DATASETS: Final[Mapping[str, tuple[Column, ...]]] = MappingProxyType(
    {
        "frames": _columns(
            "ts_us:i64",
            "direction:str",
            "peer:i32?",
            "kind:str",
            "traffic_class:str",
            "bytes:i32",
            "event_id:event_id?",
            "filter_id:filter_id?",
            "retry:i16",
        ),
        "publishes": _columns(
            "ts_us:i64",
            "client:str",
            "event_id:event_id",
            "delivery:str",
            "lifetime_ms:i64",
            "bytes:i32",
            "subject:str?",
        ),
        "deliveries": _columns(
            "ts_us:i64",
            "client:str",
            "event_id:event_id",
            "origin:i32",
            "published_us:i64?",
            "hops:i16",
            "via:str",
            "queued_us:i64",
        ),
        "acknowledgements": _columns(
            "ts_us:i64", "client:str", "events:i32", "waited_us:i64", "served:i32", "busy_us:i64"
        ),
        "interests": _columns(
            "ts_us:i64", "client:str?", "peer:i32?", "direction:str?", "filter_id:filter_id", "change:str"
        ),
        "sessions": _columns("ts_us:i64", "client:str", "state:str", "queue_length:i32"),
        "roles": _columns("ts_us:i64", "role:str", "reason:str"),
        "routes": _columns("ts_us:i64", "destination:i32", "next_hop:i32?", "hops:i16"),
        "losses": _columns("ts_us:i64", "event_id:event_id", "home:i32", "client:str?", "reason:str"),
        "removals": _columns("ts_us:i64", "dataset:str", "rows:i64", "bytes:i64"),
        "runs": _columns("ts_us:i64", "schema_version:i32", "program:str", "world:str", "settings:str"),
        "air": _columns(
            "ts_us:i64",
            "sender:i32",
            "receivers:list<i32>",
            "bytes:i32",
            "port:i32",
            "lost:list<i32>",
            "kinds:list<str>",
            "kind_bytes:list<i32>",
            "source:i32?",
        ),
    }
)
OF_THE_MEDIUM: Final = ("air",)
"""Written by the medium itself: no node in the path."""
