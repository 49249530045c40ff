"""Mutation proves the checkers: a core with one of its rules taken out is found out by the swarm within fifty seeds.

Each fault is put in from outside: World is given a node that is the real one but for one part that forgot its rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar.wire import Beacon, decode_untrusted
from chapar_sim.swarm import first_failure, judge_seed
from chapard.core.effects import Effect, Transmit
from chapard.core.fmt import FMT, Merge
from chapard.core.met import MET
from chapard.core.node import Node
from chapard.core.nodevector import NodeVector
from chapard.core.office import Office
from chapard.core.roles import Duty
from chapard.core.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar.event import EventId
    from chapar.filter import Filter
    from chapard.core.session import Incoming, Session

SEEDS = range(50)


def become(part: object, kind: type) -> None:
    """Turn a part of a node into one of a faulty kind."""
    object.__setattr__(part, "__class__", kind)


class DeafMET(MET):
    """Does not note who has an event."""

    def deliver(self, event_id: EventId, homes: NodeVector) -> NodeVector:  # noqa: ARG002 - that is the fault
        return NodeVector.empty(len(homes))


class IgnoresDelivered(Node):
    """The delivered vector is ignored."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        become(self.met, DeafMET)


class UnionFMT(FMT):
    """Merges by plain union, as the report's tables do (3.3.5), whatever the versions say."""

    def merge(self, home: int, version: int, filters: Sequence[Filter], age: float, now: float) -> Merge:
        known = self.get(home)
        if known is None:
            return super().merge(home, version, filters, age, now)
        union = dict.fromkeys((*known.filters, *filters))
        return super().merge(home, max(version, known.version), tuple(union), age, now)


class IgnoresVersions(Node):
    """The versions of homes are ignored."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        become(self.fmt, UnionFMT)


class NeverRefreshes(Node):
    """Says what is new, once, and never restates it: a beacon like the one before is not sent."""

    def __init__(self, *args: Any) -> None:
        self._said: tuple[object, ...] = ()
        super().__init__(*args)

    def drain(self, now: float) -> list[Effect]:
        return [effect for effect in super().drain(now) if not self._is_refresh(effect)]

    def _is_refresh(self, effect: Effect) -> bool:
        if not isinstance(effect, Transmit) or effect.to is not None:
            return False
        first = decode_untrusted(effect.data, nodes=self.config.nodes)[0]
        if not isinstance(first, Beacon):
            return False
        before, self._said = self._said, first[:-1]
        return before == first[:-1]


class CarelessSessions(Sessions):
    """Gives clients an event as often as it comes."""

    def _fresh(self, session: Session, incoming: Incoming) -> Sequence[bytes]:  # noqa: ARG002 - that is the fault
        return incoming.bodies


class LetsDuplicatesThrough(Node):
    """Duplicates are let through."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        become(self.home.sessions, CarelessSessions)


class HastyOffice(Office):
    """Counts a check-out as done before it has begun."""

    def _duty(self, duty: Duty | None, now: float) -> None:
        super()._duty(self.roles.checked_out(now) if duty is Duty.CHECK_OUT else duty, now)


class SkipsCheckOut(Node):
    """A dismissed broker drops its tables without asking anyone to take them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        become(self.replicated.office, HastyOffice)


@pytest.mark.parametrize(
    ("faulty", "rules"),
    [
        (IgnoresDelivered, {"tables"}),
        (IgnoresVersions, {"tables", "matching"}),
        (NeverRefreshes, {"tables", "realtime", "memorised"}),
        (LetsDuplicatesThrough, {"once"}),
        (SkipsCheckOut, {"memorised"}),
    ],
)
def test_the_swarm_finds_a_faulty_core(faulty: type[Node], rules: set[str]) -> None:
    """Within fifty seeds the fault breaks a promise that it is bound to break, and that the real core keeps."""
    outcome = first_failure(SEEDS, faulty)
    assert outcome is not None, "no seed found the fault"
    assert {violation.rule for violation in outcome.violations} & rules
    assert judge_seed(outcome.seed).violations == ()
