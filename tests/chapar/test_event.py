"""Events: immutable values, and bytes that a hostile peer cannot turn into anything else."""

from __future__ import annotations

import copy
import pickle
from itertools import accumulate
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.errors import EventError, WireError, WireReason
from chapar.event import Delivery, Event, EventId, event_id, later, peek_id, run_of, stamp_run
from chapar.limits import EVENT_ID_BYTES, MAX_EVENT_BYTES, STAMP_BYTES, U64_MAX
from strategies.values import event_ids, events

FULL = Event(
    subject="position",
    type="gps",
    group="rovers",
    attributes={"speed": 3, "lat": 52.5, "on": True, "unit": "é"},
    payload=b"\x00\xff",
    to=[9, 7],
    lifetime=60,
    id=event_id(3, 1, 9),
    chain=5,
)


@given(events())
def test_decoding_gives_the_event_back(event: Event) -> None:
    """A body stands for exactly the event it was made of, and encodes to the same bytes again."""
    body = event.encode()
    decoded = Event.decode_untrusted(body)
    assert decoded == event
    assert hash(decoded) == hash(event)
    assert decoded.encode() == body


def test_the_body_is_fixed() -> None:
    """An array of ten in the documented order, attributes by name: this is what other implementations must read."""
    assert FULL.encode().hex(" ", -4) == (
        "9ac40a00 03000000 01000000 090501cd ea60a367 7073a870 6f736974 696f6ea6 726f7665 727384a3 6c6174cb "
        "404a4000 00000000 a26f6ec3 a5737065 656403a4 756e6974 a2c3a992 0709c402 00ff"
    )


def test_fields_are_readable_by_name() -> None:
    """Every field of the constructor has a property, and `value` reads header elements and attributes alike."""
    assert (FULL.subject, FULL.type, FULL.group) == ("position", "gps", "rovers")
    assert (FULL.payload, FULL.chain) == (b"\0\xff", 5)
    assert (FULL.id, FULL.sender, FULL.to, FULL.lifetime_ms) == (event_id(3, 1, 9), 3, (7, 9), 60_000)
    assert dict(FULL.attributes) == {"lat": 52.5, "on": True, "speed": 3, "unit": "é"}
    names = ("subject", "type", "group", "sender", "speed", "on", "absent")
    assert [FULL.value(name) for name in names] == ["position", "gps", "rovers", 3, 3, True, None]
    assert [Event().value(name) for name in names] == [None] * len(names)


@pytest.mark.parametrize(
    ("memory", "delivery", "lifetime_ms"),
    [
        ({}, Delivery.REALTIME, 0),
        ({"lifetime": 0}, Delivery.REALTIME, 0),
        ({"lifetime": 1.5}, Delivery.LIFETIME, 1500),
        ({"lifetime": 0.07}, Delivery.LIFETIME, 70),
        ({"lifetime": 1e-9}, Delivery.LIFETIME, 1),
        ({"persistent": True}, Delivery.PERSISTENT, 0),
    ],
)
def test_lifetime_decides_the_delivery(memory: dict[str, Any], delivery: Delivery, lifetime_ms: int) -> None:
    """Real-time, lifetime or persistent; a lifetime never rounds down to none."""
    event = Event(**memory)
    assert (event.delivery, event.lifetime_ms) == (delivery, lifetime_ms)
    assert event.delivery.label == delivery.name.lower()


@given(events(stamped=False), event_ids)
def test_the_home_stamps_id_and_sender_and_nothing_else(event: Event, eid: Any) -> None:
    """An accepted event has its id, the id's origin as sender, and is otherwise the one published."""
    accepted = event.accepted(id=eid, chain=0)
    assert (accepted.id, accepted.sender) == (eid, eid[0] * 256 + eid[1])
    assert accepted[1:] == event[1:]
    assert peek_id(accepted.encode()) == eid


def test_a_chain_is_for_memorised_events() -> None:
    """Stamping a real-time event with a place in the chain is a mistake."""
    assert Event(persistent=True).accepted(id=event_id(1, 1, 1), chain=7).chain == 7
    with pytest.raises(EventError, match="real-time"):
        Event().accepted(id=event_id(1, 1, 1), chain=7)


def test_a_sender_without_id_can_be_matched_but_not_sent() -> None:
    """The sender travels as part of the id."""
    event = Event(sender=0)
    assert (event.sender, event.value("sender"), event.id) == (0, 0, None)
    with pytest.raises(EventError, match="accepted"):
        event.encode()


def test_equality_is_by_content_and_kind() -> None:
    """Order of attributes and destinations does not matter; True is not 1; a tuple is not an event."""
    assert Event(attributes={"a": 1, "b": 2}, to=[2, 1, 2]) == Event(attributes={"b": 2, "a": 1}, to=(1, 2))
    assert Event(attributes={"a": 1}) != Event(attributes={"a": True})
    assert not Event(attributes={"a": 0}) == Event(attributes={"a": False})  # noqa: SIM201 - both operators are meant
    assert Event(attributes={"a": 1}) == Event(attributes={"a": 1.0})
    assert FULL != tuple(FULL)  # noqa: SIM300 - both orders are meant
    assert tuple(FULL) != FULL
    assert len({FULL, Event.decode_untrusted(FULL.encode()), Event()}) == 2


def test_events_cannot_be_changed() -> None:
    """Neither a field, nor the attributes, nor the mapping they were made of reaches into an event."""
    given_ = {"a": 1}
    event = Event(attributes=given_)
    given_["a"] = 2
    assert event.value("a") == 1
    with pytest.raises(AttributeError):
        event.subject = "other"
    with pytest.raises(TypeError):
        event.attributes["a"] = 2  # type: ignore[index]  # that it cannot be done is the claim


@given(events())
def test_copies_are_equal(event: Event) -> None:
    """Events survive pickling and copying, so that simulations can be spread over processes."""
    assert pickle.loads(pickle.dumps(event)) == event  # noqa: S301 - our own bytes
    assert copy.deepcopy(event) == event


def test_repr_names_what_is_there() -> None:
    """A log line shows the fields that are set."""
    assert repr(Event(subject="s", sender=0, persistent=True)) == "Event(sender=0, delivery='persistent', subject='s')"
    assert repr(Event()) == "Event()"


def test_a_publishers_event_leaves_room_for_its_stamp() -> None:
    """The largest event a publisher can encode still fits after its home has stamped it, with any chain."""
    room = MAX_EVENT_BYTES - 100
    spare = MAX_EVENT_BYTES - STAMP_BYTES - len(Event(persistent=True, payload=bytes(room)).encode())
    largest = Event(persistent=True, payload=bytes(room + spare))
    assert Event.decode_untrusted(largest.encode()) == largest
    stamped = largest.accepted(id=event_id(4095, 2**32 - 1, 2**32 - 1), chain=U64_MAX)
    assert Event.decode_untrusted(stamped.encode()) == stamped
    over = Event(persistent=True, payload=bytes(room + spare + 1))
    with pytest.raises(EventError, match="too large"):
        over.encode()
    with pytest.raises(WireError) as refused:
        Event.decode_untrusted(msgpack.packb(tuple(over)))
    assert refused.value.reason is WireReason.OVERSIZED


def test_a_stamped_event_has_its_limit_too() -> None:
    """One byte more than MAX_EVENT_BYTES is refused on both sides."""
    stamped = Event(payload=bytes(MAX_EVENT_BYTES), id=event_id(1, 1, 1))
    with pytest.raises(EventError, match="too large"):
        stamped.encode()
    with pytest.raises(WireError) as refused:
        Event.decode_untrusted(msgpack.packb(tuple(stamped)))
    assert refused.value.reason is WireReason.OVERSIZED


# Heads and runs


@given(events())
def test_a_head_and_a_payload_are_a_body(event: Event) -> None:
    """The body is the head, counted one longer, and behind it the payload: what differs stands last."""
    head, body = event.head(), event.encode()
    assert head[:1] + body[1:] == head + msgpack.packb(event.payload)
    assert Event.decode_head_untrusted(head) == event.with_payload(b"")
    assert Event.decode_head_untrusted(head).with_payload(event.payload) == event


payloads = st.one_of(
    st.lists(st.binary(max_size=4), min_size=1, max_size=6),
    st.integers(0, 300).flatmap(lambda size: st.lists(st.binary(min_size=size, max_size=size), min_size=1, max_size=3)),
    st.lists(st.sampled_from([0, 1, 255, 256, 257, 40_000]).map(bytes), min_size=1, max_size=5),
)


@given(events(stamped=False).filter(lambda event: event.delivery is Delivery.REALTIME), event_ids, payloads)
def test_a_run_is_stamped_as_each_of_its_events_would_be(event: Event, first: EventId, payloads: list[bytes]) -> None:
    """The bytes are those of stamping and encoding one by one, whatever lengths the payloads have."""
    first = event_id(first[0] << 8 | first[1], 1, min(int.from_bytes(first[-4:], "big"), 2**32 - 1 - len(payloads)))
    one_by_one = [
        event.with_payload(payload).accepted(id=later(first, place)).encode() for place, payload in enumerate(payloads)
    ]
    assert stamp_run(event.head(), first, payloads) == one_by_one


def test_an_event_that_is_too_large_or_names_its_sender_has_no_head() -> None:
    """What could not be stamped and encoded is refused where it is published; the limit is exact."""
    bare = len(Event(subject="s").head())
    assert Event(subject="s", payload=bytes(MAX_EVENT_BYTES - STAMP_BYTES - bare)).head()
    with pytest.raises(EventError, match="too large"):
        Event(subject="s", payload=bytes(MAX_EVENT_BYTES - STAMP_BYTES - bare + 1)).head()
    with pytest.raises(EventError, match="sender"):
        Event(sender=3).head()
    with pytest.raises(EventError):
        Event().with_payload("text")  # type: ignore[arg-type]  # that it is refused is the claim


@pytest.mark.parametrize(
    "head",
    [
        b"",
        FULL.encode(),
        FULL.head() + b"\xc4\x00",
        FULL.head() + b"\xc4\x02",
        FULL.head() + b"\xc5\x00\x02",
        FULL.head()[:-1],
        b"\x98" + FULL.head()[1:],
    ],
    ids=["empty", "body", "ten", "swallows", "swallows more", "cut", "eight"],
)
def test_what_is_no_head_is_refused(head: bytes) -> None:
    """A head is an array of nine and ends where it ends, whatever is appended to read it."""
    with pytest.raises(WireError):
        Event.decode_head_untrusted(head)


# Foreign bytes


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_arbitrary_bytes_raise_wire_errors_only(junk: bytes) -> None:
    """Nothing a peer sends raises anything else, wherever it is read."""
    for read in (Event.decode_untrusted, Event.decode_head_untrusted, peek_id):
        try:
            read(junk)
        except WireError as error:
            assert error.reason in WireReason  # noqa: PT017 - an event may also be read by chance


@given(events(), st.data())
@settings(max_examples=300)
def test_damaged_bodies_raise_wire_errors_or_are_good_events(event: Event, data: st.DataObject) -> None:
    """A body with bytes changed, cut or inserted either stands for an event that encodes again, or for none."""
    body = bytearray(event.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(body)))
        body[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    try:
        decoded = Event.decode_untrusted(bytes(body))
    except WireError:
        return
    assert Event.decode_untrusted(decoded.encode()) == decoded


@given(
    st.recursive(
        st.none() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.binary(max_size=11) | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=10) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    )
)
def test_foreign_structures_raise_wire_errors_only(structure: object) -> None:
    """Any msgpack value in place of an event, or of one of its fields, is refused in an orderly way."""
    for sent in (structure, [structure] * 10, [event_id(1, 1, 1), 0, 0, 0, None, None, None, structure, [], b""]):
        try:
            Event.decode_untrusted(msgpack.packb(sent))
        except WireError as error:
            assert error.reason in WireReason  # noqa: PT017 - an event may also be read by chance


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", WireReason.MALFORMED),
        (FULL.encode()[:-1], WireReason.MALFORMED),
        (FULL.encode() + b"\0", WireReason.TRAILING),
        (b"\x9b" + FULL.encode()[1:] + b"\0", WireReason.SHAPE),
        (b"\x9a\xc4\x0a" + bytes(10) + b"\0\0\0\xc0\xa1\xff\xc0\x80\x90\xc4\0", WireReason.UTF8),
        (b"\xdd\xff\xff\xff\xff" * 1000, WireReason.MALFORMED),
        (b"\xdf\xff\xff\xff\xff" * 1000, WireReason.MALFORMED),
        (b"\xdc\x04\x00" * 20_000, WireReason.MALFORMED),
        (b"\xc1", WireReason.MALFORMED),
        (b"\xd6\xff" + bytes(4), WireReason.SHAPE),
        (b"\xc7\x0c\xff" + b"\xff" * 12, WireReason.MALFORMED),
    ],
    ids=["empty", "cut", "trailing", "eleven", "utf8", "arrays", "maps", "nested", "unused", "time", "bad-time"],
)
def test_bad_bodies_are_counted_under_their_reason(body: bytes, reason: WireReason) -> None:
    """Each way of being wrong has its own label, and a length bomb is refused before it costs memory."""
    with pytest.raises(WireError) as refused:
        Event.decode_untrusted(body)
    assert refused.value.reason is reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", WireReason.TRUNCATED),
        (FULL.encode()[: 2 + EVENT_ID_BYTES], WireReason.TRUNCATED),
        (Event(payload=bytes(20)).encode(), WireReason.SHAPE),
        (b"\x9a\xc4\x0a\x10" + bytes(20), WireReason.RANGE),
    ],
    ids=["empty", "cut", "unstamped", "origin"],
)
def test_peeking_finds_an_id_or_says_why_not(body: bytes, reason: WireReason) -> None:
    """A forwarding node reads the id of a stamped event at its fixed place, and of nothing else."""
    with pytest.raises(WireError) as refused:
        peek_id(body)
    assert refused.value.reason is reason


@given(st.integers(0, 2**32 - 40), st.lists(st.integers(1, 3), max_size=20))
def test_a_run_is_events_whose_ids_follow_each_other(first: int, steps: list[int]) -> None:
    """By the first and the last of them, as they are in order; of one event that is itself."""
    numbers = list(accumulate(steps, initial=first % (2**32 - 100)))
    event = Event(subject="s")
    bodies = [event.accepted(id=event_id(3, 5, number)).encode() for number in numbers]
    assert run_of(bodies) == (event_id(3, 5, numbers[0]) if set(steps) <= {1} else None)


def test_events_of_two_lives_of_a_node_are_no_run() -> None:
    """Though the numbers would follow."""
    event = Event(subject="s")
    bodies = [event.accepted(id=event_id(3, life, number)).encode() for life, number in ((5, 1), (6, 2))]
    assert run_of(bodies) is None
