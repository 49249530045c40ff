"""The applications of a scenario."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean
from typing import TYPE_CHECKING, Any

import pytest

from chapar_sim.clock import Clock
from chapar_sim.scenario import Scenario, ScenarioError
from chapar_sim.workload import enact
from chapar_sim.world import World
from fake_core import FakeCore

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar.event import Event
    from chapar.filter import Filter
    from chapar_sim.trace import Trace


def run(*clients: dict[str, Any], seed: int = 1, **more: Any) -> Trace:
    data = {"duration": 1000, "nodes": 3, "topology": {"kind": "full"}, "client": list(clients), **more}
    return World(Scenario.from_dict(data), seed, FakeCore).run()


def publisher(**stream: Any) -> dict[str, Any]:
    return {"name": "pub", "node": 1, "publish": [{"subject": "s", **stream}]}


def test_a_fixed_rate_is_kept() -> None:
    """From start to stop, every so many seconds; or so many events and no more."""
    assert [row.t for row in run(publisher(every=2, start=10, stop=17)).accepted] == [10, 12, 14, 16]
    assert [row.t for row in run(publisher(every=2, count=3)).accepted] == [0, 2, 4]
    assert [row.t for row in run(publisher(at=[5, 3])).accepted] == [3, 5]


def test_a_poisson_stream_has_its_rate_and_its_spread() -> None:
    """Gaps are exponential: their mean is one over the rate, and so is their deviation."""
    times = [row.t for row in run(publisher(rate=2)).accepted]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert 0.45 < mean(gaps) < 0.55
    assert 0.4 < (sum((gap - 0.5) ** 2 for gap in gaps) / len(gaps)) ** 0.5 < 0.6


def test_nothing_is_published_in_the_quiet_seconds() -> None:
    """A stream without an end of its own ends when the scenario settles."""
    trace = run(publisher(every=1), duration=100, settle=40)
    assert max(row.t for row in trace.accepted) == 59


def test_events_are_drawn_within_their_bounds() -> None:
    """Attributes and payload sizes vary as the scenario says; header, lifetime and destinations are fixed."""
    attributes = {"n": {"between": [1, 3]}, "x": {"between": [0.0, 1.0]}, "c": {"one_of": ["a", "b"]}, "f": 7}
    stream = publisher(rate=1, attributes=attributes, payload=[5, 9], lifetime=3, to=[2])
    events = [row.event for row in run(stream, duration=200).accepted]
    assert {event.value("n") for event in events} == {1, 2, 3}
    assert {event.value("c") for event in events} == {"a", "b"}
    assert all(type(event.value("x")) is float for event in events)
    assert {len(event.payload) for event in events} == {5, 6, 7, 8, 9}
    assert {(event.value("f"), event.lifetime_ms, event.to, event.subject) for event in events} == {
        (7, 3000, (2,), "s")
    }


def test_several_clients_of_one_kind_live_on_a_node() -> None:
    """Each with a name and chances of its own."""
    pub = publisher(at=[1])
    sub = {"name": "sub", "nodes": [1, 2], "each": 2, "presence": {"on": 5, "off": 5}, "subscribe": [{"subject": "s"}]}
    trace = run(pub, sub, duration=20)
    assert sorted(row.client for row in trace.delivered) == ["sub-1-1", "sub-1-2", "sub-2-1", "sub-2-2"]
    first_off = {row.client: row.t for row in reversed(trace.presence) if not row.on}
    assert len(set(first_off.values())) == len(first_off) > 2
    alone = run(pub, {**sub, "nodes": [2]}, duration=20)
    assert {row.client for row in alone.delivered} == {"sub-1", "sub-2"}


def test_a_relay_publishes_what_it_has_taken() -> None:
    """Under its own subject, when it is done with it."""
    relay = {
        "name": "relay",
        "node": 2,
        "relay": "t",
        "service": {"mean": 3, "law": "fixed"},
        "subscribe": [{"subject": "s"}],
    }
    trace = run(publisher(at=[5], payload=7), relay, {"name": "end", "node": 3, "subscribe": [{"subject": "t"}]})
    (first, second) = trace.accepted
    assert (second.client, second.event.subject) == ("relay", "t")
    assert second.t == pytest.approx(first.t + 3, abs=0.01)
    assert second.event.payload == first.event.payload
    assert [row.client for row in trace.delivered] == ["relay", "end"]


def test_a_relay_to_itself_is_refused() -> None:
    """It would never come to an end."""
    with pytest.raises(ScenarioError, match=r"client\[0\]\.relay: 's' is what these clients are subscribed to"):
        run({"name": "relay", "node": 2, "relay": "s", "subscribe": [{"subject": "s"}]})


def test_subscriptions_begin_and_end() -> None:
    """At their times; only what was published between reaches the application."""
    sub = {"name": "sub", "node": 2, "subscribe": [{"subject": "s", "start": 10.5, "stop": 13.5}]}
    trace = run(publisher(every=1), sub, duration=20)
    assert [(row.t, row.active) for row in trace.interests] == [(10.5, True), (13.5, False)]
    assert [int(row.t) for row in trace.delivered] == [11, 12, 13]


def test_subscribers_come_and_go() -> None:
    """With hold and gap, interest alternates, and stays as it is once the scenario settles."""
    sub = {"name": "sub", "node": 2, "subscribe": [{"subject": "s", "hold": 10, "gap": 5}]}
    changes = run(sub, settle=100).interests
    assert 80 < len(changes) < 160
    assert all(row.active != later.active for row, later in pairwise(changes))
    assert changes[-1].t < 900


def test_clients_turn_on_and_off() -> None:
    """Fixed periods are fixed, exponential ones are on average; when the scenario settles everyone is ON."""
    fixed = {"name": "sub", "node": 2, "presence": {"on": 10, "off": 5, "law": "fixed"}}
    times = [(round(row.t), row.on) for row in run(fixed, duration=40, settle=10).presence]
    assert times == [(0, True), (10, False), (15, True), (25, False), (30, True)]
    drawn = {"name": "sub", "node": 2, "presence": {"on": 10, "off": 5}}
    rows = run(drawn, settle=50).presence
    assert rows[-1].on
    assert 90 < len(rows) < 170


def test_a_schedule_is_followed() -> None:
    """A client can begin OFF and be switched by the clock."""
    client = {"name": "sub", "node": 2, "presence": {"first": "off", "schedule": [[10, "on"], [20, "off"]]}}
    assert [(round(row.t), row.on) for row in run(client).presence] == [(10, True), (20, False)]


def test_what_a_client_publishes_while_off_is_sent_when_it_is_on() -> None:
    """It is dated by the application, and accepted later."""
    client = {**publisher(at=[5]), "presence": {"first": "off", "schedule": [[10, "on"]]}}
    sub = {"name": "sub", "node": 2, "subscribe": [{"subject": "s"}]}
    trace = run(client, sub)
    assert [row.t for row in trace.accepted] == [5]
    assert [round(row.t) for row in trace.delivered] == [10]


def test_clients_notice_a_crash_and_come_back() -> None:
    """They lose their daemon when it crashes and open their session again when it is back, wishes and all."""
    sub = {"name": "sub", "node": 2, "subscribe": [{"subject": "s"}]}
    trace = run(publisher(every=1), sub, duration=40, fault=[{"kind": "crash", "at": 10.5, "until": 20.4, "node": 2}])
    assert [(round(row.t, 1), row.on) for row in trace.presence if row.client == "sub"] == [
        (0, True),
        (10.5, False),
        (20.5, True),
    ]
    assert [int(row.t) for row in trace.delivered] == [*range(11), *range(21, 40)]


def test_a_client_takes_its_time_over_events_while_it_is_on() -> None:
    """One after the other; what it has begun when it goes OFF is resumed when it is back."""
    sub = {
        "name": "sub",
        "node": 2,
        "subscribe": [{"subject": "s"}],
        "service": {"mean": 4, "law": "fixed"},
        "presence": {"schedule": [[13, "off"], [20, "on"]]},
    }
    trace = run(publisher(at=[10, 11, 30]), sub)
    assert [round(row.t) for row in trace.delivered] == [21, 25, 34]


def test_what_a_slow_client_had_before_a_crash_of_its_daemon_it_has_once() -> None:
    """The new life of the daemon repeats what was not confirmed; kept events are served once, in their order."""
    sub = {"name": "sub", "node": 2, "subscribe": [{"subject": "s"}], "service": {"mean": 4, "law": "fixed"}}
    crash = {"kind": "crash", "at": 12.5, "until": 13.4, "node": 2}
    trace = run(publisher(at=[10, 11, 12], lifetime=100), sub, duration=60, fault=[crash])
    order = [row.event_id for row in trace.accepted]
    assert [row.event_id for row in trace.delivered] == order
    assert [round(row.t) for row in trace.delivered] == [15, 19, 23]


def test_clients_live_where_they_are_put() -> None:
    """On named nodes, on all, or on as many as are drawn; several of one name carry their node's index."""
    trace = run({"name": "a", "nodes": [1, 3]}, {"name": "b", "nodes": "all"}, {"name": "c", "random": 1})
    homes = {row.client: row.home for row in trace.presence}
    assert {name: home for name, home in homes.items() if name != "c"} == {
        "a-1": 1,
        "a-3": 3,
        "b-1": 1,
        "b-2": 2,
        "b-3": 3,
    }
    drawn = {run({"name": "c", "random": 1}, seed=seed, duration=1).presence[0].home for seed in range(20)}
    assert drawn == {1, 2, 3}


LATE = 0.25


class LateClock(Clock):
    """Comes to everything a little late, as a clock of the wall does."""

    def at(self, time: float, action: Callable[[], None]) -> None:
        super().at(time + LATE, action)


class Diary:
    """An actor that notes when it does what."""

    def __init__(self, clock: Clock, home: int) -> None:
        self.home = home
        self.clock = clock
        self.done: list[tuple[str, float]] = []

    def go_on(self) -> None:
        self.done.append(("on", self.clock.now))

    def go_off(self) -> None:
        self.done.append(("off", self.clock.now))

    def publish(self, event: Event) -> None:
        self.done.append((f"publish {event.subject}", self.clock.now))

    def subscribe(self, filter_: Filter) -> int:
        self.done.append((f"subscribe {filter_}", self.clock.now))
        return 1

    def unsubscribe(self, number: int) -> None:
        self.done.append((f"unsubscribe {number}", self.clock.now))


def diary(clock: Clock) -> list[tuple[str, float]]:
    spec = {
        "name": "c",
        "node": 1,
        "presence": {"on": 7, "off": 5},
        "subscribe": [{"subject": "s", "hold": 9, "gap": 4}],
        "publish": [{"subject": "s", "every": 0.5, "count": 100}, {"subject": "s", "rate": 0.5}],
    }
    data = {"duration": 100, "nodes": 3, "topology": {"kind": "full"}, "client": [spec]}
    (actor,) = enact(Scenario.from_dict(data), 1, clock, lambda _, home: Diary(clock, home)).values()
    clock.run_until(200)
    return actor.done


def test_lateness_does_not_add_up() -> None:
    """On a clock that comes late to everything the same happens as on a punctual one, as late as that and no later."""
    punctual = sorted((what, round(t + LATE, 6)) for what, t in diary(Clock()))
    assert sorted((what, round(t, 6)) for what, t in diary(LateClock())) == punctual
    assert len(punctual) > 150
