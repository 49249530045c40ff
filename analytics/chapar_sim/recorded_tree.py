"""A tree of brokers that records what daemons would: the traffic worlds as datasets, for the audit.

Nothing takes time between its brokers and there is no medium, so there is no `air`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chapar.event import event_id
from chapar.wire import EventFrame, encode
from chapar_sim.broker_tree import BrokerTree
from chapar_sim.datasets import Recorder
from chapar_sim.trace import Trace
from chapard.core.config import Config
from chapard.core.effects import DeliveryRow, FrameRow, InterestRow, PublishRow, TrafficClass
from chapard.core.overlay.interest import Change, Forward
from chapard.core.overlay.plan import Mode, Overlay, Routing
from chapard.core.overlay.telling import packed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.event import Event
    from chapar.filter import Filter
    from chapar_sim.broker_tree import Edge, Message
    from chapard.core.overlay.interest import Subscriber
    from chapard.core.overlay.router import RouterConfig

HOPS = 64
"""That an event may have left; the frames of all have the same size."""


class RecordedTree(BrokerTree):
    """As its base class does, with `trace` for what was recorded."""

    def __init__(
        self, links: Iterable[Edge], config: RouterConfig, *, publishers: Iterable[int] | None, run: str
    ) -> None:
        links, roots = tuple(links), None if publishers is None else tuple(publishers)
        self.trace = Trace()
        self._recorder = Recorder(self.trace, run)
        self._wants: dict[int, dict[tuple[str, Filter], None]] = {}
        self._hops: dict[int, int] = {}
        """How far the event under way has come, by broker."""
        settings = settings_of(links, config, roots or ())
        super().__init__(links, config, publishers=roots, watch=self._crossed)
        for index in self.routers:
            self._recorder.started(self.now, index, settings)

    def subscribe(self, at: int, client: Subscriber, filter_: Filter) -> None:
        self._wants.setdefault(at, {})[client.client, filter_] = None
        self._row(at, InterestRow(client.client, filter_.fid, Change.SUBSCRIBE))
        super().subscribe(at, client, filter_)

    def unsubscribe(self, at: int, client: Subscriber, filter_: Filter) -> None:
        self._wants[at].pop((client.client, filter_), None)
        self._row(at, InterestRow(client.client, filter_.fid, Change.UNSUBSCRIBE))
        super().unsubscribe(at, client, filter_)

    def publish(self, at: int, event: Event) -> None:
        self._hops = {at: 0}
        before = len(self.delivered)
        super().publish(at, event)
        stamped = event.accepted(id=event_id(at, 1, self._published))
        assert stamped.id is not None, "just stamped"
        self._row(at, PublishRow(f"publisher-{at}", stamped.id, "realtime", 0, len(stamped.encode()), event.subject))
        for home, _ in self.delivered[before:]:
            clients = [client for client, wanted in self._wants.get(home, {}) if wanted.matches(event)]
            self._row(home, DeliveryRow(clients, stamped.id, at, self._hops[home], "realtime", 0))

    def _crossed(self, message: Message) -> None:
        sender, receiver, content = message
        if isinstance(content, Forward):
            self._hops[receiver] = self._hops.get(sender, 0) + 1
            body = content.event.encode()
            frame = EventFrame(sender, HOPS, 0, 0, 0, b"", body)
            about: dict[str, Any] = {"event_id": content.event.id, "filter_id": None}
            kind, traffic_class, size = "event", TrafficClass.DATA, len(encode(frame))
        else:
            ((_, said),) = packed(sender, [content])
            filter_ = content.interest.filter
            about = {"event_id": None, "filter_id": filter_.fid}
            kind, traffic_class, size = "interest", TrafficClass.CONTROL, len(encode(said))
            self._row(sender, InterestRow(None, filter_.fid, content.change, receiver, "tx"))
            self._row(receiver, InterestRow(None, filter_.fid, content.change, sender, "rx"))
        for node, peer, direction in ((sender, receiver, "tx"), (receiver, sender, "rx")):
            row = FrameRow(
                direction=direction, peer=peer, kind=kind, traffic_class=traffic_class, bytes=size, retry=0, **about
            )
            self._row(node, row)

    def _row(self, node: int, row: InterestRow | PublishRow | DeliveryRow | FrameRow) -> None:
        self._recorder.record(self.now, node, row)


def settings_of(links: tuple[Edge, ...], config: RouterConfig, roots: tuple[int, ...]) -> Config:
    """What a daemon of this tree would be configured with. Raises ConfigError."""
    routing = Routing(
        mode=Mode.TREE,
        algorithm=config.algorithm,
        advertisements=config.advertisements,
        refresh_period=config.refresh_period,
        merge_delay=config.merge_delay,
        publisher_roots=roots,
    )
    return Config(nodes=config.nodes, routing=routing, overlay=Overlay(links))
