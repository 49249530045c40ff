"""The radio medium."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from chapar.wire import Ack, Publish, encode
from chapar_sim.clock import Clock
from chapar_sim.links import Links
from chapar_sim.radio import Packet, Radio
from chapar_sim.terrain import LinkSpec, RadioSpec, TopologySpec
from chapar_sim.trace import Trace
from chapar_sim.traffic import HEADERS, Classifier

QUIET = RadioSpec(delay=0.0, jitter=0.0)
ACK = encode(Ack(1, 1, 1))


class Heard(NamedTuple):
    t: float
    node: int
    payload: bytes


class Air:
    """A radio over a graph, and what was heard."""

    def __init__(self, spec: RadioSpec, topology: TopologySpec, nodes: int = 3) -> None:
        self.clock = Clock()
        self.trace = Trace()
        self.links = Links(topology, list(range(1, nodes + 1)))
        self.links.refresh()
        self.heard: list[Heard] = []
        self.radio = Radio(spec, self.clock, self.links, Random(1), self.trace, self._hear)

    def _hear(self, node: int, packet: Packet) -> None:
        self.heard.append(Heard(self.clock.now, node, packet.payload))

    def send(self, sender: int, hop: int | None, payload: bytes = ACK) -> None:
        self.radio.transmit(sender, hop, Packet(sender, hop, payload, 64, Classifier().label(payload)))

    def run(self, seconds: float = 100.0) -> list[int]:
        """Who heard something, in order."""
        self.clock.run_until(self.clock.now + seconds)
        return [each.node for each in self.heard]


def star() -> TopologySpec:
    return TopologySpec(kind="star", centre=1)


def test_a_broadcast_is_one_transmission_heard_by_everyone_in_range() -> None:
    """The centre of a star reaches all leaves at once; a leaf reaches the centre only."""
    air = Air(QUIET, star(), 4)
    air.send(1, None)
    assert sorted(air.run()) == [2, 3, 4]
    air.send(3, None)
    assert air.run()[3:] == [1]
    assert [(row.sender, row.receivers, row.lost, row.bytes, row.port) for row in air.trace.air] == [
        (1, (2, 3, 4), (), len(ACK) + HEADERS, 7701),
        (3, (1,), (), len(ACK) + HEADERS, 7701),
    ]


def test_each_receiver_loses_a_broadcast_on_its_own() -> None:
    """With half the frames lost, some frames reach one receiver and not the other."""
    air = Air(RadioSpec(loss=0.5), star())
    for _ in range(200):
        air.send(1, None)
    air.run()
    outcomes = {row.receivers for row in air.trace.air}
    assert outcomes == {(), (2,), (3,), (2, 3)}
    assert all(sorted(row.receivers + row.lost) == [2, 3] for row in air.trace.air)
    assert 150 < len(air.heard) < 250


def test_unicast_out_of_range_is_transmitted_and_lost() -> None:
    """A stale route costs airtime and reaches nobody."""
    air = Air(QUIET, TopologySpec(kind="chain"))
    air.send(1, 3)
    assert air.run() == []
    assert [(row.receivers, row.lost) for row in air.trace.air] == [((), (3,))]


def test_the_link_layer_repeats_a_unicast_frame_that_was_not_heard() -> None:
    """Each repetition is a transmission of its own; broadcasts are not repeated."""
    air = Air(RadioSpec(mac_retries=3), TopologySpec(kind="chain"))
    air.send(1, 3)
    air.run()
    assert len(air.trace.air) == 4
    lossy = Air(RadioSpec(loss=0.5, mac_retries=16), TopologySpec(kind="chain"))
    for _ in range(100):
        lossy.send(1, 2)
    assert len(lossy.run()) == 100
    assert len(lossy.trace.air) > 150


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
    air = Air(RadioSpec(delay=1.0, jitter=0.5), TopologySpec(kind="chain"), 2)
    payloads = [encode(Ack(1, 1, number)) for number in range(50)]
    for payload in payloads:
        air.send(1, 2, payload)
    air.run()
    arrived = [each.payload for each in air.heard]
    assert sorted(arrived) == sorted(payloads)
    assert arrived != payloads
    assert all(1.0 <= each.t <= 1.5 for each in air.heard)


def test_the_rate_delays_and_a_full_queue_loses() -> None:
    """A sender puts one frame after another on the air; what finds its queue full is lost, and says so."""
    air = Air(RadioSpec(rate=8000, queue=2, delay=0.0, jitter=0.0), TopologySpec(kind="chain"), 2)
    seconds = (len(ACK) + HEADERS) / 1000
    for _ in range(5):
        air.send(1, 2)
    air.run()
    assert [round(each.t / seconds, 6) for each in air.heard] == [1, 2, 3]
    assert air.trace.traffic.overflows == 2
    assert [row.lost for row in air.trace.air if row.lost] == [(2,), (2,)]
    assert air.trace.traffic.transmissions["control"] == 3


def test_frames_can_be_heard_twice() -> None:
    """With duplication, every receiver gets every frame again, and it is still one transmission."""
    air = Air(RadioSpec(duplicate=1.0), TopologySpec(kind="chain"), 2)
    air.send(1, 2)
    assert air.run() == [2, 2]
    assert len(air.trace.air) == 1


def test_a_node_that_is_off_neither_sends_nor_hears() -> None:
    """Not even what was on its way to it."""
    air = Air(RadioSpec(delay=1.0, jitter=0.0), TopologySpec(kind="chain"), 2)
    air.send(1, 2)
    air.links.power(2, on=False)
    air.links.refresh()
    air.send(2, 1)
    assert air.run() == []
    assert len(air.trace.air) == 1


def test_transmissions_are_counted_by_what_is_in_them() -> None:
    """An event is data, its headers with it, and a confirmation in the same datagram is control."""
    event = encode(Publish(1, b"\x9a\xc4\x0a" + bytes(10) + b"rest"))
    air = Air(QUIET, TopologySpec(kind="chain"), 2)
    air.send(1, 2, ACK + event)
    traffic = air.trace.traffic
    assert dict(traffic.transmissions) == {"data": 1}
    assert dict(traffic.bytes) == {"control": len(ACK), "data": len(event) + HEADERS}
    assert dict(traffic.frames) == {"ACK": 1, "PUBLISH": 1}
