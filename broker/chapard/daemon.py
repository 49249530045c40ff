"""chapard, from its settings to its end: what it opens, in which order, and how it lets go of it again.

Start: disk, incarnation, node, sockets, routes, HTTP, ready. Stop: the node checks out and says goodbye, what waits for
the disk gets there, then everything closes. Several daemons live in one process, on addresses of their own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from random import Random
from typing import TYPE_CHECKING, Any, Final

from chapard import log
from chapard.clock import Clock
from chapard.core.node import Node
from chapard.disk import Disk
from chapard.driver import Driver
from chapard.housekeeping import Housekeeping
from chapard.http import HttpServer
from chapard.metrics import Metrics
from chapard.place import unused
from chapard.recording import Recording
from chapard.routes import STARTING, RoutesError, fault_counts, source_of
from chapard.settings import LIVE_SOURCES, SettingsError, live_changes
from chapard.status import Port, Surroundings, pages
from chapard.systemd import Notifier
from chapard.transport import StartError, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from chapard.core.topology import RouteView
    from chapard.routes import RouteSource
    from chapard.settings import Settings
    from chapard.transport import Address, Transport

INCARNATION: Final = "incarnation"
"""Where the disk holds the last incarnation. The daemon writes it, not the core."""
DISK_PATIENCE: Final = 4.0
"""Seconds to wait for the disk: at the start, for the answers that depend on it at the end, and to close it."""
STOP_PATIENCE: Final = 10.0
"""Seconds for the node to hand over what it holds."""
FIRST_VIEW_PATIENCE: Final = 1.0
"""Seconds to wait for the first routes: a node that has neighbours need not begin as one that is alone."""
ROUTES_PATIENCE: Final = 2.0
"""Seconds for a source of routes to let go of its sockets, and of the routes that it gave to the kernel."""

_log = logging.getLogger(__name__)


def installed_version() -> str:
    try:
        return version("chapar")
    except PackageNotFoundError:  # run from a copy of the sources
        return "unknown"


VERSION: Final = installed_version()


class Daemon:
    """One node's daemon. `start`, then `run` until it is told to stop, or `stop` it."""

    def __init__(self, settings: Settings, reload: Callable[[], Settings] | None = None) -> None:
        self.settings = settings
        self._reload = reload
        self._clock = Clock()
        self._started = self._clock()
        self._disk: Disk | None = None
        self._driver: Driver | None = None
        self._http: HttpServer | None = None
        self._routes: RouteSource
        self._routing: asyncio.Task[None] | None = None
        self._housekeeping: Housekeeping | None = None
        self._recording: Recording | None = None
        self._notifier = Notifier(os.environ)
        self._is_stopping = False
        self._stop_asked = asyncio.Event()

    @property
    def driver(self) -> Driver:
        """Node and ports."""
        assert self._driver is not None, "started"
        return self._driver

    @property
    def mesh_address(self) -> Address:
        return self.driver.mesh.address

    @property
    def client_address(self) -> Address:
        return self.driver.clients.address

    @property
    def http_address(self) -> Address | None:
        """Where the HTTP server listens; None if it is off."""
        listen = self.settings.http.listen
        return (listen.host, self._http.port) if listen is not None and self._http is not None else None

    # Start

    async def start(self) -> None:
        """Open everything. Raises StartError, DiskError or RoutesError, each with one line, and then holds nothing."""
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        self._housekeeping = Housekeeping(self.driver, self._disk, self._notifier, recording=self._recording)
        self._notifier.ready()
        self._tell_place()
        log.event(
            _log, logging.INFO, "ready", node=self.driver.node.index, incarnation=self.driver.node.station.incarnation,
            mesh=_shown(self.mesh_address), clients=_shown(self.client_address), routes=self._routes.name,
            http=_shown(self.http_address) if self.http_address else "off", version=VERSION,
        )  # fmt: skip

    async def _open(self) -> None:
        settings = self.settings
        self._routes = source_of(settings)
        saved: dict[str, bytes] = {}
        if settings.node.durable:
            self._disk = Disk.open(settings.node.state_dir)
            saved = self._disk.load()
        now = self._clock()
        incarnation = max(int(saved.pop(INCARNATION, b"0")) + 1, int(now))
        await self._keep_incarnation(incarnation)
        record = settings.record
        config = replace(settings.protocol, record=record.enabled, record_frames=record.enabled and record.frames)
        rng = Random(os.urandom(16))
        node = Node(settings.index, incarnation, config, rng, now, saved or None)
        recorder = None
        if record.enabled:
            self._recording = Recording(settings, self._clock)
            self._recording.started(settings, config, VERSION)
            recorder = self._recording.recorder
        self._driver = Driver(node, settings.addresses(), self._clock, self._disk, recorder)
        await self.driver.mesh.open(settings.mesh, settings.node.address)
        complaints = {*self.driver.mesh.complaints, *self.driver.clients.listen(settings.clients)}
        for complaint in sorted(complaints):
            log.event(_log, logging.WARNING, "small socket buffer", detail=complaint)
        await self._open_http(node)
        self._routing = self._spawn(self._routes.run(self._on_view))
        await self._first_view()
        self.driver.wake()

    async def _keep_incarnation(self, incarnation: int) -> None:
        """Have the number of this life on the disk before anything is said under it; a sick disk is not waited for."""
        if self._disk is None:
            return
        kept = asyncio.Event()
        self._disk.write([(INCARNATION, str(incarnation).encode())], self._when_written(kept))
        with suppress(TimeoutError):
            async with asyncio.timeout(DISK_PATIENCE):
                while not kept.is_set() and self._disk.fault() is None:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(kept.wait(), 0.05)

    def _when_written(self, event: asyncio.Event) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def done() -> None:
            with suppress(RuntimeError):  # the loop has ended: nobody waits any more
                loop.call_soon_threadsafe(event.set)

        return done

    async def _open_http(self, node: Node) -> None:
        listen = self.settings.http.listen
        if listen is None:
            return
        metrics = Metrics(node, self.surroundings)
        http = HttpServer({**pages(node, self.driver.ledger, self.surroundings, self._clock), "/metrics": metrics.page})
        try:
            await http.start(listen.host, listen.port)
        except OSError as error:
            raise refusal(error, "TCP", listen, "http.listen") from None
        self._http = http

    # Routes

    def _tell_place(self) -> None:
        """Where this node is, which may be nowhere in the settings; and what else could have been."""
        settings = self.settings
        if settings.routes.source in LIVE_SOURCES:
            log.event(
                _log, logging.INFO, "place in the mesh", node=settings.index, address=settings.node.address,
                prefixes=",".join(settings.node.prefixes), interfaces=",".join(settings.mesh.interfaces) or "none",
                not_used=", ".join(unused(settings.mesh.interfaces)) or "none",
            )  # fmt: skip

    def _on_view(self, view: RouteView) -> None:
        """Take a view. What a source has before its first answer is none: until then the last one's view stands."""
        if self._routes.version > 0:
            self.driver.route_changed(view)

    async def _first_view(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_VIEW_PATIENCE):
                while self._routes.state == STARTING:
                    await asyncio.sleep(0.01)

    def _change_routes(self, settings: Settings) -> None:
        before, self._routes = self._routing, source_of(settings)
        self._routing = self._spawn(self._follow(self._routes, settings.routes.max_age, before))

    async def _follow(self, source: RouteSource, max_age: float, before: asyncio.Task[None] | None) -> None:
        """Run a source once the one before has let go of its sockets, which may be the same."""
        await _end(before)
        lapsing = asyncio.get_running_loop().call_later(max_age, self._lapse, source)
        try:
            await source.run(self._on_view)
        finally:
            lapsing.cancel()

    def _lapse(self, source: RouteSource) -> None:
        """The view of the source before has aged, and this one has not answered yet: nobody is known any more."""
        if source.version == 0:
            self.driver.route_changed(source.view)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.driver.fault(error)

    # Life

    async def run(self) -> int:
        """Serve until it is told to stop, or must, then stop in good order. Returns the exit code."""
        asyncio.get_running_loop().set_exception_handler(self._on_stray_error)
        waiting = [asyncio.create_task(each.wait()) for each in (self._stop_asked, self.driver.given_up)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await self.stop()
        return 1 if self.driver.given_up.is_set() else 0

    def heed_signals(self) -> None:
        """SIGTERM and SIGINT stop, SIGHUP reloads: for a daemon that has the process to itself."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop_signal, number)
        loop.add_signal_handler(signal.SIGHUP, self.reload)

    def _on_stop_signal(self, number: signal.Signals) -> None:
        """The first signal asks; from now on one ends the process, as it does any other."""
        log.event(_log, logging.INFO, "stopping", signal=number.name)
        self._stop_asked.set()
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().remove_signal_handler(each)
            signal.signal(each, signal.SIG_DFL)

    def _on_stray_error(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An error that nobody caught, in a callback: it is told, no more, as whoever connects may bring it about."""
        log.failure(_log, "an error in a callback", context.get("exception") or RuntimeError(context["message"]))

    def reload(self) -> None:
        """Read the settings again; what can change in a running daemon does."""
        if self._reload is None or self._housekeeping is None:  # nothing to read from, or not ready yet
            return
        try:
            new = self._reload()
        except (SettingsError, StartError) as error:
            log.event(_log, logging.ERROR, "not reloaded: wrong configuration", detail=error)
            return
        live, waiting = live_changes(self.settings, new)
        changed = replace(self.settings, log=new.log)
        if any(key.startswith(("routes.", "olsr.")) for key in live):
            changed = replace(changed, routes=new.routes, olsr=new.olsr)
            try:
                self._change_routes(changed)
            except (RoutesError, StartError) as error:
                log.event(_log, logging.ERROR, "not reloaded: no routes", detail=error)
                return
        if new.log != self.settings.log:
            log.configure(sys.stderr, new.log.level, new.log.format)
        self.settings = changed
        log.event(_log, logging.INFO, "reloaded", changed=",".join(live) or "nothing")
        if waiting:
            log.event(_log, logging.WARNING, "needs a restart", keys=",".join(waiting))

    async def stop(self) -> None:
        """Check out, say goodbye, have everything on the disk, close. A second call does nothing."""
        if self._is_stopping:
            return
        self._is_stopping = True
        self._notifier.stopping()
        self.driver.stop()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.driver.stopped.wait(), STOP_PATIENCE)
        await self._flush()
        is_safe = await self._close()
        log.event(_log, logging.INFO, "stopped", everything_saved=is_safe)

    async def _flush(self) -> None:
        """What waits for the disk leaves once it is there."""
        if self._disk is not None:
            written = asyncio.Event()
            self._disk.write([], self._when_written(written))
            with suppress(TimeoutError):
                await asyncio.wait_for(written.wait(), DISK_PATIENCE)
        self.driver.clients.flush()
        await self.driver.mesh.flushed()

    async def _close(self) -> bool:
        """Let go of everything that is open; whether everything is on the disk."""
        if self._housekeeping is not None:
            self._housekeeping.close()
        await _end(self._routing)
        if self._http is not None:
            await self._http.close()
        if self._driver is not None:
            self._driver.close()
        if self._recording is not None:
            await self._recording.close()
        is_safe = True
        if self._disk is not None:
            is_safe = await asyncio.to_thread(self._disk.close, DISK_PATIENCE)
        self._notifier.close()
        return is_safe

    # What others may know

    def surroundings(self) -> Surroundings:
        """What is around the node, for the pages."""
        driver, disk, routes = self.driver, self._disk, self._routes
        return Surroundings(
            version=VERSION,
            address=self.settings.node.address,
            started=self._started,
            is_durable=disk is not None,
            disk_fault=disk.fault() if disk is not None else None,
            disk_pending=disk.pending() if disk is not None else 0,
            route_source=routes.name,
            route_state=routes.state,
            route_version=routes.version,
            route_faults=fault_counts(routes),
            two_hop=routes.view.two_hop,
            quality=routes.view.quality,
            mesh=_port(driver.mesh.transports, driver.mesh.strangers, driver.mesh.unaddressed),
            clients=_port(driver.clients.transports, driver.clients.malformed, driver.clients.unanswered),
            faults=driver.faults,
            http_refused=self._http.refused if self._http is not None else 0,
            trouble="stopping" if self._is_stopping else None,
        )


async def _end(routing: asyncio.Task[None] | None) -> None:
    """End a source that runs, and wait until it has let go of everything."""
    if routing is not None:
        routing.cancel()
        await asyncio.wait([routing], timeout=ROUTES_PATIENCE)


def _port(transports: Iterable[Transport], malformed: int, unaddressed: int) -> Port:
    """The counters of a port's sockets, added up."""
    port = Port(malformed=malformed, unaddressed=unaddressed)
    for each in transports:
        carried = each.traffic
        port = Port(
            port.received + carried.received,
            port.received_bytes + carried.received_bytes,
            port.sent + carried.sent,
            port.sent_bytes + carried.sent_bytes,
            port.kernel_drops + each.kernel_drops(),
            port.receive_errors + carried.receive_errors,
            port.send_errors + carried.send_errors,
            port.queue_drops + carried.queue_drops,
            malformed,
            unaddressed,
        )
    return port


def _shown(address: Address) -> str:
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
