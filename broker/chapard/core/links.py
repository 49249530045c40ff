"""Hop reliability: datagrams to a neighbour arrive in order, or somebody is told that they did not.

The rules, for the two halves of the link between two nodes:

- Events like earlier ones leave in brief (heads.py). A datagram that its receiver cannot read, as it does not know the
  head, counts as missing, and its second repetition is whole. An unnumbered one is lost, and asked for no more: NACK in
  epoch 0 only says which head is not known, as ACK in epoch 0 says that one is.
- Frames for one node leave packed, in datagrams that a LINK header numbers. The header also says how many of the
  numbers before it can still be repeated (`behind`), and confirms what arrived from the other side.
- The receiver hands frames on in order of the numbers. Behind a gap it holds what came and asks at once for what is
  missing (NACK, which confirms too). It asks again after four round trips, as long as repetitions have taken of late,
  and then each time after twice as long. On a link that has lost lately it also asks for what is overdue (pace.py).
  What the sender can no longer repeat it stops waiting for: the header says so, or a silence in which the sender has
  handed it back.
- It confirms cumulatively on the next datagram that goes back, on its next beacon, or with an ACK: after `ack_every`
  datagrams, in a silence of `ack_delay`, and at the latest `HELD_ACKS` times that after the first unconfirmed one.
- What is asked for is repeated at once, but never again within a time that doubles with every repetition.
- Unconfirmed datagrams are repeated without being asked for, the oldest first, after `retry_first` without news, and
  then with a delay that doubles. News are a datagram sent, as long as a confirmation need not have come, or one
  confirmed. After `retries` repetitions without progress the link has failed: everything that waits on it is handed
  back, and the owner of each frame decides.
- Broadcasts, ACK, NACK and beacons are not numbered. With `hop_ack` off nothing is, and nothing repeated.

The epoch of a numbering is derived from the sender's incarnation, so that a restarted peer starts afresh.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from chapar.limits import LINK_ROOM, MAX_MISSING
from chapar.wire import Ack, Brief, Frame, Link, Nack, encode, fragment, pack
from chapard.core.effects import Reason, Transmit
from chapard.core.heads import Heard, Splitter, Told, room_of
from chapard.core.pace import Pace
from chapard.core.traffic import frame_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapard.core.config import Config
    from chapard.core.outlet import Outlet

EPOCHS = 2**16 - 1
HELD_ACKS = 4
"""How many times `ack_delay` a confirmation may wait in a steady stream: a silence would have ended it earlier."""
ROUND_TRIPS = 4
"""After which a NACK, or the repetition it asked for, counts as lost."""
USUAL_ROUND_TRIP = 1 / 64
"""Of `retry_first`: what a round trip takes as long as none was measured."""
SHORTEST_ROUND_TRIP = 0.001
"""Seconds; below this, timers are too coarse to tell."""
SMOOTHING = 0.25
"""Share of the newest round trip in the estimate."""
QUICKEST_AGAIN = 0.005
"""Seconds between two repetitions of a datagram, the first time; then twice as long each time."""
WHOLE_TRY = 2
"""The repetition in which what was sent in brief is whole."""
MOST_EXPECTED = 3
"""How often a number is asked for though nothing shows that it was sent."""
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
    room: int
    """Bytes of a datagram to keep for it: if it is in brief, those it takes when it is repeated whole."""


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
    told: Told = field(default_factory=Told)
    next_seq: int = 1
    stalls: int = 0
    sent: float = -inf
    """When the newest datagram left."""
    progress: float = -inf
    """When something was last confirmed."""
    deadline: float | None = None

    @property
    def floor(self) -> int:
        return next(iter(self.unconfirmed), self.next_seq)


@dataclass(slots=True)
class _Asked:
    """A number that was asked for: when first, when last, and how often."""

    first: float
    last: float
    times: int


_NEVER = _Asked(0.0, 0.0, 0)


@dataclass(slots=True)
class _Receiver:
    """The peer's half: how far it arrived in order, and what is held behind a gap."""

    epoch: int
    taken: int
    round_trip: float
    pace: Pace
    heard: Heard = field(default_factory=Heard)
    held: dict[int, list[Frame]] = field(default_factory=dict)
    asked: dict[int, _Asked] = field(default_factory=dict)
    ask_again: float | None = None
    expect: float | None = None
    """When the next number is asked for, unless it has come."""
    is_expecting: bool = False
    """Whether it is being asked for."""
    unconfirmed: int = 0
    unconfirmed_since: float = 0.0
    ack_due: float | None = None
    give_up: float | None = None


class Links:
    """All links of one node. `receive` and `tick` return frames to act on; `failures` drains what could not be sent."""

    def __init__(self, index: int, incarnation: int, config: Config, outlet: Outlet) -> None:
        self._index = index
        self._epoch = epoch_of(incarnation)
        self._config = config
        # What a receiver skips counts as confirmed, so it must wait until the sender has surely handed it back.
        self._gap_patience = config.hop_patience + HELD_ACKS * config.ack_delay + config.retry_max
        self._outlet = outlet
        self._senders: dict[int, _Sender] = {}
        self._receivers: dict[int, _Receiver] = {}
        self._loose: list[tuple[int | None, Outgoing]] = []
        self._repeats: list[tuple[int, int]] = []
        self._failures: list[tuple[int, Frame]] = []
        self._tickets = 0
        self._splitter = Splitter()
        self._heard_loose: dict[int, Heard] = {}
        """Of peers that number nothing."""
        self._incarnations: dict[int, int] = {}

    # Sending

    def send(self, to: int, frame: Frame) -> None:
        """Queue a frame for a node; it arrives, in order with the others, or comes back through `failures`."""
        sender = self._senders.setdefault(to, _Sender())
        if len(sender.queue) >= self._config.link_queue:
            self._failures.append((to, frame))
            self._outlet.drop(Reason.QUEUE_FULL, peer=to)
            return
        sender.queue.extend(self._outgoing(sender, frame))

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
        sender.told.clear()
        sender.deadline, sender.stalls = None, 0
        return list({piece.ticket: piece.frame for piece in pieces}.values())

    def failures(self) -> list[tuple[int, Frame]]:
        """Drain the frames that were given up, with the peer they were meant for."""
        drained, self._failures = self._failures, []
        return drained

    def waiting(self) -> int:
        """The longest queue of any link."""
        return max((len(sender.queue) for sender in self._senders.values()), default=0)

    def room(self, to: int) -> int:
        """How many frames the queue for a node still takes."""
        return self._config.link_queue - (len(self._senders[to].queue) if to in self._senders else 0)

    @property
    def is_quiet(self) -> bool:
        """Whether everything that was sent has been confirmed."""
        return not any(sender.queue or sender.unconfirmed for sender in self._senders.values())

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
            sender.sent = now
            if not sender.stalls:
                sender.deadline = self._first_deadline(sender)
            self._emit(peer, content, header=self._header(peer, sender, seq), retry=0)

    def _first_deadline(self, sender: _Sender) -> float:
        """When the oldest is repeated if nothing is heard: a stream that goes on may keep its confirmation waiting."""
        config = self._config
        quiet_since = max(sender.progress, next(iter(sender.unconfirmed.values())).sent)
        return min(sender.sent, quiet_since + (HELD_ACKS - 1) * config.ack_delay) + config.retry_first

    def _repeat(self, peer: int, seq: int) -> None:
        sender = self._senders[peer]
        again = sender.unconfirmed.get(seq)
        if again is not None:
            if again.tries >= WHOLE_TRY:
                again.content = [_whole(piece) for piece in again.content]
            self._emit(peer, again.content, header=self._header(peer, sender, seq), retry=again.tries)

    def _header(self, peer: int, sender: _Sender, seq: int) -> Link:
        receiver = self._receivers.get(peer)
        if receiver is None or receiver.ack_due is None:
            return Link(self._index, self._epoch, seq, seq - sender.floor, 0, 0)
        _confirms(receiver)
        return Link(self._index, self._epoch, seq, seq - sender.floor, receiver.epoch, receiver.taken)

    def _emit(self, to: int | None, content: list[Outgoing], header: Link | None, retry: int) -> None:
        data = b"".join(piece.data for piece in content)
        if self._config.record_frames:
            for piece in content:
                self._outlet.emit(frame_row(piece.frame, piece.data, "tx", to, retry))
        if header is not None:
            encoded = encode(header)
            data = encoded + data
            if self._config.record_frames:
                self._outlet.emit(frame_row(header, encoded, "tx", to, retry))
        self._outlet.emit(Transmit(to, data))

    def _outgoing(self, sender: _Sender, frame: Frame) -> list[Outgoing]:
        """A numbered frame as it leaves: in brief, whole, or in pieces."""
        parts = self._splitter.parts(frame)
        if parts is None:
            return self._pieces(frame)
        room = room_of(parts)
        if room > self._config.mtu - LINK_ROOM:
            return self._pieces(frame)
        brief = sender.told.brief(self._index, parts, is_numbered=self._config.hop_ack)
        if brief is None:
            return self._pieces(frame)
        self._tickets += 1
        return [Outgoing(self._tickets, frame, encode(brief), room)]

    def _pieces(self, frame: Frame) -> list[Outgoing]:
        data = encode(frame)
        self._tickets += 1
        if len(data) <= self._config.mtu - LINK_ROOM:
            return [Outgoing(self._tickets, frame, data, len(data))]
        pieces = fragment(data, self._tickets % 2**32, self._index, self._config.mtu)
        return [Outgoing(self._tickets, frame, piece, len(piece)) for piece in pieces]

    # Confirmation of what we sent

    def confirmed(self, peer: int, epoch: int, taken: int, now: float) -> None:
        """`peer` has everything up to `taken`. In epoch 0, where nothing is numbered, it knows the head `taken`."""
        sender = self._senders.get(peer)
        if sender is not None and not epoch:
            sender.told.is_known(taken)
        if sender is None or epoch != self._epoch:
            return
        if taken >= sender.next_seq:
            self._renumber(sender, taken)
            return
        done = [seq for seq in sender.unconfirmed if seq <= taken]
        for seq in done:
            del sender.unconfirmed[seq]
        if done:
            sender.stalls, sender.progress = 0, now
            sender.deadline = now + self._config.retry_first if sender.unconfirmed else None

    @staticmethod
    def _renumber(sender: _Sender, taken: int) -> None:
        """The peer claims numbers we have not used: a foreign header misled it. Go above, or it takes all for old."""
        if taken < MAX_CLAIM:
            waiting = [piece for sent in sender.unconfirmed.values() for piece in sent.content]
            sender.queue.extendleft(reversed(waiting))
            sender.unconfirmed.clear()
            sender.told.clear()
            sender.next_seq, sender.deadline = taken + 1, None

    def missing(self, peer: int, epoch: int, seqs: Iterable[int], now: float) -> None:
        """`peer` lacks these: repeat them at once, unless that has just been done. In epoch 0 it lacks these heads."""
        sender = self._senders.get(peer)
        if sender is not None and not epoch:
            for head in seqs:
                sender.told.is_unknown(head)
        if sender is None or epoch != self._epoch:
            return
        for seq in seqs:
            again = sender.unconfirmed.get(seq)
            if again is not None and now >= again.sent + self._repeat_gap(again.tries):
                again.sent, again.tries = now, again.tries + 1
                self._repeats.append((peer, seq))

    def _repeat_gap(self, tries: int) -> float:
        return min(QUICKEST_AGAIN * 2.0 ** (tries - 1), self._config.retry_max) if tries else 0.0

    # Receiving

    def receive(self, header: Link, frames: list[Frame], now: float) -> list[Frame]:
        """Take one numbered datagram; returns the frames that are now in order."""
        peer = header.sender
        if header.ack_epoch:
            self.confirmed(peer, header.ack_epoch, header.ack, now)
        floor = max(1, header.seq - header.behind)
        receiver = self._receivers.get(peer)
        if receiver is None or is_newer(header.epoch, receiver.epoch):
            receiver = self._receivers[peer] = self._new_receiver(header.epoch, floor - 1, now)
        elif header.epoch != receiver.epoch:
            self._outlet.drop(Reason.STALE, peer=peer)
            return []
        self._owe_ack(receiver, now)
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
        asked = receiver.asked.pop(header.seq, None)
        if asked is not None:
            _measure(receiver, asked, now, was_expected=header.seq > receiver.pace.highest)
        if header.seq > receiver.pace.highest:
            receiver.is_expecting = False
        receiver.pace.came(header.seq, now, was_asked=asked is not None)
        ready += self._in_order(receiver)
        self._ask_for_gaps(peer, receiver, now)
        receiver.expect = receiver.pace.overdue(receiver.round_trip, now)
        return ready

    def _new_receiver(self, epoch: int, taken: int, now: float) -> _Receiver:
        return _Receiver(epoch, taken, self._config.retry_first * USUAL_ROUND_TRIP, Pace(taken, now))

    def peer_is(self, peer: int, incarnation: int) -> None:
        """What another incarnation of a peer numbered, or somebody in its name, does not count."""
        receiver = self._receivers.get(peer)
        if receiver is not None and receiver.epoch != epoch_of(incarnation):
            del self._receivers[peer]

    def peer_started(self, peer: int, incarnation: int) -> None:
        """A peer has introduced itself: what an earlier incarnation of it numbered no longer counts."""
        self.peer_is(peer, incarnation)
        if self._incarnations.setdefault(peer, incarnation) != incarnation:
            self._incarnations[peer] = incarnation
            self._heard_loose.pop(peer, None)
        if peer in self._senders:
            self._senders[peer].told.clear()

    def receive_loose(self, peer: int, frames: list[Frame]) -> list[Frame]:
        """Take a datagram without a number; returns its frames, whole."""
        heard = self._heard_loose.setdefault(peer, Heard())
        ready: list[Frame] = []
        for frame in frames:
            if not isinstance(frame, Brief):
                known = heard.learn(frame, self._splitter)
                if known is not None:
                    self.send_loose(peer, Ack(self._index, 0, known))
                ready.append(frame)
            elif (whole := heard.whole([frame], self._splitter)) is not None:
                ready += whole
            else:
                self.send_loose(peer, Nack(self._index, 0, 0, (frame.head,)))
                self._outlet.drop(Reason.UNREADABLE, peer=peer)
        return ready

    def acks(self) -> tuple[tuple[int, int, int], ...]:
        """Confirmations that wait for traffic: what a beacon carries for nothing."""
        due = []
        for peer, receiver in sorted(self._receivers.items()):
            if receiver.ack_due is not None:
                _confirms(receiver)
                due.append((peer, receiver.epoch, receiver.taken))
        return tuple(due)

    def _skip_to(self, receiver: _Receiver, floor: int) -> list[Frame]:
        """Stop waiting for what the sender can no longer repeat."""
        ready: list[Frame] = []
        for seq in sorted(seq for seq in receiver.held if seq < floor):
            # What cannot be read was handed back to its owner.
            ready += receiver.heard.whole(receiver.held.pop(seq), self._splitter) or []
        receiver.taken = max(receiver.taken, floor - 1)
        return ready + self._in_order(receiver)

    def _in_order(self, receiver: _Receiver) -> list[Frame]:
        ready: list[Frame] = []
        while (frames := receiver.held.pop(receiver.taken + 1, None)) is not None:
            whole = receiver.heard.whole(frames, self._splitter)
            if whole is None:
                break  # it is missing again
            receiver.taken += 1
            ready += whole
        if receiver.taken >= receiver.pace.highest:
            receiver.give_up = None
        return ready

    def _owe_ack(self, receiver: _Receiver, now: float) -> None:
        """A datagram has come: confirm it now, or when the stream pauses."""
        if receiver.ack_due is None:
            receiver.unconfirmed_since = now
        receiver.unconfirmed += 1
        if receiver.unconfirmed >= self._config.ack_every:
            receiver.ack_due = now
        else:
            delay = self._config.ack_delay
            receiver.ack_due = min(now + delay, receiver.unconfirmed_since + HELD_ACKS * delay)

    def _ask_for_gaps(self, peer: int, receiver: _Receiver, now: float) -> None:
        if receiver.taken < receiver.pace.highest:
            receiver.pace.lost()
            if receiver.give_up is None:
                receiver.give_up = now + self._gap_patience
        first, last = receiver.taken + 1, receiver.pace.highest + receiver.is_expecting
        gaps = (seq for seq in range(first, last + 1) if seq not in receiver.held)
        before = receiver.asked
        receiver.asked = {seq: before.get(seq) or _Asked(now, -inf, 0) for seq in islice(gaps, MAX_MISSING)}
        if not receiver.asked:
            receiver.ask_again = None
            return
        missing = [seq for seq, asked in receiver.asked.items() if self._ask_at(receiver, asked) <= now]
        for seq in missing:
            asked = receiver.asked[seq]
            asked.last, asked.times = now, asked.times + 1
        if receiver.is_expecting and receiver.asked.get(last, _NEVER).times >= MOST_EXPECTED:
            receiver.is_expecting = False
            del receiver.asked[last]
        receiver.ask_again = min((self._ask_at(receiver, asked) for asked in receiver.asked.values()), default=None)
        if missing:
            self.send_loose(peer, Nack(self._index, receiver.epoch, receiver.taken, tuple(missing)))
            _confirms(receiver)

    def _ask_at(self, receiver: _Receiver, asked: _Asked) -> float:
        """When a number is asked for once more."""
        if not asked.times:
            return asked.first
        wait = ROUND_TRIPS * receiver.round_trip
        return asked.last + min(wait * 2.0 ** (asked.times - 1), self._config.retry_max)

    # Time

    def tick(self, now: float) -> list[Frame]:
        """Repeat, give up, confirm: whatever is due. Returns frames that no longer wait behind a gap."""
        for peer, sender in self._senders.items():
            if sender.deadline is not None and sender.deadline <= now:
                self._stalled(peer, sender, now)
        ready: list[Frame] = []
        for peer, receiver in self._receivers.items():
            if receiver.expect is not None and receiver.expect <= now:
                receiver.expect, receiver.is_expecting = None, True
                self._ask_for_gaps(peer, receiver, now)
            if receiver.ask_again is not None and receiver.ask_again <= now:
                self._ask_for_gaps(peer, receiver, now)
            if receiver.ack_due is not None and receiver.ack_due <= now:
                _confirms(receiver)
                self.send_loose(peer, Ack(self._index, receiver.epoch, receiver.taken))
            if receiver.give_up is not None and receiver.give_up <= now:
                receiver.give_up = None
                ready += self._skip_to(receiver, min(receiver.held, default=receiver.pace.highest + 1))
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
            times += (receiver.ack_due, receiver.expect, receiver.ask_again, receiver.give_up)
        return min((time for time in times if time is not None), default=None)


def _confirms(receiver: _Receiver) -> None:
    """What has arrived is being confirmed now."""
    receiver.ack_due, receiver.unconfirmed = None, 0


def _measure(receiver: _Receiver, asked: _Asked, now: float, *, was_expected: bool) -> None:
    """What was asked for has come. Which request it answers is not certain if there were several (Karn's rule): then
    the round trip may be longer than we think. It answers none, perhaps, if it was asked for before it was sent."""
    newest, before = max(now - asked.first, SHORTEST_ROUND_TRIP), receiver.round_trip
    if was_expected and newest >= before:
        return
    if asked.times == 1:
        receiver.round_trip = before + SMOOTHING * (newest - before)
    else:
        receiver.round_trip = min(max(newest, before), (1 + SMOOTHING) * before)


def _whole(piece: Outgoing) -> Outgoing:
    return piece._replace(data=encode(piece.frame)) if len(piece.data) < piece.room else piece


def _size(piece: Outgoing) -> int:
    return piece.room
