"""Hop reliability: datagrams to a neighbour arrive in order, or somebody is told that they did not.

The rules, for the two halves of the link between two nodes:

- Frames for one node leave packed, in datagrams that a LINK header numbers. The header also says how many of the
  numbers before it can still be repeated (`behind`), and confirms what arrived from the other side.
- The receiver hands frames on in order of the numbers. Behind a gap it holds what came and asks at once for what is
  missing (NACK). What the sender can no longer repeat it stops waiting for: the header says so, or a silence in which
  the sender has handed it back.
- It confirms cumulatively on the next datagram that goes back, on its next beacon, or after `ack_delay` with an ACK.
- Unconfirmed datagrams are repeated, the oldest first, with a delay that doubles. After `retries` repetitions without
  progress the link has failed: everything that waits on it is handed back, and the owner of each frame decides.
- Broadcasts, ACK, NACK and beacons are not numbered. With `hop_ack` off nothing is.

The epoch of a numbering is derived from the sender's incarnation, so that a restarted peer starts afresh.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from chapar.limits import LINK_ROOM, MAX_MISSING
from chapar.wire import Ack, Frame, Link, Nack, encode, fragment, pack
from chapard.core.effects import Reason, Transmit
from chapard.core.traffic import frame_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapard.core.config import Config
    from chapard.core.outlet import Outlet

EPOCHS = 2**16 - 1
MAX_CLAIM = 2**31
"""A number beyond this is absurd: going above it would use up the numbers."""


def epoch_of(incarnation: int) -> int:
    """The epoch a node numbers its datagrams in: never 0, which stands for no confirmation."""
    return 1 + incarnation % EPOCHS


def is_newer(epoch: int, than: int) -> bool:
    """Whether an epoch follows another, in the serial arithmetic of RFC 1982."""
    return 0 < (epoch - than) % EPOCHS < EPOCHS // 2


class Outgoing(NamedTuple):
    """A frame, or one fragment of it, ready to leave. Pieces with one ticket are one frame."""

    ticket: int
    frame: Frame
    data: bytes


@dataclass(slots=True)
class _Unconfirmed:
    content: list[Outgoing]
    sent: float
    tries: int = 0


@dataclass(slots=True)
class _Sender:
    """Our half of a link: what waits, and what has left without being confirmed."""

    queue: deque[Outgoing] = field(default_factory=deque)
    unconfirmed: dict[int, _Unconfirmed] = field(default_factory=dict)
    next_seq: int = 1
    stalls: int = 0
    deadline: float | None = None

    @property
    def floor(self) -> int:
        return next(iter(self.unconfirmed), self.next_seq)


@dataclass(slots=True)
class _Receiver:
    """The peer's half: how far it arrived in order, and what is held behind a gap."""

    epoch: int
    taken: int
    held: dict[int, list[Frame]] = field(default_factory=dict)
    asked: dict[int, float] = field(default_factory=dict)
    ack_due: float | None = None
    give_up: float | None = None


class Links:
    """All links of one node. `receive` and `tick` return frames to act on; `failures` drains what could not be sent."""

    def __init__(self, index: int, incarnation: int, config: Config, outlet: Outlet) -> None:
        self._index = index
        self._epoch = epoch_of(incarnation)
        self._config = config
        # What a receiver skips counts as confirmed, so it must wait until the sender has surely handed it back.
        self._gap_patience = config.hop_patience + config.ack_delay + config.retry_max
        self._outlet = outlet
        self._senders: dict[int, _Sender] = {}
        self._receivers: dict[int, _Receiver] = {}
        self._loose: list[tuple[int | None, Outgoing]] = []
        self._repeats: list[tuple[int, int]] = []
        self._failures: list[tuple[int, Frame]] = []
        self._tickets = 0

    # Sending

    def send(self, to: int, frame: Frame) -> None:
        """Queue a frame for a node; it arrives, in order with the others, or comes back through `failures`."""
        sender = self._senders.setdefault(to, _Sender())
        if len(sender.queue) >= self._config.link_queue:
            self._failures.append((to, frame))
            self._outlet.drop(Reason.QUEUE_FULL, peer=to)
            return
        sender.queue.extend(self._pieces(frame))

    def send_loose(self, to: int | None, frame: Frame) -> None:
        """Queue a frame that nobody confirms: to a node, or to all in range (None)."""
        self._loose.extend((to, piece) for piece in self._pieces(frame))

    def withdraw(self, peer: int) -> list[Frame]:
        """Take back every frame that `peer` has not confirmed, oldest first."""
        sender = self._senders.get(peer)
        if sender is None:
            return []
        pieces = [piece for sent in sender.unconfirmed.values() for piece in sent.content] + list(sender.queue)
        sender.unconfirmed.clear()
        sender.queue.clear()
        sender.deadline, sender.stalls = None, 0
        return list({piece.ticket: piece.frame for piece in pieces}.values())

    def failures(self) -> list[tuple[int, Frame]]:
        """Drain the frames that were given up, with the peer they were meant for."""
        drained, self._failures = self._failures, []
        return drained

    def waiting(self) -> int:
        """The longest queue of any link."""
        return max((len(sender.queue) for sender in self._senders.values()), default=0)

    def flush(self, now: float) -> None:
        """Pack what is queued into datagrams and emit them."""
        loose: dict[int | None, list[Outgoing]] = {}
        for to, piece in self._loose:
            loose.setdefault(to, []).append(piece)
        self._loose.clear()
        for to, pieces in loose.items():
            for content in pack(pieces, self._config.mtu, _size):
                self._emit(to, content, header=None, retry=0)
        for peer, seq in self._repeats:
            self._repeat(peer, seq)
        self._repeats.clear()
        for peer, sender in self._senders.items():
            if sender.queue:
                self._flush_queue(peer, sender, now)

    def _flush_queue(self, peer: int, sender: _Sender, now: float) -> None:
        for content in pack(sender.queue, self._config.mtu - LINK_ROOM, _size):
            if len(sender.unconfirmed) >= self._config.link_window:
                break
            for _ in content:
                sender.queue.popleft()
            if not self._config.hop_ack:
                self._emit(peer, content, header=None, retry=0)
                continue
            seq = sender.next_seq
            sender.next_seq += 1
            sender.unconfirmed[seq] = _Unconfirmed(content, now)
            if sender.deadline is None:
                sender.deadline = now + self._config.retry_first
            self._emit(peer, content, header=self._header(peer, sender, seq), retry=0)

    def _repeat(self, peer: int, seq: int) -> None:
        sender = self._senders[peer]
        again = sender.unconfirmed.get(seq)
        if again is not None:
            self._emit(peer, again.content, header=self._header(peer, sender, seq), retry=again.tries)

    def _header(self, peer: int, sender: _Sender, seq: int) -> Link:
        receiver = self._receivers.get(peer)
        if receiver is None or receiver.ack_due is None:
            return Link(self._index, self._epoch, seq, seq - sender.floor, 0, 0)
        receiver.ack_due = None
        return Link(self._index, self._epoch, seq, seq - sender.floor, receiver.epoch, receiver.taken)

    def _emit(self, to: int | None, content: list[Outgoing], header: Link | None, retry: int) -> None:
        data = b"".join(piece.data for piece in content)
        if self._config.record_frames:
            for piece in content:
                self._outlet.emit(frame_row(piece.frame, len(piece.data), "tx", to, retry))
        if header is not None:
            encoded = encode(header)
            data = encoded + data
            if self._config.record_frames:
                self._outlet.emit(frame_row(header, len(encoded), "tx", to, retry))
        self._outlet.emit(Transmit(to, data))

    def _pieces(self, frame: Frame) -> list[Outgoing]:
        data = encode(frame)
        self._tickets += 1
        if len(data) <= self._config.mtu - LINK_ROOM:
            return [Outgoing(self._tickets, frame, data)]
        pieces = fragment(data, self._tickets % 2**32, self._index, self._config.mtu)
        return [Outgoing(self._tickets, frame, piece) for piece in pieces]

    # Confirmation of what we sent

    def confirmed(self, peer: int, epoch: int, taken: int, now: float) -> None:
        """`peer` has everything up to `taken`."""
        sender = self._senders.get(peer)
        if sender is None or epoch != self._epoch:
            return
        if taken >= sender.next_seq:
            self._renumber(sender, taken)
            return
        done = [seq for seq in sender.unconfirmed if seq <= taken]
        for seq in done:
            del sender.unconfirmed[seq]
        if done:
            sender.stalls = 0
            sender.deadline = now + self._config.retry_first if sender.unconfirmed else None

    @staticmethod
    def _renumber(sender: _Sender, taken: int) -> None:
        """The peer claims numbers we have not used: a foreign header misled it. Go above, or it takes all for old."""
        if taken < MAX_CLAIM:
            waiting = [piece for sent in sender.unconfirmed.values() for piece in sent.content]
            sender.queue.extendleft(reversed(waiting))
            sender.unconfirmed.clear()
            sender.next_seq, sender.deadline = taken + 1, None

    def missing(self, peer: int, epoch: int, seqs: Iterable[int], now: float) -> None:
        """`peer` lacks these: repeat them at once, unless that has just been done."""
        sender = self._senders.get(peer)
        if sender is None or epoch != self._epoch:
            return
        for seq in seqs:
            again = sender.unconfirmed.get(seq)
            if again is not None and (again.tries == 0 or now - again.sent > self._config.retry_first / 4):
                again.sent, again.tries = now, again.tries + 1
                self._repeats.append((peer, seq))

    # Receiving

    def receive(self, header: Link, frames: list[Frame], now: float) -> list[Frame]:
        """Take one numbered datagram; returns the frames that are now in order."""
        peer = header.sender
        if header.ack_epoch:
            self.confirmed(peer, header.ack_epoch, header.ack, now)
        floor = max(1, header.seq - header.behind)
        receiver = self._receivers.get(peer)
        if receiver is None or is_newer(header.epoch, receiver.epoch):
            receiver = self._receivers[peer] = _Receiver(header.epoch, floor - 1)
        elif header.epoch != receiver.epoch:
            self._outlet.drop(Reason.STALE, peer=peer)
            return []
        if receiver.ack_due is None:
            receiver.ack_due = now + self._config.ack_delay
        if receiver.give_up is not None:
            receiver.give_up = now + self._gap_patience
        ready = self._skip_to(receiver, floor)
        if header.seq <= receiver.taken or header.seq in receiver.held:
            self._outlet.drop(Reason.DUPLICATE, peer=peer)
            return ready
        if len(receiver.held) >= self._config.link_window and header.seq != receiver.taken + 1:
            self._outlet.drop(Reason.QUEUE_FULL, peer=peer)
            return ready
        receiver.held[header.seq] = frames
        ready += self._in_order(receiver)
        self._ask_for_gaps(peer, receiver, now)
        return ready

    def peer_started(self, peer: int, incarnation: int) -> None:
        """A peer has introduced itself: what an earlier incarnation of it numbered no longer counts."""
        receiver = self._receivers.get(peer)
        if receiver is not None and receiver.epoch != epoch_of(incarnation):
            del self._receivers[peer]

    def acks(self) -> tuple[tuple[int, int, int], ...]:
        """Confirmations that wait for traffic: what a beacon carries for nothing."""
        due = []
        for peer, receiver in sorted(self._receivers.items()):
            if receiver.ack_due is not None:
                receiver.ack_due = None
                due.append((peer, receiver.epoch, receiver.taken))
        return tuple(due)

    def _skip_to(self, receiver: _Receiver, floor: int) -> list[Frame]:
        """Stop waiting for what the sender can no longer repeat."""
        ready: list[Frame] = []
        for seq in sorted(seq for seq in receiver.held if seq < floor):
            ready += receiver.held.pop(seq)
        receiver.taken = max(receiver.taken, floor - 1)
        return ready + self._in_order(receiver)

    @staticmethod
    def _in_order(receiver: _Receiver) -> list[Frame]:
        ready: list[Frame] = []
        while (frames := receiver.held.pop(receiver.taken + 1, None)) is not None:
            receiver.taken += 1
            ready += frames
        if not receiver.held:
            receiver.give_up = None
            receiver.asked.clear()
        return ready

    def _ask_for_gaps(self, peer: int, receiver: _Receiver, now: float) -> None:
        if not receiver.held:
            return
        receiver.give_up = now + self._gap_patience
        stale = now - self._config.retry_first / 2
        gaps = (seq for seq in range(receiver.taken + 1, max(receiver.held)) if seq not in receiver.held)
        asked = {seq: receiver.asked.get(seq, -inf) for seq in islice(gaps, MAX_MISSING)}
        missing = [seq for seq, at in asked.items() if at <= stale]
        receiver.asked = asked | dict.fromkeys(missing, now)
        if missing:
            self.send_loose(peer, Nack(self._index, receiver.epoch, tuple(missing)))

    # Time

    def tick(self, now: float) -> list[Frame]:
        """Repeat, give up, confirm: whatever is due. Returns frames that no longer wait behind a gap."""
        for peer, sender in self._senders.items():
            if sender.deadline is not None and sender.deadline <= now:
                self._stalled(peer, sender, now)
        ready: list[Frame] = []
        for peer, receiver in self._receivers.items():
            if receiver.ack_due is not None and receiver.ack_due <= now:
                receiver.ack_due = None
                self.send_loose(peer, Ack(self._index, receiver.epoch, receiver.taken))
            if receiver.give_up is not None and receiver.give_up <= now:
                receiver.give_up = None
                ready += self._skip_to(receiver, min(receiver.held))
                self._ask_for_gaps(peer, receiver, now)
        return ready

    def _stalled(self, peer: int, sender: _Sender, now: float) -> None:
        sender.stalls += 1
        if sender.stalls > self._config.retries:
            self._failures += [(peer, frame) for frame in self.withdraw(peer)]
            return
        oldest = sender.floor
        again = sender.unconfirmed[oldest]
        again.sent, again.tries = now, again.tries + 1
        self._repeats.append((peer, oldest))
        sender.deadline = now + min(self._config.retry_first * 2**sender.stalls, self._config.retry_max)

    def next_deadline(self) -> float | None:
        times = [sender.deadline for sender in self._senders.values()]
        for receiver in self._receivers.values():
            times += (receiver.ack_due, receiver.give_up)
        return min((time for time in times if time is not None), default=None)


def _size(piece: Outgoing) -> int:
    return len(piece.data)
