"""The times of Chapar's protocol that its traffic keeps to, as the daemons of a run were configured with them."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class Protocol(NamedTuple):
    """Seconds. Where nodes differ, those that allow the most."""

    beacon_min: float
    """The shortest interval between beacons."""
    refresh_period: float
    """The longest."""
    serve_retry: float
    """Until a broker serves an event once more."""
    retry_max: float
    """Between two repetitions of a datagram, at most."""
    subscription_lease: float


MOST_GENEROUS: Mapping[str, Callable[[Iterable[float]], float]] = {"refresh_period": max, "retry_max": max}
"""Of the others it is the least."""


def protocol_of(settings: Mapping[int, Mapping[str, Any]]) -> Protocol | None:
    """None if the settings of a node do not say, or say what no daemon takes."""
    try:
        values = {name: [float(each["protocol"][name]) for each in settings.values()] for name in Protocol._fields}
    except (KeyError, TypeError, ValueError):
        return None
    found = Protocol(**{name: MOST_GENEROUS.get(name, min)(each) for name, each in values.items()})
    return found if all(0 < each < inf for each in found) else None
