"""One node's chapard in virtual time: it drives a protocol core as the real daemon does, from a clock of its own.

The core outlives nothing: a crash drops it, a restart makes a new one from what is on the simulated disk.
"""

from __future__ import annotations

from functools import partial
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from chapar.session import Subscribed
from chapar_sim.clock import SimulationError
from chapar_sim.corruption import scramble
from chapar_sim.trace import NodeChange, RecordedLoss, Snapshot
from chapard.core.effects import Answer, Drop, Effect, Loss, Reason, Save, Settle, Transmit
from chapard.core.roles import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from chapar.session import Message, Request
    from chapar_olsr.view import RouteView
    from chapar_sim.clock import Clock
    from chapar_sim.datasets import Recorder
    from chapar_sim.scenario import NodeSpec
    from chapar_sim.trace import Trace
    from chapard.core.config import Config
    from chapard.core.node import Node

LOCAL_START: Final = 1_700_000_000.0
"""What local clocks show at the start: a daemon whose disk was wiped still gets a higher incarnation than before."""
INCARNATION: Final = "incarnation"
"""Where the disk holds the last incarnation. The daemon writes it, not the core."""
BACKLOG: Final = 4096
"""Datagrams that wait in the socket of a daemon that hangs."""
MAX_TICKS_AT_ONCE: Final = 1000
"""Ticks without time passing: a core whose deadline does not advance."""
ROUNDING: Final = 1e-5
"""Seconds by which going from local to true time and back may fall short of a deadline."""
ARRIVED_LATE = "socket_full"
COPIES: Final = frozenset({Reason.DUPLICATE, Reason.LOOP})
"""Reasons for which a copy of an event that is there was dropped."""


class Core(Protocol):
    """What the daemon needs of a protocol core."""

    def datagram_received(self, data: bytes, source: int, now: float) -> None: ...
    def route_changed(self, view: RouteView, now: float) -> None: ...
    def client_request(self, client: str, request: Request, now: float) -> None: ...
    def saved(self, number: int, now: float) -> None: ...
    def battery_changed(self, level: float, now: float) -> None: ...
    def tick(self, now: float) -> None: ...
    def stop(self, now: float) -> None: ...
    def next_deadline(self) -> float | None: ...
    def drain(self, now: float) -> list[Effect]: ...
    @property
    def is_stopped(self) -> bool: ...
    @property
    def role(self) -> str: ...
    def sizes(self) -> dict[str, tuple[int, int]]: ...


class NodeFactory(Protocol):
    """How a core is made: `chapard.core.node.Node`, or something a test puts in its place."""

    def __call__(
        self,
        index: int,
        incarnation: int,
        config: Config,
        rng: Random,
        now: float,
        saved: Mapping[str, bytes] | None,
        /,
    ) -> Any: ...


class Host(Protocol):
    """What surrounds the daemon: its network, its clients, its routing daemon."""

    def send(self, source: int, to: int | None, payload: bytes) -> None: ...
    def answer(self, client: str, message: Message) -> None: ...
    def view(self, node: int) -> RouteView: ...
    def daemon_changed(self, node: int, *, up: bool) -> None: ...


class Daemon:
    """The daemon of one node, up or down."""

    def __init__(
        self,
        spec: NodeSpec,
        config: Config,
        seed: int,
        factory: NodeFactory,
        clock: Clock,
        host: Host,
        trace: Trace,
        recorder: Recorder | None,
    ) -> None:
        self.index = spec.index
        self.core: Core | None = None
        self._config = config
        self._seed = seed
        self._factory = factory
        self._clock = clock
        self._host = host
        self._trace = trace
        self._recorder = recorder
        self._disk: dict[str, bytes] = {}
        self._was_wiped = False
        self._is_full = False
        self._unwritten: list[Save] = []
        """What a full disk did not take; the daemon goes on trying."""
        self._unsettled = 0
        """The last mark behind which something is unwritten."""
        self._held: list[Answer] = []
        """What clients are told once it is on the disk."""
        self._offset = LOCAL_START + spec.clock_offset
        self._rate = 1.0 + spec.clock_drift
        self._latest = -inf
        self._armed: float | None = None
        self._ticks_at = (-inf, 0)
        self._battery = spec.battery
        self._view: RouteView | None = None
        self._is_paused = False
        self._backlog: list[Callable[[], None]] = []

    @property
    def is_up(self) -> bool:
        return self.core is not None

    # Life

    def start(self) -> None:
        """Start, from the disk if it holds anything."""
        if self.core is not None:
            return
        now = self._now()
        incarnation = max(int(self._disk.get(INCARNATION, b"0")) + 1, int(now))
        self._disk[INCARNATION] = str(incarnation).encode()
        saved = {key: value for key, value in self._disk.items() if key != INCARNATION}
        rng = Random(f"{self._seed}/core/{self.index}/{incarnation}")
        self.core = self._factory(self.index, incarnation, self._config, rng, now, saved or None)
        self._trace.nodes.append(NodeChange(self._clock.now, self.index, up=True, disk=not self._was_wiped))
        if self._recorder is not None:
            self._recorder.started(self._clock.now, self.index, self._config)
        self._was_wiped = False
        self._view = None
        self._carry_out()
        self.route_changed()
        if self._battery < 1.0:
            self.battery_changed(self._battery)
        self._host.daemon_changed(self.index, up=True)

    def crash(self, *, disk: bool) -> None:
        """End at once. Without `disk`, everything it had saved is gone too."""
        if not disk:
            self._disk.clear()
            self._was_wiped = True
        if self.core is None:
            return
        self.count_messages()
        self.core = None
        self._armed = None
        self._is_paused = False
        self._backlog.clear()
        self._unwritten.clear()
        self._held.clear()
        self._unsettled = 0
        self._trace.nodes.append(NodeChange(self._clock.now, self.index, up=False, disk=disk))
        self._host.daemon_changed(self.index, up=False)

    def stop(self) -> None:
        """End in good order: the core hands over what it holds, then it is driven no more."""
        self._do(lambda core, now: core.stop(now))

    def pause(self) -> None:
        self._is_paused = self.core is not None

    def resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            backlog, self._backlog = self._backlog, []
            for action in backlog:
                action()
            self._arm()

    def fill_disk(self) -> None:
        """From now on the disk takes nothing."""
        self._is_full = True

    def free_disk(self) -> None:
        """The disk has room again: what waits is written, and whoever waits for that is told."""
        self._is_full = False
        held, self._held = self._held, []
        unwritten, self._unwritten = self._unwritten, []
        number, self._unsettled = self._unsettled, 0
        for save in unwritten:
            self._perform(save)
        for answer in held:
            self._perform(answer)
        if number:
            self._do(lambda core, now: core.saved(number, now))

    def skew(self, seconds: float) -> None:
        """The local clock jumps ahead."""
        self._offset += seconds
        self._arm()

    # What happens to it

    def datagram_received(self, payload: bytes, source: int) -> None:
        if self._is_paused and len(self._backlog) >= BACKLOG:
            self._trace.drops[self.index, ARRIVED_LATE] += 1
            return
        self._do(lambda core, now: core.datagram_received(payload, source, now))

    def client_request(self, client: str, requests: Iterable[Request]) -> None:
        for request in requests:
            self._do(partial(_ask, client, request))

    def route_changed(self) -> None:
        """Look at the routing daemon; the core hears of it only if something is new."""
        if self.core is None:
            return
        view = self._host.view(self.index)
        if view != self._view:
            self._view = view
            self._do(lambda core, now: core.route_changed(view, now))

    def battery_changed(self, level: float) -> None:
        self._battery = level
        self._do(lambda core, now: core.battery_changed(level, now))

    def corrupt(self, rng: Random) -> None:
        """Scramble the core's tables."""
        self._do(lambda core, now: scramble(cast("Node", core), rng, now))

    def count_messages(self) -> None:
        """Enter what the core has sent over the links of its tree, at the end of its life or of the run."""
        tree = getattr(self.core, "tree", None)
        if tree is not None:
            self._trace.messages.update(tree.sent)

    def snapshot(self) -> Snapshot | None:
        """The core's tables now; None while the daemon is down."""
        core: Any = self.core
        if core is None:
            return None
        fmt = {home: frozenset(filters) for home, filters in core.fmt.homes().items()}
        met = {memory.event_id: frozenset(memory.delivered.indexes()) for memory in core.met}
        return Snapshot(self._clock.now, self.index, core.role == Role.BROKER, fmt, met, core.sizes())

    # Driving the core

    def _do(self, action: Callable[[Core, float], None]) -> None:
        if self.core is None:
            return
        if self._is_paused:
            self._backlog.append(partial(self._do, action))
            return
        action(self.core, self._now())
        self._carry_out()

    def _carry_out(self) -> None:
        """Drain the core and do what it wants done; then wait for its next deadline."""
        while self.core is not None:
            effects = self.core.drain(self._now())
            for effect in effects:
                self._perform(effect)
            settled = [effect.number for effect in effects if isinstance(effect, Settle)]
            if self._is_full:
                self._unsettled = max([self._unsettled, *settled])
                break
            # Else the simulated disk has everything at once.
            if not settled:
                break
            self.core.saved(max(settled), self._now())
        if self.core is not None and self.core.is_stopped:
            self.crash(disk=True)
        self._arm()

    def _perform(self, effect: Effect) -> None:
        if isinstance(effect, Transmit):
            self._host.send(self.index, effect.to, effect.data)
        elif isinstance(effect, Answer):
            # As in the real daemon, a subscription stands, for real-time events, while the disk is sick.
            if self._is_full and effect.after_save and not isinstance(effect.message, Subscribed):
                self._held.append(effect)
            else:
                self._host.answer(effect.client, effect.message)
        elif isinstance(effect, Save):
            if self._is_full:
                self._unwritten.append(effect)
            elif effect.value is None:
                self._disk.pop(effect.key, None)
            else:
                self._disk[effect.key] = effect.value
        elif isinstance(effect, Settle):
            pass  # see _carry_out
        elif isinstance(effect, Loss):
            homes = tuple(effect.homes.indexes())
            self._trace.losses.append(
                RecordedLoss(self._clock.now, self.index, effect.event_id, homes, str(effect.reason))
            )
        elif isinstance(effect, Drop):
            self._trace.drops[self.index, str(effect.reason)] += 1
            if effect.event_id is not None and effect.reason not in COPIES:
                loss = RecordedLoss(self._clock.now, self.index, effect.event_id, (self.index,), str(effect.reason))
                self._trace.losses.append(loss)
        if self._recorder is not None:
            self._recorder.record(self._clock.now, self.index, effect)

    # Time

    def _now(self) -> float:
        """The local time. It never goes back."""
        self._latest = max(self._latest, self._offset + self._rate * self._clock.now)
        return self._latest

    def _arm(self) -> None:
        if self.core is None or self._is_paused:
            return
        deadline = self.core.next_deadline()
        if deadline is None:
            return
        due = max(self._clock.now, (deadline - self._offset) / self._rate)
        if self._armed is None or due < self._armed:
            self._armed = due
            self._clock.at(due, partial(self._fire, due))

    def _fire(self, due: float) -> None:
        if self._armed != due or self.core is None:
            return
        self._armed = None
        if self._is_paused:
            return
        deadline, now = self.core.next_deadline(), self._now()
        if deadline is not None and deadline <= now + ROUNDING:
            self._latest = max(now, deadline)
            self._count_tick()
            self.core.tick(self._latest)
        self._carry_out()

    def _count_tick(self) -> None:
        at, count = self._ticks_at
        count = count + 1 if at == self._clock.now else 1
        self._ticks_at = (self._clock.now, count)
        if count > MAX_TICKS_AT_ONCE:
            raise SimulationError(f"node {self.index} at t = {at:.6f} s: its deadline does not advance")


def _ask(client: str, request: Request, core: Core, now: float) -> None:
    core.client_request(client, request, now)
