"""What the rest of the network says of itself."""

from __future__ import annotations

from chapar_olsr.agent.topology import Topology
from chapar_olsr.faults import Fault


def advertised(known: Topology) -> dict[int, set[int]]:
    return {originator: set(neighbours) for originator, neighbours in known.advertised()}


def tc(known: Topology, originator: int, ansn: int, *neighbours: int, until: float = 15.0) -> Fault | None:
    return known.tc_received(originator, ansn, dict.fromkeys(neighbours, 1.0), until)


def test_a_newer_set_replaces_an_older_one() -> None:
    """RFC 3626, 9.5, steps 3 and 4; numbers wrap around."""
    known = Topology()
    tc(known, 7, 65535, 1, 2)
    assert tc(known, 7, 0, 2, 3) is None
    assert advertised(known) == {7: {2, 3}}


def test_an_older_set_is_refused() -> None:
    """9.5, step 2: it came late, or somebody repeats it."""
    known = Topology()
    tc(known, 7, 5, 1)
    assert tc(known, 7, 4, 9) is Fault.BAD_SEQUENCE
    assert advertised(known) == {7: {1}}


def test_parts_of_one_set_add_up() -> None:
    """9.3: a set too large for one message comes in several with one number."""
    known = Topology()
    tc(known, 7, 5, 1, 2)
    tc(known, 7, 5, 3)
    assert advertised(known) == {7: {1, 2, 3}}


def test_an_empty_set_takes_everything_back() -> None:
    """9.3: a node that no one chooses any more says so."""
    known = Topology()
    tc(known, 7, 5, 1, 2)
    tc(known, 7, 6)
    assert advertised(known) == {7: set()}


def test_what_is_not_renewed_is_forgotten() -> None:
    """Sets, aliases and networks alike."""
    known = Topology()
    tc(known, 7, 5, 1, until=15.0)
    known.mid_received(7, [70], until=15.0)
    known.hna_received(7, [(0, 0)], until=20.0)
    assert known.deadline == 15.0
    known.is_changed = False
    known.expire(15.0)
    assert known.is_changed
    assert advertised(known) == {}
    assert known.main_of(70) == 70
    assert known.networks() == [((7, 0, 0), 20.0)]
    known.expire(20.0)
    assert known.networks() == []


def test_only_news_is_a_change() -> None:
    """A TC that says the same under a new number changes no route."""
    known = Topology()
    tc(known, 7, 5, 1)
    known.mid_received(7, [70], 15.0)
    known.is_changed = False
    tc(known, 7, 6, 1)
    known.mid_received(7, [70], 16.0)
    assert not known.is_changed
    tc(known, 7, 7, 2)
    assert known.is_changed


def test_an_alias_is_its_nodes_main_address() -> None:
    """5.4."""
    known = Topology()
    known.mid_received(7, [70, 71], 15.0)
    assert known.main_of(71) == 7
    assert known.main_of(9) == 9
    assert known.aliases() == {70: 7, 71: 7}


def test_tables_are_bounded() -> None:
    """What does not fit is refused and counted; what is known is still renewed."""
    known = Topology(max_edges=3)
    assert tc(known, 7, 5, 1, 2) is None
    assert tc(known, 8, 5, 1, 2) is Fault.FULL
    assert tc(known, 7, 6, 4, 5, 6) is None
    assert advertised(known) == {7: {4, 5, 6}}
    known.expire(15.0)
    assert tc(known, 8, 5, 1, 2) is None
