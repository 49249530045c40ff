"""The client port's bytes: what goes in comes out, nothing else does, and datagrams are as large as they may be."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.errors import WireError, WireReason
from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar.limits import CLIENT_MTU, MAX_CLIENT_DATAGRAM, MAX_CLIENT_NAME, MAX_EVENT_BYTES, MAX_REASON, U32_MAX
from chapar.session import Close, Deliver, Open, Ping, Pong, Publish, Receipt, Refused, Subscribe
from chapar.wire import Kind
from chapar.wire.client import (
    RUN_OVERHEAD,
    ClientKind,
    datagrams,
    decode_messages_untrusted,
    decode_requests_untrusted,
    encode,
)
from strategies.client_port import messages, requests

if TYPE_CHECKING:
    from chapar.session import Message, Request

    Item = Request | Message

either = st.one_of(
    st.tuples(st.just(decode_requests_untrusted), st.lists(requests, max_size=8)),
    st.tuples(st.just(decode_messages_untrusted), st.lists(messages, max_size=8)),
)
mtus = st.sampled_from((200, 500, CLIENT_MTU))


def events(items: list[Any]) -> list[tuple[Any, ...]]:
    """What is said, run by run taken apart: every event with its number, and what it follows."""
    said: list[tuple[Any, ...]] = []
    for item in items:
        if isinstance(item, Deliver):
            for place, body in enumerate(item.bodies):
                after = item.number + place - 1 if place else item.after
                said.append((Deliver, item.incarnation, item.number + place, after, body))
        elif isinstance(item, Publish):
            for place, payload in enumerate(item.payloads):
                after = item.number + place - 1 if place else item.after
                said.append((Publish, item.head, item.number + place, after, payload))
        else:
            said.append((type(item), *item))
    return said


@given(st.one_of(requests.map(lambda item: (decode_requests_untrusted, item)),
                 messages.map(lambda item: (decode_messages_untrusted, item))))  # fmt: skip
def test_what_goes_in_comes_out(case: tuple[Any, Item]) -> None:
    """Every request and every message, of its own type, and the same bytes again."""
    decode, item = case
    (decoded,) = decode(encode(item))
    assert type(decoded) is type(item)
    assert decoded == item
    assert encode(decoded) == encode(item)


@given(either, mtus)
@settings(max_examples=200)
def test_datagrams_hold_everything_in_order(case: tuple[Any, list[Item]], mtu: int) -> None:
    """Runs are cut so that each part knows its numbers and what it follows; nothing is lost, doubled or moved."""
    decode, items = case
    decoded = [item for datagram in datagrams(items, mtu) for item in decode(datagram)]
    assert events(decoded) == events(list(items))


@given(either, mtus)
@settings(max_examples=200)
def test_no_datagram_is_larger_than_it_must_be(case: tuple[Any, list[Item]], mtu: int) -> None:
    """Above the MTU there is one thing that cannot be cut, and nothing beside it; each is as full as order allows."""
    decode, items = case
    sent = datagrams(items, mtu)
    assert all(sent)
    for datagram in sent:
        if len(datagram) > mtu:
            (alone,) = decode(datagram)
            assert len(events([alone])) == 1
    for before, after in pairwise(sent):
        first = encode(decode(after)[0])
        assert len(before) + len(first) > mtu


def test_a_long_run_needs_few_datagrams() -> None:
    """Cut parts are filled up to what an event's header may take."""
    run = Publish(0, 1, Event(subject="s").head(), (bytes(100),) * 1000)
    sent = datagrams([run])
    assert all(len(each) > CLIENT_MTU - RUN_OVERHEAD - 2 * 105 - 3 * 160 for each in sent[:-1])
    assert len(sent) <= 102_000 // (CLIENT_MTU - 1000) + 1


def test_the_largest_event_has_a_datagram_of_its_own() -> None:
    """It travels both ways; one that a publisher cannot even make does not."""
    event = Event(subject="s" * 1000)
    payload = bytes(MAX_EVENT_BYTES - 32 - len(event.head()))
    head = event.with_payload(payload).head()
    small = Publish(0, 1, head, (b"x",))
    large = Publish(1, 2, head, (payload, b"y"))
    sent = datagrams([small, large])
    assert [len(each) > CLIENT_MTU for each in sent] == [False, True, False]
    assert max(map(len, sent)) < MAX_CLIENT_DATAGRAM
    stamped = event.with_payload(payload).accepted(id=event_id(1, 1, 1)).encode()
    (datagram,) = datagrams([Deliver(1, 1, 0, [stamped])])
    assert decode_messages_untrusted(datagram) == [Deliver(1, 1, 0, (stamped,))]


def test_kinds_are_not_those_of_nodes() -> None:
    """A datagram that goes astray between the two ports is refused on either."""
    assert not {int(kind) for kind in ClientKind} & {int(kind) for kind in Kind}
    for decode, item in ((decode_requests_untrusted, Pong()), (decode_messages_untrusted, Ping())):
        with pytest.raises(WireError) as refused:
            decode(encode(item))
        assert refused.value.reason is WireReason.KIND


# Foreign bytes


def read_both(data: bytes) -> None:
    for decode in (decode_requests_untrusted, decode_messages_untrusted):
        try:
            items = decode(data)
        except WireError as error:
            assert error.reason in WireReason  # noqa: PT017 - something may also be read by chance
        else:
            assert b"".join(map(encode, items))


@given(st.binary(max_size=300))
@settings(max_examples=300)
def test_arbitrary_bytes_raise_wire_errors_only(junk: bytes) -> None:
    """Nothing that arrives at either end raises anything else."""
    read_both(junk)


@given(either, st.data())
@settings(max_examples=300)
def test_damaged_datagrams_raise_wire_errors_or_mean_something(
    case: tuple[Any, list[Item]], data: st.DataObject
) -> None:
    """Bytes changed, cut or put in: what is still read can be said again."""
    _, items = case
    for datagram in datagrams(items, 500)[:3]:
        damaged = bytearray(datagram)
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(0, len(damaged)))
            damaged[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
        read_both(bytes(damaged))


@given(st.one_of(requests.map(lambda item: (decode_requests_untrusted, item)),
                 messages.map(lambda item: (decode_messages_untrusted, item))), st.data())  # fmt: skip
def test_a_truncated_datagram_is_refused(case: tuple[Any, Item], data: st.DataObject) -> None:
    """All of it or nothing: what came before the cut is not taken either."""
    decode, item = case
    whole = encode(item)
    cut = whole + whole[: data.draw(st.integers(1, len(whole) - 1))]
    with pytest.raises(WireError):
        decode(cut)


structures = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.binary(max_size=11)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)  # fmt: skip


@given(st.sampled_from(ClientKind), st.lists(structures, max_size=7))
@settings(max_examples=300)
def test_foreign_structures_raise_wire_errors_only(kind: ClientKind, fields: list[Any]) -> None:
    """Any msgpack value in the place of any field."""
    read_both(msgpack.packb([1, int(kind), *fields]))


YES = True


def spoilt(kind: ClientKind, *fields: Any) -> bytes:
    packed: bytes = msgpack.packb([1, int(kind), *fields])
    return packed


@pytest.mark.parametrize(
    ("datagram", "reason"),
    [
        (b"", WireReason.TRUNCATED),
        (spoilt(ClientKind.PING)[:-1], WireReason.TRUNCATED),
        (msgpack.packb([2, int(ClientKind.PING)]), WireReason.VERSION),
        (msgpack.packb([True, int(ClientKind.PING)]), WireReason.VERSION),
        (msgpack.packb([1, 99]), WireReason.KIND),
        (msgpack.packb([1, True]), WireReason.KIND),
        (msgpack.packb([1]), WireReason.SHAPE),
        (msgpack.packb(7), WireReason.SHAPE),
        (spoilt(ClientKind.PING, 1), WireReason.SHAPE),
        (spoilt(ClientKind.UNSUBSCRIBE), WireReason.SHAPE),
        (spoilt(ClientKind.UNSUBSCRIBE, -1), WireReason.RANGE),
        (spoilt(ClientKind.UNSUBSCRIBE, 2**63), WireReason.RANGE),
        (spoilt(ClientKind.UNSUBSCRIBE, YES), WireReason.RANGE),
        (spoilt(ClientKind.OPEN, "", 0, 1, YES), WireReason.RANGE),
        (spoilt(ClientKind.OPEN, "a/b", 0, 1, YES), WireReason.RANGE),
        (spoilt(ClientKind.OPEN, "a\n", 0, 1, YES), WireReason.RANGE),
        (spoilt(ClientKind.OPEN, "x" * (MAX_CLIENT_NAME + 1), 0, 1, YES), WireReason.RANGE),
        (spoilt(ClientKind.OPEN, "c", U32_MAX + 1, 1, YES), WireReason.RANGE),
        (spoilt(ClientKind.OPEN, "c", 0, 1, 1), WireReason.RANGE),
        (spoilt(ClientKind.PUBLISH, 0, 1, b"", [b""]), WireReason.RANGE),
        (spoilt(ClientKind.PUBLISH, 0, 1, bytes(MAX_EVENT_BYTES + 1), [b""]), WireReason.RANGE),
        (spoilt(ClientKind.PUBLISH, 0, 1, b"h", []), WireReason.RANGE),
        (spoilt(ClientKind.PUBLISH, 0, 1, b"h", [b"", "text"]), WireReason.RANGE),
        (spoilt(ClientKind.PUBLISH, 0, 1, b"h", b"p"), WireReason.RANGE),
        (spoilt(ClientKind.INQUIRE, 1, bytes(9)), WireReason.RANGE),
        (spoilt(ClientKind.OPEN, {"a": 1}, 0, 1, YES), WireReason.MALFORMED),
        (b"\x91" * 5000, WireReason.MALFORMED),
        (b"\xdd\xff\xff\xff\xff" * 1000, WireReason.MALFORMED),
        (b"\xc1", WireReason.MALFORMED),
        (b"\xd6\xff" + bytes(4), WireReason.MALFORMED),
        (spoilt(ClientKind.OPEN, "c", 0, 1, YES).replace(b"c", b"\xff"), WireReason.UTF8),
        (encode(Ping()) * MAX_CLIENT_DATAGRAM, WireReason.OVERSIZED),
    ],
)  # fmt: skip
def test_bad_requests_are_counted_under_their_reason(datagram: bytes, reason: WireReason) -> None:
    """Each way of being wrong has its own label, and a length bomb is refused before it costs memory."""
    with pytest.raises(WireError) as refused:
        decode_requests_untrusted(datagram)
    assert refused.value.reason is reason


@pytest.mark.parametrize(
    "datagram",
    [
        spoilt(ClientKind.REFUSED, 1, "x" * (MAX_REASON + 1)),
        spoilt(ClientKind.OPENED, 1, 1, YES, 3, 0, [1, -1]),
        spoilt(ClientKind.OPENED, 1, 1, 1, 3, 0, []),
        spoilt(ClientKind.DELIVER, 1, 1, 0, []),
        spoilt(ClientKind.RECEIPT, 1, bytes(11), 1),
        spoilt(ClientKind.STANDING, 1, U32_MAX + 1, 1),
    ],
)
def test_bad_messages_are_refused(datagram: bytes) -> None:
    """A daemon's words are checked as a client's are."""
    with pytest.raises(WireError) as refused:
        decode_messages_untrusted(datagram)
    assert refused.value.reason is WireReason.RANGE


def test_a_filter_that_is_none_is_refused() -> None:
    """The filter of a subscription is read here, so that nothing else is subscribed to."""
    foreign: tuple[Any, ...] = (1, [["subject", 99, 1]], [[]])
    for wire in foreign:
        with pytest.raises(WireError):
            decode_requests_untrusted(spoilt(ClientKind.SUBSCRIBE, 1, wire))


def test_the_names_of_things_are_in_their_place() -> None:
    """A few whole datagrams by hand: several things share one."""
    items: list[Item] = [Open("c", 7, 1, lasting=True), Subscribe(1, Filter(subject="a")), Close()]
    (datagram,) = datagrams(items)
    assert datagram == b"".join(map(encode, items))
    assert encode(items[0]).hex() == "960140a1630701c3"
    assert encode(Refused(0, "no")).hex() == "94015500a26e6f"
    assert encode(Receipt(5, event_id(1, 2, 3), 2)).hex() == "95015305c40a0001000000020000000302"
