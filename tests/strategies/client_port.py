"""Hypothesis strategies for what a client and its daemon say to each other, fond of the ends of every range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from chapar.limits import MAX_CLIENT_NAME, MAX_REASON, U32_MAX, U64_MAX
from chapar.session import (
    Acknowledge,
    Close,
    Closed,
    Deliver,
    Goodbye,
    Inquire,
    Open,
    Opened,
    Ping,
    Pong,
    Publish,
    Receipt,
    Refused,
    Standing,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from strategies.frames import some_filters, uints
from strategies.values import event_ids

if TYPE_CHECKING:
    from chapar.session import Message, Request

u32, u64 = uints(U32_MAX), uints(U64_MAX)
names = st.one_of(
    st.sampled_from(("c", "é" * MAX_CLIENT_NAME)),
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=MAX_CLIENT_NAME),
)
heads = st.binary(min_size=1, max_size=60)
payloads = st.one_of(st.binary(max_size=40), st.sampled_from((255, 256, 2000)).map(bytes))
bodies = st.one_of(st.binary(min_size=1, max_size=40), st.sampled_from((255, 256, 2000)).map(bytes))


def tuples(item: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[tuple[Any, ...]]:
    """Some, and sometimes very many."""
    some = st.lists(item, min_size=least, max_size=8).map(tuple)
    return st.one_of(some, st.builds(lambda one, count: (one,) * count, item, st.integers(max(least, 1), 300)))


requests: st.SearchStrategy[Request] = st.one_of(
    st.builds(Open, names, u32, u64, st.booleans()),
    st.just(Close()),
    st.builds(Subscribe, u64, some_filters),
    st.builds(Unsubscribe, u64),
    st.builds(Publish, u64, st.integers(0, U64_MAX - 1000), heads, tuples(payloads, 1)),
    st.builds(Acknowledge, u32, u64),
    st.builds(Inquire, u64, event_ids),
    st.just(Ping()),
)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Opened, u32, u32, st.booleans(), u32, u64, tuples(u64)),
    st.builds(Subscribed, u64),
    st.builds(Deliver, u32, st.integers(0, U64_MAX - 1000), u64, tuples(bodies, 1)),
    st.builds(Receipt, u64, event_ids, u64),
    st.builds(Standing, u64, u32, u32),
    st.builds(Refused, u64, st.text(max_size=MAX_REASON)),
    st.just(Closed()),
    st.just(Pong()),
    st.just(Goodbye()),
)
