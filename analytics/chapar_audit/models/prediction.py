"""PSOO-FCAT: the traffic that a filter will cause, predicted from the filter that is most like it.

A self-adapting routing strategy for frequently changing application traffic: definitions 3 to 6.
"""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING

from chapar_audit.models.conditions import require

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    Attributes = AbstractSet[tuple[str, object]]


def similarity(other: Attributes, this: Attributes) -> float:
    """The share of `other`'s attribute pairs that `this` has too (5). It is not symmetric."""
    require(other, "a filter without attributes is like nothing")
    return len(other & this) / len(other)


def training_cost(costs: Sequence[float]) -> float:
    """What forwarding has cost so far (4)."""
    return math.fsum(costs)


def traffic_cost(own: Sequence[float], others: Sequence[tuple[float, Sequence[float]]]) -> float:
    """Its own training cost and the predicted one: that of the best-matching other filter, times the similarity (7).

    `others` has the similarity and the recorded costs of each other filter; of equals the first counts. The filter
    itself is no candidate: it would always be the best match.
    """
    best, costs = max(others, key=itemgetter(0), default=(0.0, ()))
    return training_cost(own) + best * training_cost(costs)
