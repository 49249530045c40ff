"""What of a session survives a restart, and how it is read back; `store` lists the keys."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from chapar.event import EventId, origin_of, peek_id
from chapar.filter import Filter
from chapard.core.session import Session, Waiting
from chapard.core.store import saved_under

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapard.core.store import Store


class SessionDisk:
    """Saves and forgets, key by key."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save(self, session: Session) -> None:
        """What the session is, and what it is subscribed to."""
        subscriptions = [[number, each.to_wire()] for number, each in session.subscriptions.items()]
        self._store.put(f"session/{session.client}", session.epoch, session.is_lasting, subscriptions)

    def save_waiting(self, session: Session, waiting: Waiting) -> None:
        """Deliveries of a run that are not saved yet."""
        _, bodies, is_memorised, expiry, *rest = waiting
        for number, body in enumerate(bodies, waiting.number):
            if number not in session.saved:
                session.saved.add(number)
                key = f"queue/{session.client}/{number:012d}"
                self._store.put(key, body, is_memorised, _finite(expiry), *rest)

    def forget_waiting(self, session: Session, first: int, count: int) -> None:
        """Deliveries that are done with."""
        for number in range(first, first + count) if session.saved else ():
            if number in session.saved:
                session.saved.remove(number)
                self._store.forget(f"queue/{session.client}/{number:012d}")

    def save_taken(self, session: Session, event_id: EventId, expiry: float) -> None:
        self._store.put(f"taken/{session.client}/{event_id.hex()}", _finite(expiry))

    def forget_taken(self, session: Session, event_id: EventId) -> None:
        self._store.forget(f"taken/{session.client}/{event_id.hex()}")

    def save_latest(self, session: Session) -> None:
        """The latest real-time events, of publishers for which that has changed."""
        for origin in sorted(session.unsaved):
            self._store.put(f"latest/{session.client}/{origin}", session.latest[origin])
        session.unsaved.clear()

    def save_published(self, session: Session) -> None:
        self._store.put(f"published/{session.client}", session.published, list(session.receipts))

    def forget_published(self, session: Session) -> None:
        self._store.forget(f"published/{session.client}")

    def forget(self, session: Session) -> None:
        """Everything but the deliveries that wait."""
        for event_id in session.taken:
            self.forget_taken(session, event_id)
        for origin in session.latest:
            self._store.forget(f"latest/{session.client}/{origin}")
        self.forget_published(session)
        self._store.forget(f"session/{session.client}")


def _finite(expiry: float) -> float | None:
    return None if expiry == inf else expiry


def restored(saved: Mapping[str, bytes], now: float) -> list[Session]:
    """The sessions as they were saved, in slots from 0 on; every client is OFF until it opens its session again."""
    sessions: dict[str, Session] = {}
    for (client,), (epoch, lasting, subscriptions) in saved_under(saved, "session/"):
        session = sessions[client] = Session(client, len(sessions), epoch, lasting, heard=now)
        session.subscriptions.update((number, Filter.from_wire_untrusted(wire)) for number, wire in subscriptions)
    for (client, origin), (event_id,) in saved_under(saved, "latest/"):
        sessions[client].latest[int(origin)] = EventId(event_id)
    for (client, number), (body, is_memorised, expiry, hops, via, since) in saved_under(saved, "queue/"):
        until = inf if expiry is None else expiry
        _restore_waiting(sessions[client], Waiting(int(number), (body,), is_memorised, until, hops, via, since))
    for (client, event_id), (expiry,) in saved_under(saved, "taken/"):
        sessions[client].taken[EventId(bytes.fromhex(event_id))] = inf if expiry is None else expiry
    for (client,), (published, receipts) in saved_under(saved, "published/"):
        sessions[client].published = published
        sessions[client].receipts.extend((number, EventId(first), *rest) for number, first, *rest in receipts)
    return list(sessions.values())


def _restore_waiting(session: Session, waiting: Waiting) -> None:
    (body,) = waiting.bodies
    session.number = waiting.number
    session.events += 1
    session.bytes += len(body)
    session.saved.add(waiting.number)
    session.queue.append(waiting)
    session.expires = min(session.expires, waiting.expiry)
    given = peek_id(body)
    if not waiting.is_memorised and given > session.latest.get(origin_of(given), b""):
        # What waits was given, even if the mark that says so was not saved yet.
        session.latest[origin_of(given)] = given
        session.unsaved.add(origin_of(given))
