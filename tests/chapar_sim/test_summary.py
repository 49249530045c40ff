"""What a run came to."""

from __future__ import annotations

import json

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar_sim.case import Violation
from chapar_sim.scenario import Scenario
from chapar_sim.summary import as_text, summarise
from chapar_sim.trace import Accepted, Delivered, Interest, Presence, RecordedLoss, Trace
from chapar_sim.traffic import Merge

SCENARIO = Scenario.from_dict({"name": "small", "duration": 100, "nodes": 4, "topology": {"kind": "chain"}})
FIRST, SECOND, THIRD, ADDRESSED = (event_id(1, 1, number) for number in (1, 2, 3, 4))


def trace() -> Trace:
    """Two subscribers, three events for all and one for node 4; one delivery missing, one twice."""
    made = Trace(end=100)
    for client, home in (("a", 2), ("b", 4)):
        made.presence.append(Presence(0, client, home, on=True))
        made.interests.append(Interest(0, client, 1, Filter(subject="s"), active=True))
    made.interests.append(Interest(50, "a", 1, Filter(subject="s"), active=False))
    made.accepted += [
        Accepted(10, "p", 1, FIRST, Event(subject="s")),
        Accepted(60, "p", 1, SECOND, Event(subject="s")),
        Accepted(20, "p", 1, THIRD, Event(subject="s", lifetime=30)),
        Accepted(30, "p", 1, ADDRESSED, Event(subject="s", persistent=True, to=[4])),
    ]
    made.delivered += [
        Delivered(10.1, "a", 2, FIRST),
        Delivered(10.4, "b", 4, FIRST),
        Delivered(60.2, "b", 4, SECOND),
        Delivered(25, "a", 2, THIRD),
        Delivered(35, "b", 4, ADDRESSED),
        Delivered(36, "b", 4, ADDRESSED),
    ]
    made.losses.append(RecordedLoss(50, 1, THIRD, (3, 4), "expired"))
    made.drops.update({(1, "stale"): 2, (2, "stale"): 3})
    made.traffic.bytes.update(data=600, control=300)
    made.traffic.transmissions.update(data=6, control=3)
    made.merges.append(Merge(40, 70, 30, 1234, 5678))
    return made


def test_events_are_counted_by_class() -> None:
    """Wanted is who got it, or was subscribed when it was published or its life ended, at the nodes it was for."""
    events = summarise(trace(), SCENARIO, 1, [])["events"]
    assert {name: (each["published"], each["wanted"], each["delivered"]) for name, each in events.items()} == {
        "realtime": (2, 3, 3),
        "lifetime": (1, 2, 1),
        "persistent": (1, 1, 1),
    }
    assert [each["ratio"] for each in events.values()] == [1.0, 0.5, 1.0]
    assert events["realtime"]["latency_s"] == {"mean": 0.233333, "p50": 0.2, "p95": 0.4, "max": 0.4}


def test_what_went_wrong_is_counted() -> None:
    """Duplicates by delivery, losses by event and home, drops over all nodes."""
    figures = summarise(trace(), SCENARIO, 1, [Violation("once", 36, "twice")])
    assert figures["duplicates"] == 1
    assert figures["losses"] == {"expired": 2}
    assert figures["drops"] == {"stale": 5}
    assert figures["air"]["per_delivery"] == {"transmissions": 1.5, "bytes": 150}
    assert figures["violations"] == [{"rule": "once", "t": 36, "what": "twice"}]


def test_a_run_without_anything_has_no_ratios() -> None:
    """Nothing is divided by nothing."""
    figures = summarise(Trace(end=100), SCENARIO, 1, [])
    assert figures["events"]["realtime"]["ratio"] is None
    assert "every promise kept" in as_text(figures)


def test_the_text_says_what_the_figures_say() -> None:
    """Seed, classes, merge and verdict are on the page, and the figures are ready for JSON."""
    figures = summarise(trace(), SCENARIO, 42, [Violation("once", 36, "twice")])
    text = as_text(json.loads(json.dumps(figures)))
    for words in ("seed 42", "realtime", "50.0 %", "merge at 70 s: 1234 bytes", "PROMISES BROKEN: 1", "once: twice"):
        assert words in text
