"""DuckDB adds up a run of a million rows in its own way, from the files: Spark's aggregates are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from chapar_audit.jobs import delivery, traffic, truth
from chapar_audit.recorded import load
from chapar_audit.verdict import State
from generated_run import HOPS, generate

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from chapar_audit.recorded import Recorded
    from chapar_audit.verdict import Judgement

pytestmark = pytest.mark.xdist_group("spark")

FRAMES = 735_000
RANKS = 1.5e-4
"""By which approximate percentiles may be off, as a share of all ranks."""
MISSED = 0.2
"""Of events, those at most that no price is put on: lost ones, and those near the begin and the end of the run."""


UNDELIVERED = """
with wanted as (select event_id, i.node as home, i.client from publishes, interests i),
  missed as (from wanted except select event_id, node, client from deliveries)
select event_id, home, m.client, l.reason from missed m join losses l using (event_id, home)
"""


class Files:
    """The run as DuckDB reads it."""

    def __init__(self, folder: Path) -> None:
        self._connection = duckdb.connect()
        for place in folder.iterdir():
            pattern = str(place / "**" / "*.parquet").replace("'", "''")
            found = f"read_parquet('{pattern}', hive_partitioning = true, union_by_name = true)"
            self._connection.execute(f"create view {place.name} as select * from {found}")  # noqa: S608

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("generated")
    generate(made, FRAMES)
    return made


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, folder: Path) -> Recorded:
    found = load(spark, folder)
    assert found.rows > 1_000_000
    return found


@pytest.fixture(scope="module")
def files(folder: Path) -> Files:
    return Files(folder)


def in_order(rows: list[Any]) -> list[tuple[Any, ...]]:
    plain = (tuple(bytes(each) if isinstance(each, bytearray) else each for each in row) for row in rows)
    return sorted(plain, key=str)


def columns(table: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return in_order(table.select(*names).collect())


def table_of(judged: Judgement, name: str) -> DataFrame:
    """The table of a job that finds nothing wrong."""
    assert not [finding for finding in judged.findings if finding.state is State.DEVIATES]
    return judged.tables[name]


def test_traffic_by_time_and_by_link(recorded: Recorded, files: Files) -> None:
    """Messages and bytes, as sent."""
    sent = traffic.transmitted(recorded.tables["frames"])
    sums = "count(*), sum(bytes)::bigint from frames where direction = 'tx' group by all"
    by_time = files.rows(f"select ts_us - ts_us % {traffic.WINDOW_US}, traffic_class, kind, {sums}")
    assert columns(traffic.by_class(sent), "window_us", "traffic_class", "kind", "messages", "bytes") == in_order(
        by_time
    )
    by_link = files.rows(f"select node, peer, traffic_class, {sums}")
    assert columns(traffic.by_link(sent), "node", "peer", "traffic_class", "messages", "bytes") == in_order(by_link)


def test_what_an_event_costs(recorded: Recorded, files: Files) -> None:
    """Event by event, of nearly all; each is due as many transmissions as there are hops."""
    costs = {
        event: (measured, expected)
        for event, measured, expected in columns(
            table_of(traffic.judge(recorded), "event_cost"), "event_id", "measured", "expected"
        )
    }
    sent = files.rows("select event_id, count(*) from frames where direction = 'tx' and kind = 'event' group by 1")
    assert len(costs) > (1 - MISSED) * len(sent)
    assert {event: (count, HOPS) for event, count in sent if event in costs} == costs


def test_what_daemons_say_and_the_medium_saw(recorded: Recorded, files: Files) -> None:
    """By node and kind."""
    names = ("node", "kind", "told_frames", "told_bytes", "seen_frames", "seen_bytes")
    told = "select node, kind, count(*) n, sum(bytes)::bigint b from frames where direction = 'tx' group by all"
    each = "select sender as node, unnest(kinds) as kind, unnest(kind_bytes) as bytes from air where sender = source"
    seen = f"select node, kind, count(*) n, sum(bytes)::bigint b from ({each}) group by all"  # noqa: S608 - no input
    both = files.rows(f"select node, kind, t.n, t.b, s.n, s.b from ({told}) t full join ({seen}) s using (node, kind)")  # noqa: S608
    assert columns(table_of(truth.judge(recorded), "told_and_seen"), *names) == in_order(both)


def test_who_was_given_what_and_how_soon(recorded: Recorded, files: Files) -> None:
    """Counts and extremes are the same, percentiles a hundredth of a per cent of all ranks off at most."""
    judged = delivery.judge(recorded)
    came = "select d.ts_us - p.ts_us as took from deliveries d join publishes p using (event_id)"
    (row,) = table_of(judged, "latency").collect()
    assert (row.delivery, row.via) == ("realtime", "realtime")
    assert [(row["count"], row.max_us)] == files.rows(f"select count(*), max(took) from ({came})")  # noqa: S608 - no input
    for share, value in ((0.5, row.p50_us), (0.95, row.p95_us), (0.99, row.p99_us)):
        ((below, upto),) = files.rows(
            f"select count(*) filter (took < {value}), count(*) filter (took <= {value}) from ({came})"  # noqa: S608
        )
        assert below / row["count"] - RANKS <= share <= upto / row["count"] + RANKS
    undelivered = columns(table_of(judged, "undelivered"), "event_id", "home", "client", "reason")
    assert undelivered == in_order(files.rows(UNDELIVERED))
    assert undelivered
