"""Power: what a node gives up as its battery runs down (report 2.2.4)."""

from __future__ import annotations

import pytest

from chapar import Event
from chapar.wire import Beacon, BeaconFlag
from chapard.core.effects import Reason
from chapard.core.power import FLAG, SHRINK, STRETCH, Power, power_at
from chapard.core.roles import Why
from fake_network import QUICK, FakeNetwork, mesh, quick, star

LEVELS = {1.0: Power.FULL, 0.3: Power.FULL, 0.29: Power.LOW, 0.1: Power.LOW, 0.09: Power.CRITICAL, 0: Power.CRITICAL}


@pytest.mark.parametrize(("level", "power"), LEVELS.items())
def test_the_level_decides_the_policy(level: float, power: Power) -> None:
    """Below power_low a node saves power, below power_critical all it can; at a threshold it does not yet."""
    assert power_at(level, QUICK) is power


def test_every_policy_has_its_row() -> None:
    """Each level says how far intervals grow, how far the table shrinks, and what the beacon says."""
    assert set(STRETCH) == set(SHRINK) == set(FLAG) == set(Power)
    assert [STRETCH[power] for power in Power] == [1.0, 1.5, 2.0]
    assert [SHRINK[power] for power in Power] == [1, 2, 4]


def test_intervals_stay_within_contact() -> None:
    """However weak, a node beacons often enough not to count as gone."""
    assert all(stretch <= QUICK.contact_periods for stretch in STRETCH.values())


def weaken(network: FakeNetwork, node: int, level: float) -> None:
    network.nodes[node].battery_changed(level, network.now)
    network.drain(node)


def test_a_weak_node_leaves_the_service_to_others_and_says_so() -> None:
    """In a mesh, a node with a low battery is replaced as broker; its beacon tells; charged, it serves again."""
    network = FakeNetwork(mesh(4))
    network.run(10)
    assert network.brokers == {0, 1}
    weaken(network, 0, 0.2)
    network.run(10)
    assert network.brokers == {1, 2}
    last = [frame for datagram, frame in network.frames(Beacon) if datagram.sender == 0][-1]
    assert last.flags & BeaconFlag.LOW_POWER
    weaken(network, 0, 0.05)
    network.run(10)
    last = [frame for datagram, frame in network.frames(Beacon) if datagram.sender == 0][-1]
    assert last.flags & BeaconFlag.CRITICAL_POWER
    weaken(network, 0, 1.0)
    network.run(10)
    assert network.brokers == {0, 1}


def test_a_weak_relay_goes_on_as_broker() -> None:
    """Without its relay the broker network would fall apart."""
    network = FakeNetwork(star(5))
    network.run(10)
    weaken(network, 0, 0.05)
    network.run(10)
    assert network.nodes[0].why is Why.MPR


def test_a_weak_node_beacons_less_often() -> None:
    """In a quiet network the beacons of a critical node become about half as many."""

    def beacons(level: float) -> int:
        network = FakeNetwork(mesh(3))
        weaken(network, 2, level)
        network.run(60)
        since = network.now
        network.run(400)
        return sum(datagram.sender == 2 for datagram, _ in network.frames(Beacon, since))

    assert 0.4 < beacons(0.05) / beacons(1.0) < 0.6


def test_a_weak_node_keeps_fewer_memorised_events() -> None:
    """The table shrinks with the battery; what must go is recorded, and room comes back with the charge."""
    network = FakeNetwork(nodes=[0], config=quick(met_events=8))
    client = network.client("c", at=0)

    def publish(count: int) -> None:
        for _ in range(count):
            client.publish(Event(subject="x", lifetime=600))

    publish(8)
    assert len(network.nodes[0].met) == 8
    weaken(network, 0, 0.2)
    publish(1)
    assert len(network.nodes[0].met) == 4
    weaken(network, 0, 0.05)
    publish(1)
    assert len(network.nodes[0].met) == 2
    assert network.drops[0, Reason.TABLE_FULL] == 8
    weaken(network, 0, 1.0)
    publish(4)
    assert len(network.nodes[0].met) == 6


def test_an_unchanged_policy_causes_nothing() -> None:
    """A battery that drops within its level neither beacons nor reconsiders."""
    network = FakeNetwork(mesh(3))
    network.run(30)
    deadline = network.nodes[0].next_deadline()
    weaken(network, 0, 0.6)
    assert network.nodes[0].next_deadline() == deadline
