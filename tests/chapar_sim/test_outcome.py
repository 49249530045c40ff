"""What became of each event."""

from __future__ import annotations

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar_sim.outcome import outcomes
from chapar_sim.trace import Accepted, Delivered, Interest, Presence, Trace

FIRST, SECOND = event_id(1, 7, 1), event_id(1, 7, 2)
ASKS = Filter.parse('subject = "a"')


def trace_of(*events: tuple[float, bytes, Event]) -> Trace:
    """Node 1 publishes; clients at nodes 1 to 4 are there, and `early` and `late` are subscribed for a while each."""
    trace = Trace(end=100.0)
    homes = {"pub": 1, "always": 2, "early": 3, "late": 4}
    trace.presence += [Presence(0.0, client, home, on=True) for client, home in homes.items()]
    for client, start, end in (("always", 0.0, None), ("early", 0.0, 20.0), ("late", 50.0, None)):
        trace.interests.append(Interest(start, client, 1, ASKS, active=True))
        if end is not None:
            trace.interests.append(Interest(end, client, 1, ASKS, active=False))
    trace.accepted += [Accepted(t, "pub", 1, id_, event) for t, id_, event in events]  # type: ignore[arg-type]  # ids
    return trace


def test_who_wants_an_event() -> None:
    """A real-time one: who is subscribed when it is published. A kept one: who still is when it ends, or at the end."""
    realtime, lifetime = Event(subject="a"), Event(subject="a", lifetime=60)
    assert outcomes(trace_of((10.0, FIRST, realtime)))[0].wanted == ("always", "early")
    assert outcomes(trace_of((30.0, FIRST, realtime)))[0].wanted == ("always",)
    assert outcomes(trace_of((10.0, FIRST, lifetime)))[0].wanted == ("always", "late")
    assert outcomes(trace_of((10.0, FIRST, Event(subject="a", persistent=True))))[0].wanted == ("always", "late")
    assert outcomes(trace_of((10.0, FIRST, Event(subject="b"))))[0].wanted == ()
    assert outcomes(trace_of((10.0, FIRST, Event(subject="a", to=[3]))))[0].wanted == ("early",)


def test_who_got_it_wanted_it() -> None:
    """Though its subscription has ended since; how long it took, and how often it came again."""
    trace = trace_of((10.0, FIRST, Event(subject="a", lifetime=60)))
    for t, client in ((10.5, "early"), (11.0, "always"), (12.0, "always"), (13.0, "always")):
        trace.delivered.append(Delivered(t, client, 2, FIRST))
    (outcome,) = outcomes(trace)
    assert outcome.wanted == ("always", "early", "late")
    assert outcome.got == {"early": 10.5, "always": 11.0}
    assert sorted(outcome.latencies()) == [0.5, 1.0]
    assert outcome.again == 2


def test_events_are_in_order_of_publication() -> None:
    """Whatever the order in which their receipts came."""
    found = outcomes(trace_of((12.0, SECOND, Event(subject="a")), (10.0, FIRST, Event(subject="a"))))
    assert [each.published.event_id for each in found] == [FIRST, SECOND]


def test_as_a_program_reads_it() -> None:
    """Ids as people write them, and times from the publication on."""
    trace = trace_of((10.0, FIRST, Event(subject="a", payload=b"xyz")))
    trace.delivered.append(Delivered(10.25, "always", 2, FIRST))
    assert outcomes(trace)[0].to_json() == {
        "id": "1.7.1",
        "publisher": "pub",
        "node": 1,
        "t": 10.0,
        "subject": "a",
        "delivery": "realtime",
        "payload_bytes": 3,
        "wanted": ["always", "early"],
        "got": {"always": 0.25},
        "again": 0,
    }
