"""Waiting in ON/OFF queues, from runs of the simulator."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

from chapar_audit.jobs.timeliness import arrivals, judge, periods, services, stretches
from chapar_audit.recorded import load, spark_schema
from chapar_audit.verdict import State
from chapar_sim.datasets import write
from chapar_sim.scenario import Scenario
from chapar_sim.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from chapar_audit.recorded import Recorded

pytestmark = pytest.mark.xdist_group("spark")

CLIENTS = 10


def onoff(*, settle: float = 100) -> dict[str, Any]:
    """Clients that come and go at one home, and one publisher."""
    listener = {
        "node": 1,
        "presence": {"on": 2, "off": 2},
        "service": {"mean": 0.05},
        "subscribe": [{"subject": "s"}],
    }
    source = {"name": "source", "node": 1, "publish": [{"subject": "s", "rate": 2, "payload": 8}]}
    clients = [{"name": f"listener-{number}", **listener} for number in range(CLIENTS)]
    return {
        "name": "onoff",
        "duration": 400 + settle,
        "settle": settle,
        "nodes": 1,
        "topology": {"kind": "full"},
        "client": [source, *clients],
    }


@pytest.fixture(scope="module")
def onoff_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onoff")
    write(World(Scenario.from_dict(onoff()), record_rows=True).run(), "onoff", folder)
    return folder


def with_rows(recorded: Recorded, **tables: DataFrame) -> Recorded:
    return replace(recorded, tables={**recorded.tables, **tables})


def test_an_onoff_run_waits_as_theorem_2_says(spark: SparkSession, onoff_run: Path) -> None:
    """Everything in the theorem is estimated from the rows, and comes out as the scenario has it."""
    judgement = judge(load(spark, onoff_run))
    assert [(finding.subject, finding.state) for finding in judgement.findings] == [
        ("wait of listener in its ON/OFF queue", State.HOLDS),
        ("absence of listener by what was queued", State.HOLDS),
        ("wait from source to listener, in all its queues: algorithm 1", State.HOLDS),
    ]
    (row,) = judgement.tables["waiting"].collect()
    assert (row["node"], row["client"], row["events"]) == (None, "listener", row["events"])
    estimates = [row["lam"], row["d_s"], row["t_on_s"], row["t_off_s"]]
    assert estimates == pytest.approx([2, 0.05, 2, 2], rel=0.1)
    assert row["measured_s"] == pytest.approx(row["expected_s"], rel=0.15)


def earlier_returns(recorded: Recorded) -> Recorded:
    """Each return of a client is recorded half its absence earlier than it was: T_OFF is wrong."""
    sessions = recorded.tables["sessions"]
    gone = periods(sessions).where("state = 'off' and end_us is not null")
    back = gone.select("node", "client", f.col("end_us").alias("ts_us"), "start_us")
    earlier = (f.col("ts_us") + f.col("start_us")) / 2
    moved = f.when(f.col("start_us").isNotNull(), earlier.cast("long")).otherwise(f.col("ts_us"))
    lie = sessions.join(back, ["node", "client", "ts_us"], "left").withColumn("ts_us", moved).drop("start_us")
    return with_rows(recorded, sessions=lie)


def test_altered_sessions_are_found_out(spark: SparkSession, onoff_run: Path) -> None:
    """What was queued meanwhile says otherwise, and how long it was."""
    findings = judge(earlier_returns(load(spark, onoff_run))).findings
    assert [finding.state for finding in findings] == [State.DEVIATES] * 3
    for finding in findings:
        said = re.search(r"say T_OFF = (\S+) s, the recorded ON and OFF times (\S+) s: the rows of `sessions` are",
                         finding.reason)  # fmt: skip
        assert said is not None
        assert [float(each) for each in said.groups()] == pytest.approx([2, 1], rel=0.1)


def relays() -> dict[str, Any]:
    """Clients that come and go, and hand on what they take to others that do."""
    stop = {"node": 1, "presence": {"on": 2, "off": 2}, "service": {"mean": 0.05}}
    source = {"name": "source", "node": 1, "publish": [{"subject": "s", "rate": 2, "payload": 8}]}
    senders = [
        {"name": f"sender-{number}", **stop, "relay": f"out-{number}", "subscribe": [{"subject": "s"}]}
        for number in range(CLIENTS)
    ]
    listeners = [
        {"name": f"listener-{number}", **stop, "subscribe": [{"subject": f"out-{number}"}]} for number in range(CLIENTS)
    ]
    return {**onoff(), "name": "relays", "client": [source, *senders, *listeners]}


@pytest.fixture(scope="module")
def relays_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("relays")
    write(World(Scenario.from_dict(relays()), record_rows=True).run(), "relays", folder)
    return folder


def test_a_way_through_two_queues_is_a_tandem(spark: SparkSession, relays_run: Path) -> None:
    """What leaves the first comes to the second in bursts, and nothing deviates for that."""
    findings = {finding.subject: finding for finding in judge(load(spark, relays_run)).findings}
    way = "wait from source to listener, in all its queues"
    poisson, tandem = findings.pop(f"{way}: algorithm 1"), findings.pop(f"{way}: tandem")
    assert tandem.state is State.HOLDS
    assert tandem.expected is not None
    assert poisson.expected is not None
    assert tandem.expected > 1.02 * poisson.expected
    assert (poisson.state, "bursts" in poisson.reason) in ((State.HOLDS, False), (State.OPEN, True))
    assert {finding.state for finding in findings.values()} <= {State.HOLDS, State.OPEN}
    assert findings["wait from source to sender, in all its queues: algorithm 1"].state is State.HOLDS


def test_a_way_with_altered_sessions_is_found_out(spark: SparkSession, relays_run: Path) -> None:
    """The tandem of wrong absences is not what was measured, and the reason is theirs."""
    findings = judge(earlier_returns(load(spark, relays_run))).findings
    (tandem,) = (finding for finding in findings if finding.subject.endswith("tandem"))
    assert tandem.state is State.DEVIATES
    assert "the rows of `sessions` are wrong" in tandem.reason


def test_nobody_was_away(spark: SparkSession, chain_run: Path) -> None:
    """Then nothing waited, which is said and can fail: in a queue that is only full events wait as well."""
    recorded = load(spark, chain_run)
    (finding,) = judge(recorded).findings
    assert (finding.subject, finding.state) == ("waiting for clients that were never away", State.HOLDS)
    slow = recorded.tables["deliveries"].withColumn("queued_us", f.lit(50_000).cast("long"))
    (finding,) = judge(with_rows(recorded, deliveries=slow)).findings
    assert (finding.state, finding.measured) == (State.DEVIATES, 0.05)


def test_who_left_for_good_was_not_away(spark: SparkSession, chain_run: Path) -> None:
    """As clients of the lab do when a run ends."""
    recorded = load(spark, chain_run)
    sessions = recorded.tables["sessions"]
    ends = sessions.withColumn("ts_us", f.lit(10**9).cast("long")).withColumn("state", f.lit("off"))
    (finding,) = judge(with_rows(recorded, sessions=sessions.union(ends))).findings
    assert (finding.subject, finding.state) == ("waiting for clients that were never away", State.HOLDS)


def test_what_was_not_recorded_leaves_it_open(spark: SparkSession, chain_run: Path) -> None:
    """With the names of what is missing."""
    recorded = replace(load(spark, chain_run), missing=frozenset({"sessions", "air"}))
    (finding,) = judge(recorded).findings
    assert (finding.state, finding.reason) == (State.OPEN, "not recorded: sessions")


def frame(spark: SparkSession, dataset: str, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame([(*row, "run", 1) for row in rows], spark_schema(dataset))


def test_the_time_of_a_client_is_from_its_first_event_to_its_last(spark: SparkSession) -> None:
    """Periods are cut there; what is queued is reckoned from its arrival; parts are of that time."""
    sessions = frame(spark, "sessions", (0, "a", "on", 0), (5_000_000, "a", "off", 0), (9_000_000, "a", "on", 2),
                     (0, "b", "on", 0))  # fmt: skip
    first = (1_000_000, "a", b"1", 1, None, 0, "realtime", 0)
    deliveries = frame(spark, "deliveries", first, (9_000_000, "a", b"2", 1, None, 0, "realtime", 3_000_000),
                       (11_000_000, "a", b"3", 1, None, 0, "realtime", 0))  # fmt: skip
    rows = frame(spark, "acknowledgements", (2_000_000, "a", 1, 100, 0, 0), (20_000_000, "a", 2, 900, 1, 500))
    came, absences = arrivals(deliveries), periods(sessions)
    (row,) = came.collect()
    assert (row.client, row.events, row.first_us, row.last_us, row.queued_s) == ("a", 3, 1_000_000, 11_000_000, 3.0)
    assert row.squares == 25 + 25
    cut = {row.state: row for row in stretches(absences, came).collect()}
    assert (cut["on"].periods, cut["on"].seconds, cut["on"].ended) == (2, 4 + 2, 1)
    assert (cut["off"].squares, cut["off"].cubes, cut["off"].ended) == (16, 64, 1)
    parts = {row.part: row for row in services(rows, came).collect()}
    assert sorted(parts) == [1, 19]
    assert (parts[19].events, parts[19].waited_s, parts[19].served, parts[19].busy_s) == (2, 0.0009, 1, 0.0005)
