"""What a daemon looks after now and then: its watchdog, its battery, and whether there is something to tell.

Nothing here is done per datagram or event. What was lost or dropped is read from counters every few seconds and told in
one line for each reason.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING, Final

from chapard import log
from chapard.battery import battery_level

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapard.disk import Disk
    from chapard.driver import Driver
    from chapard.recording import Recording
    from chapard.systemd import Notifier

LOOK_EVERY: Final = 10.0
BATTERY_EVERY: Final = 60.0

_log = logging.getLogger(__name__)


class Housekeeping:
    """The rounds of one daemon, until closed."""

    def __init__(
        self,
        driver: Driver,
        disk: Disk | None,
        notifier: Notifier,
        battery: Callable[[], float | None] = battery_level,
        look_every: float = LOOK_EVERY,
        recording: Recording | None = None,
    ) -> None:
        self._driver = driver
        self._disk = disk
        self._notifier = notifier
        self._battery = battery
        self._recording = recording
        self._losses: Counter[str] = Counter()
        self._loops: Counter[int] = Counter()
        self._kernel_drops = 0
        self._fault: str | None = None
        self._tasks = [
            asyncio.create_task(self._rounds(look_every)),
            asyncio.create_task(self._watch_battery()),
        ]
        if notifier.watchdog_interval is not None:
            self._tasks.append(asyncio.create_task(self._be_alive(notifier.watchdog_interval)))

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def look(self) -> None:
        """Tell what is new since the last look."""
        self._tell_disk()
        self._tell_losses()
        self._tell_loops()
        self._tell_kernel_drops()
        if self._recording is not None:
            self._recording.look()
        self._notifier.status(self.status())

    def status(self) -> str:
        """How things are, in one line."""
        node = self._driver.node
        on = sum(session.is_on for session in node.home.sessions.all())
        line = f"{node.role} ({node.why}), {len(node.station.peers)} peers, {on} clients"
        return line if self._fault is None else f"{line}, disk fault: {self._fault}"

    async def _rounds(self, every: float) -> None:
        while True:
            self.look()
            await asyncio.sleep(every)

    async def _watch_battery(self) -> None:
        while True:
            level = await asyncio.to_thread(self._battery)
            if level is not None:
                self._driver.battery_changed(level)
            await asyncio.sleep(BATTERY_EVERY)

    async def _be_alive(self, every: float) -> None:
        while True:
            self._notifier.alive()
            await asyncio.sleep(every)

    def _tell_disk(self) -> None:
        fault = self._disk.fault() if self._disk is not None else None
        if fault == self._fault:
            return
        if fault is None:
            log.event(_log, logging.INFO, "the disk takes writes again")
        else:
            log.event(_log, logging.ERROR, "the disk takes no writes; real-time events go on", detail=fault)
        self._fault = fault

    def _tell_losses(self) -> None:
        losses: Counter[str] = Counter(self._driver.node.outlet.losses)
        for reason, count in sorted((losses - self._losses).items()):
            log.event(_log, logging.INFO, "events lost", reason=reason, count=count)
        self._losses = losses

    def _tell_loops(self) -> None:
        tree = self._driver.node.tree
        if tree is None:
            return
        for link, count in sorted((tree.loops - self._loops).items()):
            what = "events came back over another link: overlay.links of the nodes disagree, or have a cycle"
            log.event(_log, logging.WARNING, what, neighbour=link, count=count)
        self._loops = Counter(tree.loops)

    def _tell_kernel_drops(self) -> None:
        transports = (*self._driver.mesh.transports, *self._driver.clients.transports)
        drops = sum(each.kernel_drops() for each in transports)
        if drops > self._kernel_drops:
            more = drops - self._kernel_drops
            log.event(_log, logging.WARNING, "datagrams lost: a receive buffer was full", count=more)
        self._kernel_drops = drops
