"""The radio medium."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import combinations
from random import Random
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from chapar_sim.clock import Clock
from chapar_sim.links import Links
from chapar_sim.radio import MAC_BACKOFF, Radio
from chapar_sim.terrain import LinkSpec, RadioSpec, TopologySpec

QUIET = RadioSpec(delay=0.0, jitter=0.0)
SIZE = 100
SECOND = RadioSpec(rate=SIZE * 8, delay=0.0, jitter=0.0)
"""A frame is a second on the air."""


class Heard(NamedTuple):
    t: float
    node: int
    frame: str


class Sent(NamedTuple):
    t: float
    sender: int
    frame: str
    heard: tuple[int, ...]
    missed: tuple[int, ...]


class Air:
    """A radio over a graph, and what became of the frames."""

    def __init__(self, spec: RadioSpec, topology: TopologySpec, nodes: int = 3) -> None:
        self.clock = Clock()
        self.links = Links(topology, list(range(1, nodes + 1)))
        self.links.refresh()
        self.arrivals: list[Heard] = []
        self.sent: list[Sent] = []
        self.overflows: list[Sent] = []
        self.radio: Radio[str] = Radio(spec, self.clock, self.links, Random(1), self)

    def heard(self, node: int, frame: str) -> None:
        self.arrivals.append(Heard(self.clock.now, node, frame))

    def transmitted(self, sender: int, frame: str, heard: tuple[int, ...], missed: tuple[int, ...]) -> None:
        self.sent.append(Sent(self.clock.now, sender, frame, heard, missed))

    def overflowed(self, sender: int, frame: str, missed: tuple[int, ...]) -> None:
        self.overflows.append(Sent(self.clock.now, sender, frame, (), missed))

    def send(self, sender: int, hop: int | None, frame: str = "", size: int = SIZE) -> None:
        self.radio.transmit(sender, hop, frame, size)

    def run(self, seconds: float = 100.0) -> list[int]:
        """Who heard something, in order."""
        self.clock.run_until(self.clock.now + seconds)
        return [each.node for each in self.arrivals]


def star() -> TopologySpec:
    return TopologySpec(kind="star", centre=1)


def chain() -> TopologySpec:
    return TopologySpec(kind="chain")


def test_a_broadcast_is_one_transmission_heard_by_everyone_in_range() -> None:
    """The centre of a star reaches all leaves at once; a leaf reaches the centre only."""
    air = Air(QUIET, star(), 4)
    air.send(1, None, "a")
    assert sorted(air.run()) == [2, 3, 4]
    air.send(3, None, "b")
    assert air.run()[3:] == [1]
    assert air.sent == [Sent(0, 1, "a", (2, 3, 4), ()), Sent(100, 3, "b", (1,), ())]


def test_each_receiver_loses_a_broadcast_on_its_own() -> None:
    """With half the frames lost, some frames reach one receiver and not the other."""
    air = Air(RadioSpec(loss=0.5), star())
    for _ in range(200):
        air.send(1, None)
    air.run()
    outcomes = {each.heard for each in air.sent}
    assert outcomes == {(), (2,), (3,), (2, 3)}
    assert all(sorted(each.heard + each.missed) == [2, 3] for each in air.sent)
    assert 150 < len(air.arrivals) < 250


def test_unicast_out_of_range_is_transmitted_and_lost() -> None:
    """A stale route costs airtime and reaches nobody."""
    air = Air(QUIET, chain())
    air.send(1, 3)
    assert air.run() == []
    assert [(each.heard, each.missed) for each in air.sent] == [((), (3,))]


def test_the_link_layer_repeats_a_unicast_frame_that_was_not_heard() -> None:
    """Each repetition is a transmission of its own; broadcasts are not repeated."""
    air = Air(RadioSpec(mac_retries=3), chain())
    air.send(1, 3)
    air.run()
    assert len(air.sent) == 4
    lossy = Air(RadioSpec(loss=0.5, mac_retries=16), chain())
    for _ in range(100):
        lossy.send(1, 2)
    assert len(lossy.run()) == 100
    assert len(lossy.sent) > 150


def test_a_link_can_differ_from_the_others() -> None:
    """One direction of one link loses everything, the rest nothing."""
    air = Air(RadioSpec(links=(LinkSpec(1, 2, 1.0, 0.0, 0.0),)), star())
    air.send(1, None)
    air.send(2, 1)
    assert sorted(air.run()) == [1, 3]


def test_one_way_links_carry_one_way() -> None:
    """A directed edge is heard at its end only."""
    air = Air(QUIET, TopologySpec(kind="edges", edges=((1, 2),), one_way=((1, 3),)))
    air.send(1, None)
    air.send(3, None)
    assert sorted(air.run()) == [2, 3]


def test_delay_and_jitter_let_frames_overtake_each_other() -> None:
    """Everything arrives within the delay and its jitter, not in the order of sending."""
    air = Air(RadioSpec(delay=1.0, jitter=0.5), chain(), 2)
    frames = [f"{number:02d}" for number in range(50)]
    for frame in frames:
        air.send(1, 2, frame)
    air.run()
    arrived = [each.frame for each in air.arrivals]
    assert sorted(arrived) == frames
    assert arrived != frames
    assert all(1.0 <= each.t <= 1.5 for each in air.arrivals)


def test_the_rate_delays_and_a_full_queue_loses() -> None:
    """A sender puts one frame after another on the air; what finds its queue full is lost, and says so."""
    air = Air(replace(SECOND, queue=2), chain(), 2)
    for _ in range(5):
        air.send(1, 2)
    air.run()
    assert [each.t for each in air.arrivals] == [1, 2, 3]
    assert [(each.t, each.missed) for each in air.overflows] == [(0, (2,)), (0, (2,))]
    assert len(air.sent) == 3


def test_frames_can_be_heard_twice() -> None:
    """With duplication, every receiver gets every frame again, and it is still one transmission."""
    air = Air(RadioSpec(duplicate=1.0), chain(), 2)
    air.send(1, 2)
    assert air.run() == [2, 2]
    assert len(air.sent) == 1


def test_a_node_that_is_off_neither_sends_nor_hears() -> None:
    """Not even what was on its way to it."""
    air = Air(RadioSpec(delay=1.0, jitter=0.0), chain(), 2)
    air.send(1, 2)
    air.links.power(2, on=False)
    air.links.refresh()
    air.send(2, 1)
    assert air.run() == []
    assert len(air.sent) == 1


def test_who_hears_another_send_waits_for_it() -> None:
    """Neighbours take turns, whoever has waited longest first; nobody sends while a node that it hears does."""
    air = Air(SECOND, star())
    for frame in ("a", "b", "c"):
        for node in (1, 2, 3):
            air.send(node, None, f"{node}{frame}")
    air.run()
    for each in air.sent:
        others = [t for t, sender, *_ in air.sent if sender == 1 or each.sender == 1]
        assert all(t == each.t or abs(t - each.t) >= 1 for t in others)
    assert [each.frame for each in air.sent if each.sender == 1] == ["1a", "1b", "1c"]
    assert [(each.t, each.frame) for each in air.sent[:5]] == [(1, "1a"), (2, "2a"), (2, "3a"), (3, "1b"), (4, "2b")]


@given(st.lists(st.tuples(st.integers(1, 4), st.floats(0, 3)), max_size=20), st.integers(1, 3))
def test_nobody_talks_over_a_neighbour_and_no_frame_is_forgotten(plan: list[tuple[int, float]], queue: int) -> None:
    """Whenever nodes of a chain want to send; each frame is on the air once, or its sender's queue was full."""
    air = Air(replace(SECOND, queue=queue), chain(), 4)
    for node, time in plan:
        air.clock.at(time, partial(air.send, node, None))
    air.run()
    for a, b in combinations(air.sent, 2):
        if abs(a.sender - b.sender) <= 1:
            assert abs(a.t - b.t) > 1 - 1e-9
    assert Counter(each.sender for each in (*air.sent, *air.overflows)) == Counter(node for node, _ in plan)


def test_a_chatterer_leaves_others_their_turn() -> None:
    """A queue that is always full does not keep the air from a neighbour with one frame."""
    air = Air(SECOND, chain(), 2)
    for _ in range(10):
        air.send(1, 2)
    air.clock.run_until(3.5)
    air.send(2, 1, "one")
    air.run()
    assert [each.t for each in air.sent if each.frame == "one"] == [5]


def test_nodes_that_do_not_hear_each_other_send_at_once() -> None:
    """At the ends of a chain; the middle, which hears both, waits for both."""
    air = Air(SECOND, chain())
    air.send(1, 2)
    air.clock.run_until(0.5)
    air.send(3, 2)
    air.send(2, None, "middle")
    air.run()
    assert [(each.t, each.sender) for each in air.sent] == [(1, 1), (1.5, 3), (2.5, 2)]


def test_the_middle_waits_for_the_longer_of_two_frames() -> None:
    """Though the shorter began later."""
    air = Air(SECOND, chain())
    air.send(1, 2, size=3 * SIZE)
    air.clock.run_until(0.5)
    air.send(3, 2)
    air.send(2, None, "middle")
    air.run()
    assert [(each.t, each.sender) for each in air.sent] == [(1.5, 3), (3, 1), (4, 2)]


def test_the_air_is_taken_one_way_where_a_link_is_one_way() -> None:
    """Who cannot hear the sender does not wait for it."""
    air = Air(SECOND, TopologySpec(kind="edges", edges=(), one_way=((1, 2),)), 2)
    air.send(2, None)
    air.send(1, None)
    air.run()
    assert [each.t for each in air.sent] == [1, 1]
    air.send(1, None)
    air.send(2, None)
    air.run()
    assert [each.t for each in air.sent[2:]] == [101, 102]


def test_frames_wait_in_the_queue_while_somebody_else_sends() -> None:
    """One more than the queue takes is lost; its sender has not sent anything yet."""
    air = Air(replace(SECOND, queue=2), chain(), 2)
    air.send(1, 2)
    for frame in ("a", "b", "c"):
        air.send(2, 1, frame)
    air.run()
    assert [(each.frame, each.missed) for each in air.overflows] == [("c", (1,))]
    assert [each.frame for each in air.sent if each.sender == 2] == ["a", "b"]


def test_a_repeated_frame_goes_before_what_waits_and_leaves_the_air_meanwhile() -> None:
    """Frames of one sender keep their order; the back-off is others' chance."""
    air = Air(replace(SECOND, mac_retries=1), chain())
    air.send(1, 3, "lost")
    air.send(1, 2, "next")
    air.send(2, 1, "other")
    air.run()
    assert [each.frame for each in air.sent] == ["lost", "other", "lost", "next"]
    air.send(1, 3, "lost")
    air.run()
    assert [each.t for each in air.sent[4:]] == [101, 102 + MAC_BACKOFF]


def test_what_waits_at_a_node_that_is_switched_off_is_gone() -> None:
    """Switched on again, it starts with what it is given then."""
    air = Air(SECOND, chain(), 2)
    for _ in range(3):
        air.send(1, 2, "before")
    air.links.power(1, on=False)
    air.links.refresh()
    air.run(1.5)
    air.links.power(1, on=True)
    air.links.refresh()
    air.send(1, 2, "after")
    air.run()
    assert [(each.t, each.frame) for each in air.sent] == [(2.5, "after")]
