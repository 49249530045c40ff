"""The duplicate set."""

from __future__ import annotations

from chapar_olsr.agent.config import DUPLICATE_HOLD
from chapar_olsr.agent.duplicates import Duplicates


def test_a_message_is_read_once_for_the_hold_time() -> None:
    """RFC 3626, 3.4; after it the same number may be another message."""
    seen = Duplicates()
    assert not seen.is_read(7, 1)
    seen.note(7, 1, interface=1, relayed=False, now=0.0)
    assert seen.is_read(7, 1)
    assert not seen.is_read(8, 1)
    assert not seen.is_read(7, 2)
    assert seen.deadline == DUPLICATE_HOLD
    seen.expire(DUPLICATE_HOLD)
    assert not seen.is_read(7, 1)


def test_a_message_is_relayed_once() -> None:
    """3.4.1, step 2: what was relayed is not relayed again, whichever interface it comes in on."""
    seen = Duplicates()
    seen.note(7, 1, interface=1, relayed=True, now=0.0)
    assert not seen.may_relay(7, 1, interface=1)
    assert not seen.may_relay(7, 1, interface=2)


def test_a_message_that_was_not_relayed_gets_a_chance_on_each_other_interface() -> None:
    """It may come from a neighbour that has not chosen us on one side, and from one that has on the other."""
    seen = Duplicates()
    seen.note(7, 1, interface=1, relayed=False, now=0.0)
    assert not seen.may_relay(7, 1, interface=1)
    assert seen.may_relay(7, 1, interface=2)
    seen.note(7, 1, interface=2, relayed=True, now=0.0)
    seen.note(7, 1, interface=3, relayed=False, now=0.0)
    assert not seen.may_relay(7, 1, interface=4)


def test_a_flood_of_made_up_messages_costs_the_oldest() -> None:
    """The set never grows beyond its bound, and the newest is always in it."""
    seen = Duplicates(limit=3)
    for number in range(10):
        seen.note(7, number, interface=1, relayed=True, now=float(number))
        assert seen.is_read(7, number)
        assert len(seen) <= 3
    assert not seen.is_read(7, 6)
