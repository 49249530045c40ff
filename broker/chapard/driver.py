"""Drives one protocol core in real time: what comes in goes to it, what it wants done is done, once per turn.

Whatever has arrived while the loop was busy is taken in first, and only then drained: one `drain`, one datagram per
client and destination where one is enough, one batch for the disk. The core's next deadline is the only timer.

An answer marked `after_save` leaves when the disk has the batch of its turn; the others leave at once. A mistake in the
core costs the input that met it: it is logged and counted, and the node serves on, unless mistakes come in numbers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from chapar.session import Subscribed
from chapard import log
from chapard.clients import ClientPort
from chapard.core.effects import (
    Answer,
    DeliveryRow,
    Drop,
    FrameRow,
    Loss,
    PublishRow,
    RoleRow,
    Save,
    SessionRow,
    Settle,
    Transmit,
)
from chapard.ledger import Ledger
from chapard.mesh import Mesh

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar.session import Message
    from chapard.addresses import Addresses
    from chapard.clock import Clock
    from chapard.core.node import Node
    from chapard.core.topology import RouteView
    from chapard.disk import Disk
    from chapard.recorder import Recorder

SHORTEST_WAIT: Final = 0.001
"""Seconds: the resolution of the loop's timers."""
LOOK_AFTER: Final = 0.005
"""Seconds after a turn until the core's deadlines are looked at; the shortest of them are many times longer."""
FAULTS_PER_MINUTE: Final = 10
"""Mistakes of the core within a minute after which it is better to start afresh."""

_log = logging.getLogger(__name__)


class Driver:
    """One node and its ports. Open these, then feed it; `stop` and `stopped` end it in good order."""

    def __init__(
        self, node: Node, addresses: Addresses, clock: Clock, disk: Disk | None, recorder: Recorder | None = None
    ) -> None:
        self.node = node
        self.mesh = Mesh(addresses, node.index, partial(self._do, node.datagram_received))
        self.clients = ClientPort(
            partial(self._do, node.client_request), self.wake, self.take_turn, node.config.session_limit
        )
        self.stopped = asyncio.Event()
        """After `stop`: the node has nothing left to do."""
        self.given_up = asyncio.Event()
        """The core makes too many mistakes to go on."""
        self.ledger = Ledger(node.index)
        self.faults = 0
        """Mistakes of the core since the start."""
        self._clock = clock
        self._disk = disk
        self._recorder = recorder
        self._loop = asyncio.get_running_loop()
        self._has_turn = False
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._batch = 0
        self._faults_at: deque[float] = deque(maxlen=FAULTS_PER_MINUTE)

    # In

    def route_changed(self, view: RouteView) -> None:
        self.mesh.neighbours = view.neighbours
        self._do(self.node.route_changed, view)

    def battery_changed(self, level: float) -> None:
        self._do(self.node.battery_changed, level)

    def stop(self) -> None:
        """Check out and say goodbye. What clients ask from now on is not heard."""
        self.clients.is_closed = True
        self._do(self.node.stop)

    def wake(self) -> None:
        """Take a turn when all that waits now has been taken in."""
        if not self._has_turn:
            self._has_turn = True
            self._loop.call_soon(self.take_turn)

    def _do(self, action: Callable[..., None], *arguments: Any) -> None:
        self._try(action, *arguments, self._clock())
        self.wake()

    # Turns

    def take_turn(self) -> None:
        """Take the turn that was asked for, unless it has been taken: a drained socket does not wait for the loop."""
        if not self._has_turn or self._is_closed:
            return
        self._has_turn = False
        for step in (self._drain, self.clients.flush, self._soon):
            self._try(step)
        if self.node.is_stopped:
            self.stopped.set()

    def _drain(self) -> None:
        saves: list[Save] = []
        held: list[tuple[str, Message]] = []
        settle: Settle | None = None
        now = self._clock()
        record = self._recorder.at(now) if self._recorder is not None else None
        for effect in self.node.drain(now):
            if isinstance(effect, Answer):
                if effect.after_save and not self._is_moot(effect.message):
                    held.append((effect.client, effect.message))
                else:
                    self.clients.answer(effect.client, effect.message)
            elif isinstance(effect, (DeliveryRow, PublishRow, FrameRow)):
                if record is not None:
                    record(effect)
            elif isinstance(effect, Transmit):
                self.mesh.send(effect.to, effect.data)
            elif isinstance(effect, Save):
                saves.append(effect)
            elif isinstance(effect, Settle):
                settle = effect
            else:
                if record is not None:
                    record(effect)
                if isinstance(effect, (SessionRow, RoleRow)):
                    self._note(effect)
                elif isinstance(effect, (Loss, Drop)):
                    self.ledger.note(effect, now)
        if saves or held or settle:
            self._save(saves, held, settle)

    def _is_moot(self, message: Message) -> bool:
        """Whether an answer need not wait: a subscription stands, for real-time events, while the disk is sick."""
        return type(message) is Subscribed and self._disk is not None and self._disk.fault() is not None

    def _save(self, saves: list[Save], held: list[tuple[str, Message]], settle: Settle | None) -> None:
        if self._disk is None:
            for client, message in held:
                self.clients.answer(client, message)
            if settle is not None:
                self._do(self.node.saved, settle.number)
        elif not held and settle is None:
            self._disk.write(saves, None)
        else:
            self._batch += 1
            self.clients.hold(self._batch, held)
            self._disk.write(saves, partial(self._written, self._batch, settle.number if settle is not None else 0))

    def _written(self, batch: int, number: int) -> None:
        """Called by the disk's own thread."""
        with suppress(RuntimeError):  # the loop has ended: nobody waits any more
            self._loop.call_soon_threadsafe(self._durable, batch, number)

    def _durable(self, batch: int, number: int) -> None:
        self.clients.release(batch)
        if number:
            self._do(self.node.saved, number)
        else:
            self.wake()

    def _note(self, row: SessionRow | RoleRow) -> None:
        match row:
            case SessionRow(client, state, queue_length):
                self.clients.session_changed(client, is_on=state == "on")
                log.event(_log, logging.INFO, f"client {state}", client=client, queue=queue_length)
            case RoleRow(role, reason):
                log.event(_log, logging.INFO, "role changed", role=role, why=reason)

    # Time

    def _soon(self) -> None:
        """After a turn: look at the clock shortly. To ask for the deadline in every turn costs more than the turn."""
        if self._timer is None or self._due > self._clock() + LOOK_AFTER:
            self._wait(LOOK_AFTER)

    def _fire(self) -> None:
        self._timer = None
        self._try(self._do_what_is_due)
        if self._timer is None and not self._has_turn:  # a mistake kept it from setting one
            self._wait(1.0)

    def _do_what_is_due(self) -> None:
        wait = self.node.next_deadline() - self._clock()
        if wait > 0:
            self._wait(max(wait, SHORTEST_WAIT))
        else:
            self._do(self.node.tick)  # and look again after its turn

    def _wait(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = self._clock() + seconds
        self._timer = self._loop.call_later(seconds, self._fire)

    def close(self) -> None:
        """Drive no more, and close the ports."""
        if self._timer is not None:
            self._timer.cancel()
        self._is_closed = True
        self.mesh.close()
        self.clients.close()

    # Mistakes

    def _try(self, action: Callable[..., None], *arguments: Any) -> None:
        try:
            action(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a mistake of ours, and others need this node
            self.fault(error)

    def fault(self, error: BaseException) -> None:
        """Count a mistake of ours and log it; after too many, give up."""
        self.faults += 1
        log.failure(_log, "a mistake in chapard: please report this", error)
        now = self._clock()
        self._faults_at.append(now)
        if len(self._faults_at) == FAULTS_PER_MINUTE and now - self._faults_at[0] < 60:
            self.given_up.set()
