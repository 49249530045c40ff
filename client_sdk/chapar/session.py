"""A client's session with the daemon of its node: the messages both ends exchange, and the client's end as a machine.

A session outlives its connections. The home numbers what it delivers and the client confirms cumulatively;
publications are numbered the other way round and confirmed by receipts. Whatever was not confirmed comes again, so
neither side needs to know when exactly the other went away, and nothing is handed to the application, or to the
network, twice:

- Deliveries and publications travel in runs, numbered one after the other. A run says which number it follows
  (`after`), so that numbers left out on purpose are told from numbers lost on the way.
- A delivery at or below the last one taken is a repetition, confirmed again and dropped.
- A daemon that was restarted numbers its deliveries afresh, under its new incarnation; what it repeats from its disk,
  or is served again by the network, is recognised by event id.
- A publication whose number the home has accepted before gets the same receipt again. A restarted daemon remembers
  those that had reached its disk; real-time ones it may have forgotten, so the client gives up those that were under
  way: real-time events are delivered at most once.
- A delivery is confirmed when the application has taken it (`consumed`), not when it has arrived.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from chapar.errors import WireError
from chapar.event import Delivery, Event, EventId

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chapar.filter import Filter

SEEN_LIMIT = 8192
"""Event ids remembered, at least: more than a restarted home repeats of its queue, or brokers of their tables."""
AHEAD_LIMIT = 8192
"""Deliveries kept that came before those they follow; what is more comes again."""
PUBLISH_WINDOW = 1024
"""Numbers from the oldest publication without a receipt on that may be under way; a home can repeat the receipts of
more than these."""
PUBLISH_WINDOW_BYTES = 128 * 1024
"""Bytes of them: what a socket's default receive buffer holds with room to spare."""
RETRY = 1.0
"""Seconds without an answer after which a request is repeated."""
PING_EVERY = 5.0
"""Seconds of silence after which a client says that it is still there: several times in a home's keep-alive time."""
PATIENCE = 3
"""Repetitions without any answer after which the connection counts as lost."""
TAKEN_OVER = "another connection"
"""What the reason holds with which a session is refused to a connection because a later one has opened it."""

_NO_EVENT = Event()


class Open(NamedTuple):
    """The client is ON. `epoch` names the session it wants to go on with, 0 if it has none.

    It has, or has given up, the receipts of all publications below `floor`. A session that is not `lasting` ends when
    the client goes OFF.
    """

    client: str
    epoch: int
    floor: int
    lasting: bool


class Close(NamedTuple):
    """The client goes OFF and will come back: its subscriptions stand and its queue fills. Answered by Closed."""


class Subscribe(NamedTuple):
    number: int
    filter: Filter


class Unsubscribe(NamedTuple):
    number: int


class Publish(NamedTuple):
    """Events with one head in common (see `Event.head`), numbered from `number` on; the first follows `after`."""

    after: int
    number: int
    head: bytes
    payloads: tuple[bytes, ...]


class Acknowledge(NamedTuple):
    """Every delivery up to `number` of this incarnation of the daemon is safe with the application."""

    incarnation: int
    number: int


class Inquire(NamedTuple):
    """How many homes have confirmed a memorised event that was published here? Answered by Standing."""

    number: int
    id: EventId


class Ping(NamedTuple):
    """Still here. Silence for the keep-alive time means OFF. Answered by Pong."""


Request = Open | Close | Subscribe | Unsubscribe | Publish | Acknowledge | Inquire | Ping


class Opened(NamedTuple):
    """The session stands, with these subscriptions. `published` is the last publication the home accepted from it."""

    epoch: int
    incarnation: int
    resumed: bool
    node: int
    published: int
    subscriptions: tuple[int, ...]


class Subscribed(NamedTuple):
    """Subscription `number` stands."""

    number: int


class Deliver(NamedTuple):
    """Deliveries numbered from `number` on. The first follows `after`: numbers between were dropped at the home."""

    incarnation: int
    number: int
    after: int
    bodies: Sequence[bytes]


class Receipt(NamedTuple):
    """The home has `length` publications from `number` on; the network knows them as `id` and the ids after it."""

    number: int
    id: EventId
    length: int


class Standing(NamedTuple):
    """Of the `wanted` homes that are to have the event that inquiry `number` asked about, so many have confirmed it."""

    number: int
    wanted: int
    confirmed: int


class Refused(NamedTuple):
    """Request `number` (0: the session itself) was not carried out, and why."""

    number: int
    reason: str


class Closed(NamedTuple):
    """The session is OFF; everything the client has confirmed is on the disk as confirmed."""


class Pong(NamedTuple):
    """The daemon is here."""


class Goodbye(NamedTuple):
    """The daemon stops. The session stands; open it again when the daemon is back."""


Message = Opened | Subscribed | Deliver | Receipt | Standing | Refused | Closed | Pong | Goodbye


class Arrival(NamedTuple):
    """An event that is new to the application, under the number to confirm it by."""

    number: int
    event: Event


class _Publication(NamedTuple):
    number: int
    head: bytes
    payload: bytes
    is_realtime: bool


class ClientSession:
    """The client's end. Drive it with the verbs, `received` and `tick`; send the home what `requests` drains."""

    def __init__(self, client: str, *, lasting: bool = True) -> None:
        self.client = client
        self.is_lasting = lasting
        self.is_on = False
        self.node: int | None = None
        """Index of the home, once it has answered."""
        self.given_up: list[int] = []
        """Real-time publications whose fate a daemon took with it; whoever drives the machine drains them."""
        self.malformed = 0
        """Deliveries that were no events; they are confirmed and dropped."""
        self._is_wanted = False
        self._is_opening = False
        """What we publish now another life of the daemon might hear, which does not know what the last one heard."""
        self._epoch = 0
        self._incarnation = 0
        self._numbers = 0
        self._subscriptions: dict[int, Filter] = {}
        self._waiting: deque[_Publication] = deque()
        self._under_way: dict[int, _Publication] = {}
        self._under_way_bytes = 0
        self._published = 0
        """The publication that the next one follows."""
        self._answered = 0
        """The last publication that the home is known to have answered for: what is sent again follows it."""
        self._must_repeat = False
        self._taken = 0
        self._ahead: dict[int, tuple[int, bytes]] = {}
        self._seen: set[EventId] = set()
        self._seen_before: set[EventId] = set()
        self._unconsumed: dict[int, EventId] = {}
        self._carried: dict[EventId, int] = {}
        """What the application has not taken yet of an earlier incarnation, and the number it came again under."""
        self._acknowledged = 0
        self._must_acknowledge = False
        self._unanswered: dict[int, Subscribe | Inquire] = {}
        self._requests: list[Request] = []
        self._deadline: float | None = None
        self._ask_again_at: float | None = None
        self._silent_rounds = 0
        self._vain_rounds = 0

    # Verbs

    def open(self, now: float) -> None:
        """Go ON. Everything the home has not confirmed is asked for again once it answers."""
        self._is_wanted = self._is_opening = True
        oldest = next(iter(self._under_way), self._waiting[0].number if self._waiting else self._numbers + 1)
        self._requests.append(Open(self.client, self._epoch, oldest, self.is_lasting))
        self._deadline = now + RETRY

    def close(self, now: float) -> None:
        """Go OFF in good order; Closed confirms it."""
        self._is_wanted = False
        self._must_acknowledge = self._incarnation > 0  # the last one may have been lost, and no other follows
        self._acknowledge()
        self.is_on = False
        self._requests.append(Close())
        self._deadline = now + RETRY

    def lost(self) -> None:
        """The connection is gone without a word: the daemon crashed, or the application's host slept."""
        self.is_on = False
        self._deadline = None

    def ping(self) -> None:
        self._requests.append(Ping())

    def subscribe(self, filter: Filter) -> int:  # noqa: A002 - the field's own noun
        number = self._next_number()
        self._subscriptions[number] = filter
        self._ask(Subscribe(number, filter))
        return number

    def unsubscribe(self, number: int) -> None:
        if self._subscriptions.pop(number, None) is not None:
            self._unanswered.pop(number, None)
            if self.is_on:
                self._requests.append(Unsubscribe(number))

    def publish(self, event: Event) -> int:
        """Publish, now or when ON again; a Receipt with this number says that the home has the event."""
        return self.publish_head(event.head(), event.payload, is_realtime=event.delivery is Delivery.REALTIME)

    def publish_head(self, head: bytes, payload: bytes, *, is_realtime: bool) -> int:
        """Publish the event with this head, as `Event.head` makes it, and payload; for those who publish many alike."""
        number = self._next_number()
        self._waiting.append(_Publication(number, head, payload, is_realtime))
        return number

    def inquire(self, event_id: EventId) -> int:
        """Ask how many homes have confirmed an event; a Standing with this number answers."""
        number = self._next_number()
        self._ask(Inquire(number, event_id))
        return number

    def forget_inquiry(self, number: int) -> None:
        """Nobody waits for this answer any more."""
        self._unanswered.pop(number, None)

    def consumed(self, number: int) -> None:
        """The application has taken the event that arrived under this number."""
        self._unconsumed.pop(number, None)

    def consumed_since(self, event_id: EventId) -> None:
        """The application has taken an event that had arrived from an earlier incarnation of the daemon."""
        self._unconsumed.pop(self._carried.pop(event_id, 0), None)

    @property
    def backlog(self) -> int:
        """Publications without a receipt."""
        return len(self._waiting) + len(self._under_way)

    # Out

    def requests(self, now: float) -> list[Request]:
        """Drain what is to be sent to the home."""
        if self.is_on and not self._is_opening:
            self._requests += self._runs(now)
            self._acknowledge()
            if self._unanswered and self._ask_again_at is None:
                self._ask_again_at = now + RETRY
        drained, self._requests = self._requests, []
        return drained

    def _runs(self, now: float) -> Iterator[Publish]:
        """Publications that the window admits, in runs of one head and consecutive numbers."""
        due = self._due()
        if not due:
            return
        start, head, payloads = due[0], due[0].head, [due[0].payload]
        number = start.number
        for publication in due[1:]:
            if publication.head != head or publication.number != number + 1:
                yield self._run(start, tuple(payloads))
                start, head, payloads = publication, publication.head, []
            number = publication.number
            payloads.append(publication.payload)
        yield self._run(start, tuple(payloads))
        if self._deadline is None or self._deadline > now + RETRY:
            self._deadline = now + RETRY

    def _due(self) -> list[_Publication]:
        """What is to be repeated, and what the window admits of what waits, in order."""
        waiting, under_way = self._waiting, self._under_way
        due: list[_Publication] = []
        if self._must_repeat:
            self._must_repeat, self._published = False, self._answered
            due += under_way.values()
        if waiting:
            end = next(iter(under_way), waiting[0].number) + PUBLISH_WINDOW
            while waiting and waiting[0].number < end and self._under_way_bytes < PUBLISH_WINDOW_BYTES:
                publication = waiting.popleft()
                under_way[publication.number] = publication
                self._under_way_bytes += len(publication.head) + len(publication.payload)
                due.append(publication)
        return due

    def _run(self, first: _Publication, payloads: tuple[bytes, ...]) -> Publish:
        after = min(self._published, first.number - 1)
        self._published = max(self._published, first.number + len(payloads) - 1)
        return Publish(after, first.number, first.head, payloads)

    @property
    def owes_acknowledgement(self) -> bool:
        """Whether the application has taken something that we have not confirmed to the home."""
        return self._confirmed() > self._acknowledged

    def _confirmed(self) -> int:
        """The last delivery before the first that the application has not taken."""
        return next(iter(self._unconsumed), self._taken + 1) - 1

    def _acknowledge(self) -> None:
        """Confirm what the application has taken, up to the first delivery that it has not."""
        confirmed = self._confirmed()
        if confirmed > self._acknowledged or self._must_acknowledge:
            self._acknowledged, self._must_acknowledge = max(confirmed, self._acknowledged), False
            self._requests.append(Acknowledge(self._incarnation, self._acknowledged))

    # In

    def received(self, message: Message, now: float) -> list[Arrival]:
        """Take one message of the home; returns the events that are new to the application, in order."""
        self._silent_rounds = 0
        match message:
            case Deliver():
                return self._delivered(message, now)
            case Receipt(number, _, length):
                self._settle(range(number, number + min(length, PUBLISH_WINDOW)))
                self._rest(now)
            case Opened():
                self._opened(message, now)
            case Refused(0, _) if self.is_on:
                # The home took our silence, or its own restart, for OFF: say that we are here.
                self.lost()
                self.open(now)
            case Refused(0, _) if not self._is_wanted:
                self._deadline = None  # there is nothing to close any more
            case Refused(number, _):
                self._settle((number,))
                self._subscriptions.pop(number, None)
                self._unanswered.pop(number, None)
                self._rest(now)
            case Standing(number, _, _) | Subscribed(number):
                self._unanswered.pop(number, None)
                self._heard(now)
            case Closed():
                self._deadline = None
            case Pong():
                self._heard(now)
            case Goodbye():
                self.lost()
        return []

    def _opened(self, opened: Opened, now: float) -> None:
        if not self._is_wanted:
            return
        self.is_on, self._is_opening, self.node = True, False, opened.node
        if (opened.incarnation, opened.epoch) != (self._incarnation, self._epoch):
            self._restarted(opened.incarnation)
        self._epoch = opened.epoch
        # What stands is stated again in full: the home may have lost, or never heard, any part of it.
        gone = [number for number in opened.subscriptions if number not in self._subscriptions]
        self._requests += [Unsubscribe(number) for number in gone]
        for number, filter_ in self._subscriptions.items():
            self._unanswered[number] = Subscribe(number, filter_)
        self._requests += self._unanswered.values()
        self._answered, self._must_repeat, self._vain_rounds = opened.published, True, 0
        self._rest(now)

    def _restarted(self, incarnation: int) -> None:
        """Another life of the daemon, or of the session in it: its numbers are new, and what became of real-time events
        nobody knows."""
        if self._incarnation:
            lost = [number for number, each in self._under_way.items() if each.is_realtime]
            self._settle(lost)
            self.given_up += lost
        self._incarnation, self._taken, self._acknowledged = incarnation, 0, 0
        self._ahead.clear()
        self._carried = dict.fromkeys((*self._carried, *self._unconsumed.values()), 0)
        self._unconsumed.clear()

    def _settle(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            publication = self._under_way.pop(number, None)
            if publication is not None:
                self._under_way_bytes -= len(publication.head) + len(publication.payload)
                self._answered = max(self._answered, number)
                self._vain_rounds = 0

    def _delivered(self, run: Deliver, now: float) -> list[Arrival]:
        if run.incarnation != self._incarnation:
            if self.is_on:  # we were told of another life than the one that delivers
                self.lost()
                self.open(now)
            return []
        if run.number <= self._taken:
            self._must_acknowledge = True
        new: list[Arrival] = []
        after = run.after
        for number, body in enumerate(run.bodies, run.number):
            if number > self._taken:
                if after <= self._taken:
                    self._take(number, body, new)
                elif len(self._ahead) < AHEAD_LIMIT:
                    self._ahead[number] = (after, body)
            after = number
        for number in sorted(self._ahead):
            after, body = self._ahead[number]
            if after > self._taken:
                break
            del self._ahead[number]
            if number > self._taken:  # else it has come again meanwhile
                self._take(number, body, new)
        return new

    def _take(self, number: int, body: bytes, new: list[Arrival]) -> None:
        self._taken = number
        try:
            event = Event.decode_untrusted(body)
        except WireError:
            event = _NO_EVENT
        event_id: EventId | None = event[0]  # the property `id` in a third of the time
        if event_id is None:  # to have it repeated would not make it an event that a home has stamped
            self.malformed += 1
            self._must_acknowledge = True
        elif event_id not in self._seen and event_id not in self._seen_before:
            self._seen.add(event_id)
            if len(self._seen) >= SEEN_LIMIT:
                self._seen_before, self._seen = self._seen, set()
            self._unconsumed[number] = event_id
            new.append(Arrival(number, event))
        else:
            self._repeated(number, event_id)

    def _repeated(self, number: int, event_id: EventId) -> None:
        """The daemon does not know that we have this event; what the application has yet to take stays unconfirmed."""
        self._must_acknowledge = True
        if event_id in self._carried:
            self._carried[event_id] = number
            self._unconsumed[number] = event_id

    # Time

    def next_deadline(self) -> float | None:
        times = (self._deadline, self._ask_again_at if self.is_on else None)
        return min((each for each in times if each is not None), default=None)

    def tick(self, now: float) -> None:
        """Repeat what was not answered; after a few rounds of silence the connection is lost, and opened again."""
        deadline = self.next_deadline()
        if deadline is None or now < deadline:
            return
        self._silent_rounds += 1
        if self.is_on and self._silent_rounds > PATIENCE:
            self._silent_rounds = 0
            self.lost()
        if not self.is_on or self._is_opening:
            if self._is_wanted:
                self.open(now)
            else:
                self.close(now)
            return
        self._ask_again_at = None
        self._requests += self._unanswered.values()
        if self._under_way:
            self._must_repeat = True
            self._vain_rounds += 1
        if self._vain_rounds > PATIENCE:
            # The home is there but takes none of it: let it say again what it has.
            self._vain_rounds = 0
            self.open(now)
            return
        self.ping()
        self._deadline = now + RETRY

    def _rest(self, now: float) -> None:
        """Publications were answered: those still under way get their full time, and in quiet a ping is due."""
        if self.is_on:
            self._deadline = now + (RETRY if self._under_way else PING_EVERY)

    def _heard(self, now: float) -> None:
        """Something else was answered, which does not put off the repetition of publications."""
        if not self._unanswered:
            self._ask_again_at = None
        if not self._under_way:
            self._rest(now)

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _ask(self, request: Subscribe | Inquire) -> None:
        """Ask until it is answered."""
        self._unanswered[request.number] = request
        if self.is_on:
            self._requests.append(request)
