"""What the kernels of the mesh do with packets, and what is written down of it."""

from __future__ import annotations

from random import Random

from chapar.wire import Ack, Publish, encode
from chapar_sim.clock import Clock
from chapar_sim.ip import Ip
from chapar_sim.links import Links
from chapar_sim.routing import Routing
from chapar_sim.terrain import RadioSpec, RouteSpec, TopologySpec
from chapar_sim.trace import AirRow, Trace
from chapar_sim.traffic import HEADERS, PORT, Share

ACK = encode(Ack(1, 1, 1))
EVENT = encode(Publish(1, b"\x9a\xc4\x0a" + bytes(10) + b"rest"))


class Net:
    """A chain of nodes whose routing knows all, and what arrived."""

    def __init__(self, spec: RadioSpec, nodes: int = 3) -> None:
        self.clock = Clock()
        self.trace = Trace()
        indexes = list(range(1, nodes + 1))
        self.links = Links(TopologySpec(kind="chain"), indexes)
        self.links.refresh()
        routing = Routing(RouteSpec(), self.clock, indexes, Random(1), lambda _: None)
        routing.start(self.links.pairs)
        self.arrived: list[tuple[int, bytes, int]] = []
        self.ip = Ip(spec, self.clock, self.links, routing, Random(1), self.trace, self._arrive)

    def _arrive(self, node: int, payload: bytes, source: int) -> None:
        self.arrived.append((node, payload, source))

    def run(self) -> None:
        self.clock.run_until(self.clock.now + 100)


def test_a_packet_goes_hop_by_hop_and_each_hop_is_written_down() -> None:
    """From one end of the chain to the other; with the size of the whole frame, whose it is, and who heard it."""
    net = Net(RadioSpec(delay=1.0, jitter=0.0))
    net.ip.send(1, 3, ACK)
    net.run()
    assert net.arrived == [(3, ACK, 1)]
    size = len(ACK) + HEADERS
    frames = (Share("ACK", "control", len(ACK)),)
    assert net.trace.air == [
        AirRow(0, 1, (2,), size, PORT, (), frames, 1),
        AirRow(1_000_000, 2, (3,), size, PORT, (), frames, 1),
    ]


def test_transmissions_are_counted_by_what_is_in_them() -> None:
    """An event is data, its headers with it, and a confirmation in the same datagram is control."""
    net = Net(RadioSpec(delay=0.0, jitter=0.0), 2)
    net.ip.send(1, 2, ACK + EVENT)
    traffic = net.trace.traffic
    assert dict(traffic.transmissions) == {"data": 1}
    assert dict(traffic.bytes) == {"control": len(ACK), "data": len(EVENT) + HEADERS}
    assert dict(traffic.frames) == {"ACK": 1, "PUBLISH": 1}


def test_what_finds_a_queue_full_is_written_down_as_lost() -> None:
    """It counts as an overflow, and as no transmission."""
    net = Net(RadioSpec(rate=8000, queue=1), 2)
    for _ in range(3):
        net.ip.send(1, 2, ACK)
    net.run()
    assert (net.trace.traffic.overflows, net.trace.traffic.transmissions["control"]) == (1, 2)
    assert [row.lost for row in net.trace.air] == [(2,), (), ()]
