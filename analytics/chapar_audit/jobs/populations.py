"""Who subscribes where, as the traffic models see it: λ, μ, N of each filter at each broker, from what clients did."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chapar_audit.models.population import Population
from chapar_audit.models.tree import LinkUse, link_use

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chapar_audit.jobs.overlay import Overlay, Way
    from chapar_audit.jobs.wishes import Span, Wanted

RETURNS = 1.5
"""Beginnings per client from which clients count as a finite population: the same ones come back."""


class Local(NamedTuple):
    """The clients of one broker that want one filter now and then."""

    idle: float
    """p: the share of time in which nobody does."""
    toggles: float
    """t: how often that changes, per second."""
    arrivals: float
    """How often one more does, per second."""
    active: float
    """How many do, on average."""
    population: Population | None = None
    """None: they always or never do, and no rate is to be had."""


def estimated(changes: Wanted, span: Span) -> dict[int, Local]:
    """By broker. Rates are counts over the time in which they could happen."""
    return {int(node): _local(changes, int(node), span) for node in np.unique(changes.node)}


def _local(changes: Wanted, node: int, span: Span) -> Local:
    here = changes.node == node
    ts_us, step, client = changes.ts_us[here], changes.step[here], changes.client[here]
    active = np.cumsum(step)
    edges = np.clip(np.concatenate((ts_us, [span.end])), span.begin, span.end)
    durations = np.diff(edges) / 1e6
    inside = (ts_us >= span.begin) & (ts_us < span.end)
    present = float((durations * active).sum())
    begins, ends = int((inside & (step == 1)).sum()), int((inside & (step == -1)).sum())
    idle = 1 - float(durations[active > 0].sum()) / span.seconds
    mean = present / span.seconds
    if not begins or not ends:
        return Local(idle, (begins + ends) / span.seconds, begins / span.seconds, mean)
    size = len(np.unique(client))
    away = size * span.seconds - present
    is_finite = int((step == 1).sum()) >= RETURNS * size and away > 0
    lam = begins / (away if is_finite else span.seconds)
    population = Population(lam, ends / present, size if is_finite else None)
    return Local(population.idle, population.toggles, begins / span.seconds, population.active, population)


def on_ways(overlay: Overlay, locals_: Mapping[int, Local]) -> dict[Way, LinkUse]:
    """The model of each way that subscriptions go, by identity."""
    idle = {broker: each.idle for broker, each in locals_.items()}
    toggles = {broker: each.toggles for broker, each in locals_.items()}
    found: dict[Way, LinkUse] = {}
    for root in overlay.roots or overlay.brokers:
        if len(found) == len(overlay.told):
            break
        tree = overlay.tree(root)
        if all((broker, above) in found for broker, above in tree.above.items()):
            continue
        found.update({(broker, tree.above[broker]): use for broker, use in link_use(tree, idle, toggles).items()})
    return found


def interest_rates(overlay: Overlay, filters: Iterable[Mapping[int, Local]]) -> tuple[float, float]:
    """Refreshes and toggles per second of some filters."""
    refreshes = toggles = 0.0
    for locals_ in filters:
        if overlay.algorithm == "simple":
            for way in overlay.told:
                here = [each for broker, each in locals_.items() if broker in overlay.behind[way]]
                refreshes += sum(each.active for each in here) / overlay.period
                toggles += 2 * sum(each.arrivals for each in here)
            continue
        for use in on_ways(overlay, locals_).values():
            refreshes += use.used / overlay.period
            toggles += use.toggles
    return refreshes, toggles


def together(filters: Iterable[Mapping[int, Local]]) -> dict[int, float]:
    """How likely it is, by broker, that nobody wants any of these filters."""
    idle: dict[int, float] = {}
    for each in filters:
        for broker, local in each.items():
            idle[broker] = idle.get(broker, 1.0) * local.idle
    return idle


def wanted_links(overlay: Overlay, publisher: int, idle: Mapping[int, float]) -> float:
    """x: over how many links a notification from this broker goes, on average."""
    return sum(use.used for use in link_use(overlay.tree(publisher), idle, {}).values())
