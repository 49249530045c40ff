"""The traffic of broker trees, judged: honest runs hold, and each planted lie turns the right row red."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as f

from chapar.filter import Filter
from chapar_audit.jobs.interest import judge_tree
from chapar_audit.recorded import Recorded, load
from chapar_audit.verdict import Finding, State
from chapar_sim.datasets import write
from chapar_sim.recorded_tree import RecordedTree
from chapar_sim.scenario import load as load_scenario
from chapar_sim.tree_shapes import m_ary
from chapar_sim.tree_traffic import Crowd, Source, Traffic
from chapar_sim.world import World
from chapard.core.overlay.router import Algorithm, RouterConfig

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

RADIO = """
name = "radio"
duration = 24
settle = 4
nodes = 4
[topology]
kind = "chain"
[routing]
mode = "tree"
algorithm = "simple"
refresh_period = 2
[overlay]
links = [[1, 2], [2, 3], [3, 4]]
[[client]]
name = "source"
node = 1
[[client.publish]]
subject = "position"
every = 0.5
start = 4
[[client.publish]]
subject = "report"
lifetime = 60
every = 1
start = 4
[[client]]
name = "sink"
nodes = [3, 4]
[[client.subscribe]]
filter = 'subject = "position"'
start = 0.3
[[client.subscribe]]
filter = 'subject = "report"'
start = 9.3
stop = 14.6
"""


def traffic_run(folder: Path, algorithm: Algorithm, duration: float) -> None:
    """Subscribers that come and go at the four end-brokers of a binary tree, whose root publishes."""
    shape = m_ary(2, 3)
    crowds = [Crowd(leaf, 0.5, 1.0) for leaf in shape.leaves]
    config = RouterConfig(nodes=shape.nodes, algorithm=algorithm, refresh_period=1)
    traffic = Traffic(shape, config, [Source(0, 2)], crowds, Random(5), partial(RecordedTree, run=algorithm.value))
    traffic.run(duration)
    assert isinstance(traffic.tree, RecordedTree)
    write(traffic.tree.trace, algorithm.value, folder, has_medium=False)


@pytest.fixture(scope="module")
def identity(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("identity")
    traffic_run(folder, Algorithm.IDENTITY, 200)
    return load(spark, folder)


def rows(findings: Sequence[Finding], state: State) -> dict[str, Finding]:
    return {each.subject: each for each in findings if each.state is state}


def test_a_steady_run_holds_message_by_message_and_by_the_model(identity: Recorded) -> None:
    """All counts are exact, and all rates are those of the general tree."""
    findings, tables = judge_tree(identity)
    assert [each.state for each in findings] == [State.HOLDS] * 7, findings
    assert [each.tolerance for each in findings[:4]] == ["exact"] * 4
    assert all(each.measured == each.expected for each in findings[:4])
    assert "one refresh per period, which all links share" in findings[4].subject
    assert all(each.measured != each.expected for each in findings[4:])
    table = tables["interest_rates"].collect()
    assert {"node", "peer", "change", "messages", "rate"} <= set(table[0].asDict())
    assert sum(row.messages for row in table if row.change == "subscribe") == findings[0].measured


def test_lies_turn_the_right_rows_red(identity: Recorded) -> None:
    """Notifications of one link doubled, refreshes of another deleted, toggles of a third forged at both ends."""
    interests, frames = identity.tables["interests"], identity.tables["frames"]
    doubled = frames.where("node = 0 and peer = 1 and direction = 'tx' and kind = 'event'")
    kept = interests.where("not (node = 3 and peer = 1 and direction = 'tx' and change = 'refresh')")
    forged = interests.where("change = 'subscribe' and (node = 2 and peer = 0 or node = 0 and peer = 2)")
    tables = {**identity.tables, "frames": frames.unionAll(doubled), "interests": kept.unionAll(forged)}
    red = rows(judge_tree(replace(identity, tables=tables)).findings, State.DEVIATES)
    links = {
        "subscriptions of identity routing from 2 to 0": "each message was sent twice",
        "refreshes of identity routing from 3 to 1": "rows of 3 are missing",
        "notifications of identity routing from 0 to 1": "rows of 0 are there that were never sent",
    }
    assert set(links) <= set(red)
    for subject, reason in links.items():
        assert reason in red[subject].reason
    others = [each for subject, each in red.items() if subject not in links]
    assert all(each.reason.startswith("some links carried other messages") for each in others)


def test_a_run_over_a_radio_by_simple_routing(spark: SparkSession, tmp_path: Path) -> None:
    """Messages take time here, and interest that changes four times is no rate: that is open, not passed."""
    (tmp_path / "radio.toml").write_text(RADIO, encoding="utf-8")
    write(World(load_scenario(tmp_path / "radio.toml"), record_rows=True).run(), "radio", tmp_path)
    findings = judge_tree(load(spark, tmp_path)).findings
    assert not rows(findings, State.DEVIATES)
    assert len(rows(findings[:4], State.HOLDS)) == 4
    vague = rows(findings, State.OPEN)
    assert "changed 4 times" in vague["toggles for filters for report"].reason
    assert "memorised events" in vague["rate of notifications"].reason


def test_flooding_costs_every_link_every_notification(spark: SparkSession, tmp_path: Path) -> None:
    """And no word of interest; one that is spoken nevertheless is a deviation."""
    traffic_run(tmp_path, Algorithm.FLOODING, 30)
    recorded = load(spark, tmp_path)
    told = spoken_once(recorded)
    findings = judge_tree(replace(recorded, tables={**recorded.tables, "interests": told})).findings
    assert list(rows(findings, State.DEVIATES)) == ["subscriptions of flooding routing from 1 to 0"]
    assert rows(findings, State.HOLDS)["rate of notifications"].expected == pytest.approx(12, rel=0.3)


def spoken_once(recorded: Recorded) -> DataFrame:
    """The interests, and one more subscription that 1 told 0."""
    told = (
        recorded.tables["interests"]
        .limit(1)
        .select(
            f.lit(10_000_000).cast("long").alias("ts_us"),
            f.lit(None).cast("string").alias("client"),
            f.lit(0).alias("peer"),
            f.lit("tx").alias("direction"),
            f.lit(bytearray(Filter(subject="position").fid)).alias("filter_id"),
            f.lit("subscribe").alias("change"),
            "run",
            f.lit(1).alias("node"),
        )
    )
    return recorded.tables["interests"].unionByName(told)


def test_covering_routing_of_filters_that_cover_none_is_judged_as_identity(spark: SparkSession, tmp_path: Path) -> None:
    """Message by message; what is merged is open."""
    traffic_run(tmp_path, Algorithm.COVERING, 30)
    recorded = load(spark, tmp_path)
    findings = judge_tree(recorded).findings
    assert [each.tolerance for each in findings[:4]] == ["exact"] * 4
    assert not rows(findings, State.DEVIATES)
    merged = {node: {**each, "routing": {**each["routing"], "algorithm": "merging"}} for node, each in
              recorded.settings.items()}  # fmt: skip
    vague = rows(judge_tree(replace(recorded, settings=merged)).findings, State.OPEN)
    assert "which filters are merged" in vague["interest of merging routing, link by link"].reason


def test_settings_that_are_no_tree_are_open(identity: Recorded) -> None:
    """Nothing can be expected, and that is said."""
    mixed = {**identity.settings, 0: {**identity.settings[0], "overlay": {"links": []}}}
    (row,) = judge_tree(replace(identity, settings=mixed)).findings
    assert row.state is State.OPEN
    assert "different links" in row.reason
