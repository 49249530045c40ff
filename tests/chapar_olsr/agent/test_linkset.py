"""Link sensing and hysteresis."""

from __future__ import annotations

from math import inf

import pytest

from chapar_olsr.agent.config import AgentConfig
from chapar_olsr.agent.linkset import MAX_LINKS, Heard, Link, LinkSet
from chapar_olsr.agent.messages import LinkType

HERE, THERE, NODE = 1, 2, 20
HOLD = 6.0


def links(*, hysteresis: bool = False, link_quality: bool = False) -> LinkSet:
    return LinkSet(AgentConfig(hysteresis=hysteresis, link_quality=link_quality))


def hello(known: LinkSet, now: float, says: LinkType | None = LinkType.SYMMETRIC, packet: int = 0) -> Link:
    """A HELLO with the usual times has come."""
    known.packet_received(HERE, THERE, packet, now)
    known.hello_received(
        HERE, THERE, NODE, says=says, validity=HOLD, interval=2.0, packet=packet, now=now
    )
    link = known.get(HERE, THERE)
    assert link is not None
    return link


def test_a_link_is_asymmetric_until_the_other_end_hears_us() -> None:
    """RFC 3626, 7.1.1."""
    known = links()
    assert hello(known, 0.0, says=None).link_type(0.0) is LinkType.ASYMMETRIC
    link = hello(known, 2.0, says=LinkType.ASYMMETRIC, packet=1)
    assert link.is_symmetric(2.0)
    assert link.link_type(2.0) is LinkType.SYMMETRIC


def test_a_link_that_the_other_end_calls_lost_is_not_symmetric() -> None:
    """7.1.1, step 2.2; it is still heard."""
    known = links()
    hello(known, 0.0)
    link = hello(known, 1.0, says=LinkType.LOST, packet=1)
    assert not link.is_symmetric(1.0)
    assert link.link_type(1.0) is LinkType.ASYMMETRIC


def test_silence_ends_a_link_by_the_validity_of_the_last_hello() -> None:
    """It is told as lost for the hold time, then forgotten."""
    known = links()
    link = hello(known, 0.0)
    assert link.is_symmetric(HOLD - 0.01)
    assert not link.is_symmetric(HOLD)
    assert link.link_type(HOLD) is LinkType.LOST
    assert known.tick(2 * HOLD - 0.01) == []
    assert known.tick(2 * HOLD) == [link]
    assert len(known) == 0


def test_the_deadline_is_never_after_a_change() -> None:
    """Whoever ticks at each deadline sees each change when it happens."""
    known = links(hysteresis=True)
    assert known.deadline(0.0) == inf
    for number in range(4):
        hello(known, 2.0 * number, packet=number)
    now = 6.0
    seen = []
    while known and now < 100:
        now = known.deadline(now)
        known.tick(now)
        seen.append(now)
    assert not known
    assert seen[0] == 9.0, "the first HELLO that is overdue"
    assert 6.0 + HOLD in seen
    assert seen[-1] == 6.0 + 2 * HOLD


def test_a_new_link_must_prove_itself() -> None:
    """RFC 3626, 14: it counts after three packets, and nothing is said of it before."""
    known = links(hysteresis=True)
    for number, quality in enumerate((0.5, 0.75)):
        link = hello(known, 2.0 * number, packet=number)
        assert link.quality == pytest.approx(quality)
        assert not link.is_symmetric(2.0 * number)
        assert link.link_type(2.0 * number) is None
    assert hello(known, 4.0, packet=2).is_symmetric(4.0)


def test_missing_packets_make_a_link_lost_and_packets_bring_it_back() -> None:
    """A gap of two in the packet numbers takes quality below the lower threshold."""
    known = links(hysteresis=True)
    for number in range(5):
        link = hello(known, 2.0 * number, packet=number)
    assert link.is_symmetric(8.0)
    known.packet_received(HERE, THERE, 8, 8.5)  # 5, 6 and 7 are missing
    assert link.quality < 0.6
    assert not link.is_symmetric(8.5)
    assert link.link_type(8.5) is LinkType.LOST
    for number in range(9, 12):
        hello(known, 9.0, packet=number)
    assert link.is_symmetric(9.0)


def test_one_missing_packet_does_not_change_a_link() -> None:
    """Between the thresholds everything stays as it was."""
    known = links(hysteresis=True)
    for number in range(5):
        link = hello(known, 2.0 * number, packet=number)
    known.packet_received(HERE, THERE, 6, 8.5)
    assert link.is_symmetric(8.5)


def test_a_packet_heard_twice_counts_once() -> None:
    """The medium may repeat it."""
    known = links(hysteresis=True)
    link = hello(known, 0.0, packet=0)
    for _ in range(10):
        known.packet_received(HERE, THERE, 0, 0.1)
    assert link.quality == 0.5


def test_overdue_hellos_count_as_missing() -> None:
    """14.3: a neighbour that falls silent shows no gap in its numbers."""
    known = links(hysteresis=True)
    for number in range(5):
        link = hello(known, 2.0 * number, packet=number)
    known.tick(10.9)
    assert link.is_symmetric(10.9)
    known.tick(13.0)
    assert not link.is_symmetric(13.0), "two are overdue"


def test_a_node_that_restarts_with_any_packet_number_is_soon_back() -> None:
    """A jump counts as a bounded number of missing packets."""
    known = links(hysteresis=True)
    for number in range(5):
        link = hello(known, 2.0 * number, packet=number)
    for step in range(4):
        hello(known, 10.0, packet=30_000 + step)
    assert link.is_symmetric(10.0)


def test_with_link_quality_a_link_counts_at_once_and_its_quality_follows_losses() -> None:
    """Half of the packets missing: about half the quality."""
    known = links(link_quality=True)
    link = hello(known, 0.0)
    assert link.is_symmetric(0.0)
    for number in range(2, 200, 2):
        known.packet_received(HERE, THERE, number, 0.1)
    assert 0.4 < link.quality < 0.6
    assert link.is_symmetric(0.1)


def test_links_are_bounded() -> None:
    """One more is refused, and known ones are still heard."""
    known = links()
    for remote in range(100, 100 + MAX_LINKS):
        heard = known.hello_received(
            HERE, remote, remote, says=None, validity=HOLD, interval=2.0, packet=0, now=0.0
        )
        assert heard is Heard.NEW
    again = {"says": None, "validity": HOLD, "interval": 2.0, "packet": 1, "now": 1.0}
    assert known.hello_received(HERE, 99, 99, **again) is Heard.FULL  # type: ignore[arg-type]  # each of its own type
    assert known.hello_received(HERE, 100, 100, **again) is Heard.KNOWN  # type: ignore[arg-type]  # each of its own type
