"""The rules of events are the same for our caller and for a peer."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from chapar.errors import EventError, WireError, WireReason
from chapar.event import Event, event_id
from chapar.limits import INT64_MAX, MAX_ATTRIBUTES, MAX_DESTINATIONS, MAX_LIFETIME_MS, MAX_NODES, MAX_STRING, U64_MAX

GOOD = {
    "id": event_id(3, 1, 9),
    "chain": 0,
    "delivery": 0,
    "lifetime_ms": 0,
    "type": "t",
    "subject": "s",
    "group": "g",
    "attributes": {"a": 1},
    "to": (1, 2),
    "payload": b"p",
}
LONG = "x" * (MAX_STRING + 1)

# Each rule: what our caller would have to write, what a peer would have to send, and how the latter is counted.
RULES: list[tuple[dict[str, Any], dict[str, Any], WireReason]] = [
    ({"id": b"short"}, {"id": b"short"}, WireReason.RANGE),
    ({"id": b"\x10" + bytes(9)}, {"id": b"\x10" + bytes(9)}, WireReason.RANGE),
    ({"id": "0123456789"}, {"id": "0123456789"}, WireReason.TYPE),
    ({"chain": -1}, {"chain": -1}, WireReason.RANGE),
    ({"chain": 1}, {"chain": 1}, WireReason.RANGE),
    ({"chain": True, "persistent": True}, {"chain": True, "delivery": 2}, WireReason.TYPE),
    ({"chain": U64_MAX + 1, "persistent": True}, {"chain": U64_MAX + 1, "delivery": 2}, WireReason.RANGE),
    ({"lifetime": -1}, {"delivery": 1, "lifetime_ms": -1}, WireReason.RANGE),
    ({"lifetime": "60"}, {"delivery": 1, "lifetime_ms": "60"}, WireReason.TYPE),
    ({"lifetime": True}, {"delivery": 1, "lifetime_ms": True}, WireReason.TYPE),
    (
        {"lifetime": MAX_LIFETIME_MS / 1000 + 1},
        {"delivery": 1, "lifetime_ms": MAX_LIFETIME_MS + 1},
        WireReason.RANGE,
    ),
    ({"lifetime": 1, "persistent": True}, {"delivery": 2, "lifetime_ms": 1000}, WireReason.RANGE),
    ({"type": LONG}, {"type": LONG}, WireReason.OVERSIZED),
    ({"subject": LONG}, {"subject": LONG}, WireReason.OVERSIZED),
    ({"subject": 1}, {"subject": 1}, WireReason.TYPE),
    ({"group": b"g"}, {"group": b"g"}, WireReason.TYPE),
    ({"attributes": [1]}, {"attributes": [1]}, WireReason.TYPE),
    ({"attributes": {b"a": 1}}, {"attributes": {b"a": 1}}, WireReason.TYPE),
    ({"attributes": {"subject": 1}}, {"attributes": {"subject": 1}}, WireReason.RANGE),
    ({"attributes": {"a": None}}, {"attributes": {"a": None}}, WireReason.TYPE),
    ({"attributes": {"a": [1]}}, {"attributes": {"a": [1]}}, WireReason.TYPE),
    ({"attributes": {"a": INT64_MAX + 1}}, {"attributes": {"a": INT64_MAX + 1}}, WireReason.RANGE),
    ({"attributes": {"a": float("nan")}}, {"attributes": {"a": float("nan")}}, WireReason.RANGE),
    ({"attributes": {"a": float("inf")}}, {"attributes": {"a": float("inf")}}, WireReason.RANGE),
    ({"attributes": {"a": LONG}}, {"attributes": {"a": LONG}}, WireReason.OVERSIZED),
    (
        {"attributes": {f"a{n}": n for n in range(MAX_ATTRIBUTES + 1)}},
        {"attributes": {f"a{n}": n for n in range(MAX_ATTRIBUTES + 1)}},
        WireReason.OVERSIZED,
    ),
    ({"payload": "text"}, {"payload": "text"}, WireReason.TYPE),
    ({"to": 7}, {"to": 7}, WireReason.TYPE),
    ({"to": ["7"]}, {"to": ["7"]}, WireReason.TYPE),
    ({"to": [True]}, {"to": [True]}, WireReason.TYPE),
    ({"to": [-1]}, {"to": [-1]}, WireReason.RANGE),
    ({"to": [MAX_NODES]}, {"to": [MAX_NODES]}, WireReason.RANGE),
    ({"to": range(MAX_DESTINATIONS + 1)}, {"to": list(range(MAX_DESTINATIONS + 1))}, WireReason.MALFORMED),
]


def body(**fields: Any) -> bytes:
    packed: bytes = msgpack.packb(list({**GOOD, **fields}.values()))
    return packed


def test_the_good_body_is_good() -> None:
    """What the other tests spoil is right as it stands."""
    assert Event.decode_untrusted(body()).subject == "s"


@pytest.mark.parametrize(("written", "sent", "reason"), RULES)
def test_a_rule_holds_on_both_sides(written: dict[str, Any], sent: dict[str, Any], reason: WireReason) -> None:
    """Our caller gets one line that helps, a peer is counted under the reason."""
    with pytest.raises(EventError) as caller:
        Event(**written)
    assert "\n" not in str(caller.value)
    with pytest.raises(WireError) as peer:
        Event.decode_untrusted(body(**sent))
    assert peer.value.reason is reason


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"delivery": 3}, WireReason.RANGE),
        ({"delivery": True}, WireReason.TYPE),
        ({"delivery": 0.0}, WireReason.TYPE),
        ({"delivery": 1, "lifetime_ms": 0}, WireReason.RANGE),
        ({"lifetime_ms": 1}, WireReason.RANGE),
        ({"to": [2, 1]}, WireReason.RANGE),
        ({"to": [1, 1]}, WireReason.RANGE),
    ],
)
def test_what_our_caller_cannot_even_write_is_refused_from_a_peer(sent: dict[str, Any], reason: WireReason) -> None:
    """Deliveries that do not exist, contradictions between delivery and lifetime, unsorted destinations."""
    with pytest.raises(WireError) as peer:
        Event.decode_untrusted(body(**sent))
    assert peer.value.reason is reason


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ({"to": 7}, r"to=\[7\]"),
        ({"payload": "text"}, "encode the text"),
        ({"lifetime": 1, "persistent": True}, "not both"),
        ({"lifetime": float("inf")}, "persistent=True"),
        ({"lifetime": float("nan")}, "seconds"),
        ({"lifetime": 10**400}, "persistent=True"),
        ({"id": b"short"}, r"event_id\(\)"),
        ({"sender": -1}, "node index"),
        ({"sender": True}, "node index"),
        ({"sender": 4, "id": event_id(3, 1, 9)}, "origin 3"),
        ({"subject": "\ud800"}, "surrogate"),
        ({"attributes": {"a": "\ud800"}}, "surrogate"),
    ],
)
def test_our_caller_is_told_what_to_do(written: dict[str, Any], hint: str) -> None:
    """The message names the way out."""
    with pytest.raises(EventError, match=hint):
        Event(**written)
