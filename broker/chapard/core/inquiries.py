"""Clients' questions how many homes have confirmed a memorised event.

A broker knows, as far as its neighbours have told it. Another home asks its broker (a WANT for a record that it has is
answered by DELIVERED) and waits a moment for the answer; without one it says what it knows itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chapar.event import EventId, origin_of
from chapar.session import Inquire, Refused, Standing
from chapard.core.config import Mode
from chapard.core.effects import Answer

if TYPE_CHECKING:
    from chapard.core.met import MET
    from chapard.core.outlet import Outlet
    from chapard.core.station import Station

PATIENCE = 1.0
"""Seconds to wait for the broker's answer."""
LIMIT = 1024
"""Questions that wait at a time."""


class _Question(NamedTuple):
    client: str
    number: int
    id: EventId
    deadline: float


class Inquiries:
    """The questions of one home's clients."""

    def __init__(self, station: Station, outlet: Outlet, met: MET) -> None:
        self._station = station
        self._outlet = outlet
        self._met = met
        self._waiting: list[_Question] = []
        self.questions: list[EventId] = []
        """What our broker is to be asked about."""

    def __len__(self) -> int:
        return len(self._waiting)

    def ask(self, client: str, inquiry: Inquire, now: float) -> None:
        question = _Question(client, inquiry.number, inquiry.id, now + PATIENCE)
        if self._station.config.routing.mode is Mode.TREE:
            self._refuse(question, "on a tree of brokers nobody gathers who has an event (routing.mode is tree)")
        elif self._met.get(inquiry.id) is None:
            self._refuse(question, "this node does not keep that event, or no longer does")
        elif self._station.broker == self._station.index:
            self._answer(question)
        elif len(self._waiting) >= LIMIT:
            self._refuse(question, "too many questions at a time: ask again later")
        else:
            self._waiting.append(question)
            self.questions.append(inquiry.id)

    def answered(self, event_id: EventId) -> None:
        """The broker has told us who has this event."""
        self._settle([each for each in self._waiting if each.id == event_id])

    def tick(self, now: float) -> None:
        self._settle([each for each in self._waiting if each.deadline <= now])

    def next_deadline(self) -> float | None:
        return self._waiting[0].deadline if self._waiting else None

    def _settle(self, questions: list[_Question]) -> None:
        for question in questions:
            self._waiting.remove(question)
            self._answer(question)

    def _answer(self, question: _Question) -> None:
        memory = self._met.get(question.id)
        if memory is None:
            self._refuse(question, "this node no longer keeps that event")
            return
        origin = origin_of(question.id)
        wanted, confirmed = memory.wanted, memory.delivered
        if not wanted[origin]:
            wanted, confirmed = wanted.without(origin), confirmed.without(origin)  # it had the event to begin with
        standing = Standing(question.number, len((wanted | confirmed).indexes()), len(confirmed.indexes()))
        self._outlet.emit(Answer(question.client, standing, after_save=False))

    def _refuse(self, question: _Question, reason: str) -> None:
        self._outlet.emit(Answer(question.client, Refused(question.number, reason), after_save=False))
