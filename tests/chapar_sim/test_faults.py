"""What goes wrong, and when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chapar_sim.checkers import check
from chapar_sim.scenario import Scenario
from chapar_sim.traffic import GARBAGE
from chapar_sim.world import World
from fake_core import FakeCore

if TYPE_CHECKING:
    from chapar_sim.trace import Trace

PUBLISHER = {"name": "pub", "node": 1, "publish": [{"subject": "s", "every": 1, "start": 0.5}]}
SUBSCRIBER = {"name": "sub", "node": 4, "subscribe": [{"subject": "s"}]}


def world(*faults: dict[str, Any], **more: Any) -> World:
    data = {
        "duration": 40,
        "nodes": 4,
        "topology": {"kind": "chain"},
        "radio": {"jitter": 0},
        "client": [PUBLISHER, SUBSCRIBER],
        "fault": list(faults),
        **more,
    }
    return World(Scenario.from_dict(data), 1, FakeCore)


def missed(*faults: dict[str, Any], **more: Any) -> list[int]:
    """The seconds in which nothing reached the subscriber."""
    got = {int(row.t) for row in world(*faults, **more).run().delivered}
    return [second for second in range(40) if second not in got]


def test_a_cut_lasts_until_it_is_healed() -> None:
    """By its own end, by a heal, or not at all; by edges or by groups."""
    assert missed() == []
    assert missed({"kind": "cut", "at": 10, "until": 15, "edges": [[2, 3]]}) == [10, 11, 12, 13, 14]
    assert missed({"kind": "cut", "at": 10, "groups": [[1, 2]]}, {"kind": "heal", "at": 12}) == [10, 11]
    assert missed({"kind": "cut", "at": 38, "one_way": [[2, 3]]}) == [38, 39]
    assert missed({"kind": "cut", "at": 38, "one_way": [[3, 2]]}) == []


def test_a_merge_is_reported() -> None:
    """What was sent in the half minute after a cut was healed."""
    trace = world({"kind": "cut", "at": 2, "until": 5, "edges": [[2, 3]]}).run()
    (merge,) = trace.merges
    assert (merge.t, merge.window, merge.sync_bytes) == (5, 30, 0)
    assert 0 < merge.all_bytes < sum(trace.traffic.bytes.values())


def test_crash_stop_power_and_pause_take_a_relay_away() -> None:
    """For as long as the scenario says; a daemon that hung forwards late what it found."""
    times = {"at": 10, "until": 15, "node": 2}
    for kind in ("crash", "stop", "power_off"):
        assert missed({"kind": kind, **times}) == [10, 11, 12, 13, 14]
    trace = world({"kind": "pause", **times}).run()
    assert len(trace.delivered) == 40
    assert missed({"kind": "pause", **times}) == [10, 11, 12, 13, 14]


def test_restart_and_power_on_bring_it_back() -> None:
    """A fault without an end is ended by another one."""
    assert missed({"kind": "crash", "at": 10, "node": 2}, {"kind": "restart", "at": 12, "node": 2}) == [10, 11]
    assert missed({"kind": "power_off", "at": 10, "node": 2}, {"kind": "power_on", "at": 12, "node": 2}) == [10, 11]
    still_off = missed({"kind": "power_off", "at": 38, "node": 2}, {"kind": "restart", "at": 39, "node": 2})
    assert still_off == [38, 39]


def test_a_node_can_be_carried_away() -> None:
    """Out of range of everyone, and back."""
    place = [{"index": node, "x": 100 * node, "y": 0} for node in (1, 2, 3, 4)]
    away = {"kind": "move", "at": 10, "node": 4, "x": 5000, "y": 0}
    back = {"kind": "move", "at": 13, "node": 4, "x": 400, "y": 0}
    assert missed(away, back, topology={"kind": "range", "range": 120}, node=place) == [10, 11, 12]


def test_garbage_is_on_the_air_and_does_no_harm() -> None:
    """Random and mutated datagrams at the given rate, for as long as the fault lasts."""
    noisy = world({"kind": "garbage", "at": 5, "until": 35, "node": 2, "rate": 20})
    trace = noisy.run()
    plain = len(world().run().air)
    assert 400 < len(trace.air) - plain < 900
    assert trace.traffic.transmissions[GARBAGE] > 50
    assert sum(count for (_, reason), count in trace.drops.items() if reason == "malformed") > 50
    assert len({row.event_id for row in trace.delivered}) >= 40


def test_replayed_datagrams_arrive_again_from_their_source() -> None:
    """They cost no airtime, and applications see nothing of them."""
    trace = world({"kind": "replay", "at": 5, "until": 35, "node": 4, "rate": 20}).run()
    assert len(trace.air) == len(world().run().air)
    assert len(trace.delivered) == 40


def test_duplicates_come_for_a_while() -> None:
    """The probability goes back to what it was."""
    noisy = world({"kind": "duplicate", "at": 5, "until": 10, "probability": 1})
    noisy.clock.at(7, lambda: seen.append(noisy.ip.radio.duplicate))
    seen: list[float] = []
    noisy.run()
    assert (seen, noisy.ip.radio.duplicate) == ([1], 0)


def test_battery_and_clock_reach_the_core() -> None:
    """A battery level is handed to the core; a clock that jumped makes timers fire early."""
    made: list[FakeCore] = []

    def make(*arguments: Any) -> FakeCore:
        made.append(FakeCore(*arguments))
        return made[-1]

    faults = [
        {"kind": "battery", "at": 5, "node": 2, "level": 0.2},
        {"kind": "skew", "at": 6, "node": 3, "by": 1000},
    ]
    data = {"duration": 40, "nodes": 4, "topology": {"kind": "chain"}, "fault": faults}
    trace = World(Scenario.from_dict(data), 1, make).run()
    assert [core.batteries for core in made] == [[], [0.2], [], []]
    assert 6_000_000 in [row.ts_us for row in trace.air if row.sender == 3]
    assert trace.quiet_since == 6


# On the real core


def on_a_pair(*faults: dict[str, Any]) -> Trace:
    """Node 1 publishes an event with a lifetime every second to itself and to node 2."""
    client = [
        {"name": "pub", "node": 1, "publish": [{"subject": "s", "every": 1, "start": 1, "count": 30, "lifetime": 60}]},
        {"name": "sub", "nodes": [1, 2], "subscribe": [{"subject": "s"}]},
    ]
    data = {"duration": 90, "settle": 50, "nodes": 2, "topology": {"kind": "chain"}, "client": client, "fault": faults}
    scenario = Scenario.from_dict(data)
    trace = World(scenario).run()
    assert check(trace, scenario) == []
    return trace


def test_what_a_full_disk_does_not_take_waits() -> None:
    """No publication is confirmed, and none leaves its node, before there is room; then all of them are."""
    trace = on_a_pair({"kind": "full_disk", "at": 10.5, "until": 20.5, "node": 1})
    assert len(trace.accepted) == 30
    assert not [row for row in trace.delivered if row.home == 2 and 10.6 < row.t < 20.5]
    assert len([row for row in trace.delivered if row.home == 2]) == 30


def test_a_crash_loses_what_the_full_disk_did_not_take() -> None:
    """The publisher was not told that it is safe, and its client publishes it again to the next life of the daemon."""
    full, crash = {"kind": "full_disk", "at": 10.5, "until": 20.5}, {"kind": "crash", "at": 15.5, "until": 17}
    trace = on_a_pair({**full, "node": 1}, {**crash, "node": 1})
    assert len(trace.accepted) == 30
    assert len([row for row in trace.delivered if row.home == 2]) == 30
