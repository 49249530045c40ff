"""chapard beside mosquitto: messages per second, what they cost the broker, latency, memory, and what idleness costs.

Publisher, broker and subscribers are processes of their own on loopback; payloads are 64 bytes. chapard is loaded
through the SDK with real-time events, which are acknowledged from hop to hop; mosquitto, where it is installed, through
its C library and through paho, at QoS 0 (not acknowledged) and QoS 1. At full load what is under way is limited, for
all alike, so that nothing is lost. What is compared is mostly processor time of the broker per message: it does not
depend on what the clients cost, nor on what else the machine does, and it is what a small node has least of.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.brokers import chapard, mosquitto, mosquitto_program
from benchmarks.contest import System, contest, full_load, one_at_a_time
from benchmarks.figure import Figure
from benchmarks.load_mosquitto import LIBRARY, library
from benchmarks.processes import resident_mb
from benchmarks.resting import (
    chapard_memory,
    idle_mesh,
    idle_share,
    mosquitto_memory,
    of_one_subject,
    of_three_constraints,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.contest import Latency, Load

CHAPARD = System("chapard", chapard, "load_chapar")
MOSQUITTO_0 = System("mosquitto QoS 0, C clients", mosquitto, "load_mosquitto")
MOSQUITTO_1 = System("mosquitto QoS 1, C clients", mosquitto, "load_mosquitto", qos=1)
PAHO_0 = System("mosquitto QoS 0, paho", mosquitto, "load_paho")
PAHO_1 = System("mosquitto QoS 1, paho", mosquitto, "load_paho", qos=1)

FAN_OUT = 10
PEERS = 20
SETTLING = 10.0
"""Seconds after which nodes that have just met send beacons rarely."""
IDLE_SECONDS = 10.0
SCRAPES = 9
SCRAPE_PAUSE = 0.05

MOST_IDLE_MB, MOST_FILLED_MB = 60, 120
MOST_IDLE_PERCENT = 1
MOST_SCRAPE_MS = 20


def measure() -> list[Figure]:
    systems = [CHAPARD, *rivals()]
    with TemporaryDirectory(prefix="chapar-bench-") as name:
        folder = Path(name)
        single = full_load(folder / "single", systems, 1)
        many = full_load(folder / "many", systems, FAN_OUT)
        latencies = one_at_a_time(folder / "latency", systems)
        return [
            *load_figures("1 → 1", single),
            *load_figures(f"1 → {FAN_OUT}", many),
            *latency_figures(latencies),
            *comparison(single, many, latencies),
            *loss_figures(single, many),
            *scrape_figures(folder / "scrape"),
            *resting_figures(folder, systems),
        ]


def rivals() -> list[System]:
    """What can be compared with on this machine; a line says what to install for the rest."""
    if mosquitto_program() is None:
        return _missing("mosquitto not installed: apt install mosquitto")
    try:
        library()
    except OSError:
        return _missing(f"{LIBRARY} not installed: apt install libmosquitto1")
    return [MOSQUITTO_0, MOSQUITTO_1, PAHO_0, PAHO_1]


def _missing(line: str) -> list[System]:
    print(f"\n{line}", file=sys.stderr)
    return []


# Under load


def load_figures(title: str, loads: Mapping[System, Load]) -> list[Figure]:
    figures = []
    for system, load in loads.items():
        figures += [
            Figure(f"{title}, {system.name}", load.per_second, "deliveries/s", "", None),
            Figure(f"{title}, {system.name}: broker", load.cpu, "CPU s per million", "", None),
        ]
    return figures


def latency_figures(latencies: Mapping[System, Latency]) -> list[Figure]:
    figures = []
    for system, latency in latencies.items():
        figures += [
            Figure(f"latency at 1000/s, {system.name}: median", latency.median, "µs", "", None),
            Figure(f"latency at 1000/s, {system.name}: 99th percentile", latency.high, "µs", "", None),
        ]
    return figures


def comparison(
    single: Mapping[System, Load], many: Mapping[System, Load], latencies: Mapping[System, Latency]
) -> list[Figure]:
    """chapard against the others. Where they are not installed there is nothing to compare, and no goal is met."""
    if MOSQUITTO_0 not in single:
        return []
    per_cpu = "deliveries per CPU second against mosquitto"
    return [
        _at_least(f"1 → 1, {per_cpu} QoS 0", single[MOSQUITTO_0].cpu / single[CHAPARD].cpu, 3),
        _at_least(f"1 → 1, {per_cpu} QoS 1", single[MOSQUITTO_1].cpu / single[CHAPARD].cpu, 5),
        _at_least(f"1 → {FAN_OUT}, {per_cpu} QoS 0", many[MOSQUITTO_0].cpu / many[CHAPARD].cpu, 8),
        _at_least("1 → 1, end to end against paho QoS 0", single[CHAPARD].per_second / single[PAHO_0].per_second, 4),
        _at_most(
            "latency at 1000/s, median against mosquitto QoS 0",
            latencies[CHAPARD].median / latencies[MOSQUITTO_0].median, 1.3, "×",
        ),
    ]  # fmt: skip


def loss_figures(*contests: Mapping[System, Load]) -> list[Figure]:
    """What did not arrive although no more was under way than every system has room for."""
    lost = {system: sum(loads[system].lost for loads in contests) for system in contests[0]}
    ours = lost.pop(CHAPARD)
    others = [Figure(f"lost, {system.name}", count, "deliveries", "", None) for system, count in lost.items() if count]
    return [Figure("lost, chapard", ours, "deliveries", "0", ours == 0), *others]


def scrape_figures(folder: Path) -> list[Figure]:
    """How long /metrics takes to answer while the daemon has all it can carry."""
    times = []
    with contest(folder, [CHAPARD], 1, 0) as [run]:
        run.tally.open()
        for _ in range(SCRAPES):
            time.sleep(SCRAPE_PAUSE)
            began = time.perf_counter()
            run.broker.page("/metrics")
            times.append(1000 * (time.perf_counter() - began))
        run.tally.close()
    return [
        _at_most("/metrics during full load, median", median(times), MOST_SCRAPE_MS, "ms"),
        Figure("/metrics during full load, longest", max(times), "ms", "", None),
    ]


# At rest


def resting_figures(folder: Path, systems: Sequence[System]) -> list[Figure]:
    figures = []
    with idle_mesh(folder, PEERS) as daemon:
        settled = time.monotonic() + SETTLING
        ours, rich = chapard_memory(folder, of_one_subject), chapard_memory(folder, of_three_constraints)
        if MOSQUITTO_0 in systems:
            theirs = mosquitto_memory(folder)
            figures = [
                Figure("memory, mosquitto idle", theirs.idle, "MB", "", None),
                Figure("memory, mosquitto with 100 000 topics", theirs.filled, "MB", "", None),
            ]
        time.sleep(max(0.0, settled - time.monotonic()))
        percent, among_peers = idle_share(daemon, IDLE_SECONDS), resident_mb(daemon.pid)
    return [
        *figures,
        _at_most("memory, chapard idle", ours.idle, MOST_IDLE_MB, "MB"),
        _at_most("memory, chapard with 100 000 filters, a subject each", ours.filled, MOST_FILLED_MB, "MB"),
        Figure("memory, chapard with 100 000 filters of 3 constraints", rich.filled, "MB", "", None),
        _at_most(f"memory, chapard idle among {PEERS} peers", among_peers, MOST_IDLE_MB, "MB"),
        _at_most(f"chapard idle among {PEERS} peers", percent, MOST_IDLE_PERCENT, "% of a core"),
    ]


def _at_least(name: str, ratio: float, goal: float) -> Figure:
    return Figure(name, ratio, "×", f"≥ {goal:g}", ratio >= goal)


def _at_most(name: str, value: float, goal: float, unit: str) -> Figure:
    return Figure(name, value, unit, f"≤ {goal:g}", value <= goal)
