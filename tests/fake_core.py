"""A protocol core small enough to see through: every event is flooded, every home delivers it to its clients.

The simulator's own tests use it, so that they fail for the simulator's mistakes only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar.errors import WireError
from chapar.event import Event, EventId, event_id, peek_id
from chapar.session import Acknowledge, Close, Deliver, Open, Opened, Publish, Receipt, Subscribe, Unsubscribe
from chapar.wire import Ack, Nack, decode_untrusted, encode
from chapar.wire import Publish as PublishFrame
from chapard.core.effects import Answer, Drop, PublishRow, Reason, Save, Transmit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from random import Random

    from chapar.filter import Filter
    from chapar.session import Message, Request
    from chapar_olsr.view import RouteView
    from chapard.core.config import Config
    from chapard.core.effects import Effect

BEACON_EVERY = 5.0


class FakeCore:
    """The interface of `chapard.core.node.Node` over blind flooding."""

    role = "regular"

    def __init__(
        self,
        index: int,
        incarnation: int,
        config: Config,
        rng: Random,
        now: float,
        saved: Mapping[str, bytes] | None = None,
    ) -> None:
        self.index = index
        self.incarnation = incarnation
        self.config = config
        self.saved = dict(saved or {})
        self.views: list[RouteView] = []
        self.batteries: list[float] = []
        self.unicasts = 0
        """Datagrams that arrived from `unicast`."""
        self.is_stopped = False
        self._effects: list[Effect] = []
        self._beacon_at = now + rng.uniform(0, BEACON_EVERY)
        self._seen: set[EventId] = set()
        self._sequence = 0
        self._filters: dict[str, dict[int, Filter]] = {}
        self._queues: dict[str, list[bytes]] = {}
        self._on: set[str] = set()
        self._published: dict[tuple[str, int], EventId] = {}

    # Inspection, as the snapshots need it

    @property
    def fmt(self) -> FakeCore:
        return self

    @property
    def met(self) -> tuple[()]:
        return ()

    def homes(self) -> dict[int, tuple[Filter, ...]]:
        own = tuple(filter_ for _, filters in sorted(self._filters.items()) for filter_ in filters.values())
        return {self.index: own} if own else {}

    def sizes(self) -> dict[str, tuple[int, int]]:
        return {"seen": (len(self._seen), 1_000_000)}

    # Inputs

    def datagram_received(self, data: bytes, source: int, now: float) -> None:  # noqa: ARG002 - the core's interface
        try:
            for frame in decode_untrusted(data, nodes=self.config.nodes):
                if isinstance(frame, PublishFrame):
                    self._take(frame.body)
                elif isinstance(frame, Nack):
                    self.unicasts += 1
        except WireError:
            self._effects.append(Drop(Reason.MALFORMED, source, None, None))

    def unicast(self, to: int) -> None:
        """Send one datagram that floods nowhere."""
        self._effects.append(Transmit(to, encode(Nack(self.index, 1, 0, (1,)))))

    def route_changed(self, view: RouteView, now: float) -> None:  # noqa: ARG002 - the core's interface
        self.views.append(view)

    def battery_changed(self, level: float, now: float) -> None:  # noqa: ARG002 - the core's interface
        self.batteries.append(level)

    def client_request(self, client: str, request: Request, now: float) -> None:  # noqa: ARG002 - the core's interface
        match request:
            case Open():
                self._on.add(client)
                opened = Opened(
                    1, self.incarnation, resumed=False, node=self.index, published=0, subscriptions=()
                )
                self._answer(client, opened)
                for number, body in enumerate(self._queues.get(client, []), start=1):
                    self._answer(client, Deliver(self.incarnation, number, number - 1, [body]))
            case Close():
                self._on.discard(client)
            case Subscribe(number, filter_):
                self._filters.setdefault(client, {})[number] = filter_
            case Unsubscribe(number):
                self._filters.get(client, {}).pop(number, None)
            case Publish(_, number, head, payloads):
                for place, payload in enumerate(payloads, number):
                    self._publish(client, place, Event.decode_head_untrusted(head).with_payload(payload))
            case Acknowledge():
                pass

    def tick(self, now: float) -> None:
        if self._beacon_at <= now:
            self._beacon_at = now + BEACON_EVERY
            self._effects.append(Transmit(None, encode(Ack(self.index, 1, 1))))

    def stop(self, now: float) -> None:  # noqa: ARG002 - the core's interface
        self.is_stopped = True

    # Outputs

    def next_deadline(self) -> float | None:
        return self._beacon_at

    def drain(self, now: float) -> list[Effect]:  # noqa: ARG002 - the core's interface
        drained, self._effects = self._effects, []
        return drained

    def _publish(self, client: str, number: int, event: Event) -> None:
        known = self._published.get((client, number))
        if known is None:
            self._sequence += 1
            known = event_id(self.index, self.incarnation, self._sequence)
            self._published[client, number] = known
            self._effects.append(Save("sequence", str(self._sequence).encode()))
            body = event.accepted(id=known).encode()
            row = PublishRow(client, known, event.delivery.label, event.lifetime_ms, len(body), event.subject)
            self._effects.append(row)
            self._take(body)
        self._answer(client, Receipt(number, known, 1))

    def _take(self, body: bytes) -> None:
        known = peek_id(body)
        if known in self._seen:
            return
        self._seen.add(known)
        event = Event.decode_untrusted(body)
        for client in self._interested(event):
            queue = self._queues.setdefault(client, [])
            queue.append(body)
            if client in self._on:
                self._answer(client, Deliver(self.incarnation, len(queue), len(queue) - 1, [body]))
        self._effects.append(Transmit(None, encode(PublishFrame(self.index, body))))

    def _interested(self, event: Event) -> Iterator[str]:
        for client, filters in sorted(self._filters.items()):
            if any(filter_.matches(event) for filter_ in filters.values()):
                yield client

    def _answer(self, client: str, message: Message) -> None:
        self._effects.append(Answer(client, message, after_save=True))
