"""Links: two of them over a medium that loses, repeats and reorders, in virtual time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count, pairwise
from math import inf
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chapar.event import Event, event_id
from chapar.limits import LINK_ROOM, MAX_MESSAGE_BYTES, MAX_MISSING, U32_MAX
from chapar.wire import Ack, Brief, Bye, Fragment, Frame, Link, Nack, Publish, Reassembly, decode_untrusted, encode
from chapard.core.config import Config
from chapard.core.effects import Drop, FrameRow, Reason, Transmit
from chapard.core.links import EPOCHS, HELD_ACKS, MAX_CLAIM, MOST_EXPECTED, QUICKEST_AGAIN, Links, epoch_of, is_newer
from chapard.core.outlet import Outlet

if TYPE_CHECKING:
    from collections.abc import Iterable

CONFIG = Config(mtu=400)
LARGE = 2000
"""Payload that takes several datagrams."""
START = 1000.0


def publication(number: int, size: int = 10, sender: int = 0) -> Publish:
    """A frame that is told from all others by its number, and so unlike them that it travels whole."""
    event = Event(type=str(number), payload=bytes(size)).accepted(id=event_id(sender, 1, number))
    return Publish(sender, event.encode())


class End:
    """One end of a link: what arrived in order, what came back, and what it said on the air."""

    def __init__(self, index: int, config: Config = CONFIG, incarnation: int = 1) -> None:
        self.index = index
        self.outlet = Outlet()
        self.links = Links(index, incarnation, config, self.outlet)
        self.arrived: list[Frame] = []
        self.returned: list[Frame] = []
        self.dropped: list[Drop] = []
        self._reassembly = Reassembly(64, 2**22, config.reassembly_patience)

    def take(self, data: bytes, now: float) -> None:
        """Take one datagram, as a node does."""
        frames = decode_untrusted(data, nodes=256)
        if isinstance(frames[0], Link):
            frames = self.links.receive(frames[0], frames[1:], now)
        else:
            frames = self.links.receive_loose(frames[0].sender, frames)
        self.act(frames, now)

    def act(self, frames: Iterable[Frame], now: float) -> None:
        for frame in frames:
            match frame:
                case Ack():
                    self.links.confirmed(frame.sender, frame.epoch, frame.cumulative, now)
                case Nack():
                    self.links.confirmed(frame.sender, frame.epoch, frame.cumulative, now)
                    self.links.missing(frame.sender, frame.epoch, frame.missing, now)
                case Fragment():
                    message = self._reassembly.add(frame.sender, frame, now)
                    if message is not None:
                        self.arrived += decode_untrusted(message, nodes=256)
                case _:
                    self.arrived.append(frame)

    def tick(self, now: float) -> None:
        self.act(self.links.tick(now), now)

    def drain(self, now: float) -> list[Transmit]:
        """What goes on the air now."""
        self.links.flush(now)
        self.returned += [frame for _, frame in self.links.failures()]
        effects = self.outlet.drain()
        self.dropped += [effect for effect in effects if isinstance(effect, Drop)]
        return [effect for effect in effects if isinstance(effect, Transmit)]


def heard(transmits: Iterable[Transmit]) -> list[list[Frame]]:
    """The datagrams, decoded."""
    return [decode_untrusted(each.data, nodes=256) for each in transmits]


@dataclass
class Medium:
    """Two ends, the air between them, and the time."""

    one: End
    two: End
    rng: Random = field(default_factory=lambda: Random(0))
    loss: float = 0.0
    duplicate: float = 0.0
    delay: tuple[float, float] = (0.001, 0.001)
    now: float = START
    air: list[tuple[float, int, End, bytes]] = field(default_factory=list)
    said: list[Frame] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)

    def settle(self, seconds: float = inf) -> None:
        """Let time pass: until nothing is due any more, or for so many seconds."""
        end = self.now + seconds
        while True:
            self._transmit(self.one, self.two)
            self._transmit(self.two, self.one)
            deadlines = [each.links.next_deadline() for each in (self.one, self.two)]
            times = [time for time in deadlines if time is not None] + [time for time, *_ in self.air[:1]]
            if min(times, default=inf) > end or not times:
                self.now = max(self.now, end) if end < inf else self.now
                return
            self.now = max(self.now, min(times))
            while self.air and self.air[0][0] <= self.now:
                _, _, target, data = heappop(self.air)
                target.take(data, self.now)
            for each in (self.one, self.two):
                each.tick(self.now)

    def _transmit(self, source: End, target: End) -> None:
        for datagram in source.drain(self.now):
            self.said += decode_untrusted(datagram.data, nodes=256)
            for _ in range(1 + (self.rng.random() < self.duplicate)):
                if self.rng.random() >= self.loss:
                    arrival = self.now + self.rng.uniform(*self.delay)
                    heappush(self.air, (arrival, next(self._order), target, datagram.data))


def is_subsequence(part: list[Frame], whole: list[Frame]) -> bool:
    rest = iter(whole)
    return all(frame in rest for frame in part)


size = st.one_of(st.integers(0, 300), st.just(LARGE))
sizes = st.integers(1, 25).flatmap(lambda length: st.lists(size, min_size=length, max_size=length))


@settings(max_examples=120, deadline=None)
@given(
    sizes=sizes,
    back=st.integers(0, 10),
    loss=st.floats(0, 0.85),
    duplicate=st.floats(0, 0.5),
    jitter=st.sampled_from([0.0, 0.05, 0.5]),
    window=st.integers(1, 8),
    pause=st.sampled_from([0.0, 0.3, 2.0]),
    seed=st.integers(0, 2**32),
)
def test_every_frame_arrives_once_in_order_or_comes_back(
    *, sizes: list[int], back: int, loss: float, duplicate: float, jitter: float, window: int, pause: float, seed: int
) -> None:
    """Whatever the medium does, no frame is lost without word: it arrives, once and in order, or is handed back."""
    config = replace(CONFIG, link_window=window)
    medium = Medium(
        End(0, config), End(1, config), Random(seed), loss=loss, duplicate=duplicate, delay=(0.001, 0.001 + jitter)
    )
    frames: list[Frame] = [publication(number, size) for number, size in enumerate(sizes)]
    backwards: list[Frame] = [publication(number, sender=1) for number in range(back)]
    for number, frame in enumerate(frames):
        medium.one.links.send(1, frame)
        if number < back:
            medium.two.links.send(0, backwards[number])
        medium.settle(pause)
    for frame in backwards[len(frames) :]:
        medium.two.links.send(0, frame)
    medium.settle()
    for source, target, sent in ((medium.one, medium.two, frames), (medium.two, medium.one, backwards)):
        assert is_subsequence(target.arrived, sent)
        assert is_subsequence(source.returned, sent)
        assert [frame for frame in sent if frame not in target.arrived and frame not in source.returned] == []
        assert source.links.waiting() == 0
        assert source.links.next_deadline() is None


@settings(max_examples=40, deadline=None)
@given(sizes=sizes, seed=st.integers(0, 2**32))
def test_nothing_comes_back_while_retries_suffice(sizes: list[int], seed: int) -> None:
    """At 20 % loss sixteen repetitions are enough: all frames arrive in order and the sender gets none back."""
    patient = replace(CONFIG, retries=16, reassembly_patience=60.0)
    medium = Medium(End(0, patient), End(1, patient), Random(seed), loss=0.2, duplicate=0.2, delay=(0.001, 0.05))
    frames: list[Frame] = [publication(number, size) for number, size in enumerate(sizes)]
    for frame in frames:
        medium.one.links.send(1, frame)
    medium.settle()
    assert medium.two.arrived == frames
    assert medium.one.returned == []


# The numbering


@given(st.integers(0, 2**32 - 1), st.integers(1, EPOCHS // 2 - 1))
def test_a_later_incarnation_has_a_newer_epoch(incarnation: int, later: int) -> None:
    """Epochs are never 0, which means no confirmation, and order incarnations that are not half the range apart."""
    earlier, newer = epoch_of(incarnation), epoch_of(incarnation + later)
    assert 0 < earlier <= EPOCHS
    assert is_newer(newer, earlier)
    assert not is_newer(earlier, newer)
    assert not is_newer(newer, newer)


def test_a_restarted_sender_starts_afresh() -> None:
    """Numbers of a new incarnation begin at 1 again and are taken; what the old one left in the air is stale."""
    receiver = End(1)
    old, new = End(0, incarnation=7), End(0, incarnation=8)
    for number in range(3):
        old.links.send(1, publication(number))
        late = old.drain(START)
        if number < 2:
            receiver.take(late[0].data, START)
    new.links.send(1, publication(10))
    receiver.take(new.drain(START)[0].data, START)
    receiver.take(late[0].data, START)
    receiver.drain(START)
    assert receiver.arrived == [publication(0), publication(1), publication(10)]
    assert [drop.reason for drop in receiver.dropped] == [Reason.STALE]


def test_a_peer_that_has_introduced_itself_starts_afresh_whatever_its_epoch() -> None:
    """After its beacon even an epoch that looks older counts; a beacon of the same incarnation changes nothing."""
    receiver = End(1)
    old, new = End(0, incarnation=100), End(0, incarnation=95)
    old.links.send(1, publication(0))
    receiver.take(old.drain(START)[0].data, START)
    receiver.links.peer_started(0, 100)
    old.links.send(1, publication(1))
    receiver.take(old.drain(START)[0].data, START)
    receiver.links.peer_started(0, 95)
    receiver.links.peer_started(5, 95)
    new.links.send(1, publication(2))
    receiver.take(new.drain(START)[0].data, START)
    assert receiver.arrived == [publication(0), publication(1), publication(2)]
    receiver.drain(START)
    assert receiver.dropped == []


def test_a_restarted_receiver_goes_on_from_what_can_still_be_repeated() -> None:
    """A receiver without memory starts at the oldest number the sender holds: nothing unconfirmed is skipped."""
    sender, receiver = End(0), End(1)
    for number in range(3):
        sender.links.send(1, publication(number))
        sender.drain(START)
    sender.links.confirmed(1, epoch_of(1), 1, START)
    sender.links.send(1, publication(3))
    receiver.take(sender.drain(START)[0].data, START)
    ((nack,),) = heard(receiver.drain(START))
    assert nack == Nack(1, epoch_of(1), 1, (2, 3))
    assert receiver.arrived == []
    sender.act([nack], START)
    for datagram in sender.drain(START):
        receiver.take(datagram.data, START)
    assert receiver.arrived == [publication(1), publication(2), publication(3)]


def test_a_confirmation_of_another_epoch_counts_for_nothing() -> None:
    """Only what was sent in this incarnation can be confirmed or asked for; absurd numbers count for nothing too."""
    sender = End(0)
    sender.links.send(1, publication(0))
    sender.drain(START)
    for epoch, taken in ((epoch_of(1) + 1, 1), (epoch_of(1), MAX_CLAIM)):
        sender.links.confirmed(1, epoch, taken, START)
    sender.links.confirmed(9, epoch_of(1), 1, START)
    sender.links.missing(1, epoch_of(1) + 1, [1], START)
    sender.links.missing(9, epoch_of(1), [1], START)
    sender.links.missing(1, epoch_of(1), [2], START)
    sender.act([Nack(1, epoch_of(1) + 1, 1, (1,))], START)
    assert sender.drain(START) == []
    assert sender.links.withdraw(1) == [publication(0)]


def test_a_receiver_misled_by_a_forged_header_is_set_right() -> None:
    """It takes all that follows for old, and says so; the sender goes above what it claims, and everything arrives."""
    medium = Medium(End(0), End(1))
    medium.two.links.receive(Link(0, epoch_of(1), 7000, 0, 0, 0), [], START)
    frames: list[Frame] = [publication(number) for number in range(5)]
    for frame in frames:
        medium.one.links.send(1, frame)
    medium.settle()
    assert medium.two.arrived == frames
    assert medium.one.returned == []


# Confirmation


def test_traffic_both_ways_needs_no_ack() -> None:
    """Confirmations ride on datagrams that go back anyway."""
    medium = Medium(End(0), End(1))
    for number in range(20):
        medium.one.links.send(1, publication(number))
        medium.two.links.send(0, publication(number, sender=1))
        medium.settle(CONFIG.ack_delay / 2)
    assert not any(isinstance(frame, Ack) for frame in medium.said)
    assert len([frame for frame in medium.said if isinstance(frame, Link)]) == 40
    medium.settle()
    assert medium.one.returned == medium.two.returned == []


def test_one_ack_confirms_many_datagrams() -> None:
    """Without traffic back, one cumulative ACK for `ack_every` datagrams, and one in the silence after the last."""
    medium = Medium(End(0), End(1))
    for number in range(CONFIG.ack_every + 2):
        medium.one.links.send(1, publication(number))
        medium.settle(CONFIG.ack_delay / 4)
    medium.settle(CONFIG.ack_delay)
    acks = [frame for frame in medium.said if isinstance(frame, Ack)]
    assert acks == [Ack(1, epoch_of(1), CONFIG.ack_every), Ack(1, epoch_of(1), CONFIG.ack_every + 2)]
    assert medium.one.links.withdraw(1) == []
    assert [frame.seq for frame in medium.said if isinstance(frame, Link)] == [*range(1, CONFIG.ack_every + 3)]


def test_a_stream_does_not_keep_a_confirmation_waiting_for_ever() -> None:
    """Where every datagram comes just before the silence would be one, an ACK leaves after `HELD_ACKS` of them, and
    nothing is repeated for want of one."""
    medium = Medium(End(0), End(1))
    for number in range(40):
        medium.one.links.send(1, publication(number))
        medium.settle(0.9 * CONFIG.ack_delay)
    medium.settle()
    assert len([frame for frame in medium.said if isinstance(frame, Ack)]) == pytest.approx(40 / 5, abs=1)
    assert len([frame for frame in medium.said if isinstance(frame, Link)]) == 40


def test_the_last_datagram_of_a_stream_is_repeated_soon() -> None:
    """Nobody sees that it is missing; its sender hears of those before it, and repeats it after `retry_first`."""
    medium = Medium(End(0), End(1))
    for number in range(6):
        medium.loss = float(number == 5)
        medium.one.links.send(1, publication(number))
        medium.settle(0.0)
        medium.settle(0.1)
    medium.loss = 0.0
    medium.settle(2 * CONFIG.retry_first)
    assert medium.two.arrived == [publication(number) for number in range(6)]


def test_a_dead_peer_is_noticed_though_more_is_sent_all_the_time() -> None:
    """What is sent is news only as long as a confirmation may keep waiting."""
    medium = Medium(End(0), End(1), loss=1.0)
    while not medium.one.returned:
        medium.one.links.send(1, publication(0))
        medium.settle(CONFIG.retry_first / 2)
    assert medium.now - START < CONFIG.hop_patience + HELD_ACKS * CONFIG.ack_delay + 1


def test_a_beacon_carries_the_confirmations_that_wait() -> None:
    """`acks` names every peer once, by index, and what it has told need not be told by ACK."""
    receiver = End(1)
    for peer in (7, 3):
        sender = End(peer)
        sender.links.send(1, publication(0, sender=peer))
        receiver.take(sender.drain(START)[0].data, START)
    assert receiver.links.acks() == ((3, epoch_of(1), 1), (7, epoch_of(1), 1))
    assert receiver.links.acks() == ()
    assert receiver.links.next_deadline() is None


def test_a_repetition_is_confirmed_again() -> None:
    """The sender repeats because the confirmation was lost: dropped as a duplicate, but confirmed once more."""
    sender, receiver = End(0), End(1)
    sender.links.send(1, publication(0))
    (datagram,) = sender.drain(START)
    receiver.take(datagram.data, START)
    receiver.links.acks()
    receiver.take(datagram.data, START + 1)
    receiver.tick(START + 1 + CONFIG.ack_delay)
    assert heard(receiver.drain(START + 2)) == [[Ack(1, epoch_of(1), 1)]]
    assert [drop.reason for drop in receiver.dropped] == [Reason.DUPLICATE]
    assert receiver.arrived == [publication(0)]


# Gaps


def numbered(end: End, *frames: Frame) -> list[bytes]:
    """One datagram for each frame."""
    datagrams = []
    for frame in frames:
        end.links.send(1, frame)
        datagrams += [each.data for each in end.drain(START)]
    return datagrams


def test_a_gap_is_asked_for_at_once_and_mended_at_once() -> None:
    """NACK leaves in the same instant and names exactly what is missing, which is repeated in the same instant."""
    sender, receiver = End(0), End(1)
    datagrams = numbered(sender, *(publication(number) for number in range(5)))
    for place in (0, 2, 4):
        receiver.take(datagrams[place], START)
    asked = [frame for frames in heard(receiver.drain(START)) for frame in frames]
    assert asked == [Nack(1, epoch_of(1), 1, (2,)), Nack(1, epoch_of(1), 1, (4,))]
    assert receiver.arrived == [publication(0)]
    sender.act(asked, START)
    again = sender.drain(START)
    assert [frames[1] for frames in heard(again)] == [publication(1), publication(3)]
    for datagram in again:
        receiver.take(datagram.data, START)
    assert receiver.arrived == [publication(number) for number in range(5)]


def test_a_gap_is_not_asked_for_twice_in_a_breath() -> None:
    """What was asked for a moment ago is probably on its way: while no round trip is known, it is given time."""
    sender, receiver = End(0), End(1)
    datagrams = numbered(sender, *(publication(number) for number in range(4)))
    nacks = []
    for place, later in ((1, 0.0), (2, 0.01), (3, CONFIG.retry_first / 16)):
        receiver.take(datagrams[place], START + later)
        nacks.append(heard(receiver.drain(START + later)))
    missing = [[Nack(1, epoch_of(1), 0, (1,))]]
    assert nacks == [missing, [], missing]


def test_two_requests_in_a_breath_are_one_repetition() -> None:
    """A sender that has just repeated a datagram does not do it again for a second NACK on its heels."""
    sender = End(0)
    numbered(sender, publication(0))
    repeated = []
    for later in (0.0, 0.9, 1.1, 2.9, 3.2, 7.0, 7.3):  # in the shortest time between two
        now = START + later * QUICKEST_AGAIN
        sender.links.missing(1, epoch_of(1), [1], now)
        repeated.append(len(sender.drain(now)))
    assert repeated == [1, 0, 1, 0, 1, 0, 1]


def lossy_pair(lost: set[int]) -> tuple[Medium, list[float]]:
    """A stream of ten datagrams per second, of which these are lost, and when each arrived after it was sent."""
    medium = Medium(End(0), End(1), delay=(0.002, 0.002))
    sent: list[float] = []
    late: list[float] = []
    for number in range(40):
        sent.append(medium.now)
        medium.one.links.send(1, publication(number))
        medium.loss = float(number in lost)
        medium.settle(0.0)
        medium.loss = 0.0
        while medium.now < sent[-1] + 0.1:
            medium.settle(0.001)
            late += [medium.now - each for each in sent[len(late) : len(medium.two.arrived)]]
    assert medium.two.arrived == [publication(number) for number in range(40)]
    return medium, late


def test_a_lossy_link_asks_for_what_is_overdue() -> None:
    """The first loss is seen when the next datagram comes; later ones when theirs should have come. What is asked for
    though it was not sent costs three NACKs and no repetition."""
    medium, late = lossy_pair({10, 20, 30})
    assert late[10] > 0.1
    assert late[20] < 0.03
    assert late[30] < 0.03
    assert len([frame for frame in medium.said if isinstance(frame, Link)]) == 43
    medium.said.clear()
    medium.settle()
    assert len([frame for frame in medium.said if isinstance(frame, Nack)]) <= MOST_EXPECTED
    assert not [frame for frame in medium.said if isinstance(frame, Link)]


def test_a_lost_repetition_is_asked_for_again_after_some_round_trips() -> None:
    """As long as they took of late, not as long as an unknown network might take."""
    medium, _ = lossy_pair({5})
    medium.one.links.send(1, publication(40))
    medium.loss = 1.0
    medium.settle(0.0)
    medium.one.links.send(1, publication(41))
    medium.loss = 0.0
    medium.settle(0.003)
    medium.loss = 1.0
    medium.settle(0.001)  # the NACK arrives, the repetition does not
    medium.loss = 0.0
    before = medium.now
    while len(medium.two.arrived) < 42:
        medium.settle(0.001)
    assert medium.now - before < 0.03


def test_without_loss_nothing_is_expected() -> None:
    """A stream that ends is no reason to ask."""
    medium, _ = lossy_pair(set())
    medium.settle()
    assert not [frame for frame in medium.said if isinstance(frame, Nack)]


def test_what_cannot_be_repeated_is_not_waited_for() -> None:
    """A header says how far back the sender can go; the receiver hands on what it held behind the lost gap."""
    sender, receiver = End(0), End(1)
    datagrams = numbered(sender, *(publication(number) for number in range(3)))
    receiver.take(datagrams[1], START)
    assert receiver.arrived == []
    assert sender.links.withdraw(1) == [publication(number) for number in range(3)]
    receiver.take(numbered(sender, publication(9))[0], START)
    assert receiver.arrived == [publication(1), publication(9)]


def test_a_receiver_gives_up_a_gap_later_than_the_sender() -> None:
    """What is skipped counts as confirmed, so the sender must have handed it back before."""
    sender, receiver = End(0), End(1)
    datagrams = numbered(sender, publication(0), publication(1))
    receiver.take(datagrams[1], START)
    receiver.drain(START)
    receiver.links.acks()
    given_up, asked = START, 0
    while not receiver.arrived:
        given_up = receiver.links.next_deadline() or inf
        receiver.tick(given_up)
        asked += len(receiver.drain(given_up))
    assert given_up > START + CONFIG.hop_patience + HELD_ACKS * CONFIG.ack_delay
    assert asked <= 12, "it asks in vain with doubling delays"
    assert receiver.arrived == [publication(1)]
    assert receiver.links.next_deadline() is None


def test_a_receiver_waits_for_as_long_as_it_hears_the_sender() -> None:
    """Any datagram of the sender shows that it may still repeat what is missing."""
    sender, receiver = End(0), End(1)
    datagrams = numbered(sender, publication(0), publication(1))
    now = START
    for _ in range(10):
        receiver.take(datagrams[1], now)
        receiver.tick(now)
        now += CONFIG.hop_patience
    receiver.take(datagrams[0], now)
    assert receiver.arrived == [publication(0), publication(1)]


@given(seq=st.integers(0, U32_MAX), behind=st.integers(0, U32_MAX))
@example(seq=U32_MAX, behind=U32_MAX)
@example(seq=3, behind=U32_MAX)
@example(seq=0, behind=0)
def test_an_absurd_header_costs_nothing(seq: int, behind: int) -> None:
    """However far back a hostile header points, one NACK of legal numbers and bounded size is the answer."""
    receiver = End(1)
    receiver.links.receive(Link(0, 5, seq, behind, 0, 0), [Bye(0)], START)
    for frames in heard(receiver.drain(START)):
        (nack,) = frames
        assert isinstance(nack, Nack)
        assert len(nack.missing) <= MAX_MISSING
        assert all(1 <= missing < seq for missing in nack.missing)
    receiver.links.receive(Link(0, 5, U32_MAX, U32_MAX, 0, 0), [Bye(0)], START)
    receiver.tick(START + 1000)
    receiver.tick(START + 2000)
    assert receiver.links.next_deadline() is None


# Repetition


def test_the_oldest_is_repeated_with_doubling_delays_then_all_comes_back() -> None:
    """A silent peer costs `retries` repetitions of one datagram; then everything is handed back, oldest first."""
    config = replace(CONFIG, link_window=2)
    sender = End(0, config)
    frames: list[Frame] = [publication(0), publication(1, LARGE), publication(2)]
    medium = Medium(sender, End(1), loss=1.0)
    for frame in frames:
        sender.links.send(1, frame)
    medium.settle(0.0)
    times = []
    while (deadline := sender.links.next_deadline()) is not None:
        before = len(medium.said)
        medium.settle(deadline - medium.now)
        times.append(medium.now - START)
        repeated = medium.said[before:]
        assert repeated == [] or repeated[1] == frames[0]
    expected = [0.5, 0.5 + 1.0, 0.5 + 1.0 + 2.0, 6.5, 9.5, config.hop_patience]
    assert times == pytest.approx(expected)
    assert sender.returned == frames
    assert [frame.seq for frame in medium.said if isinstance(frame, Link)] == [1, 2, 1, 1, 1, 1, 1]


def test_progress_starts_the_patience_anew() -> None:
    """Retries count since the last confirmation, so a slow link is not a dead one."""
    sender = End(0)
    numbered(sender, *(publication(number) for number in range(10)))
    now = START
    for taken in range(10):
        for _ in range(CONFIG.retries):
            deadline = sender.links.next_deadline()
            assert deadline is not None
            now = deadline
            sender.tick(now)
        sender.links.confirmed(1, epoch_of(1), taken + 1, now)
    sender.drain(now)
    assert sender.returned == []
    assert sender.links.next_deadline() is None


def test_a_link_that_has_failed_can_be_used_again() -> None:
    """The peer comes back: what is sent then arrives, and nobody waits for what was given up."""
    medium = Medium(End(0), End(1), loss=1.0)
    medium.one.links.send(1, publication(0))
    medium.settle()
    assert medium.one.returned == [publication(0)]
    medium.loss = 0.0
    medium.one.links.send(1, publication(1))
    medium.settle(1.0)
    assert medium.two.arrived == [publication(1)]


# Withdrawal


def test_withdrawal_takes_back_what_is_unconfirmed_oldest_first() -> None:
    """Frames in the air and frames in the queue come back once each, confirmed ones do not, and no timer is left."""
    sender = End(0, replace(CONFIG, link_window=3))
    numbered(sender, publication(0), publication(1))
    sender.links.confirmed(1, epoch_of(1), 1, START)
    frames: list[Frame] = [publication(2, LARGE), publication(3)]
    for frame in frames:
        sender.links.send(1, frame)
    sender.drain(START)
    assert sender.links.waiting() > 0
    assert sender.links.withdraw(1) == [publication(1), *frames]
    assert sender.links.withdraw(1) == sender.links.withdraw(9) == []
    assert sender.links.next_deadline() is None
    assert sender.links.waiting() == 0
    assert sender.links.failures() == []


def test_a_frame_sent_twice_comes_back_twice() -> None:
    """Sending is per call: one object given twice is two frames."""
    sender = End(0)
    frame = publication(0)
    sender.links.send(1, frame)
    sender.links.send(1, frame)
    assert sender.links.withdraw(1) == [frame, frame]


# Bounds


def test_the_window_bounds_what_is_on_its_way() -> None:
    """No more than `link_window` datagrams are unconfirmed; the next leaves when one is confirmed."""
    sender = End(0, replace(CONFIG, link_window=4))
    for number in range(10):
        sender.links.send(1, publication(number, 300))
    assert len(sender.drain(START)) == 4
    assert sender.links.waiting() == 6
    assert sender.drain(START) == []
    sender.links.confirmed(1, epoch_of(1), 3, START)
    assert [frames[1] for frames in heard(sender.drain(START))] == [publication(n, 300) for n in (4, 5, 6)]


def test_a_full_queue_hands_the_frame_back() -> None:
    """Beyond `link_queue` waiting frames `send` fails at once, counted, and what waits is not disturbed."""
    sender = End(0, replace(CONFIG, link_queue=3))
    frames = [publication(number) for number in range(5)]
    for frame in frames:
        sender.links.send(1, frame)
    assert [frame for _, frame in sender.links.failures()] == frames[3:]
    assert sender.links.withdraw(1) == frames[:3]
    sender.drain(START)
    assert sender.outlet.drops[Reason.QUEUE_FULL] == 2


def test_a_receiver_holds_no_more_than_its_window() -> None:
    """Behind a gap `link_window` datagrams are held; more are dropped, counted, and come again; the gap is let in."""
    sender, receiver = End(0), End(1, replace(CONFIG, link_window=3))
    datagrams = numbered(sender, *(publication(number) for number in range(8)))
    for datagram in datagrams[1:]:
        receiver.take(datagram, START)
    receiver.drain(START)
    assert [drop.reason for drop in receiver.dropped] == [Reason.QUEUE_FULL] * 4
    receiver.take(datagrams[0], START)
    assert receiver.arrived == [publication(number) for number in range(4)]
    for datagram in datagrams[4:]:
        receiver.take(datagram, START)
    assert receiver.arrived == [publication(number) for number in range(8)]


# In brief


def alike(number: int, size: int = 40) -> Publish:
    """A frame that differs from others of its kind in number and payload alone."""
    return Publish(0, Event(subject="x", payload=bytes(size)).accepted(id=event_id(0, 1, number)).encode())


def kinds(transmits: Iterable[Transmit]) -> list[type[Frame]]:
    return [type(frame) for frames in heard(transmits) for frame in frames if not isinstance(frame, Link)]


def test_events_like_earlier_ones_travel_in_brief() -> None:
    """And arrive whole, whatever was lost on the way."""
    medium = Medium(End(0), End(1), Random(1), loss=0.3)
    for number in range(60):
        medium.one.links.send(1, alike(number))
        medium.settle(0.05)
    medium.settle()
    assert medium.two.arrived == [alike(number) for number in range(60)]
    assert len([frame for frame in medium.said if isinstance(frame, Brief)]) > 50


def test_what_cannot_be_read_is_asked_for_until_it_is_whole() -> None:
    """A receiver that has lost its memory does not know the heads: nothing is lost for it, and nothing overtakes."""
    sender, old, new = End(0), End(1), End(1)
    old.take(numbered(sender, alike(1))[0], START)
    sender.links.confirmed(1, epoch_of(1), 1, START)
    for datagram in numbered(sender, alike(2), publication(3)):
        new.take(datagram, START)
    assert new.arrived == []
    medium = Medium(sender, new)
    medium.settle()
    assert new.arrived == [alike(2), publication(3)]
    assert sender.returned == []


def test_what_can_never_be_read_is_given_up() -> None:
    """A peer that makes up heads is asked a bounded number of times."""
    receiver = End(1)
    receiver.take(encode(Link(0, 5, 1, 0, 0, 0)) + encode(Brief(0, 77, 1, b"")), START)
    asked, now = 0, START
    while (deadline := receiver.links.next_deadline()) is not None:
        now = deadline
        receiver.tick(now)
        asked += sum(kind is Nack for kind in kinds(receiver.drain(now)))
    assert 1 <= asked <= 13
    assert receiver.arrived == []


def test_after_a_failure_or_a_new_contact_heads_travel_again() -> None:
    """What the peer knows is uncertain then."""
    sender = End(0)
    sender.links.send(1, alike(1))
    assert kinds(sender.drain(START)) == [Publish]
    sender.links.send(1, alike(2))
    assert kinds(sender.drain(START)) == [Brief]
    sender.links.withdraw(1)
    sender.links.send(1, alike(3))
    assert kinds(sender.drain(START)) == [Publish]
    sender.links.peer_started(1, 9)
    sender.links.send(1, alike(4))
    sender.links.send(1, alike(5))
    assert kinds(sender.drain(START)) == [Publish, Brief]


def test_a_datagram_in_brief_fits_when_it_is_repeated_whole() -> None:
    """Room is kept for that."""
    sender = End(0)
    for number in range(20):
        sender.links.send(1, alike(number))
    count = len(sender.drain(START))
    for tries in range(1, 4):
        sender.links.missing(1, epoch_of(1), range(1, count + 1), START + tries)
        transmits = sender.drain(START + tries)
        assert all(len(each.data) <= CONFIG.mtu for each in transmits)
    assert set(kinds(transmits)) == {Publish}


def test_without_hop_ack_a_head_is_used_when_the_peer_has_said_that_it_knows_it() -> None:
    """It hears it whole until then; what it cannot read is dropped, counted, and ends that."""
    fire = replace(CONFIG, hop_ack=False)
    medium = Medium(End(0, fire), End(1, fire))
    for number in range(5):
        medium.one.links.send(1, alike(number))
        medium.settle()
    assert [type(frame) for frame in medium.said] == [Publish, Publish, Ack, Brief, Brief, Brief]
    medium.two.links.peer_started(0, 1)
    medium.one.links.send(1, alike(5))
    medium.settle()
    assert medium.two.arrived == [alike(number) for number in range(6)]
    medium.two = End(1, fire)  # it starts again, and its beacon has not come yet
    for number in (6, 7, 8):
        medium.one.links.send(1, alike(number))
        medium.settle()
    assert medium.two.arrived == [alike(7), alike(8)]
    assert [drop.reason for drop in medium.two.dropped] == [Reason.UNREADABLE]


def test_an_unnumbered_peer_that_is_heard_again_is_still_understood() -> None:
    """That we had lost sight of it does not mean that it has forgotten what it told us; that it started again does."""
    fire = replace(CONFIG, hop_ack=False)
    sender, receiver = End(0, fire), End(1, fire)
    receiver.links.peer_started(0, 1)
    for number in range(2):
        receiver.take(numbered(sender, alike(number))[0], START)
    sender.act([frame for frames in heard(receiver.drain(START)) for frame in frames], START)
    (brief,) = numbered(sender, alike(2))
    receiver.links.peer_started(0, 1)
    receiver.take(brief, START)
    assert receiver.arrived == [alike(0), alike(1), alike(2)]
    receiver.links.peer_started(0, 2)
    receiver.take(brief, START)
    receiver.drain(START)
    assert [drop.reason for drop in receiver.dropped] == [Reason.UNREADABLE]


# What is not numbered


@settings(max_examples=30, deadline=None)
@given(sizes=sizes, loss=st.sampled_from([0.0, 0.3]), seed=st.integers(0, 2**32))
def test_without_hop_ack_nothing_is_numbered_confirmed_or_repeated(sizes: list[int], loss: float, seed: int) -> None:
    """Fire and forget: each frame leaves once, no timer runs, and nothing comes back."""
    config = replace(CONFIG, hop_ack=False, link_window=1)
    medium = Medium(End(0, config), End(1, config), Random(seed), loss=loss)
    frames: list[Frame] = [publication(number, size) for number, size in enumerate(sizes)]
    for frame in frames:
        medium.one.links.send(1, frame)
    medium.settle()
    assert not any(isinstance(frame, Link | Ack | Nack) for frame in medium.said)
    assert medium.one.returned == []
    assert is_subsequence(medium.two.arrived, frames)
    assert loss > 0 or medium.two.arrived == frames


def test_loose_frames_are_not_numbered_and_share_datagrams_by_destination() -> None:
    """Broadcasts and unnumbered frames leave in order, packed for each destination, before what is numbered."""
    sender = End(0)
    sender.links.send(1, publication(0))
    loose: list[tuple[int | None, Frame]] = [
        *((None, publication(number)) for number in (1, 2)),
        (5, publication(3)),
        (None, publication(4, 300)),
        (None, publication(5, LARGE)),
    ]
    for to, frame in loose:
        sender.links.send_loose(to, frame)
    transmits = sender.drain(START)
    contents = [(each.to, frames) for each, frames in zip(transmits, heard(transmits), strict=True)]
    broadcast = [frames for to, frames in contents if to is None]
    assert broadcast[:2] == [[publication(1), publication(2)], [publication(4, 300)]]
    assert all(isinstance(frames[0], Fragment) for frames in broadcast[2:])
    assert [frames for to, frames in contents if to == 5] == [[publication(3)]]
    assert contents[-1][0] == 1
    assert isinstance(contents[-1][1][0], Link)
    assert all(len(each.data) <= CONFIG.mtu for each in transmits)
    sender.links.withdraw(1)
    assert sender.links.next_deadline() is None


@given(sizes)
def test_datagrams_are_filled_and_never_larger_than_the_mtu(sizes: list[int]) -> None:
    """Frames for one node share numbered datagrams: the first of each would not have fitted into the one before."""
    sender = End(0)
    for number, size in enumerate(sizes):
        sender.links.send(1, publication(number, size))
    transmits = sender.drain(START)
    assert all(len(each.data) <= CONFIG.mtu for each in transmits)
    contents = [[len(encode(frame)) for frame in frames[1:]] for frames in heard(transmits)]
    for before, after in pairwise(contents):
        assert sum(before) + after[0] > CONFIG.mtu - LINK_ROOM


# Records


def test_frames_are_recorded_when_asked_for() -> None:
    """With `record_frames` every frame sent is a row with its size, its peer, and how often it was sent before."""
    sender = End(0, replace(CONFIG, record_frames=True))
    frame = publication(0)
    sender.links.send(1, frame)
    sender.links.flush(START)
    rows = [effect for effect in sender.outlet.drain() if isinstance(effect, FrameRow)]
    assert [(row.kind, row.peer, row.retry, row.direction) for row in rows] == [
        ("publish", 1, 0, "tx"),
        ("link", 1, 0, "tx"),
    ]
    sender.links.missing(1, epoch_of(1), [1], START)
    sender.links.flush(START)
    rows = [effect for effect in sender.outlet.drain() if isinstance(effect, FrameRow)]
    assert [row.retry for row in rows] == [1, 1]


def test_a_frame_too_large_for_any_message_is_our_own_mistake() -> None:
    """Nobody can put such a frame together, so `send` refuses it instead of trying."""
    with pytest.raises(ValueError, match="larger than"):
        End(0).links.send(1, Publish(0, bytes(MAX_MESSAGE_BYTES)))
