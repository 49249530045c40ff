"""One finished run, prepared for judgement: the trace, and all that can be reckoned from it without asking the core."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar.event import split_id
from chapar_sim.bounds import Bounds, olsr_convergence
from chapar_sim.history import History, Span
from chapar_sim.oracle import Oracle
from chapar_sim.spells import Disturbance, Network
from chapar_sim.tree_oracle import TreeOracle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.event import EventId
    from chapar_sim.scenario import Scenario
    from chapar_sim.trace import Reroute, Trace

UPSETTING: Final = frozenset({"corrupt", "skew"})
"""Faults that leave a node running, but not as it was."""
HALTING: Final = frozenset({"pause", "full_disk"})
"""Faults in which a node does not go on, or not with what it must keep, until they end."""


class Violation(NamedTuple):
    """One broken promise: which rule, when, and what a reader needs to look it up in the trace."""

    rule: str
    t: float
    what: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.t:.2f} s: {self.what}"


def name(event_id: EventId) -> str:
    """An event id for a reader: origin.incarnation.sequence."""
    return ".".join(map(str, split_id(event_id)))


@dataclass(frozen=True, slots=True)
class Case:
    """A trace with its clients' histories, its true network over time, and the oracle over both."""

    trace: Trace
    bounds: Bounds
    history: History
    network: Network
    oracle: Oracle
    corruptions: tuple[float, ...]
    """When tables were corrupted."""
    forged_from: float = inf
    """When the first mutated frame may have been sent: from then on there may be events that nobody published."""

    @classmethod
    def of(cls, trace: Trace, scenario: Scenario) -> Case:
        plain = {spec.index for spec in scenario.nodes if not spec.chapard}
        return cls.made(
            trace,
            bounds_of(scenario),
            nodes=[spec.index for spec in scenario.nodes],
            plain=frozenset(plain | _weak(scenario)),
            disturbances=_disturbances(scenario),
            forged_from=min((fault.at for fault in scenario.faults if fault.kind == "garbage"), default=inf),
            reroutes=() if _is_steady(trace, scenario) else trace.reroutes,
        )

    @classmethod
    def made(
        cls,
        trace: Trace,
        bounds: Bounds,
        *,
        nodes: Iterable[int],
        plain: frozenset[int] = frozenset(),
        disturbances: tuple[Disturbance, ...] = (),
        forged_from: float = inf,
        reroutes: Iterable[Reroute] = (),
    ) -> Case:
        """A case without a scenario file: all that matters of it is said here."""
        pauses = [(each.node, Span(each.t, each.until)) for each in disturbances if each.until > each.t]
        history = History(trace, bounds.session(), pauses)
        network = Network(trace, history, nodes=nodes, plain=plain, disturbances=disturbances, reroutes=reroutes)
        corruptions = tuple(sorted(each.t for each in disturbances if each.forgets))
        is_tree = bounds.config.routing.mode == "tree"
        oracle = (TreeOracle if is_tree else Oracle)(history, network, bounds, disturbances)
        return cls(trace, bounds, history, network, oracle, corruptions, forged_from)


def bounds_of(scenario: Scenario) -> Bounds:
    """The promised times in the network of a scenario."""
    radio, routes = scenario.radio, scenario.routes
    loss = max([radio.loss, *(link.loss for link in radio.links if link.loss < 1)])
    delay = max([radio.delay + radio.jitter, *(link.delay + link.jitter for link in radio.links)])
    skews = [fault.by for fault in scenario.faults if fault.kind == "skew"]
    pauses = [fault.until - fault.at for fault in scenario.faults if fault.kind in HALTING and fault.until]
    convergence = max(routes.convergence[1], routes.neighbour_delay[1])
    if routes.has_agents:
        nodes = len(scenario.nodes)
        convergence = olsr_convergence(routes.hello_interval, routes.tc_interval, nodes=nodes, loss=loss)
    return Bounds(
        scenario.daemon_config(),
        convergence=convergence,
        loss=loss,
        delay=delay,
        drift=max(abs(spec.clock_drift) for spec in scenario.nodes),
        jumps=sum(skews),
        pauses=sum(pauses),
    )


def _is_steady(trace: Trace, scenario: Scenario) -> bool:
    """Whether routing must stand still where the links do.

    On a medium that loses or reorders packets an agent may give up a link that is there, and take it up again. What it
    knows is then part of how the network changes.
    """
    radio = scenario.radio
    jitter = max([radio.jitter, *(link.jitter for link in radio.links)])
    return not jitter and not bounds_of(scenario).loss and not trace.traffic.overflows


def _weak(scenario: Scenario) -> set[int]:
    """Nodes that may step back from being brokers to save power.

    Which others then serve is theirs to settle, so such a node counts as one that has no chapard.
    """
    low = scenario.daemon_config().power_low
    weak = {spec.index for spec in scenario.nodes if spec.battery <= low}
    drained = [fault for fault in scenario.faults if fault.kind == "battery" and fault.level <= low]
    return weak.union(*(fault.nodes for fault in drained))


def _disturbances(scenario: Scenario) -> tuple[Disturbance, ...]:
    upset = [
        Disturbance(fault.at, node, fault.at, forgets=fault.kind == "corrupt")
        for fault in scenario.faults
        if fault.kind in UPSETTING
        for node in fault.nodes
    ]
    paused = [
        Disturbance(fault.at, node, fault.until, forgets=False)
        for fault in scenario.faults
        if fault.kind in HALTING and fault.until is not None
        for node in fault.nodes
    ]
    return tuple(upset + paused)
