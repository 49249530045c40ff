"""Checks of the fields of a frame: the vocabulary in which `frames.SPECS` is written.

A *rule* is a check that does not know yet how many nodes the network has; called with that number it gives the *check*.
A check is either a number, the largest unsigned integer allowed, which `check_values` compares without a call, or
a function that raises WireError. Types are compared exactly: msgpack makes True and 1.0 of bytes that are not an
integer, and Python takes both for 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from chapar.errors import WireError, WireReason
from chapar.limits import EVENT_ID_BYTES, MAX_EVENT_BYTES, MAX_NODES

Check: TypeAlias = int | Callable[[Any], None]
Rule: TypeAlias = Callable[[int], Check]

NO_BROKER: Final = 65535
"""BEACON's broker of a node that has chosen none."""
HOME_KEY_BYTES: Final = 2
"""A key of the FMT: the home's index, big endian."""
BODY_START: Final = b"\x9a\xc4\x0a"
"""The first bytes of every encoded event: an array of ten, the first of them a byte string of ten, the id."""
SHORTEST_BODY: Final = len(BODY_START) + EVENT_ID_BYTES

assert MAX_NODES < NO_BROKER, "no node has the index that means none"
assert BODY_START[-1] == EVENT_ID_BYTES, "an event's body starts with its id"


def check_values(values: Sequence[Any], checks: Sequence[Check]) -> None:
    """Raise WireError unless every value passes its check; there are as many of both."""
    for value, check in zip(values, checks, strict=True):
        if type(check) is not int:
            check(value)  # type: ignore[operator]
        elif type(value) is not int:
            raise WireError(WireReason.TYPE, "integer")
        elif not 0 <= value <= check:
            raise WireError(WireReason.RANGE, f"{value} is not within 0..{check}")


def uint(limit: int) -> Rule:
    """An integer from 0 to `limit`."""
    return lambda nodes: limit  # noqa: ARG005 -- a rule is asked for every size of network


def index(nodes: int) -> Check:
    """The index of a node."""
    return nodes - 1


def broker(nodes: int) -> Check:
    """The index of a node, or NO_BROKER."""

    def check(value: Any) -> None:
        if type(value) is not int:
            raise WireError(WireReason.TYPE, "broker index")
        if not (0 <= value < nodes or value == NO_BROKER):
            raise WireError(WireReason.RANGE, "broker index")

    return check


def vector(nodes: int) -> Check:
    """A node vector in its one form: no zero byte at the end, no bit of a node that cannot exist."""
    whole, rest = divmod(nodes, 8)

    def check(value: Any) -> None:
        if type(value) is not bytes:
            raise WireError(WireReason.TYPE, "node vector")
        if value:
            last = value[-1]
            if not last or (len(value) > whole and (len(value) > whole + 1 or last >> rest)):
                raise WireError(WireReason.RANGE, "node vector")

    return check


def body(nodes: int) -> Check:
    """An encoded event, as far as one who passes it on must know: id there, origin possible, size sane."""
    # Bytes are ordered like the big-endian numbers they spell: what starts like this has an origin of `nodes` or more.
    beyond = BODY_START + nodes.to_bytes(2, "big")

    def check(value: Any) -> None:
        if type(value) is not bytes:
            raise WireError(WireReason.TYPE, "event body")
        if len(value) > MAX_EVENT_BYTES:
            raise WireError(WireReason.OVERSIZED, "event body")
        if len(value) < SHORTEST_BODY:
            raise WireError(WireReason.TRUNCATED, "event body")
        if not value.startswith(BODY_START):
            raise WireError(WireReason.SHAPE, "event body does not begin with an id")
        if value >= beyond:
            raise WireError(WireReason.RANGE, "origin of event id")

    return check


def event_id(nodes: int) -> Check:
    """An event's id, whose origin is a possible node."""
    return _key(nodes, (EVENT_ID_BYTES,))


def key(nodes: int) -> Check:
    """A table's key: a home in two bytes (FMT) or an event's id (MET)."""
    return _key(nodes, (HOME_KEY_BYTES, EVENT_ID_BYTES))


def _key(nodes: int, sizes: tuple[int, ...]) -> Check:
    beyond = nodes.to_bytes(2, "big")

    def check(value: Any) -> None:
        if type(value) is not bytes:
            raise WireError(WireReason.TYPE, "key")
        if len(value) not in sizes or value >= beyond:
            raise WireError(WireReason.RANGE, "key")

    return check


def blob(limit: int, *, least: int = 1) -> Rule:
    """A byte string of `least` to `limit` bytes."""

    def check(value: Any) -> None:
        if type(value) is not bytes:
            raise WireError(WireReason.TYPE, "byte string")
        if len(value) < least:
            raise WireError(WireReason.RANGE, "short byte string")
        if len(value) > limit:
            raise WireError(WireReason.OVERSIZED, "byte string")

    return lambda nodes: check  # noqa: ARG005 -- as above


def name(limit: int) -> Rule:
    """A text of 1 to `limit` characters."""

    def check(value: Any) -> None:
        if type(value) is not str:
            raise WireError(WireReason.TYPE, "name")
        if not value:
            raise WireError(WireReason.RANGE, "empty name")
        if len(value) > limit:
            raise WireError(WireReason.OVERSIZED, "name")

    return lambda nodes: check  # noqa: ARG005 -- as above


def anything(nodes: int) -> Check:  # noqa: ARG001 -- as above
    """What a parser of its own will check: a filter."""
    return lambda value: None  # noqa: ARG005 -- see the docstring


def many(item: Rule, limit: int) -> Rule:
    """Up to `limit` times the same."""

    def rule(nodes: int) -> Check:
        check_item = item(nodes)

        def check(value: Any) -> None:
            if type(value) is not tuple:
                raise WireError(WireReason.TYPE, "list")
            if len(value) > limit:
                raise WireError(WireReason.OVERSIZED, "list")
            check_values(value, (check_item,) * len(value))

        return check

    return rule


def row(*rules: Rule) -> Rule:
    """One of each."""

    def rule(nodes: int) -> Check:
        checks = tuple(rule(nodes) for rule in rules)

        def check(value: Any) -> None:
            if type(value) is not tuple:
                raise WireError(WireReason.TYPE, "row")
            if len(value) != len(checks):
                raise WireError(WireReason.SHAPE, "row")
            check_values(value, checks)

        return check

    return rule


def exactly(count: int, item: Rule) -> Rule:
    """So many times the same."""
    return row(*(item,) * count)
