"""What goes wrong: carries out the faults of a scenario at their times, and ends those that end.

Faults of links, daemons and hosts are the same in every world: in the simulator and in the lab. What only some worlds
can do, they bring along as `more`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from chapar_sim.links import Cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chapar_sim.faultspec import FaultSpec
    from chapar_sim.ground import Ground
    from chapar_sim.workload import Schedule

Begin = Callable[["FaultSpec"], Callable[[], None] | None]
"""Begins a fault; returns what ends it, or None."""


class Daemon(Protocol):
    """A chapard, as faults treat it."""

    @property
    def index(self) -> int: ...
    def start(self) -> None: ...
    def crash(self, *, disk: bool) -> None: ...
    def stop(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def fill_disk(self) -> None: ...
    def free_disk(self) -> None: ...


class World(Protocol):
    """What faults act upon."""

    @property
    def clock(self) -> Schedule: ...
    @property
    def ground(self) -> Ground: ...
    def daemons_of(self, nodes: Iterable[int], /) -> Sequence[Daemon]: ...
    def disturbed(self) -> None: ...
    def healed(self, since: float, /) -> None: ...
    def power(self, node: int, /, *, on: bool) -> None: ...
    def set_duplicate(self, probability: float, /) -> float: ...


class Faults:
    """The faults of one run."""

    def __init__(self, world: World, more: Mapping[str, Begin] = MappingProxyType({})) -> None:
        self._world = world
        self._do: dict[str, Begin] = {
            "cut": self._cut,
            "heal": self._heal,
            "crash": self._crash,
            "stop": self._stop,
            "restart": self._restart,
            "pause": self._pause,
            "full_disk": self._full_disk,
            "power_off": self._power_off,
            "power_on": self._power_on,
            "move": self._move,
            "duplicate": self._duplicate,
            **more,
        }

    @property
    def kinds(self) -> frozenset[str]:
        """The faults that this world can have."""
        return frozenset(self._do)

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
        self._world.ground.links.cut(cut)
        self._world.ground.links_changed()
        return partial(self._healed, cut)

    def _heal(self, _: FaultSpec) -> None:
        self._healed(None)

    def _healed(self, cut: Cut | None) -> None:
        healed = self._world.ground.links.heal(cut)
        if healed:
            self._world.ground.links_changed()
            self._world.healed(min(each.since for each in healed))

    def _move(self, fault: FaultSpec) -> None:
        for node in fault.nodes:
            self._world.ground.move(node, (fault.x, fault.y))

    def _duplicate(self, fault: FaultSpec) -> Callable[[], None]:
        before = self._world.set_duplicate(fault.probability)
        if before > fault.probability:
            self._world.set_duplicate(before)
        return partial(self._duplicated, before)

    def _duplicated(self, before: float) -> None:
        self._world.set_duplicate(before)

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
            if self._world.ground.links.is_on(daemon.index):
                daemon.start()

    def _pause(self, fault: FaultSpec) -> Callable[[], None]:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.pause()
        return partial(self._resume, fault)

    def _resume(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.resume()

    def _full_disk(self, fault: FaultSpec) -> Callable[[], None]:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.fill_disk()
        return partial(self._free_disk, fault)

    def _free_disk(self, fault: FaultSpec) -> None:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.free_disk()

    def _power_off(self, fault: FaultSpec) -> Callable[[], None]:
        for daemon in self._world.daemons_of(fault.nodes):
            daemon.crash(disk=True)
        for node in fault.nodes:
            self._world.ground.links.power(node, on=False)
            self._world.power(node, on=False)
        self._world.ground.links_changed()
        return partial(self._power_on, fault)

    def _power_on(self, fault: FaultSpec) -> None:
        for node in fault.nodes:
            self._world.ground.links.power(node, on=True)
            self._world.power(node, on=True)
        self._world.ground.links_changed()
        self._restart(fault)
