"""Random networks on random trees of brokers, with whatever goes wrong in them: every promise is kept.

The same checkers judge them as judge networks of replicated tables, with an oracle that knows the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_sim.case import Case
from chapar_sim.checkers import check
from chapar_sim.tree_draw import tree_of
from chapar_sim.world import World
from chapard.core.effects import Reason
from chapard.core.node import Node
from chapard.core.overlay.broker import TreeBroker
from chapard.core.overlay.interest import Topic
from chapard.core.overlay.plane import Plane
from chapard.core.overlay.router import Algorithm

if TYPE_CHECKING:
    from chapar.event import Event
    from chapard.core.overlay.interest import Interest
    from chapard.core.overlay.keeping import Way

SEEDS = range(12)
"""Each algorithm twice."""


def owed(case: Case) -> int:
    """How many deliveries the oracle claims."""
    claims = (
        case.oracle.memorised(each, client) if each.is_memorised else case.oracle.realtime(each, client)
        for each in case.history.publications.values()
        for client in case.history.home
    )
    return sum(claim is not None for claim in claims)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_promise_is_kept(seed: int) -> None:
    """Nothing is lost, doubled, out of order or with whom it should not be, and something was owed.

    Where no frames are made up or come from the past, no broker refuses one, and none takes the tree for a cycle.
    """
    scenario = tree_of(seed)
    trace = World(scenario).run()
    assert check(trace, scenario) == []
    faults = {fault.kind for fault in scenario.faults}
    if "corrupt" not in faults or scenario.routing.algorithm is not Algorithm.AUTO:  # that is granted all of the time
        assert owed(Case.of(trace, scenario)) > 0
    if not faults & {"garbage", "replay"}:
        assert not {reason for _, reason in trace.drops} & {Reason.MALFORMED, Reason.LOOP}


class NeverCatchesUp(TreeBroker):
    """Sends memorised events as they come, and none that waited."""

    def _serve(self, now: float) -> None:  # noqa: ARG002 - that is the fault
        self._hungry.clear()


class CarriesNothing(TreeBroker):
    """Passes no real-time event on that came over a link, and says nothing of it."""

    def _send_realtime(self, event: Event, body: bytes, way: Way, links: list[int]) -> None:
        if not way.hops:
            super()._send_realtime(event, body, way, links)


class Trustful(Plane):
    """Says once what it has to say, and believes what it has once heard."""

    def refresh(self) -> None:
        pass

    def expire(self) -> list[tuple[int, Interest]]:
        return []


class NeverRefreshes(TreeBroker):
    """Does not recover from corrupt tables."""

    def tick(self, now: float) -> None:
        for topic in Topic:
            self.router.plane(topic).__class__ = Trustful
        super().tick(now)


def faulty(kind: type[TreeBroker]) -> type[Node]:
    class Faulty(Node):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            assert self.tree is not None
            self.tree.__class__ = kind

    return Faulty


@pytest.mark.parametrize(
    ("kind", "rule", "seed"),
    [(NeverCatchesUp, "memorised", 2), (CarriesNothing, "realtime", 9), (NeverRefreshes, "realtime", 9)],
)
def test_a_faulty_core_is_found(kind: type[TreeBroker], rule: str, seed: int) -> None:
    """Within the seeds above a fault breaks the promise that it is bound to break; this is the first of them."""
    scenario = tree_of(seed)
    trace = World(scenario, node_factory=faulty(kind)).run()
    assert rule in {violation.rule for violation in check(trace, scenario)}
