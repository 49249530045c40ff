"""The fuzz target's third door: random and mutated OLSR packets at the embedded agent, through the function that its
socket calls.

The agent is the third of five nodes in a chain. Mutants are made of what a real olsrd network said there, and of
packets made by hand: bytes flipped, cut, spliced, lengths and counts replaced by hostile ones, most of them with the
packet's own length set right, as all else would be refused at the first glance. Some come as they are but with a new
number, so that they are read and fill the tables. All come from few addresses.

A neighbour that has nothing to do with the attack, an agent like the one attacked, must stay its neighbour.
"""

from __future__ import annotations

import json
from random import Random
from typing import Final

from chapar_olsr.agent.agent import Agent
from chapar_olsr.agent.codec import Codec
from chapar_olsr.agent.config import AgentConfig
from chapar_olsr.agent.linkset import MAX_LINKS
from chapar_olsr.agent.messages import Message, Packet
from chapar_olsr.agent.topology import MAX_ALIASES, MAX_NETWORKS
from chapar_olsr.faults import Fault
from olsr_captures import FOLDER, PLAIN, QUALITY, captured

NET: Final = 0x0A42_0000
"""Node I of the captures has this address and I."""
TARGET: Final = NET + 3
WITNESS: Final = NET + 77
NEIGHBOURS: Final = (NET + 2, NET + 4)
STRANGERS: Final = 1000
"""Addresses that a packet may come from besides: more than the agent keeps links with."""
NOISE: Final = 80
"""Bytes of the longest noise."""
HOSTILE: Final = (0, 1, 3, 4, 7, 8, 11, 12, 13, 16, 255, 256, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF)
"""For any two bytes: a length, a number, half an address."""
TURNS_TO_MEET: Final = 4000
"""Within which two agents are neighbours: twenty seconds."""
MALFORMED: Final = (Fault.PACKET_LENGTH, Fault.MESSAGE_LENGTH)

CODEC: Final = Codec(4)


class Olsr:
    """One agent under attack, driven as its driver does, in virtual time, and the witness beside it."""

    def __init__(self, seed: int, now: float, turn: float) -> None:
        config = AgentConfig(link_quality=seed % 2 == 1)
        began = now - TURNS_TO_MEET * turn
        self.agent = Agent(config, [TARGET], Random(f"olsr/{seed}"), began)
        self._witness = Agent(config, [WITNESS], Random(f"olsr/witness/{seed}"), began)
        self.mutant = OlsrMutants(Random(f"olsr/fuzz/{seed}")).packet
        for place in range(TURNS_TO_MEET):
            self.turn(began + place * turn)
        self.check()

    def turn(self, now: float) -> None:
        """What a driver does at the end of a turn of its loop."""
        for agent, other in ((self.agent, self._witness), (self._witness, self.agent)):
            if agent.next_deadline() <= now:
                agent.tick(now)
            for send in agent.drain(now):
                assert len(send.data) <= 0xFFFF
                other.datagram_received(send.data, agent.main, other.main, now)

    def check(self) -> None:
        """The tables are within their bounds, what the agent sends is OLSR, and the witness is its neighbour."""
        agent = self.agent
        sizes = len(agent.links()), len(agent.aliases()), len(agent.networks())
        for size, limit in zip(sizes, (MAX_LINKS, MAX_ALIASES, MAX_NETWORKS), strict=True):
            assert size <= limit, f"the OLSR agent holds {size} of {limit}"
        refused = sum(self._witness.faults.counts[fault] for fault in MALFORMED)
        assert not refused, f"the OLSR agent has sent {refused} packets or messages of a wrong length"
        near = {each.address for each in agent.neighbours() if each.is_symmetric}
        assert WITNESS in near, "the witness is no neighbour of the OLSR agent"
        assert WITNESS in agent.routes(), "the OLSR agent has no route to the witness"

    @property
    def malformed(self) -> int:
        return sum(self.agent.faults.counts[fault] for fault in MALFORMED)

    @property
    def counted(self) -> dict[str, int]:
        return {f"olsr_{fault}": count for fault, count in sorted(self.agent.faults.counts.items())}


class OlsrMutants:
    """An endless supply."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._seeds = olsr_seeds()

    def packet(self) -> tuple[bytes, int]:
        """A datagram, and the interface it comes from: mostly the one that sent it."""
        rng, seeds = self._rng, self._seeds
        chance = rng.random()
        data, source = seeds[int(rng.random() * len(seeds))]
        if rng.random() < 0.05:
            source = NET + 256 + int(rng.random() * STRANGERS)
        if chance < 0.3:
            return rng.randbytes(int(rng.random() * NOISE)), source
        if chance < 0.4:
            return self._renumbered(data), source
        if chance < 0.95:
            data = self._spoilt(data, chance)
        return _with_true_length(data), source

    def _spoilt(self, data: bytes, chance: float) -> bytes:
        rng = self._rng
        place = int(rng.random() * len(data))
        if chance < 0.5:
            return data[:place]
        if chance < 0.65:
            return b"".join((data[:place], rng.randbytes(1 + int(rng.random() * 3)), data[place + 1 :]))
        if chance < 0.85:
            hostile = HOSTILE[int(rng.random() * len(HOSTILE))]
            return data[: place & ~1] + hostile.to_bytes(2) + data[(place & ~1) + 2 :]
        other = self._seeds[int(rng.random() * len(self._seeds))][0]
        return data[:place] + other[int(rng.random() * len(other)) :]

    def _renumbered(self, data: bytes) -> bytes:
        """Good, and new to who has heard it before; now and then of somebody else."""
        rng = self._rng
        packet = CODEC.decode_untrusted(data)
        return CODEC.encode(Packet(int(rng.random() * 65536), tuple(map(self._renewed, packet.messages))))

    def _renewed(self, message: Message) -> Message:
        rng = self._rng
        originator = message.originator if rng.random() < 0.8 else NET + int(rng.random() * 65536)
        hops = message.hops if originator == message.originator else 1
        return message._replace(sequence=int(rng.random() * 65536), originator=originator, hops=hops)


def olsr_seeds() -> list[tuple[bytes, int]]:
    """What the neighbours of the third node said, and good packets made by hand."""
    recorded = [(each.data, each.source) for file in (PLAIN, QUALITY) for each in captured(file)]
    made = json.loads((FOLDER / "packets.json").read_text(encoding="utf-8"))["good"]
    by_hand = [(bytes.fromhex(case["hex"]), NEIGHBOURS[0]) for case in made if case["address_bytes"] == 4]
    return [(data, source) for data, source in recorded if source in NEIGHBOURS] + by_hand


def _with_true_length(data: bytes) -> bytes:
    return len(data).to_bytes(2) + data[2:] if len(data) > 1 else data
