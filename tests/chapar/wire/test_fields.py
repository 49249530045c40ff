"""The rules of single fields, each at its edges."""

from __future__ import annotations

import pytest

from chapar.errors import WireError, WireReason
from chapar.limits import MAX_EVENT_BYTES, MAX_NODES
from chapar.wire import fields

ORIGIN_5 = b"\x00\x05" + bytes(8)
ORIGIN_20 = b"\x00\x14" + bytes(8)
START = fields.BODY_START

GOOD: dict[str, tuple[fields.Rule, list[object]]] = {
    "uint": (fields.uint(300), [0, 1, 300]),
    "index": (fields.index, [0, 19]),
    "broker": (fields.broker, [0, 19, 65535]),
    "vector": (fields.vector, [b"", b"\x01", b"\xff\xff\x0f", b"\x00\x00\x08"]),
    "body": (fields.body, [START + ORIGIN_5, START + ORIGIN_5 + bytes(MAX_EVENT_BYTES - 13)]),
    "event_id": (fields.event_id, [ORIGIN_5, b"\x00\x13" + b"\xff" * 8]),
    "key": (fields.key, [ORIGIN_5, b"\x00\x00", b"\x00\x13"]),
    "blob": (fields.blob(3), [b"a", b"abc"]),
    "name": (fields.name(3), ["a", "abc", "éü€"]),
    "many": (fields.many(fields.uint(9), 2), [(), (1,), (1, 9)]),
    "row": (fields.row(fields.uint(9), fields.vector), [(1, b""), (9, b"\x01")]),
    "exactly": (fields.exactly(2, fields.uint(9)), [(0, 9)]),
}
BAD: dict[str, list[tuple[object, str]]] = {
    "uint": [(-1, "range"), (301, "range"), (True, "type"), (1.0, "type"), (None, "type"), (b"\x01", "type")],
    "index": [(20, "range"), (-1, "range"), (False, "type")],
    "broker": [(20, "range"), (-1, "range"), (65534, "range"), (True, "type"), (1.0, "type")],
    "vector": [
        *((b"\x00", "range"), (b"\x01\x00", "range"), (b"\x00\x00\x10", "range"), (b"\x00\x00\x00\x01", "range")),
        *(("", "type"), (None, "type"), (1, "type")),
    ],
    "body": [
        *((START + ORIGIN_20, "range"), (START + ORIGIN_5[:9], "truncated"), (b"", "truncated")),
        *((b"\x9b" + START[1:] + ORIGIN_5, "shape"), (b"\x9a\xc4\x09" + ORIGIN_5, "shape")),
        *((START + ORIGIN_5 + bytes(MAX_EVENT_BYTES - 12), "oversized"), ("text", "type")),
    ],
    "event_id": [(ORIGIN_20, "range"), (ORIGIN_5[:9], "range"), (ORIGIN_5 + b"\x00", "range"), (5, "type")],
    "key": [(b"\x00\x14", "range"), (ORIGIN_20, "range"), (b"\x00", "range"), (b"\x00\x01\x02", "range"), (1, "type")],
    "blob": [(b"", "range"), (b"abcd", "oversized"), ("abc", "type")],
    "name": [("", "range"), ("abcd", "oversized"), (b"abc", "type"), (1, "type")],
    "many": [((1, 2, 3), "oversized"), ((1, 10), "range"), ((b"",), "type"), ([1], "type"), (None, "type")],
    "row": [((1,), "shape"), ((1, b"", 1), "shape"), ((b"", 1), "type"), ((10, b""), "range"), (1, "type")],
    "exactly": [((1,), "shape"), ((1, 2, 3), "shape"), ((1, 10), "range"), (None, "type")],
}


@pytest.mark.parametrize("name", GOOD)
def test_a_rule_accepts_what_it_means(name: str) -> None:
    """In a network of 20 nodes, the values at the edges of each rule pass."""
    rule, values = GOOD[name]
    for value in values:
        fields.check_values((value,), (rule(20),))


@pytest.mark.parametrize(("name", "value", "reason"), [(name, *case) for name, cases in BAD.items() for case in cases])
def test_a_rule_refuses_the_rest(name: str, value: object, reason: str) -> None:
    """In a network of 20 nodes, the values just beyond each rule are refused, for the reason that holds."""
    rule, _ = GOOD[name]
    with pytest.raises(WireError) as refused:
        fields.check_values((value,), (rule(20),))
    assert refused.value.reason is WireReason(reason)


@pytest.mark.parametrize("nodes", [1, 7, 8, 9, 255, 256, 257, MAX_NODES])
def test_a_vector_ends_with_the_last_node(nodes: int) -> None:
    """The last node's bit is allowed and the next one is not, wherever in a byte the border lies."""
    check = fields.vector(nodes)
    last, beyond = (1 << nodes - 1), (1 << nodes)
    fields.check_values((last.to_bytes((nodes + 7) // 8, "little"),), (check,))
    with pytest.raises(WireError) as refused:
        fields.check_values((beyond.to_bytes(nodes // 8 + 1, "little"),), (check,))
    assert refused.value.reason is WireReason.RANGE


def test_filters_are_left_to_their_parser() -> None:
    """The rule for filters looks at nothing."""
    fields.check_values((object(),), (fields.anything(20),))
