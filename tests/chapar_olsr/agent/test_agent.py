"""One OLSR node among others, in virtual time."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from chapar_olsr.agent.agent import Agent
from chapar_olsr.agent.codec import Codec
from chapar_olsr.agent.config import AgentConfig
from chapar_olsr.agent.messages import (
    Body,
    Hello,
    Hna,
    Kind,
    LinkGroup,
    LinkType,
    Message,
    Mid,
    NeighbourType,
    Packet,
    Tc,
)
from chapar_olsr.agent.timecode import code_of, seconds
from chapar_olsr.faults import Fault
from olsr_network import Network, chain

CODEC = Codec(4)
CONFIG = AgentConfig()
BEFORE_CONVERGENCE, CONVERGED = 2.0, 20.0
"""Seconds: RFC 3626's hysteresis takes three HELLOs, then TCs go round."""
US, THEM, FAR = 1, 2, 9
MODES = pytest.mark.parametrize(
    "config",
    [AgentConfig(), AgentConfig(hysteresis=True), AgentConfig(link_quality=True)],
    ids=["plain", "hysteresis", "quality"],
)


# Whole networks


@MODES
def test_a_chain_finds_its_routes_and_relays(config: AgentConfig) -> None:
    """Every node of five knows every other with the right hop count, and the inner ones relay."""
    network = Network(range(1, 6), chain(5), config)
    network.run(BEFORE_CONVERGENCE)
    assert network.hops(1) == {} or not config.hysteresis
    network.run(CONVERGED)
    for node in range(1, 6):
        assert network.hops(node) == {other: abs(other - node) for other in range(1, 6) if other != node}
    assert [network.mprs(node) for node in range(1, 6)] == [{2}, {3}, {2, 4}, {3}, {4}]
    selectors = {node: {n.address for n in network.agents[node].neighbours() if n.is_selector} for node in range(1, 6)}
    assert selectors == {1: set(), 2: {1, 3}, 3: {2, 4}, 4: {3, 5}, 5: set()}
    assert all(not agent.faults.counts for agent in network.agents.values())


@MODES
def test_a_network_at_rest_changes_nothing(config: AgentConfig) -> None:
    """Once it has converged, no version rises: whoever follows it has nothing to do."""
    network = Network(range(1, 6), chain(5), config)
    network.run(60.0)
    versions = [agent.version for agent in network.agents.values()]
    network.run(120.0)
    assert [agent.version for agent in network.agents.values()] == versions


@MODES
def test_a_cut_is_seen_by_all_within_the_hold_times(config: AgentConfig) -> None:
    """The neighbours notice within NEIGHB_HOLD_TIME, the others within TOP_HOLD_TIME after that; healing likewise."""
    network = Network(range(1, 6), chain(5), config)
    network.run(CONVERGED)
    network.cut(3, 4)
    network.run_for(config.neighbour_hold + config.topology_hold)
    assert [set(network.hops(node)) for node in range(1, 6)] == [{2, 3}, {1, 3}, {1, 2}, {5}, {4}]
    network.heal(3, 4)
    network.run_for(config.neighbour_hold + config.topology_hold)
    assert all(len(network.hops(node)) == 4 for node in range(1, 6))


def test_a_node_that_starts_anew_is_known_again() -> None:
    """Its sequence numbers begin anywhere; within the hold times everyone has taken that in."""
    network = Network(range(1, 6), chain(5))
    network.run(CONVERGED)
    network.start(3)
    network.run_for(CONFIG.neighbour_hold + 2 * CONFIG.topology_hold)
    assert all(len(network.hops(node)) == 4 for node in range(1, 6))


def test_a_message_is_relayed_by_relays_only_and_once() -> None:
    """In a chain the inner nodes repeat each TC of the others once, and the ends never repeat anything."""
    network = Network(range(1, 6), chain(5))
    network.run(60.0)
    relayed: dict[tuple[int, int, int], int] = {}
    for time, sender, data in network.sent:
        for message in CODEC.decode_untrusted(data).messages:
            if message.originator != sender and time > CONVERGED:
                key = (sender, message.originator, message.sequence)
                relayed[key] = relayed.get(key, 0) + 1
    assert set(relayed.values()) == {1}
    assert {sender for sender, _, _ in relayed} == {2, 3, 4}


def test_hellos_and_tcs_keep_their_intervals() -> None:
    """In a network at rest: a HELLO at most every 1.5 s and at least every 2 s, a TC between 3.75 s and 5 s apart."""
    network = Network(range(1, 4), chain(3))
    network.run(100.0)
    for kind, low, high in ((Kind.HELLO, 1.5, 2.0), (Kind.TC, 4.5, 5.0)):
        times = [
            time
            for time, sender, data in network.sent
            if sender == 2 and time > 30
            for message in CODEC.decode_untrusted(data).messages
            if message.kind == kind and message.originator == 2
        ]
        gaps = [after - before for before, after in pairwise(times)]
        assert len(gaps) > 10
        assert all(low - 1e-6 <= gap <= high + 1e-6 for gap in gaps)


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (AgentConfig(tc_redundancy=0), {2: {1, 3, 4}}),
        (AgentConfig(tc_redundancy=1), {1: {2}, 2: {1, 3, 4}, 3: {2}, 4: {2}}),
        (AgentConfig(tc_redundancy=2), {1: {2}, 2: {1, 3, 4}, 3: {2, 4}, 4: {2, 3}}),
        (AgentConfig(link_quality=True), {1: {2}, 2: {1, 3, 4}, 3: {2, 4}, 4: {2, 3}}),
    ],
    ids=["selectors", "and relays", "all", "quality"],
)
def test_tcs_name_what_the_redundancy_says(config: AgentConfig, named: dict[int, set[int]]) -> None:
    """RFC 3626, 15.1. Node 2 relays for all others; 3 and 4 hear each other and need each other for nothing."""
    network = Network(range(1, 5), [(1, 2), (2, 3), (2, 4), (3, 4)], config)
    network.run(60.0)
    tcs = {
        message.originator: set(body.neighbours)
        for time, sender, data in network.sent
        if time > 30
        for message in CODEC.decode_untrusted(data).messages
        if message.originator == sender
        for body in [CODEC.decode_body_untrusted(message)]
        if isinstance(body, Tc)
    }
    assert tcs == named


# One node


class Alone:
    """One agent, and packets made by hand."""

    def __init__(self, config: AgentConfig = CONFIG, interfaces: tuple[int, ...] = (US,)) -> None:
        self.agent = Agent(config, interfaces, Random(1), 0.0)
        self.now = 0.0
        self._packet = self._message = 0

    def message(self, body: Body, originator: int = THEM, ttl: int = 255, hops: int = 0) -> Message:
        kind, data = CODEC.encode_body(body)
        self._message += 1
        ttl = 1 if isinstance(body, Hello) else ttl
        return Message(kind, code_of(15.0), originator, ttl, hops, self._message, data)

    def hear(self, *messages: Message, source: int = THEM, interface: int = US) -> None:
        self._packet += 1
        data = CODEC.encode(Packet(self._packet, messages))
        self.agent.datagram_received(data, source, interface, self.now)

    def befriend(self, *, as_mpr: bool = False, beyond: tuple[int, ...] = ()) -> None:
        """Have a symmetric neighbour that has proved itself."""
        kind = NeighbourType.MPR if as_mpr else NeighbourType.SYMMETRIC
        groups = [LinkGroup(LinkType.SYMMETRIC, kind, (US,))]
        groups += [LinkGroup(LinkType.SYMMETRIC, NeighbourType.SYMMETRIC, beyond)] if beyond else []
        for _ in range(3):
            self.hear(self.message(Hello(code_of(2.0), 3, tuple(groups))))
            self.agent.drain(self.now)

    def relayed(self) -> list[Message]:
        """What it relays, if it has anything to."""
        self.now += CONFIG.max_jitter
        self.agent.tick(self.now)
        sent = [CODEC.decode_untrusted(send.data) for send in self.agent.drain(self.now)]
        return [message for packet in sent for message in packet.messages if message.originator != self.agent.main]

    @property
    def faults(self) -> dict[Fault, int]:
        return dict(self.agent.faults.counts)


def test_an_unknown_message_is_relayed_as_it_came() -> None:
    """3.4: what a node does not understand, others may; only TTL and hop count change."""
    alone = Alone()
    alone.befriend(as_mpr=True)
    strange = Message(130, 7, FAR, 9, 3, 77, b"whatever this is")
    alone.hear(strange)
    assert alone.relayed() == [strange._replace(ttl=8, hops=4)]
    alone.hear(strange)
    assert alone.relayed() == []


@pytest.mark.parametrize("reason", ["not a selector", "not a neighbour", "ttl"])
def test_what_is_not_ours_to_relay_stays(reason: str) -> None:
    """3.4.1: only for neighbours that chose us, only from neighbours at all, and only while its TTL lasts."""
    alone = Alone()
    if reason != "not a neighbour":
        alone.befriend(as_mpr=reason != "not a selector")
    alone.hear(Message(130, 7, FAR, 1 if reason == "ttl" else 9, 3, 77, b"x"))
    assert alone.relayed() == []


def test_a_stranger_is_not_believed() -> None:
    """9.5, step 1: a TC from somebody who is no symmetric neighbour changes nothing."""
    alone = Alone()
    alone.hear(alone.message(Tc(1, (FAR,))))
    assert alone.agent.routes() == {}


def test_spoofed_messages_are_counted_and_ignored() -> None:
    """In our own name; a HELLO that was relayed; a message first said by somebody other than its originator."""
    alone = Alone()
    alone.befriend()
    alone.hear(alone.message(Tc(1, (FAR,)), originator=US))
    alone.hear(alone.message(Hello(0, 3, ()), originator=US))
    alone.hear(alone.message(Hello(0, 3, ()), hops=1))
    alone.hear(alone.message(Tc(1, (FAR,)), originator=8))
    alone.hear(alone.message(Mid((US,))))
    assert alone.faults == {Fault.SPOOFED: 5}
    assert set(alone.agent.routes()) == {THEM}
    assert alone.agent.aliases() == {}


def test_what_is_told_of_a_fault_names_nodes_as_a_person_does() -> None:
    """By address, whoever sent what was wrong and in whose name."""
    alone = Alone()
    alone.befriend()
    alone.hear(alone.message(Tc(1, (FAR,)), originator=US))
    alone.hear(alone.message(Tc(1, (FAR,)))._replace(body=b"\0"))
    alone.hear(alone.message(Hello(0, 8, ())))
    alone.agent.datagram_received(b"", THEM, US, alone.now)
    them = CODEC.text(THEM)
    details = [detail for _, _, detail in alone.agent.faults.news(0.0)]
    assert len(details) == 4, details
    assert all(each.endswith(them) for each in details), details


@pytest.mark.parametrize(("link", "neighbour"), [(LinkType.SYMMETRIC, NeighbourType.NOT), (LinkType.SYMMETRIC, 5)])
def test_links_that_are_for_nobody_are_counted_and_ignored(link: int, neighbour: int) -> None:
    """6.1.1: such a link neither makes a neighbour nor takes anything from one."""
    alone = Alone()
    for _ in range(3):
        alone.hear(alone.message(Hello(code_of(2.0), 3, (LinkGroup(link, neighbour, (US,)),))))
    assert alone.faults == {Fault.BAD_VALUE: 3}
    assert [each.is_symmetric for each in alone.agent.neighbours()] == [False]
    alone.befriend(beyond=(FAR,))
    us = LinkGroup(LinkType.SYMMETRIC, NeighbourType.SYMMETRIC, (US,))
    alone.hear(alone.message(Hello(code_of(2.0), 3, (us, LinkGroup(link, neighbour, (FAR,))))))
    alone.now += 1.0
    alone.agent.tick(alone.now)
    assert set(alone.agent.routes()) == {THEM, FAR}


def test_a_willingness_that_there_is_not_is_the_usual_one() -> None:
    """It goes from 0 to 7; whoever says more is not chosen for that."""
    alone = Alone()
    us = LinkGroup(LinkType.SYMMETRIC, NeighbourType.SYMMETRIC, (US,))
    for _ in range(3):
        alone.hear(alone.message(Hello(code_of(2.0), 8, (us,))))
    assert alone.faults == {Fault.BAD_VALUE: 3}
    assert [each.willingness for each in alone.agent.neighbours()] == [3]


def test_our_further_addresses_are_we_ourselves() -> None:
    """A TC may name us by any of them; none is somebody to find a way to."""
    alone = Alone(interfaces=(US, 11))
    alone.befriend()
    alone.hear(alone.message(Tc(1, (11, FAR))))
    alone.now += 1.0
    alone.agent.tick(alone.now)
    assert set(alone.agent.routes()) == {THEM, FAR}


def test_our_own_words_repeated_by_a_neighbour_are_no_spoofing() -> None:
    """A relay repeats them in our hearing; our own broadcasts may come back to us as well."""
    alone = Alone()
    alone.befriend()
    alone.hear(alone.message(Tc(1, (THEM,)), originator=US, hops=1))
    alone.hear(alone.message(Tc(1, (THEM,)), originator=US), source=US)
    assert alone.faults == {}


def test_an_old_tc_is_counted_and_ignored() -> None:
    """9.5, step 2."""
    alone = Alone()
    alone.befriend()
    alone.hear(alone.message(Tc(5, (FAR,))))
    alone.hear(alone.message(Tc(4, (10,))))
    assert alone.faults == {Fault.BAD_SEQUENCE: 1}
    alone.now += 1.0
    alone.agent.tick(alone.now)
    assert set(alone.agent.routes()) == {THEM, FAR}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", Fault.PACKET_LENGTH),
        (b"\0\x10\0\1" + bytes(20), Fault.PACKET_LENGTH),
        (b"\0\x14\0\1" + b"\2\0\0\xff" + bytes(12), Fault.MESSAGE_LENGTH),
    ],
)
def test_a_packet_with_a_wrong_length_is_counted_and_ignored(data: bytes, fault: Fault) -> None:
    """3.4, and the agent goes on."""
    alone = Alone()
    alone.agent.datagram_received(data, THEM, US, 0.0)
    assert alone.faults == {fault: 1}
    alone.befriend()
    assert set(alone.agent.routes()) == {THEM}


def test_a_message_with_a_wrong_length_is_not_relayed() -> None:
    """Nobody would get anything out of it."""
    alone = Alone()
    alone.befriend(as_mpr=True)
    alone.hear(alone.message(Tc(1, (FAR,)))._replace(body=b"\0\1\0\0\1"))
    assert alone.faults == {Fault.MESSAGE_LENGTH: 1}
    assert alone.relayed() == []


def test_networks_behind_others_are_shown_and_not_routed_to() -> None:
    """HNA is read-only."""
    alone = Alone()
    alone.befriend()
    message = alone.message(Hna(((0, 0),)))
    alone.hear(message)
    assert alone.agent.networks() == [(THEM, 0, 0, seconds(message.validity))]
    assert set(alone.agent.routes()) == {THEM}


def test_a_node_with_two_interfaces_names_the_other_one_and_speaks_on_both() -> None:
    """5.2: MID on every interface, with the further addresses only."""
    alone = Alone(interfaces=(US, 11))
    heard: dict[int, list[Body | None]] = {US: [], 11: []}
    for step in range(100):
        alone.agent.tick(step / 10)
        for send in alone.agent.drain(step / 10):
            packet = CODEC.decode_untrusted(send.data)
            heard[send.interface] += [CODEC.decode_body_untrusted(message) for message in packet.messages]
    for bodies in heard.values():
        assert Mid((11,)) in bodies
        assert any(isinstance(body, Hello) for body in bodies)


def test_neighbours_that_speak_the_other_dialect_are_relayed_but_not_believed() -> None:
    """LQ_HELLO and LQ_TC mean nothing to plain OLSR, and the other way round."""
    quality = Alone(AgentConfig(link_quality=True))
    quality.befriend()
    assert quality.agent.neighbours() == []
    plain = Alone()
    plain.befriend(as_mpr=True)
    kind, body = CODEC.encode_body(Tc(1, (FAR,), (b"\xff\xff\0\0",), has_quality=True))
    plain.hear(Message(kind, 7, THEM, 9, 0, 7, body))
    assert [message.kind for message in plain.relayed()] == [Kind.LQ_TC]
    assert set(plain.agent.routes()) == {THEM}


def test_a_node_that_nobody_chooses_any_more_says_so_for_the_hold_time() -> None:
    """9.3: empty TCs, so that nobody believes the last one for longer than need be; then silence."""
    network = Network(range(1, 4), chain(3))
    network.run(CONVERGED)
    network.cut(1, 2)
    network.run(80.0)
    tcs = [
        (time, body)
        for time, sender, data in network.sent
        if sender == 2
        for message in CODEC.decode_untrusted(data).messages
        if message.originator == 2 and isinstance(body := CODEC.decode_body_untrusted(message), Tc)
    ]
    empty = [time for time, body in tcs if not body.neighbours]
    assert empty
    assert tcs[-1][1].neighbours == ()
    assert CONVERGED < tcs[-1][0] <= CONVERGED + CONFIG.neighbour_hold * 2 + CONFIG.topology_hold
