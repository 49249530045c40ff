"""Whether events came to those who wanted them: honest runs hold, and each planted lie turns the right row red."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

from chapar_audit.jobs.delivery import judge
from chapar_audit.recorded import load
from chapar_audit.verdict import State
from chapar_sim.datasets import write
from chapar_sim.outcome import outcomes
from chapar_sim.scenario import Scenario
from chapar_sim.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from chapar_audit.recorded import Recorded
    from chapar_audit.verdict import Finding
    from chapar_sim.trace import Trace

pytestmark = pytest.mark.xdist_group("spark")

ASKED = "nothing comes that was not published, or not asked for"
ONCE = "each event comes to a client once"
ORDER = "events come in their publisher's order, class by class"
TAKEN = "what clients acknowledge was delivered to them"
CUT: dict[str, Any] = {
    "name": "cut",
    "duration": 70,
    "settle": 10,
    "nodes": 3,
    "topology": {"kind": "chain"},
    "client": [
        {
            "name": "source",
            "node": 1,
            "publish": [
                {"subject": "sample", "payload": 8, "every": 1, "start": 25, "count": 40,
                 "attributes": {"speed": {"between": [0, 9]}}},
                {"subject": "report", "payload": 8, "every": 4, "start": 25, "count": 10, "lifetime": 60},
            ],
        },
        {"name": "sink", "node": 3, "subscribe": [{"filter": 'subject = "sample"'}, {"filter": 'subject = "report"'}]},
        {"name": "fast", "node": 2, "subscribe": [{"filter": 'subject = "sample" and speed > 4'}]},
    ],
    "fault": [{"kind": "cut", "at": 40, "until": 50, "groups": [[1], [2, 3]]}],
}  # fmt: skip
"""A chain that is cut for a while behind its publisher: real-time events are lost, reports come later."""


@pytest.fixture(scope="module")
def cut_trace() -> Trace:
    return World(Scenario.from_dict(CUT), record_rows=True).run()


@pytest.fixture(scope="module")
def cut_run(tmp_path_factory: pytest.TempPathFactory, cut_trace: Trace) -> Path:
    folder = tmp_path_factory.mktemp("cut")
    write(cut_trace, "cut", folder)
    return folder


@pytest.fixture(scope="module")
def chain(spark: SparkSession, chain_run: Path) -> Recorded:
    return load(spark, chain_run)


def with_rows(recorded: Recorded, **tables: DataFrame) -> Recorded:
    return replace(recorded, tables={**recorded.tables, **tables})


def deviations(findings: Sequence[Finding]) -> dict[str, str]:
    return {each.subject: each.reason for each in findings if each.state is State.DEVIATES}


def test_a_run_with_a_cut_holds_and_its_losses_have_reasons(
    spark: SparkSession, cut_run: Path, cut_trace: Trace
) -> None:
    """What was wanted, given and lost is what the simulator counts, which knows the filters."""
    judgement = judge(load(spark, cut_run))
    assert {each.state for each in judgement.findings} == {State.HOLDS}
    found = outcomes(cut_trace)
    realtime = [each for each in found if each.delivery.label == "realtime"]
    kept = [each for each in found if each.delivery.label == "lifetime"]
    wanted, given = (sum(len(getattr(each, name)) for each in realtime) for name in ("wanted", "got"))
    assert wanted > given > 0
    first, second = judgement.findings[:2]
    assert (first.measured, first.expected) == (given, wanted)
    assert (second.measured, second.expected) == (sum(len(each.got) for each in kept),) * 2
    undelivered = judgement.tables["undelivered"].collect()
    lost = {(bytes(row.event_id), row.client) for row in undelivered}
    assert lost == {(each.published.event_id, who) for each in realtime for who in set(each.wanted) - set(each.got)}
    assert {row.reason for row in undelivered} <= {loss.reason for loss in cut_trace.losses}
    for name in ("latency", "latency_histogram"):
        assert sum(row["count"] for row in judgement.tables[name].collect()) == sum(len(each.got) for each in found)


def test_deliveries_that_were_deleted_are_missed(chain: Recorded) -> None:
    """By the events, which nobody lost, and by what the client acknowledged; frames show that they were sent there."""
    rows = chain.tables["deliveries"]
    middle = f.col("ts_us").between(22_000_000, 23_900_000) & (f.col("client") == "sink-4")
    found = deviations(judge(with_rows(chain, deliveries=rows.where(~middle))).findings)
    assert set(found) == {"40 real-time events come to those who want them", TAKEN}
    (said, short) = found.values()
    assert said.endswith(
        "4 have neither delivery nor loss: rows of deliveries are missing, as 4 of these were sent to their home"
    )
    assert short.startswith("rows of deliveries are missing, at least of sink-4 at 4 (")


def test_what_came_twice_is_counted(chain: Recorded) -> None:
    """With the client that it came to."""
    rows = chain.tables["deliveries"]
    again = rows.where("node = 2").orderBy("ts_us").limit(3).withColumn("ts_us", f.col("ts_us") + 10)
    assert deviations(judge(with_rows(chain, deliveries=rows.unionByName(again))).findings) == {
        ONCE: "again to sink-2 at 2 (3): a home repeated what its client had, or rows of deliveries are there twice"
    }


def test_forged_and_reordered_deliveries_are_found(chain: Recorded) -> None:
    """Of an event that nobody published, to a client that never subscribed, over too many hops; and late ones."""
    rows = chain.tables["deliveries"]
    first = rows.where("node = 2").orderBy("ts_us").limit(1)
    forged = first.withColumn("event_id", f.unhex(f.lit("0001ffffffff00000001")))
    strange = first.withColumn("client", f.lit("nobody"))
    hops = f.when(f.col("node") == 4, f.lit(200)).otherwise(f.col("hops")).cast("short")
    is_first = f.col("ts_us") == f.lit(first.collect()[0].ts_us)
    late = f.when(is_first, f.col("ts_us") + 1_200_000).otherwise(f.col("ts_us"))
    lies = rows.withColumn("hops", hops).withColumn("ts_us", late).unionByName(forged).unionByName(strange)
    found = deviations(judge(with_rows(chain, deliveries=lies)).findings)
    assert set(found) == {ASKED, ORDER}
    assert found[ORDER].startswith("after a later event of their publisher came realtime ones to sink-2 at 2 (1)")
    counted = found[ASKED].partition(", like ")[0]
    assert counted.startswith("40 over a number of hops that cannot be, ")
    assert "1 of events that nobody published" in counted
    assert "1 to clients that had not asked for them" in counted


def test_what_was_not_recorded_leaves_it_open(chain: Recorded) -> None:
    """With the names of what is missing; without losses, nobody can say whether an event should have come."""
    (row,) = judge(replace(chain, missing=frozenset({"interests"}))).findings
    assert (row.state, row.reason) == (State.OPEN, "not recorded: interests")
    gone = with_rows(chain, deliveries=chain.tables["deliveries"].where("ts_us < 22000000 or node = 2"))
    findings = judge(replace(gone, missing=frozenset({"losses", "acknowledgements"}))).findings
    opened = {each.subject: each.reason for each in findings if each.state is State.OPEN}
    assert opened["40 real-time events come to those who want them"].endswith("is in losses: not recorded")
    assert opened[TAKEN] == "not recorded: acknowledgements"
    assert not deviations(findings)


def test_settings_that_say_too_little_leave_it_open(chain: Recorded) -> None:
    """With what they lack, of any node; nothing is worked out then."""
    settings = {
        **chain.settings,
        2: {"mode": "chapar", "protocol": {**chain.settings[2]["protocol"], "hop_limit": "?"}},
    }
    (row,) = judge(replace(chain, settings=settings)).findings
    assert (row.state, row.reason) == (State.OPEN, "the settings of some node do not say hop_limit")
    (row,) = judge(replace(chain, settings={**chain.settings, 3: {"mode": "chapar"}})).findings
    assert row.reason.startswith("the settings of some node do not say refresh_period, ")
