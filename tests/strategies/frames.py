"""Hypothesis strategies for frames and records, fond of the ends of every range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from chapar.event import event_id
from chapar.filter import Filter
from chapar.limits import HOP_LIMIT, MAX_CLIENT_NAME, MAX_MISSING, U32_MAX, U64_MAX
from chapar.wire import (
    BUCKETS,
    DIGEST_WIDTH,
    NO_BROKER,
    Ack,
    Beacon,
    Brief,
    Bye,
    Delivered,
    Digests,
    EventFrame,
    FmtRecord,
    Fragment,
    Frame,
    InterestFrame,
    Kind,
    Lease,
    Link,
    Listing,
    Meet,
    MetRecord,
    Nack,
    Publish,
    Records,
    Replay,
    Store,
    Subscribe,
    Table,
    Unsubscribe,
    Want,
    Word,
)
from chapar.wire.frames import MAX_FRAGMENTS, MIN_CHUNK_BYTES
from strategies.values import filters as any_filters

if TYPE_CHECKING:
    from collections.abc import Mapping


def uints(limit: int) -> st.SearchStrategy[int]:
    """From 0 to `limit`, and often where msgpack or the range changes its mind."""
    edges = sorted({edge for edge in (0, 1, 127, 128, 255, 256, 65535, 65536, U32_MAX, limit) if edge <= limit})
    return st.one_of(st.sampled_from(edges), st.integers(0, limit))


def vectors(nodes: int) -> st.SearchStrategy[bytes]:
    """Node vectors as they travel."""

    def trimmed(members: set[int]) -> bytes:
        bits = sum(1 << index for index in members)
        return bits.to_bytes((bits.bit_length() + 7) // 8, "little")

    return st.builds(trimmed, st.sets(uints(nodes - 1), max_size=5))


def ids(nodes: int) -> st.SearchStrategy[bytes]:
    return st.builds(event_id, uints(nodes - 1), uints(U32_MAX), uints(U32_MAX))


def bodies(nodes: int) -> st.SearchStrategy[bytes]:
    """What one who passes an event on takes for its body: an id, and anything."""
    rest = st.one_of(st.binary(max_size=40), st.sampled_from((bytes(243), bytes(300))))
    return st.builds(lambda eid, tail: b"\x9a\xc4\x0a" + eid + tail, ids(nodes), rest)


usual_filters = st.sampled_from((Filter(), Filter(subject="position"), Filter(where="speed > 2")))
some_filters = st.one_of(usual_filters, any_filters)
filter_sets = st.lists(some_filters, max_size=4).map(tuple)


def _some(item: st.SearchStrategy[Any], limit: int = 4) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(item, max_size=limit).map(tuple)


@st.composite
def _fragments(draw: st.DrawFn, sender: st.SearchStrategy[int]) -> Fragment:
    count = draw(st.integers(1, MAX_FRAGMENTS))
    index = draw(uints(count - 1))
    least = 1 if index + 1 == count else MIN_CHUNK_BYTES
    return Fragment(draw(sender), draw(uints(U32_MAX)), index, count, draw(st.binary(min_size=least, max_size=200)))


@st.composite
def _digests(draw: st.DrawFn, sender: st.SearchStrategy[int]) -> Digests:
    level = draw(st.integers(0, 1))
    group = draw(st.integers(0, DIGEST_WIDTH - 1)) if level else 0
    digests = draw(st.lists(uints(U32_MAX), min_size=DIGEST_WIDTH, max_size=DIGEST_WIDTH))
    table, count, flags = draw(st.sampled_from(Table)), draw(uints(U32_MAX)), draw(uints(255))
    return Digests(draw(sender), int(table), level, group, count, tuple(digests), flags)


def _keys(table: int, nodes: int) -> st.SearchStrategy[bytes]:
    return ids(nodes) if table == Table.MET else uints(nodes - 1).map(lambda home: home.to_bytes(2, "big"))


@st.composite
def _listings(draw: st.DrawFn, sender: st.SearchStrategy[int], nodes: int) -> Listing:
    table = int(draw(st.sampled_from(Table)))
    entries = draw(_some(st.tuples(_keys(table, nodes), uints(U64_MAX))))
    return Listing(draw(sender), table, draw(_some(uints(BUCKETS - 1))), entries, draw(uints(255)))


@st.composite
def _wants(draw: st.DrawFn, sender: st.SearchStrategy[int], nodes: int) -> Want:
    table = int(draw(st.sampled_from(Table)))
    wanted = draw(_some(st.tuples(_keys(table, nodes), uints(U64_MAX))))
    return Want(draw(sender), table, tuple(key for key, _ in wanted), tuple(stamp for _, stamp in wanted))


@st.composite
def _interests(draw: st.DrawFn, sender: st.SearchStrategy[int], nodes: int) -> InterestFrame:
    wanted = draw(filter_sets)
    client = st.tuples(uints(nodes - 1), st.one_of(st.text(min_size=1, max_size=9), st.just("x" * MAX_CLIENT_NAME)))
    subscribers = draw(st.one_of(st.just(()), st.tuples(*(client for _ in wanted))))
    return InterestFrame(draw(sender), int(draw(st.sampled_from(Word))), subscribers, wanted)


def frames_by_kind(nodes: int, sender: st.SearchStrategy[int]) -> Mapping[Kind, st.SearchStrategy[Frame]]:
    """Valid frames of every kind in a network of `nodes`."""
    u8, u32, u64, index = uints(255), uints(U32_MAX), uints(U64_MAX), uints(nodes - 1)
    vector, body = vectors(nodes), bodies(nodes)
    broker = st.one_of(index, st.just(NO_BROKER))
    acks, deliveries = _some(st.tuples(index, u32, u32)), _some(st.tuples(ids(nodes), vector))
    table = st.sampled_from(Table).map(int)
    counts = (u32, u64, u32, u64)
    return {
        Kind.BEACON: st.builds(Beacon, sender, u32, u8, broker, u64, u32, vector, vector, *counts, acks),
        Kind.SUBSCRIBE: st.builds(Subscribe, sender, index, u64, u64, filter_sets),
        Kind.UNSUBSCRIBE: st.builds(Unsubscribe, sender, index, u64, u64, filter_sets),
        Kind.PUBLISH: st.builds(Publish, sender, body, u8),
        Kind.EVENT: st.builds(EventFrame, sender, uints(HOP_LIMIT), u8, u64, u8, vector, body),
        Kind.STORE: st.builds(Store, sender, u64, vector, body),
        Kind.DELIVERED: st.builds(Delivered, sender, deliveries),
        Kind.ACK: st.builds(Ack, sender, u32, u32),
        Kind.NACK: st.builds(Nack, sender, u32, u32, _some(u32, MAX_MISSING)),
        Kind.LINK: st.builds(Link, sender, u32, u32, u32, u32, u32),
        Kind.FRAGMENT: _fragments(sender),
        Kind.DIGESTS: _digests(sender),
        Kind.LISTING: _listings(sender, nodes),
        Kind.WANT: _wants(sender, nodes),
        Kind.RECORDS: st.builds(Records, sender, table, _some(st.binary(min_size=1, max_size=40)), u8),
        Kind.LEASE: st.builds(Lease, sender, index, u64, vector),
        Kind.REPLAY: st.builds(Replay, sender, filter_sets),
        Kind.BYE: st.builds(Bye, sender),
        Kind.BRIEF: st.builds(Brief, sender, uints(2**16 - 1), u32, st.binary(max_size=80)),
        Kind.INTEREST: _interests(sender, nodes),
        Kind.MEET: st.builds(Meet, sender, u64, u64),
    }


def frames(nodes: int = 256, sender: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[Frame]:
    """Any valid frame."""
    return st.one_of(*frames_by_kind(nodes, uints(nodes - 1) if sender is None else sender).values())


def datagrams(nodes: int = 256, max_size: int = 4) -> st.SearchStrategy[list[Frame]]:
    """The frames of one datagram: some, of one sender."""
    return uints(nodes - 1).flatmap(
        lambda sender: st.lists(frames(nodes, st.just(sender)), min_size=1, max_size=max_size)
    )


def fmt_records(nodes: int = 256) -> st.SearchStrategy[FmtRecord]:
    return st.builds(FmtRecord, uints(nodes - 1), uints(U64_MAX), uints(U64_MAX), filter_sets)


def met_records(nodes: int = 256) -> st.SearchStrategy[MetRecord]:
    return st.builds(MetRecord, uints(U64_MAX), vectors(nodes), bodies(nodes))
