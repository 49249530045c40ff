"""A run that never was, of any size, as Parquet: for what has to be many rows, and right, and there in seconds.

Eight daemons in a row, a publisher at the first, subscribers at the fourth and at the last. Every event crosses seven
links with the frame that numbers it, each after a wait of its own; every eighth is acknowledged hop by hop; one in a
thousand is lost at some hop, which is said. Beacons go round. The medium saw it all.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from chapar.event import event_id
from chapar.filter import Filter
from chapar_audit.compact import write
from chapar_audit.schema import DATASETS, OF_THE_MEDIUM
from chapar_audit.spool import arrow_schema
from chapard.core.config import Config
from chapard.core.records import run_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

RUN: Final = "generated"
NODES: Final = 8
HOPS: Final = NODES - 1
HOMES: Final = {4: 3, 8: 7}
"""Subscribers' nodes, and over how many hops events come there."""
PUBLISHER, SUBSCRIBER, SUBJECT = "source", "sink", "sample"
RATE: Final = 1000
"""Events a second."""
HOP_US, LEAST_US = 1500, 200
"""What a hop takes on average above the least; nothing overtakes."""
LOST: Final = 0.001
"""Of events, at some hop."""
ACKNOWLEDGED: Final = 8
"""Events that one acknowledgement of a hop is for."""
LINK_BYTES, ACK_BYTES, BEACON_BYTES, HEADER_BYTES = 11, 40, 22, 42
FRAMES_OF_AN_EVENT: Final = HOPS * (4 + 2 / ACKNOWLEDGED)
SLICE: Final = 50_000
"""Events in a file of each dataset and node."""
SECOND_US: Final = 1_000_000
BOOT: Final = 1_700_000_000


class Aired(NamedTuple):
    """Transmissions of one kind from one node."""

    ts_us: Numbers
    sender: int
    receivers: tuple[int, ...]
    kinds: tuple[str, ...]
    sizes: tuple[Any, ...]
    """Bytes of each frame, as many as there are transmissions or one for all."""
    is_lost: NDArray[np.bool_] | None = None


def generate(folder: Path, frames: int, seed: int = 1) -> int:
    """Make a run of about so many rows of `frames` in a folder; returns how many there are."""
    rng = np.random.default_rng(seed)
    events = max(1, round(frames / FRAMES_OF_AN_EVENT))
    _write_start(folder)
    made = 0
    for place, first in enumerate(range(0, events, SLICE)):
        made += _write_slice(folder, place, np.arange(first, min(events, first + SLICE)), rng)
    return made


def _write_start(folder: Path) -> None:
    settings = json.dumps(run_settings(Config()))
    subject = Filter(subject=SUBJECT).fid
    for node in range(1, NODES + 1):
        others = [other for other in range(1, NODES + 1) if other != node]
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in DATASETS if name not in OF_THE_MEDIUM}
        rows["runs"] = [{"ts_us": -5 * SECOND_US, "schema_version": 1, "program": "none", "world": "sim",
                         "settings": settings}]  # fmt: skip
        rows["routes"] = [
            {"ts_us": -4 * SECOND_US, "destination": other, "next_hop": node + (1 if other > node else -1),
             "hops": abs(other - node)} for other in others
        ]  # fmt: skip
        rows["roles"] = [{"ts_us": -4 * SECOND_US, "role": "broker", "reason": "mpr"}]
        client = PUBLISHER if node == 1 else SUBSCRIBER
        if node == 1 or node in HOMES:
            rows["sessions"] = [{"ts_us": -3 * SECOND_US, "client": client, "state": "on", "queue_length": 0}]
        if node in HOMES:
            rows["interests"] = [{"ts_us": -3 * SECOND_US, "client": client, "filter_id": subject,
                                  "change": "subscribe"}]  # fmt: skip
        for dataset, found in rows.items():
            _write(folder, dataset, node, "start", pa.Table.from_pylist(found, arrow_schema(dataset)))


def _write_slice(folder: Path, place: int, numbers: Numbers, rng: np.random.Generator) -> int:
    """Some events, in the order in which they were published; returns the rows of `frames`."""
    count = len(numbers)
    ids = _event_ids(numbers)
    sizes = rng.integers(60, 200, count, dtype=np.int32)
    published = (numbers * SECOND_US) // RATE + place * SECOND_US  # a pause, so that slices do not meet
    at = [published]
    for _ in range(HOPS):
        wait = rng.exponential(HOP_US, count).astype(np.int64) + LEAST_US
        at.append(np.maximum.accumulate(at[-1] + wait))
    lost_at = np.where(rng.random(count) < LOST, rng.integers(0, HOPS, count), HOPS)
    pieces: dict[int, list[pa.Table]] = {node: [] for node in range(1, NODES + 1)}
    aired: list[Aired] = []
    for hop in range(HOPS):
        sender, receiver = hop + 1, hop + 2
        went, came = lost_at >= hop, lost_at > hop
        for node, peer, direction, ts_us, which in (
            (sender, receiver, "tx", at[hop], went), (receiver, sender, "rx", at[hop + 1], came),
        ):  # fmt: skip
            heads = np.full(int(which.sum()), LINK_BYTES, np.int32)
            pieces[node].append(_frames(ts_us[which], direction, peer, "link", heads))
            pieces[node].append(_frames(ts_us[which], direction, peer, "event", sizes[which], ids.filter(which)))
        link = ("link", "event")
        aired.append(Aired(at[hop][went] + 100, sender, (receiver,), link, (LINK_BYTES, sizes[went]), ~came[went]))
        acknowledged = at[hop + 1][came][ACKNOWLEDGED - 1 :: ACKNOWLEDGED] + 50
        for node, peer, direction in ((receiver, sender, "tx"), (sender, receiver, "rx")):
            size = np.full(len(acknowledged), ACK_BYTES, np.int32)
            pieces[node].append(_frames(acknowledged, direction, peer, "ack", size))
        aired.append(Aired(acknowledged + 100, receiver, (sender,), ("ack",), (ACK_BYTES,)))
    aired += _beacons(pieces, int(published[0]), int(published[-1]))
    name = f"{place:05}"
    for node, tables in pieces.items():
        _write(folder, "frames", node, name, pa.concat_tables(tables).sort_by("ts_us"))
    _write(folder, "air", None, name, pa.concat_tables([_air(each) for each in aired]).sort_by("ts_us"))
    _write_clients(folder, name, ids, sizes, at, lost_at)
    return sum(len(each) for tables in pieces.values() for each in tables)


def _beacons(pieces: Mapping[int, list[pa.Table]], begin: int, end: int) -> Iterator[Aired]:
    for node in pieces:
        ts_us = np.arange(begin + 10 * node, end, SECOND_US)
        size = np.full(len(ts_us), BEACON_BYTES, np.int32)
        near = tuple(other for other in (node - 1, node + 1) if other in pieces)
        pieces[node].append(_frames(ts_us, "tx", None, "beacon", size))
        for other in near:
            pieces[other].append(_frames(ts_us + 300, "rx", node, "beacon", size))
        yield Aired(ts_us + 100, node, near, ("beacon",), (BEACON_BYTES,))


def _write_clients(
    folder: Path, name: str, ids: pa.Array, sizes: NDArray[np.int32], at: list[Numbers], lost_at: Numbers
) -> None:
    """What applications published, were given, and took; and what never reached them."""
    columns = {"ts_us": at[0], "client": PUBLISHER, "event_id": ids, "delivery": "realtime", "lifetime_ms": 0,
               "bytes": sizes, "subject": SUBJECT}  # fmt: skip
    _write(folder, "publishes", 1, name, _table("publishes", len(ids), columns))
    for home, hops in HOMES.items():
        came = lost_at >= hops
        ts_us = at[hops][came]
        columns = {"ts_us": ts_us, "client": SUBSCRIBER, "event_id": ids.filter(came), "origin": 1,
                   "published_us": None, "hops": hops, "via": "realtime", "queued_us": 0}  # fmt: skip
        _write(folder, "deliveries", home, name, _table("deliveries", len(ts_us), columns))
        seconds, events = np.unique(ts_us // SECOND_US, return_counts=True)
        columns = {"ts_us": (seconds + 1) * SECOND_US, "client": SUBSCRIBER, "events": events.astype(np.int32),
                   "waited_us": 0, "served": 0, "busy_us": 0}  # fmt: skip
        _write(folder, "acknowledgements", home, name, _table("acknowledgements", len(seconds), columns))
    for hop in range(HOPS):
        gone = lost_at == hop
        for home, hops in HOMES.items():
            if gone.any() and hop < hops:
                columns = {"ts_us": at[hop][gone] + SECOND_US, "event_id": ids.filter(gone), "home": home,
                           "client": None, "reason": "hop_dead"}  # fmt: skip
                table = _table("losses", int(gone.sum()), columns)
                _write(folder, "losses", hop + 1, f"{name}-{home}", table)


def _event_ids(numbers: Numbers) -> pa.Array:
    """Of the publisher's events, by their number."""
    head = np.frombuffer(event_id(1, BOOT, 0)[:-4], np.uint8)
    tails = (numbers + 1).astype(">u4").view(np.uint8).reshape(-1, 4)
    data = np.hstack([np.broadcast_to(head, (len(numbers), len(head))), tails])
    kind = arrow_schema("frames").field("event_id").type
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(numbers), [None, pa.py_buffer(data.tobytes())])


def _frames(
    ts_us: Numbers, direction: str, peer: int | None, kind: str, sizes: NDArray[np.int32], ids: pa.Array | None = None
) -> pa.Table:
    traffic_class = "control" if ids is None else "data"
    columns = {"ts_us": ts_us, "direction": direction, "peer": peer, "kind": kind, "traffic_class": traffic_class,
               "bytes": sizes, "event_id": ids, "filter_id": None, "retry": 0}  # fmt: skip
    return _table("frames", len(ts_us), columns)


def _air(each: Aired) -> pa.Table:
    count = len(each.ts_us)
    sizes = [np.broadcast_to(np.asarray(size, np.int32), count) for size in each.sizes]
    is_lost = np.zeros(count, bool) if each.is_lost is None else each.is_lost
    columns = {
        "ts_us": each.ts_us, "sender": each.sender, "receivers": _lists(each.receivers, ~is_lost),
        "bytes": np.sum([np.full(count, HEADER_BYTES), *sizes], axis=0, dtype=np.int32), "port": 7701,
        "lost": _lists(each.receivers, is_lost),
        "kinds": _lists(each.kinds, np.ones(count, bool)),
        "kind_bytes": pa.ListArray.from_arrays(np.arange(0, (count + 1) * len(sizes), len(sizes), dtype=np.int32),
                                               np.stack(sizes, axis=1).reshape(-1)),
        "source": each.sender,
    }  # fmt: skip
    return _table("air", count, columns)


def _lists(values: Iterable[Any], where: NDArray[np.bool_]) -> pa.Array:
    """The same list in some rows, an empty one in the others."""
    items = list(values)
    ends = np.concatenate([[0], np.cumsum(where) * len(items)]).astype(np.int32)
    kind = pa.string() if isinstance(items[0], str) else pa.int32()
    return pa.ListArray.from_arrays(ends, pa.array(items * int(where.sum()), kind))


def _table(dataset: str, count: int, columns: Mapping[str, Any]) -> pa.Table:
    """A table of columns; what is one value is that in every row."""
    schema = arrow_schema(dataset)
    filled = [
        pa.array(value, field.type)
        if isinstance(value, np.ndarray)
        else value
        if isinstance(value, pa.Array)
        else pa.repeat(pa.scalar(value, field.type), count)
        for field, value in ((field, columns[field.name]) for field in schema)
    ]
    return pa.Table.from_arrays(filled, schema=schema)


def _write(folder: Path, dataset: str, node: int | None, name: str, table: pa.Table) -> None:
    place = folder / dataset / f"run={RUN}"
    where = place if node is None else place / f"node={node}"
    write(where / f"{name}.parquet", dataset, table, is_durable=False)
