"""The traffic of a mesh, judged: an honest run holds, and each planted lie turns the right row red."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as f

from chapar_audit.jobs.chapar import judge_chapar
from chapar_audit.jobs.multicast import PRICES, TREES
from chapar_audit.recorded import Recorded, load
from chapar_audit.verdict import State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from chapar_audit.verdict import Finding

pytestmark = pytest.mark.xdist_group("spark")


def judged(recorded: Recorded) -> dict[str, Finding]:
    return {each.subject: each for each in judge_chapar(recorded).findings}


def lying(recorded: Recorded, frames: DataFrame) -> dict[str, Finding]:
    """What comes of a run of which these are the frames."""
    return judged(replace(recorded, tables={**recorded.tables, "frames": frames}))


@pytest.fixture(scope="module")
def chain(spark: SparkSession, chain_run: Path) -> Recorded:
    return load(spark, chain_run)


def test_an_honest_run_holds(chain: Recorded) -> None:
    """Forty events cross three links each: to the broker, and on to the farthest of two homes."""
    judgement = judge_chapar(chain)
    assert {each.subject: each.state for each in judgement.findings if each.state is not State.HOLDS} == {}
    found = {each.subject: each for each in judgement.findings}
    assert (found[TREES].measured, found[TREES].expected) == (120, 120)
    assert (found[PRICES].measured, found[PRICES].expected) == (3, 3)
    costs = judgement.tables["event_cost"]
    assert costs.columns == ["event_id", "subject", "published_us", "measured", "expected"]
    assert [tuple(row) for row in costs.groupBy("subject", "measured", "expected").count().collect()] == [
        ("sample", 3, 3, 40)
    ]


def test_a_links_traffic_that_is_doubled_deviates(chain: Recorded) -> None:
    frames = chain.tables["frames"]
    found = lying(chain, frames.unionAll(frames.where("direction = 'tx' and node = 2 and peer = 3")))
    assert found[TREES].state is State.DEVIATES
    assert found[TREES].reason.startswith("2 sent 40 events to 3 once more than needed")
    assert found[PRICES].state is State.DEVIATES


def test_frames_of_events_that_were_deleted_deviate(chain: Recorded) -> None:
    """Those of every other event over the last link."""
    is_gone = (f.col("node") == 3) & (f.col("peer") == 4) & (f.hex("event_id").rlike("[02468ACE]$"))
    found = lying(chain, chain.tables["frames"].where(~f.coalesce(is_gone, f.lit(False))))  # noqa: FBT003
    assert found[TREES].state is State.DEVIATES
    assert "4 had 20 events that nobody recorded to have sent there" in found[TREES].reason


def test_without_frames_or_settings_the_rows_are_open(chain: Recorded) -> None:
    """Nothing passes in silence, and nothing fails."""
    (lacking,) = judge_chapar(replace(chain, missing=frozenset({"frames"}))).findings
    assert (lacking.state, lacking.reason) == (State.OPEN, "not recorded: frames")
    (unset,) = judge_chapar(replace(chain, settings={1: {"mode": "chapar"}})).findings
    assert unset.state is State.OPEN


def test_a_run_in_which_nothing_happened_is_open(made: Callable[..., Recorded], chain: Recorded) -> None:
    empty = made(**{name: [] for name in chain.tables})
    findings = judge_chapar(replace(empty, settings=chain.settings)).findings
    assert [(each.state, each.reason) for each in findings] == [(State.OPEN, "no daemon transmitted anything")]
