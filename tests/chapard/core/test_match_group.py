"""A group keeps its entries in the cheapest place, and loses none when they move."""

from __future__ import annotations

from chapar.filter import Filter
from chapard.core.match_bitmaps import Entry, asked_by
from chapard.core.match_group import FEW, Group
from chapard.core.nodevector import NodeVector

NODES = 16


def asking(where: str, node: int) -> Entry:
    return Entry(NodeVector.of([node], NODES), asked_by(Filter(where=where).constraints))


def test_a_few_entries_are_a_list() -> None:
    """Up to FEW entries that ask for something are listed, and need no index; they leave in any order."""
    group, entries = Group(), [asking(f"x > {number}", number % NODES) for number in range(FEW)]
    for each in entries:
        group.add(each)
    assert group.index is None
    assert group.entries() == entries
    group.remove(entries[3])
    assert group.entries() == entries[:3] + entries[4:]


def test_one_more_than_a_few_make_an_index() -> None:
    """All entries go into the index, which is there until the last of them has left."""
    group, entries = Group(), [asking(f"x > {number}", number % NODES) for number in range(FEW + 1)]
    for each in entries:
        group.add(each)
    assert group.few == []
    assert group.entries() is None
    for each in entries:
        assert group.index is not None
        group.remove(each)
    assert group.index is None
    assert group.entries() == []


def test_the_entry_that_asks_for_nothing_else_is_kept_apart() -> None:
    """It is no part of the list or of the index, and listed with the others while these are few."""
    group, exact, other = Group(), asking("", 1), asking("x > 1", 2)
    group.add(other)
    group.add(exact)
    assert group.exact is exact
    assert group.few == [other]
    assert group.entries() == [exact, other]
    group.remove(exact)
    assert group.entries() == [other]
