"""Faults that need a hand inside: wrong clocks, batteries, tables and frames. Only a simulated world has them."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chapar_sim.faults import Begin
    from chapar_sim.faultspec import FaultSpec
    from chapar_sim.world import World

GARBAGE_BYTES: Final = 300
"""Longest random datagram."""


class Mischief:
    """The faults of one simulated run that no other world has."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = Random(f"{seed}/faults")
        self.kinds: Mapping[str, Begin] = {
            "battery": self._battery,
            "skew": self._skew,
            "corrupt": self._corrupt,
            "garbage": self._garbage,
            "replay": self._replay,
        }

    def _battery(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.battery_changed(fault.level)

    def _skew(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.skew(fault.by)

    def _corrupt(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.corrupt(self._rng)

    def _garbage(self, fault: FaultSpec) -> None:
        for node in fault.nodes:
            self._repeat(fault, partial(self._send_garbage, node))

    def _replay(self, fault: FaultSpec) -> None:
        for node in fault.nodes:
            self._repeat(fault, partial(self._deliver_again, node))

    def _repeat(self, fault: FaultSpec, action: Callable[[], None]) -> None:
        """Act at the fault's rate, at random times, until it ends."""
        assert fault.until is not None, "the scenario has been checked"
        time = self._world.clock.now + self._rng.expovariate(fault.rate)
        if time < fault.until:
            self._world.clock.at(time, partial(self._act_and_repeat, fault, action))

    def _act_and_repeat(self, fault: FaultSpec, action: Callable[[], None]) -> None:
        self._world.disturbed()
        action()
        self._repeat(fault, action)

    def _send_garbage(self, node: int) -> None:
        in_range = self._world.links.heard_by(node)
        to = self._rng.choice((None, *in_range))
        self._world.ip.send(node, to, self._spoil())

    def _spoil(self) -> bytes:
        """Random bytes, or a datagram that was on the air with something wrong in it."""
        rng, recent = self._rng, self._world.ip.recent
        if not recent or rng.random() < 0.25:
            return rng.randbytes(rng.randint(1, GARBAGE_BYTES))
        spoilt = bytearray(rng.choice(recent).payload)
        match rng.randrange(3):
            case 0:
                return bytes(spoilt[: rng.randrange(len(spoilt)) or 1])
            case 1:
                return bytes(spoilt) + rng.randbytes(rng.randint(1, 20))
        for _ in range(rng.randint(1, 4)):
            spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        return bytes(spoilt)

    def _deliver_again(self, node: int) -> None:
        """Something that arrived at the node before arrives once more, from the same source."""
        heard = [each for each in self._world.ip.recent if each.node == node]
        if heard:
            again = self._rng.choice(heard)
            self._world.deliver(node, again.payload, again.source)
