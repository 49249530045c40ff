"""When nothing changed of what decides where events go: routes, who is a broker, which daemons run.

Time is cut into moments. What begins and ends without a change in between met one state of the network.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f
from pyspark.sql import types as sql

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame, SparkSession

    from chapar_audit.recorded import Recorded

SECOND_US: Final = 1_000_000
MOST_MOMENTS: Final = 200_000
"""They are longer than a second in runs of days."""
BROKERS: Final = ("broker", "dismissed")
"""Roles that begin or end a broker's work; the others follow from them and change no way."""
MOMENTS: Final = sql.StructType(
    [
        sql.StructField("moment", sql.LongType(), nullable=False),
        sql.StructField("changes", sql.LongType(), nullable=False),
    ]
)


class Calm:
    """The moments of a run, and by each how many moments before it, or it itself, had a change."""

    def __init__(self, recorded: Recorded) -> None:
        ends = [end for span in recorded.spans.values() for end in span]
        self.first_us, self.last_us = min(ends, default=0), max(ends, default=0)
        self.moment_us = max(SECOND_US, (self.last_us - self.first_us) // MOST_MOMENTS)
        self._changed = sorted({*self._of_tables(recorded), *map(self.moment, _of_daemons(recorded))})

    def moment(self, ts_us: int) -> int:
        return ts_us // self.moment_us

    def table(self, spark: SparkSession) -> DataFrame:
        """moment, changes: of each moment of the run."""
        moments = range(self.moment(self.first_us) - 1, self.moment(self.last_us) + 1)
        rows = [(moment, bisect_right(self._changed, moment)) for moment in moments]
        return spark.createDataFrame(rows, MOMENTS)

    def marked(self, rows: DataFrame, begin: Column, end: Column) -> DataFrame:
        """Rows with a column `state`: the number of the one state of the network from begin to end; null if it changed.

        What goes on beyond the end of the run counts as changed.
        """
        table = self.table(rows.sparkSession)
        before = table.select(f.col("moment").alias("_before"), f.col("changes").alias("_until"))
        after = table.select(f.col("moment").alias("_after"), f.col("changes").alias("_since"))
        placed = rows.withColumns({"_before": self._moment_of(begin) - 1, "_after": self._moment_of(end)})
        joined = placed.join(f.broadcast(before), "_before", "left").join(f.broadcast(after), "_after", "left")
        state = f.when(f.col("_until") == f.col("_since"), f.col("_since"))
        return joined.withColumn("state", state).drop("_before", "_after", "_until", "_since")

    def _moment_of(self, ts_us: Column) -> Column:
        return f.floor(ts_us / self.moment_us)

    def _of_tables(self, recorded: Recorded) -> Iterable[int]:
        routes, roles = recorded.tables["routes"], recorded.tables["roles"]
        moment = self._moment_of(f.col("ts_us")).alias("moment")
        changes = routes.select(moment).unionAll(roles.where(f.col("role").isin(*BROKERS)).select(moment))
        return [row.moment for row in changes.distinct().collect()]


def _of_daemons(recorded: Recorded) -> Iterable[int]:
    """When daemons started and ended, and when those that started again had been heard of last."""
    times = [start.ts_us for start in recorded.starts] + [last for _, last in recorded.spans.values()]
    for place, start in enumerate(recorded.starts):
        if start.node in (each.node for each in recorded.starts[:place]):
            before = recorded.tables["frames"].where((f.col("node") == start.node) & (f.col("ts_us") < start.ts_us))
            row = before.agg(f.max("ts_us").alias("last")).first()
            times += [row.last] if row is not None and row.last is not None else []
    return times
