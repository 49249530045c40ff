"""What each routing algorithm costs a tree of brokers for one class of filters, with the rates that were measured.

A class is all that concerns one subject: events, and the filters that ask for it. Algorithms that filter send events
over the same links, those towards whoever wants them; what differs is what brokers tell each other about that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from chapar_audit.jobs import ids, populations
from chapar_audit.models.covering import Notifications, covered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chapar_audit.jobs.overlay import Overlay
    from chapar_audit.jobs.populations import Local
    from chapar_audit.models.tree import LinkUse


class Demand(NamedTuple):
    """What was published for a class, and who wanted it."""

    omega: float
    """Events per second."""
    notified: float
    """Messages per second that carry them to whoever wants them, over each link once."""
    filters: Mapping[bytes, Mapping[int, Local]]
    """By filter and broker."""


def prices(overlay: Overlay, demand: Demand) -> dict[str, float]:
    """Messages per second on all links, by algorithm; without covering routing where no model prices it."""
    found = {"flooding": demand.omega * len(overlay.links)}
    for algorithm in ("simple", "identity"):
        rates = populations.interest_rates(replace(overlay, algorithm=algorithm), demand.filters.values())
        found[algorithm] = demand.notified + sum(rates)
    told = _covering(overlay, demand.filters, found["identity"] - demand.notified)
    if told is not None:
        found["covering"] = demand.notified + told
    return found


def _covering(overlay: Overlay, filters: Mapping[bytes, Mapping[int, Local]], identity: float) -> float | None:
    """What brokers tell by covering routing: the model has one filter, or one that covers another (2.5.3)."""
    if len(filters) < 2:
        return identity
    wide = [each for each in filters if ids.is_plain(each)]
    if len(filters) > 2 or len(wide) != 1:
        return None
    (narrow,) = (each for each in filters if each not in wide)
    of_f, of_g = (populations.on_ways(overlay, filters[each]) for each in (wide[0], narrow))
    what = Notifications(0, 0, 0, overlay.period)
    return sum(covered(_far(of_g[way]), _far(of_f[way]), what).total for way in of_f)


class _Far(NamedTuple):
    """Who is interested at the far end of a link."""

    idle: float
    toggles: float


def _far(use: LinkUse) -> _Far:
    return _Far(1 - use.used, use.toggles)
