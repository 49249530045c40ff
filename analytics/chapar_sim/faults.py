"""What goes wrong: carries out the faults of a scenario at their times, and ends those that end."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from chapar_sim.links import Cut
from chapar_sim.traffic import CLASSES, SYNC, Merge

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_sim.faultspec import FaultSpec
    from chapar_sim.world import World

MERGE_WINDOW: Final = 30.0
"""Seconds after a healed cut whose traffic is reported as the merge."""
GARBAGE_BYTES: Final = 300
"""Longest random datagram."""


class Faults:
    """The faults of one run."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = Random(f"{seed}/faults")
        self._do: dict[str, Callable[[FaultSpec], Callable[[], None] | None]] = {
            "cut": self._cut,
            "heal": self._heal,
            "crash": self._crash,
            "stop": self._stop,
            "restart": self._restart,
            "pause": self._pause,
            "power_off": self._power_off,
            "power_on": self._power_on,
            "move": self._move,
            "battery": self._battery,
            "skew": self._skew,
            "corrupt": self._corrupt,
            "garbage": self._garbage,
            "replay": self._replay,
            "duplicate": self._duplicate,
        }

    def schedule(self, faults: tuple[FaultSpec, ...]) -> None:
        for fault in faults:
            self._world.clock.at(fault.at, partial(self._begin, fault))

    def _begin(self, fault: FaultSpec) -> None:
        self._world.disturbed()
        end = self._do[fault.kind](fault)
        if end is not None and fault.until is not None:
            self._world.clock.at(fault.until, partial(self._end, end))

    def _end(self, end: Callable[[], None]) -> None:
        self._world.disturbed()
        end()

    # Links

    def _cut(self, fault: FaultSpec) -> Callable[[], None]:
        cut = Cut(fault)
        self._world.links.cut(cut)
        self._world.links_changed()
        return partial(self._healed, cut)

    def _heal(self, _: FaultSpec) -> None:
        self._healed(None)

    def _healed(self, cut: Cut | None) -> None:
        if self._world.links.heal(cut):
            self._world.links_changed()
            self._watch_merge()

    def _watch_merge(self) -> None:
        traffic, clock = self._world.trace.traffic, self._world.clock
        sync, total = traffic.bytes[SYNC], sum(traffic.bytes[each] for each in CLASSES)
        begin = clock.now
        window = min(MERGE_WINDOW, self._world.scenario.duration - begin)

        def report() -> None:
            all_bytes = sum(traffic.bytes[each] for each in CLASSES) - total
            self._world.trace.merges.append(Merge(begin, window, traffic.bytes[SYNC] - sync, all_bytes))

        clock.after(window, report)

    # Daemons and hosts

    def _crash(self, fault: FaultSpec) -> Callable[[], None]:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.crash(disk=fault.disk)
        return partial(self._restart, fault)

    def _stop(self, fault: FaultSpec) -> Callable[[], None]:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.stop()
        return partial(self._restart, fault)

    def _restart(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            if self._world.links.is_on(daemon.index):
                daemon.start()

    def _pause(self, fault: FaultSpec) -> Callable[[], None]:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.pause()
        return partial(self._resume, fault)

    def _resume(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.resume()

    def _power_off(self, fault: FaultSpec) -> Callable[[], None]:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.crash(disk=True)
        for node in fault.nodes:
            self._world.links.power(node, on=False)
            self._world.routing.forget(node)
        self._world.links_changed()
        return partial(self._power_on, fault)

    def _power_on(self, fault: FaultSpec) -> None:
        for node in fault.nodes:
            self._world.links.power(node, on=True)
        self._world.links_changed()
        self._restart(fault)

    def _move(self, fault: FaultSpec) -> None:
        for node in fault.nodes:
            self._world.move(node, (fault.x, fault.y))

    def _battery(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.battery_changed(fault.level)

    def _skew(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.skew(fault.by)

    # Wrong state and wrong frames

    def _corrupt(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.corrupt(self._rng)

    def _duplicate(self, fault: FaultSpec) -> Callable[[], None]:
        radio = self._world.ip.radio
        before = radio.duplicate
        radio.duplicate = max(before, fault.probability)
        return partial(setattr, radio, "duplicate", before)

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
