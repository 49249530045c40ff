"""The hot kinds are made without the table, and come out as the table says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.errors import WireError
from chapar.limits import HOP_LIMIT, MAX_EVENT_BYTES, U32_MAX, U64_MAX
from chapar.wire import VERSION, Frame, Kind, kind_of
from chapar.wire.fields import check_values
from chapar.wire.frames import SPECS
from chapar.wire.hot import hot_makers
from strategies.frames import frames_by_kind, uints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HOT = (Kind.LINK, Kind.EVENT, Kind.PUBLISH, Kind.BRIEF)
START = b"\x9a\xc4\x0a"
BODY = START + bytes(10)
SUSPECT: tuple[Any, ...] = (
    *(-1, 0, 1, 127, 128, HOP_LIMIT, HOP_LIMIT + 1, 255, 256, U32_MAX, U32_MAX + 1, U64_MAX, U64_MAX + 1),
    *(True, False, 1.0, None, "", (), b"", b"\x00", b"\x01", b"\x01\x00", bytes(31) + b"\x80", bytes(32) + b"\x01"),
    *(BODY, BODY[:-1], b"\x9b" + BODY[1:], START + b"\x00\xff" + bytes(8), START + b"\x01\x00" + bytes(8)),
    *(BODY + bytes(MAX_EVENT_BYTES - len(BODY)), BODY + bytes(MAX_EVENT_BYTES - len(BODY) + 1)),
)


GOOD: Mapping[Kind, tuple[Any, ...]] = {
    Kind.LINK: (7, 1, 2, 3, 4, 5),
    Kind.EVENT: (7, 1, 0, 9, 0, b"\x01", BODY),
    Kind.PUBLISH: (7, BODY, 0),
    Kind.BRIEF: (7, 300, 2, b"hi"),
}


class TableAskedError(Exception):
    """The maker did not accept the array."""


def ask_the_table(_array: Any) -> Frame:
    raise TableAskedError


def quickly(kind: Kind, array: Any, nodes: int, otherwise: Callable[[Any], Frame] = ask_the_table) -> Frame | None:
    try:
        return hot_makers(nodes, VERSION, otherwise)[kind](array)
    except (TableAskedError, ValueError, TypeError):
        return None


def by_the_table(kind: Kind, array: Any, nodes: int) -> bool:
    spec = SPECS[kind]
    if type(array) is not tuple or len(array) != 2 + len(spec.rules):
        return False
    if type(array[0]) is not int or array[0] != VERSION:
        return False
    try:
        check_values(array[2:], [rule(nodes) for rule in spec.rules])
    except WireError:
        return False
    return True


def test_the_hot_kinds_are_these() -> None:
    """Every hot kind is in the properties below."""
    assert set(hot_makers(256, VERSION, ask_the_table)) == set(HOT)


@given(st.sampled_from(HOT).flatmap(lambda kind: frames_by_kind(256, uints(255))[kind]))
def test_good_frames_are_made_without_the_table(frame: Frame) -> None:
    """In a network of the usual size no good frame takes the slow way, and each is its own class."""
    made = quickly(kind_of(frame), (VERSION, int(kind_of(frame)), *frame), 256)
    assert made == frame
    assert type(made) is type(frame)


@given(st.data(), st.sampled_from(HOT), st.sampled_from((256, 255, 9)))
def test_nothing_is_accepted_that_the_table_refuses(data: st.DataObject, kind: Kind, nodes: int) -> None:
    """With any fields exchanged for suspect ones, a frame is made only if the table would make it too."""
    frame = data.draw(frames_by_kind(nodes, uints(nodes - 1))[kind])
    array: list[Any] = [VERSION, int(kind), *frame]
    for place in data.draw(st.lists(st.sampled_from([0, *range(2, len(array))]), max_size=2)):
        array[place] = data.draw(st.sampled_from(SUSPECT))
    made = quickly(kind, tuple(array), nodes)
    if by_the_table(kind, tuple(array), nodes):
        assert nodes % 8 or made == tuple(array[2:])
    else:
        assert made is None


@pytest.mark.parametrize("kind", HOT)
def test_every_field_is_checked(kind: Kind) -> None:
    """Each suspect value in each place of a good frame is accepted exactly if the table accepts it."""
    good = GOOD[kind]
    array = (VERSION, int(kind), *good)
    assert quickly(kind, array, 256) == good
    for place in (0, *range(2, len(array))):
        for value in SUSPECT:
            changed = (*array[:place], value, *array[place + 1 :])
            assert (quickly(kind, changed, 256) is not None) is by_the_table(kind, changed, 256), (place, value)


@pytest.mark.parametrize("kind", HOT)
def test_what_is_no_array_of_the_kind_is_not_accepted(kind: Kind) -> None:
    """Byte strings, lists, and arrays of another length are not taken for frames."""
    length = 2 + len(SPECS[kind].rules)
    start = (VERSION, int(kind))
    for value in (bytes((*start, *range(length - 2))), [*start], start, (1,) * (length + 1)):
        assert quickly(kind, value, 256) is None


@pytest.mark.parametrize("kind", HOT)
def test_a_kind_that_is_not_an_integer_is_left_to_the_table(kind: Kind) -> None:
    """Python finds 10.0 where it looks for 10; the maker does not."""
    good = GOOD[kind]
    assert quickly(kind, (VERSION, float(kind), *good), 256) is None
