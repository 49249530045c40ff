"""Peers: who is in contact, what they said last, and when silence ends it."""

from chapar.wire import BeaconFlag
from chapard.core.peers import Peers
from fake_network import a_beacon

HOLD = 8.0


def peers() -> Peers:
    return Peers(64, HOLD)


def test_a_new_contact_was_not_known_before() -> None:
    """The first beacon of a node returns None: there was no such peer."""
    known = peers()
    assert known.beacon(a_beacon(3), 10.0) is None
    assert 3 in known
    assert len(known) == 1
    assert 4 not in known
    assert known.get(4) is None


def test_a_beacon_replaces_what_the_last_one_said() -> None:
    """A later beacon returns the peer as it was, and its contents are what counts from now on."""
    known = peers()
    known.beacon(a_beacon(3, neighbours=[1]), 10.0)
    before = known.beacon(a_beacon(3, neighbours=[2, 5], relays=[5]), 11.0)
    assert before is not None
    assert before.neighbours.indexes() == [1]
    after = known.get(3)
    assert after is not None
    assert (after.neighbours.indexes(), after.relays.indexes()) == ([2, 5], [5])


def test_contact_lasts_since_the_first_beacon() -> None:
    """`since` is the start of the contact, `heard` its last sign."""
    known = peers()
    known.beacon(a_beacon(3), 10.0)
    known.beacon(a_beacon(3), 12.0)
    peer = known.get(3)
    assert peer is not None
    assert (peer.since, peer.heard) == (10.0, 12.0)


def test_a_new_incarnation_is_a_new_contact() -> None:
    """A peer that restarted has forgotten us: it counts as not known before, and contact starts anew."""
    known = peers()
    known.beacon(a_beacon(3, incarnation=1), 10.0)
    assert known.beacon(a_beacon(3, incarnation=2), 11.0) is None
    peer = known.get(3)
    assert peer is not None
    assert peer.since == 11.0


def test_a_beacon_tells_role_power_and_choice() -> None:
    """Flags and chosen broker of the beacon are the peer's; no broker is None."""
    known = peers()
    known.beacon(a_beacon(1, is_broker=True, broker=1), 0.0)
    known.beacon(a_beacon(2, flags=BeaconFlag.LOW_POWER), 0.0)
    known.beacon(a_beacon(3, flags=BeaconFlag.CRITICAL_POWER, broker=1), 0.0)
    assert [peer.is_broker for peer in known] == [True, False, False]
    assert [peer.saves_power for peer in known] == [False, True, True]
    assert [peer.broker for peer in known] == [1, None, 1]


def test_peers_come_by_index() -> None:
    """Iteration is in the order of the indexes, whatever the order of arrival, since it reaches the wire."""
    known = peers()
    for index in (9, 2, 40, 1):
        known.beacon(a_beacon(index), 0.0)
    assert [peer.index for peer in known] == [1, 2, 9, 40]


def test_silence_for_the_hold_time_ends_a_contact() -> None:
    """At `hold` seconds after the last sign of life, and not before, a peer is forgotten."""
    known = peers()
    known.beacon(a_beacon(3), 10.0)
    known.beacon(a_beacon(4), 12.0)
    assert known.next_deadline() == 10.0 + HOLD
    assert known.expire(17.9) == []
    assert known.expire(18.0) == [3]
    assert 3 not in known
    assert known.next_deadline() == 12.0 + HOLD


def test_any_frame_keeps_a_contact_but_makes_none() -> None:
    """Hearing a known peer postpones its end; a stranger's frame does not make it a peer."""
    known = peers()
    known.beacon(a_beacon(3), 10.0)
    assert known.heard(3, 15.0)
    assert known.expire(18.0) == []
    assert known.expire(23.0) == [3]
    assert not known.heard(5, 15.0)
    assert 5 not in known


def test_forgetting_tells_whether_there_was_a_contact() -> None:
    """`forget` is True once; without peers there is no deadline."""
    known = peers()
    known.beacon(a_beacon(3), 10.0)
    assert known.forget(3)
    assert not known.forget(3)
    assert known.next_deadline() is None


def test_changes_count_who_comes_and_goes() -> None:
    """A new contact, a goodbye and silence; not what is heard of a peer in between."""
    known = peers()
    counts = []
    for step in (
        lambda: known.beacon(a_beacon(3), 10.0),
        lambda: known.beacon(a_beacon(3), 11.0),
        lambda: known.heard(3, 12.0),
        lambda: known.beacon(a_beacon(4), 13.0),
        lambda: known.forget(4),
        lambda: known.forget(4),
        lambda: known.expire(12.0 + HOLD),
    ):
        step()
        counts.append(known.changes)
    assert counts == [1, 1, 1, 2, 3, 3, 4]
