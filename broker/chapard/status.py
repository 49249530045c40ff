"""What the daemon says of itself: pure functions from the node and its surroundings to values that JSON can hold.

Lists are bounded, as the tables behind them may be large: `truncated` says that there is more. The summary walks homes
and sessions only (0.1 ms at a node with 100 000 filters of 256 homes); the longest list, a thousand memorised events
with their node vectors, takes 11 ms of the loop.
"""

from __future__ import annotations

import json
from itertools import islice
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar.event import split_id
from chapard.core.overlay.report import figures
from chapard.core.overlay.report import filters as link_filters
from chapard.core.overlay.router import Algorithm
from chapard.role_reason import role_reason

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Mapping

    from chapar.filter import Filter
    from chapard.core.effects import Reason
    from chapard.core.met import Memory
    from chapard.core.node import Node
    from chapard.core.nodevector import NodeVector
    from chapard.core.overlay.auto import Choice
    from chapard.core.overlay.broker import TreeBroker
    from chapard.core.peers import Peer
    from chapard.core.session import Session
    from chapard.ledger import Entry, Ledger

Json = dict[str, Any]
Response = tuple[int, str, bytes]
"""HTTP status, content type, body."""

MOST_LISTED: Final = 1000
"""Entries of one list."""
MOST_NODES: Final = 65_536
"""Node indexes in all the vectors of one answer: those of a full mesh of 256."""
MOST_TEXT: Final = 1024 * 1024
"""Characters of all filters of one answer."""

JSON: Final = "application/json; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"


class Port(NamedTuple):
    """What the sockets of one port have carried since the daemon started."""

    received: int = 0
    received_bytes: int = 0
    sent: int = 0
    sent_bytes: int = 0
    kernel_drops: int = 0
    """Datagrams that came while the socket's buffer was full."""
    receive_errors: int = 0
    send_errors: int = 0
    queue_drops: int = 0
    """Datagrams dropped because our own send queue was full."""
    malformed: int = 0
    """Datagrams refused before the core saw them: no frames, or no node's address."""
    unaddressed: int = 0
    """What was to be sent and had no address to go to, or found no room to wait in."""


class Surroundings(NamedTuple):
    """What is around the node: all that the core does not know."""

    version: str
    address: str
    started: float
    """When the node started, on the clock that `now` is read from."""
    is_durable: bool = True
    disk_fault: str | None = None
    disk_pending: int = 0
    route_source: str = "none"
    route_state: str = "ok"
    route_version: int = 0
    route_faults: Mapping[str, int] = MappingProxyType({})
    """How often what the source said was wrong, by kind."""
    two_hop: Mapping[int, frozenset[int]] | None = None
    """The neighbours of each neighbour; None where the source of routes does not know them."""
    quality: Mapping[int, float] | None = None
    """Of the link to each neighbour, 0 to 1; None likewise."""
    mesh: Port = Port()
    clients: Port = Port()
    faults: int = 0
    """Mistakes of ours that were caught."""
    http_refused: int = 0
    """HTTP connections turned away because there were too many."""
    trouble: str | None = None
    """Why the daemon cannot serve at all; None if it can."""


def status(node: Node, around: Surroundings, now: float) -> Json:
    """Everything in brief."""
    sessions = node.home.sessions.all()
    on = sum(session.is_on for session in sessions)
    return {
        "version": around.version,
        "node": {
            "index": node.index,
            "incarnation": node.station.incarnation,
            "address": around.address,
            "uptime_seconds": _seconds(now - around.started),
        },
        "role": {
            "role": str(node.role),
            "why": role_reason(node),
            "broker": node.station.broker,
            "power": str(node.power),
        },
        "peers": len(node.station.peers),
        "routing": _routing(node, now),
        "tables": {
            "fmt": {"homes": len(node.fmt), "filters": filters_held(node), "digest": f"{node.fmt.tree.root:016x}"},
            "met": {"events": len(node.met), "bytes": node.met.bytes, "digest": f"{node.met.tree.root:016x}"},
        },
        "sessions": {"on": on, "off": len(sessions) - on, "queued": sum(each.queued_events for each in sessions)},
        "routes": {
            **_source(around),
            "destinations": len(node.station.view.routes),
            "neighbours": len(node.station.view.neighbours),
        },
        "sizes": {name: list(pair) for name, pair in node.sizes().items()},
        "drops": _counted(node.outlet.drops),
        "losses": _counted(node.outlet.losses),
        "disk": {"state": disk_state(around), "pending": around.disk_pending},
        "kernel_drops": around.mesh.kernel_drops + around.clients.kernel_drops,
    }


def peers(node: Node, now: float) -> Json:
    """The daemons in contact."""
    known = list(node.station.peers)
    budget = _Budget(MOST_NODES)
    listed = [_peer(each, budget, now) for each in known[:MOST_LISTED]]
    return {"peers": listed, "truncated": budget.is_exceeded or len(listed) < len(known)}


def fmt(node: Node) -> Json:
    """The filters of every home; on a tree, where no broker knows them so, those that stand over each link."""
    if node.tree is not None:
        return _fmt_of_links(node.tree)
    filters, text = _Budget(MOST_LISTED), _Budget(MOST_TEXT)
    homes: list[Json] = []
    for home, wanted in node.fmt.homes().items():
        record = node.fmt.get(home)
        texts: list[str] = []
        for each in filters.take(wanted):
            texts += text.take_text(str(each))
            if text.is_exceeded:
                break
        homes.append({"home": home, "version": record.version if record is not None else 0, "filters": texts})
        if filters.is_exceeded or text.is_exceeded:
            break
    return {"homes": homes, "truncated": filters.is_exceeded or text.is_exceeded}


def _fmt_of_links(tree: TreeBroker) -> Json:
    """What was received over each link, and sent there; `neighbour` is null for the node's own clients."""
    budget, text = _Budget(MOST_LISTED), _Budget(MOST_TEXT)

    def texts(wanted: tuple[Filter, ...]) -> list[str]:
        return [said for each in budget.take(wanted) for said in text.take_text(str(each))]

    links = [
        {"neighbour": each.neighbour, "received": texts(each.received), "sent": texts(each.sent)}
        for each in link_filters(tree)
    ]
    return {"homes": [], "links": links, "truncated": budget.is_exceeded or text.is_exceeded}


def met(node: Node, now: float) -> Json:
    """The events that are kept, per publisher in order."""
    budget = _Budget(MOST_NODES)
    events: list[Json] = []
    for memory in islice(node.met, MOST_LISTED):
        events.append(_memory(memory, budget, now))
        if budget.is_exceeded:
            break
    return {"events": events, "truncated": len(events) < len(node.met) or budget.is_exceeded}


def clients(node: Node) -> Json:
    """The clients' sessions, ON and OFF."""
    sessions = node.home.sessions.all()
    return {
        "clients": [_session(each) for each in sessions[:MOST_LISTED]],
        "truncated": len(sessions) > MOST_LISTED,
    }


def routes(node: Node, around: Surroundings) -> Json:
    """The route view; null is what its source does not know."""
    view = node.station.view
    budget = _Budget(MOST_NODES)
    two_hop, quality = around.two_hop, around.quality
    return {
        **_source(around),
        "routes": [
            {"destination": destination, "next_hop": route.next_hop, "hops": route.hops}
            for destination, route in sorted(view.routes.items())
        ],
        "neighbours": sorted(view.neighbours),
        "mprs": None if view.mprs is None else sorted(view.mprs),
        "selectors": None if view.selectors is None else sorted(view.selectors),
        "two_hop": None if two_hop is None else {near: budget.take(sorted(two_hop[near])) for near in sorted(two_hop)},
        "quality": None if quality is None else {near: round(quality[near], 3) for near in sorted(quality)},
        "truncated": budget.is_exceeded,
    }


def losses(ledger: Ledger, now: float) -> Json:
    """The last events that somebody did not get from this node, the newest first."""
    budget = _Budget(MOST_NODES)
    listed = [_loss(number, entry, budget, now) for number, entry in ledger.latest()]
    return {"total": ledger.total, "losses": listed, "truncated": budget.is_exceeded or len(listed) < ledger.total}


def health(around: Surroundings) -> tuple[int, str]:
    """HTTP status and one line. With its disk at fault the daemon still serves real-time events."""
    if around.trouble is not None:
        return 503, around.trouble
    if around.disk_fault is not None:
        return 200, f"degraded: disk {around.disk_fault}"
    return 200, "ok"


def filters_held(node: Node) -> int:
    """Filters in the FMT, each home's counted."""
    return sum(map(len, node.fmt.homes().values()))


def disk_state(around: Surroundings) -> str:
    if around.disk_fault is not None:
        return f"fault: {around.disk_fault}"
    return "ok" if around.is_durable else "off"


def pages(
    node: Node, ledger: Ledger, surroundings: Callable[[], Surroundings], clock: Callable[[], float]
) -> dict[str, Callable[[], Response]]:
    """The status pages by their path, for the HTTP server."""

    def healthz() -> Response:
        code, line = health(surroundings())
        return code, TEXT, f"{line}\n".encode()

    return {
        "/healthz": healthz,
        "/status": lambda: _json(status(node, surroundings(), clock())),
        "/status/peers": lambda: _json(peers(node, clock())),
        "/status/fmt": lambda: _json(fmt(node)),
        "/status/met": lambda: _json(met(node, clock())),
        "/status/clients": lambda: _json(clients(node)),
        "/status/routes": lambda: _json(routes(node, surroundings())),
        "/status/losses": lambda: _json(losses(ledger, clock())),
    }


def _routing(node: Node, now: float) -> Json:
    """How the network is run; on a tree, the links of this node with what stands over them, and what `auto` chose."""
    routing, tree = node.config.routing, node.tree
    if tree is None:
        return {"mode": str(routing.mode)}
    chosen = tree.router.choices
    is_auto = routing.algorithm is Algorithm.AUTO
    return {
        "mode": str(routing.mode),
        "algorithm": str(routing.algorithm),
        "advertisements": routing.advertisements,
        "loops": sum(tree.loops.values()),
        "sent": dict(sorted(tree.sent.items())),
        "links": [
            {
                "neighbour": link.neighbour,
                "state": "up" if link.is_up else "down",
                "subscriptions": {"received": link.subscriptions_received, "sent": link.subscriptions_sent},
                "advertisements": {"received": link.advertisements_received, "sent": link.advertisements_sent},
                "loops": link.loops,
            }
            for link in figures(tree)
        ],
        **({"choices": [_choice(each, now) for each in chosen[:MOST_LISTED]]} if is_auto else {}),
        **({"truncated": len(chosen) > MOST_LISTED} if is_auto else {}),
    }


def _choice(choice: Choice, now: float) -> Json:
    """How a class of filters is routed over a link toward us, and the rates and prices behind it, all per second."""
    seen = choice.estimate
    return {
        "neighbour": choice.link,
        "subject": choice.class_.subject,
        "type": choice.class_.type,
        "routed": "flooding" if choice.floods else "filtering",
        "forced": choice.forced,
        "seconds_ago": _seconds(now - choice.since),
        "rates": None if seen is None else {"lambda": seen.lam, "mu": seen.mu, "omega": seen.omega},
        "costs": None if seen is None else {"flooding": seen.flooding, "filtering": seen.filtering},
    }


def _json(value: Json) -> Response:
    return 200, JSON, json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"


class _Budget:
    """So much of something may be listed, and no more."""

    def __init__(self, left: int) -> None:
        self._left = left
        self.is_exceeded = False

    def take(self, items: tuple[Any, ...] | list[Any]) -> Iterable[Any]:
        taken = items[: self._left]
        self._left -= len(taken)
        self.is_exceeded |= len(taken) < len(items)
        return taken

    def take_text(self, text: str) -> list[str]:
        """The text in a list, or an empty one if it does not fit."""
        self.is_exceeded |= len(text) > self._left
        self._left -= len(text)
        return [] if self.is_exceeded else [text]


def _peer(peer: Peer, budget: _Budget, now: float) -> Json:
    return {
        "index": peer.index,
        "broker": peer.broker,
        "is_broker": peer.is_broker,
        "incarnation": peer.beacon.incarnation,
        "heard_seconds_ago": _seconds(now - peer.heard),
        "neighbours": _nodes(peer.neighbours, budget),
    }


def _memory(memory: Memory, budget: _Budget, now: float) -> Json:
    return {
        "id": ".".join(map(str, split_id(memory.event_id))),
        "delivery": memory.event.delivery.label,
        "subject": memory.event.subject,
        "bytes": len(memory.body),
        "expires_seconds": None if memory.expiry == inf else _seconds(memory.expiry - now),
        "wanted": _nodes(memory.wanted, budget),
        "delivered": _nodes(memory.delivered, budget),
    }


def _session(session: Session) -> Json:
    return {
        "client": session.client,
        "state": "on" if session.is_on else "off",
        "subscriptions": len(session.subscriptions),
        "queue": session.queued_events,
        "in_flight": session.flight_events,
        "published": session.published,
    }


def _loss(number: int, entry: Entry, budget: _Budget, now: float) -> Json:
    return {
        "number": number,
        "seconds_ago": _seconds(now - entry.at),
        "id": ".".join(map(str, split_id(entry.event_id))),
        "homes": list(budget.take(entry.homes)),
        "reason": entry.reason,
        "client": entry.client,
    }


def _source(around: Surroundings) -> Json:
    return {
        "source": around.route_source,
        "state": around.route_state,
        "version": around.route_version,
        "faults": {kind: count for kind, count in around.route_faults.items() if count},
    }


def _nodes(vector: NodeVector, budget: _Budget) -> list[int]:
    return list(budget.take(vector.indexes()))


def _counted(counter: Counter[Reason]) -> dict[str, int]:
    return {str(reason): counter[reason] for reason in sorted(counter) if counter[reason]}


def _seconds(span: float) -> float:
    """Seconds as a person reads them; never negative, though clocks of two readings may differ."""
    return round(max(0.0, span), 3)
