"""The report's simulation in areas of several sizes: what is run, what is measured, and what is expected."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

from chapar_audit.figures import areas
from chapar_audit.figures.areas import Area, Expected, Plan
from chapar_audit.figures.figure import Effort
from chapar_audit.figures.workshop import Run, Workshop
from chapar_sim.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PLAN = Plan(4, (250, 900), warm=10, slot=10, slots=2, draws=10)


@pytest.mark.xdist_group("spark")
def test_traffic_is_counted_by_slot(spark: SparkSession, chain_run: Path, tmp_path: Path) -> None:
    """All bytes that were on the air in the slots, and none of before or after; subscriptions and events apart."""
    area = Area(250, Run(chain_run, {}), Expected(PLAN, 250))
    with Workshop(tmp_path, lambda _: None, spark=spark) as workshop:
        found = areas.slots(workshop, [area], PLAN)[250]
        held = areas.roles(workshop, [area], PLAN)[250]
    air = ds.dataset(chain_run / "air", format="parquet").to_table().to_pylist()
    for slot in range(PLAN.slots):
        since = (PLAN.warm + slot * PLAN.slot) * 1e6
        sent = [row for row in air if since <= row["ts_us"] < since + PLAN.slot * 1e6]
        kinds = [kind for row in sent for kind in row["kinds"]]
        assert sum(shares[slot].bytes for shares in found.values()) == pytest.approx(sum(row["bytes"] for row in sent))
        assert found[areas.SUBSCRIBING][slot].frames == kinds.count("subscribe") + kinds.count("unsubscribe")
        assert found[areas.MEMORISED][slot].frames == kinds.count("event") + kinds.count("brief")
    assert held == (2, 2)


@pytest.mark.parametrize("effort", Effort)
def test_areas_differ_in_nothing_but_their_size(effort: Effort) -> None:
    """The simulator takes them, with the same clients in all; the report's numbers in each slot."""
    plan = areas.PLANS[effort]
    small, large = (tomllib.loads(plan.scenario(diameter)) for diameter in plan.diameters[:2])
    assert [key for key in small if small[key] != large[key]] == ["name", "topology"]
    scenario = Scenario.from_dict(small)
    starts = [each.start for client in scenario.clients for each in client.subscribe]
    for slot in range(plan.slots):
        since = plan.warm + slot * plan.slot
        assert sum(since <= start < since + plan.slot for start in starts) == areas.SUBSCRIPTIONS


def test_expectations_follow_the_size() -> None:
    """All in reach: two brokers, no relay, HELLOs alone. Far apart: everyone a broker."""
    near, far = Expected(PLAN, 250), Expected(PLAN, 50_000)
    assert (near.relays.value, near.brokers.value, near.tc_bytes().value) == (0, 2, 0)
    assert near.hello_bytes.value == pytest.approx(4 * (46 + 16 + 4 + 3 * 4) / 1.75)
    assert (far.relays.value, far.brokers.value) == (0, 4)
