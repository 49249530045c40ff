"""The true network over time."""

from __future__ import annotations

from chapar_sim.spells import Disturbance, Spell, brokers_of
from tracebook import Tracebook


def spells(book: Tracebook, node: int) -> list[tuple[float, float, list[int]]]:
    return [(each.start, each.end, sorted(each.nodes)) for each in book.case().network.spells if node in each.nodes]


def ring(size: int) -> dict[int, frozenset[int]]:
    return {n: frozenset({(n + 1) % size, (n - 1) % size}) for n in range(size)}


def test_a_spell_lasts_while_its_component_is_the_same() -> None:
    """A link that changes elsewhere does not end a spell; one of its own does."""
    book = Tracebook(nodes=5, end=40).links(0, (1, 2), (4, 5)).links(10, (1, 2)).links(20, (1, 2), (2, 3))
    assert spells(book, 1) == [(0, 20, [1, 2]), (20, 40, [1, 2, 3])]
    assert spells(book, 4) == [(0, 10, [4, 5]), (10, 40, [4])]


def test_a_link_must_be_heard_both_ways() -> None:
    """An asymmetric link connects nobody."""
    book = Tracebook(nodes=3, end=10).links(0, (1, 2), one_way=((2, 3),))
    assert spells(book, 1) == [(0, 10, [1, 2])]


def test_what_befalls_a_node_ends_its_spell() -> None:
    """A restart that takes no time, and a corruption, start a new spell; a pause leaves one that does not run."""
    book = Tracebook(nodes=2, end=40).chain()
    book.daemon(10, 1, up=False).daemon(10, 1, up=True)
    book.disturbances = [Disturbance(20, 2, 20, forgets=True), Disturbance(30, 1, 35, forgets=False)]
    found = [(each.start, each.end, each.runs) for each in book.case().network.spells]
    assert found == [(0, 10, True), (10, 20, True), (20, 30, True), (30, 35, False), (35, 40, True)]


def test_a_network_with_a_node_without_chapard_is_not_whole() -> None:
    """A node without chapard, or one whose daemon is down, makes its whole network unsound."""
    book = Tracebook(nodes=4, end=10, clients=(1, 2, 3)).links(0, (1, 2), (3, 4))
    book.plain = frozenset({4})
    book.daemon(5, 1, up=False)
    sound = {(min(each.nodes), each.start): each.is_sound for each in book.case().network.spells}
    assert sound == {(1, 0): True, (1, 5): False, (3, 0): False}


def test_earliest_follows_links_in_time_and_direction() -> None:
    """A word travels over links that exist at the time, one way ones included, never back in time."""
    book = Tracebook(nodes=4, end=30).links(0, one_way=((2, 3),)).links(10, one_way=((1, 2),)).links(20, (2, 3))
    network = book.case().network
    assert network.earliest(1, 5.0) == {1: 5.0, 2: 10.0, 3: 20.0}
    assert network.earliest(3, 5.0) == {3: 5.0, 2: 20.0}


def test_latest_word_counts_carriers() -> None:
    """The last word of a node is the last moment from which a carrier could still bring it."""
    book = Tracebook(nodes=3, end=30).links(0, (1, 2)).links(10, (2, 3)).links(20)
    network = book.case().network
    assert network.latest_word(1, frozenset({3}), 30) == 10
    assert network.latest_word(2, frozenset({3}), 30) == 20
    assert network.latest_word(2, frozenset({3}), 15) == 15
    assert network.latest_word(3, frozenset({1}), 30) == -1


def test_roles_of_the_special_cases() -> None:
    """Alone; full mesh; one relay and its replica; and relays where there are several (report 3.3.4)."""
    assert brokers_of({7: frozenset()}, 2) == {7}
    mesh = {n: frozenset(range(1, 6)) - {n} for n in range(1, 6)}
    assert brokers_of(mesh, 2) == {1, 2}
    star = {3: frozenset({1, 2, 4}), **{n: frozenset({3}) for n in (1, 2, 4)}}
    assert brokers_of(star, 2) == {1, 3}
    chain = {n: frozenset({n - 1, n + 1} & set(range(1, 6))) for n in range(1, 6)}
    assert brokers_of(chain, 2) == {2, 3, 4}


def test_diameter_counts_hops() -> None:
    """The diameter of a ring of seven is three hops."""
    links = frozenset((min(a, b), max(a, b)) for a, near in ring(7).items() for b in near)
    assert Spell(0, 1, frozenset(range(7)), links, runs=True, whole=True).diameter == 3
