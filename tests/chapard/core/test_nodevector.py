"""Node vectors are sets of node indexes of a fixed length, and travel trimmed."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapard.core.nodevector import NodeVector

LENGTHS = st.integers(1, 600)


@st.composite
def vectors(draw: st.DrawFn, count: int = 1) -> tuple[int, list[set[int]]]:
    length = draw(LENGTHS)
    return length, [draw(st.sets(st.integers(0, length - 1))) for _ in range(count)]


@given(vectors(2))
def test_operators_are_those_of_sets_and_stay_node_vectors(case: tuple[int, list[set[int]]]) -> None:
    """`&`, `|`, `^` and `~` are intersection, union, difference and complement within the length."""
    length, (one, two) = case
    a, b = NodeVector.of(one, length), NodeVector.of(two, length)
    everyone = set(range(length))
    for result, expected in [(a & b, one & two), (a | b, one | two), (a ^ b, one ^ two), (~a, everyone - one)]:
        assert type(result) is NodeVector
        assert result.indexes() == sorted(expected)
        assert len(result) == length
        assert result.any() == bool(result) == bool(expected)


@given(vectors())
def test_wire_form_is_little_endian_trimmed_and_comes_back(case: tuple[int, list[set[int]]]) -> None:
    """Bit i is bit i % 8 of byte i // 8; trailing zero bytes do not travel; decoding gives the same vector."""
    length, (members,) = case
    data = NodeVector.of(members, length).to_wire()
    assert not data.endswith(b"\0")
    assert int.from_bytes(data, "little") == sum(1 << i for i in members)
    back = NodeVector.from_wire(data, length)
    assert back == NodeVector.of(members, length)
    assert hash(back) == hash(NodeVector.of(members, length))
    assert len(back) == length


@given(vectors(), st.data())
def test_with_and_without_change_one_member_of_a_copy(case: tuple[int, list[set[int]]], data: st.DataObject) -> None:
    """`with_` and `without` add and drop one node and leave the original as it was."""
    length, (members,) = case
    index = data.draw(st.integers(0, length - 1))
    vector = NodeVector.of(members, length)
    assert vector.with_(index).indexes() == sorted(members | {index})
    assert vector.without(index).indexes() == sorted(members - {index})
    assert vector.indexes() == sorted(members)
    assert [bool(vector[i]) for i in range(length)] == [i in members for i in range(length)]


def test_is_a_value() -> None:
    """Equal vectors are one key of a dict, survive pickling, and cannot be changed."""
    vector = NodeVector.of([1, 5], 16)
    assert {vector: "x"}[NodeVector.from_wire(b"\x22", 16)] == "x"
    assert pickle.loads(pickle.dumps(vector)) == vector  # noqa: S301 - our own bytes
    with pytest.raises(TypeError):
        vector[0] = 1
    with pytest.raises(TypeError):
        (vector | vector)[0] = 1
    assert repr(vector) == "NodeVector.of([1, 5], 16)"


def test_assignment_operators_leave_the_other_names_of_a_vector_alone() -> None:
    """`a |= b` gives `a` a new value; whoever else holds the old vector keeps it."""
    vector = old = NodeVector.of([1, 5], 16)
    vector |= NodeVector.of([7], 16)
    assert vector.indexes() == [1, 5, 7]
    vector &= NodeVector.of([1, 7], 16)
    assert vector.indexes() == [1, 7]
    vector ^= NodeVector.of([7, 9], 16)
    assert vector.indexes() == [1, 9]
    assert type(vector) is NodeVector
    assert old.indexes() == [1, 5]


def test_a_vector_made_of_other_bits_is_little_endian() -> None:
    """A vector made from the text of bits, or from a vector, has the bytes of the wire."""
    assert NodeVector("0100").to_wire() == b"\x02"
    assert NodeVector(NodeVector.of([9], 16)).to_wire() == b"\x00\x02"


@pytest.mark.parametrize("index", [-1, 16])
def test_indexes_outside_the_network_are_refused(index: int) -> None:
    """A node index must be below the length, and not negative."""
    with pytest.raises(IndexError):
        NodeVector.of([index], 16)
    with pytest.raises(IndexError):
        NodeVector.empty(16).with_(index)
    with pytest.raises(IndexError):
        NodeVector.empty(16).without(index)


def test_wire_bytes_naming_an_unknown_node_are_refused() -> None:
    """Bits beyond the length are an error; zero bits beyond it are not."""
    assert NodeVector.from_wire(b"\x01\x00\x00", 12) == NodeVector.of([0], 12)
    for data in (b"\x00\x10", b"\x00\x00\x01"):
        with pytest.raises(ValueError, match="beyond the 12"):
            NodeVector.from_wire(data, 12)


def test_vectors_of_different_networks_do_not_mix() -> None:
    """Operators on vectors of different lengths raise ValueError."""
    with pytest.raises(ValueError, match="length"):
        NodeVector.empty(8) | NodeVector.empty(16)
