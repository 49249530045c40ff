"""A client's session with the daemon of its node: the messages both ends exchange, and the client's end as a machine.

A session outlives its connections. The home numbers what it delivers, the client confirms cumulatively, and whatever
was not confirmed comes again when the client is ON; publications are numbered the other way round, and a window of them
is under way without a receipt. So neither side needs to know when exactly the other went away, and nothing is handed to
the application, or to the network, twice:

- a delivery with a number at or below the last one taken is a repetition, confirmed again and dropped;
- a home that lost its disk opens a new epoch and starts numbering at 1; what it serves again from the network's memory
  is recognised by event id.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from chapar.event import Event, EventId, peek_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.filter import Filter

SEEN_LIMIT = 8192
"""Event ids remembered across epochs. A home that lost its disk is served at most its brokers' tables again."""
PUBLISH_WINDOW = 32
"""Publications under way without a receipt; a home can repeat the receipts of more than these."""


class Open(NamedTuple):
    """The client is ON. `epoch` names the session it wants to go on with, 0 if it has none."""

    epoch: int


class Close(NamedTuple):
    """The client goes OFF and will come back: its subscriptions stand and its queue fills."""


class Subscribe(NamedTuple):
    number: int
    filter: Filter


class Unsubscribe(NamedTuple):
    number: int


class Publish(NamedTuple):
    number: int
    event: Event


class Acknowledge(NamedTuple):
    """Every delivery up to `number` of this epoch is safe with the client."""

    epoch: int
    number: int


class Ping(NamedTuple):
    """Still here. Silence for the keep-alive time means OFF."""


Request = Open | Close | Subscribe | Unsubscribe | Publish | Acknowledge | Ping


class Opened(NamedTuple):
    """The session stands, with these subscriptions. `published` is the last publication the home accepted from it."""

    epoch: int
    resumed: bool
    published: int
    subscriptions: tuple[int, ...]


class Deliver(NamedTuple):
    """Delivery `number`, which follows delivery `after`: numbers between them were dropped at the home, not lost."""

    epoch: int
    number: int
    after: int
    body: bytes


class Receipt(NamedTuple):
    """The home has publication `number`; the network knows it as `id`."""

    number: int
    id: EventId


class Refused(NamedTuple):
    """Request `number` (0: the session itself) was not carried out, and why."""

    number: int
    reason: str


class Goodbye(NamedTuple):
    """The daemon stops. The session stands; open it again when the daemon is back."""


Message = Opened | Deliver | Receipt | Refused | Goodbye


class ClientSession:
    """The client's end. Drive it with the verbs and `received`, which returns events for the application.

    Send the home what `requests` drains.
    """

    def __init__(self) -> None:
        self.is_on = False
        self._epoch = 0
        self._taken = 0
        self._ahead: dict[int, Deliver] = {}
        self._seen: dict[EventId, None] = {}
        self._numbers = 0
        self._subscriptions: dict[int, Filter] = {}
        self._unconfirmed: dict[int, Event] = {}
        self._under_way: set[int] = set()
        self._requests: list[Request] = []
        self.receipts: dict[int, EventId] = {}
        self.refusals: dict[int, str] = {}

    def open(self) -> None:
        """Go ON. Everything the home has not confirmed is asked for again once it answers."""
        self._requests.append(Open(self._epoch))

    def close(self) -> None:
        """Go OFF in good order."""
        self.is_on = False
        self._requests.append(Close())

    def lost(self) -> None:
        """The connection is gone without a word: the daemon crashed, or the application's host slept."""
        self.is_on = False

    def ping(self) -> None:
        self._requests.append(Ping())

    def subscribe(self, filter: Filter) -> int:  # noqa: A002 - the field's own noun
        number = self._next_number()
        self._subscriptions[number] = filter
        self._when_on(Subscribe(number, filter))
        return number

    def unsubscribe(self, number: int) -> None:
        if self._subscriptions.pop(number, None) is not None:
            self._when_on(Unsubscribe(number))

    def publish(self, event: Event) -> int:
        """Publish, now or when ON again; `receipts[number]` appears once the home has the event."""
        number = self._next_number()
        self._unconfirmed[number] = event
        self._send_publications()
        return number

    def requests(self) -> list[Request]:
        """Drain what is to be sent to the home."""
        drained, self._requests = self._requests, []
        return drained

    def received(self, message: Message) -> list[Event]:
        """Take one message of the home; returns the events that are new to the application, in order."""
        match message:
            case Opened():
                self._opened(message)
            case Deliver():
                return self._delivered(message)
            case Receipt(number, id_):
                if self._unconfirmed.pop(number, None) is not None:
                    self.receipts[number] = id_
                self._send_publications()
            case Refused(0, _) if self.is_on:
                # The home took our silence, or its own restart, for OFF: say that we are here.
                self.lost()
                self.open()
            case Refused(number, reason):
                self._unconfirmed.pop(number, None)
                self._subscriptions.pop(number, None)
                self.refusals[number] = reason
                self._send_publications()
            case Goodbye():
                self.lost()
        return []

    def _opened(self, opened: Opened) -> None:
        self.is_on = True
        if opened.epoch != self._epoch:
            self._epoch, self._taken = opened.epoch, 0
            self._ahead.clear()
        # What stands is stated again in full: the home may have lost, or never heard, any part of it.
        gone = [number for number in opened.subscriptions if number not in self._subscriptions]
        self._requests += [Unsubscribe(number) for number in gone]
        self._requests += [Subscribe(number, filter_) for number, filter_ in self._subscriptions.items()]
        self._under_way.clear()
        self._send_publications()

    def _send_publications(self) -> None:
        """Send what this connection has not carried yet: the oldest first, as far as the window goes."""
        self._under_way &= self._unconfirmed.keys()
        for number, event in islice(self._unconfirmed.items(), PUBLISH_WINDOW if self.is_on else 0):
            if number not in self._under_way:
                self._under_way.add(number)
                self._requests.append(Publish(number, event))

    def _delivered(self, delivery: Deliver) -> list[Event]:
        if delivery.epoch != self._epoch:
            return []
        if delivery.number > self._taken:
            self._ahead[delivery.number] = delivery
        new = list(self._in_order())
        self._requests.append(Acknowledge(self._epoch, self._taken))
        return new

    def _in_order(self) -> Iterable[Event]:
        while self._ahead and self._ahead[first := min(self._ahead)].after <= self._taken:
            delivery = self._ahead.pop(first)
            self._taken = first
            event_id = peek_id(delivery.body)
            if event_id not in self._seen:
                self._remember(event_id)
                yield Event.decode_untrusted(delivery.body)

    def _remember(self, event_id: EventId) -> None:
        self._seen[event_id] = None
        if len(self._seen) > SEEN_LIMIT:
            del self._seen[next(iter(self._seen))]

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _when_on(self, request: Request) -> None:
        if self.is_on:
            self._requests.append(request)
