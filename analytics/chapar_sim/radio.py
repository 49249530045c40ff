"""The radio medium: who hears a frame and when, and who has to wait for the air.

The rules are those of a shared channel, frame by frame. Each receiver in range loses a frame on its own chance, and
hears it after the delay of the link. A unicast frame that was not heard is repeated by the link layer, a broadcast is
not. Where a rate is set, the air is shared: a node begins to send when neither it nor any node that it hears is
sending, and until then its frames wait in its queue. Who has waited longest goes first. There are no collisions; a
node between two that do not hear each other waits for both.

Of a frame the medium knows nothing but its size. In the simulator time is virtual; in the lab the same rules carry the
frames of real interfaces.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from chapar_sim.terrain import RadioSpec
    from chapar_sim.workload import Schedule

MAC_BACKOFF: Final = 0.001
"""Seconds until the link layer repeats a unicast frame that was not heard."""

Frame = TypeVar("Frame")
Frame_contra = TypeVar("Frame_contra", contravariant=True)


class Reach(Protocol):
    """Who can hear whom at this moment."""

    def is_on(self, node: int, /) -> bool: ...
    def heard_by(self, sender: int, /) -> Sequence[int]: ...


class Witness(Protocol[Frame_contra]):
    """Who made the radio: it is told what nodes hear, and what became of each transmission."""

    def heard(self, node: int, frame: Frame_contra, /) -> None:
        """A node has received a frame."""

    def transmitted(self, sender: int, frame: Frame_contra, heard: tuple[int, ...], missed: tuple[int, ...], /) -> None:
        """A frame was on the air: these will hear it, who is named twice will twice, and these it was meant for too."""

    def overflowed(self, sender: int, frame: Frame_contra, missed: tuple[int, ...], /) -> None:
        """A frame found its sender's queue full, and was never on the air."""


class _Sending(NamedTuple, Generic[Frame]):
    hop: int | None
    frame: Frame
    size: int
    attempt: int = 0


class Radio(Generic[Frame]):
    """Transmits frames over the links of the moment."""

    def __init__(self, spec: RadioSpec, clock: Schedule, reach: Reach, rng: Random, witness: Witness[Frame]) -> None:
        self._spec = spec
        self._clock = clock
        self._reach = reach
        self._rng = rng
        self._witness = witness
        self._usual = (spec.loss, spec.delay, spec.jitter)
        self._special = {(link.a, link.b): (link.loss, link.delay, link.jitter) for link in spec.links}
        self._queues: dict[int, deque[_Sending[Frame]]] = {}
        self._engaged: set[int] = set()
        """Nodes that send, or will try to: each at one time, which is planned."""
        self._busy_until: dict[int, float] = {}
        """When the last of the transmissions that a node makes or hears is over."""
        self.duplicate = spec.duplicate
        """Probability that a receiver hears a frame twice."""

    def transmit(self, sender: int, hop: int | None, frame: Frame, size: int) -> None:
        """Send a frame of so many bytes to the neighbour `hop`, or (None) to whoever hears it."""
        if not self._reach.is_on(sender):
            return
        sending = _Sending(hop, frame, size)
        if self._spec.rate == 0:
            self._send(sender, sending)
            return
        queue = self._queues.setdefault(sender, deque())
        if len(queue) >= self._spec.queue:
            missed = tuple(self._reach.heard_by(sender)) if hop is None else (hop,)
            self._witness.overflowed(sender, frame, missed)
            return
        queue.append(sending)
        if sender not in self._engaged:
            self._engaged.add(sender)
            self._try(sender)

    # Without a rate

    def _send(self, sender: int, sending: _Sending[Frame]) -> None:
        again = self._air(sender, sending)
        if again is not None:
            self._clock.at(self._clock.now + MAC_BACKOFF, partial(self._send, sender, again))

    # With one

    def _try(self, sender: int) -> None:
        """Begin to send what waits, or wait until the air may be free."""
        queue, now = self._queues[sender], self._clock.now
        if not self._reach.is_on(sender):
            queue.clear()
        if not queue:
            self._engaged.discard(sender)
        elif (free := self._busy_until.get(sender, now)) > now:
            self._clock.at(free, partial(self._try, sender))
        else:
            self._begin(sender, queue.popleft())

    def _begin(self, sender: int, sending: _Sending[Frame]) -> None:
        end = self._clock.now + sending.size * 8 / self._spec.rate
        busy_until = self._busy_until
        for node in (sender, *self._reach.heard_by(sender)):
            busy_until[node] = max(end, busy_until.get(node, end))
        self._clock.at(end, partial(self._end, sender, sending))

    def _end(self, sender: int, sending: _Sending[Frame]) -> None:
        """The last bit is out. Others who wait try before the sender tries again."""
        again = self._air(sender, sending)
        if again is not None:
            self._queues[sender].appendleft(again)
        self._clock.at(self._clock.now + (MAC_BACKOFF if again else 0.0), partial(self._try, sender))

    # The air

    def _air(self, sender: int, sending: _Sending[Frame]) -> _Sending[Frame] | None:
        """Let those hear it who do; returns what the link layer is to repeat."""
        reach = self._reach
        if not reach.is_on(sender):
            return None
        hop, frame = sending.hop, sending.frame
        in_range = reach.heard_by(sender)
        heard: list[int] = []
        missed: list[int] = []
        for node in in_range if hop is None else (hop,):
            loss, delay, jitter = self._special.get((sender, node), self._usual)
            if (hop is not None and node not in in_range) or (loss and self._rng.random() < loss):
                missed.append(node)
                continue
            heard.append(node)
            self._arrive(node, frame, delay, jitter)
            if self.duplicate and self._rng.random() < self.duplicate:
                heard.append(node)
                self._arrive(node, frame, delay, jitter)
        self._witness.transmitted(sender, frame, tuple(heard), tuple(missed))
        is_again = hop is not None and missed and sending.attempt < self._spec.mac_retries
        return sending._replace(attempt=sending.attempt + 1) if is_again else None

    def _arrive(self, node: int, frame: Frame, delay: float, jitter: float) -> None:
        delay = delay + jitter * self._rng.random() if jitter else delay
        self._clock.at(self._clock.now + delay, partial(self._hear, node, frame))

    def _hear(self, node: int, frame: Frame) -> None:
        if self._reach.is_on(node):
            self._witness.heard(node, frame)
