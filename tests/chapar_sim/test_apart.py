"""What happened while parts of a network were apart."""

from __future__ import annotations

from chapar.event import Event, EventId, event_id
from chapar_sim.apart import Apart, times_apart
from chapar_sim.outcome import outcomes
from chapar_sim.trace import Accepted, Delivered, Presence, Trace
from chapar_sim.traffic import Merge

KEPT, FLEETING = Event(subject="s", lifetime=60), Event(subject="s")


def trace() -> Trace:
    """Two nodes that are apart from 10 to 20; one client at each."""
    made = Trace(end=50)
    made.presence += [Presence(0, name, home, on=True) for name, home in (("a", 1), ("b", 2))]
    made.merges.append(Merge(10, 20, 30, 0, 0))
    return made


def publish(made: Trace, t: float, event: Event, **got: float) -> EventId:
    """An event at node 1, and when each client got it."""
    number = event_id(1, 1, len(made.accepted) + 1)
    made.accepted.append(Accepted(t, "p", 1, number, event))
    made.delivered += [Delivered(at, client, 1, number) for client, at in got.items()]
    return number


def test_what_went_on_and_what_had_to_wait() -> None:
    """Events before the partition count as waiting too if they came after it; what was published later does not."""
    made = trace()
    publish(made, 5, KEPT, a=5.1, b=20.4)
    publish(made, 12, KEPT, a=12.1, b=20.9)
    publish(made, 15, FLEETING, a=15.1)
    publish(made, 21, KEPT, a=21.1, b=29)
    assert times_apart(made, outcomes(made)) == [Apart(10, 20, 2, 2, 2, 20.9 - 20)]


def test_a_real_time_event_that_comes_late_waited_for_nobody() -> None:
    """It was on its way."""
    made = trace()
    publish(made, 19.99, FLEETING, b=20.01)
    assert times_apart(made, outcomes(made)) == [Apart(10, 20, 1, 0, 0, None)]


def test_a_network_that_was_never_apart() -> None:
    """Has nothing to tell."""
    made = trace()
    made.merges.clear()
    assert times_apart(made, outcomes(made)) == []
