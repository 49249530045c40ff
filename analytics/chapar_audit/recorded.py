"""A recorded run: its datasets as Spark reads them, under the schema that they must have, and what its daemons said."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as sql

from chapar_audit.schema import DATASETS, OF_THE_MEDIUM

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

TYPES: Final[Mapping[str, sql.DataType]] = {
    "i16": sql.ShortType(),
    "i32": sql.IntegerType(),
    "i64": sql.LongType(),
    "str": sql.StringType(),
    "event_id": sql.BinaryType(),
    "filter_id": sql.BinaryType(),
    "list<i32>": sql.ArrayType(sql.IntegerType(), containsNull=False),
    "list<str>": sql.ArrayType(sql.StringType(), containsNull=False),
}


class RecordedError(Exception):
    """What is in the folder cannot be audited; the message says why, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One run."""

    run: str
    world: str
    """`sim`, `lab` or `field`: who wrote `runs`."""
    mode: str
    """`chapar` or `tree`."""
    settings: Mapping[int, Mapping[str, Any]]
    """Of each node what it was configured with: `mode`, `routing`, `overlay`, `protocol`."""
    tables: Mapping[str, DataFrame]
    """All datasets of the schema by name, empty where nothing was recorded; with the column `node` but for `air`."""
    missing: frozenset[str]
    """Datasets that were not recorded at all, which is not the same as that nothing happened."""
    complaints: tuple[str, ...] = ()
    """What could not be read or does not fit together, a line each."""


def spark_schema(dataset: str) -> sql.StructType:
    """The columns of a dataset, those that are in the path included."""
    fields = [sql.StructField(name, TYPES[kind], nullable) for name, kind, nullable in DATASETS[dataset]]
    fields.append(sql.StructField("run", sql.StringType(), nullable=False))
    if dataset not in OF_THE_MEDIUM:
        fields.append(sql.StructField("node", sql.IntegerType(), nullable=False))
    return sql.StructType(fields)


def load(spark: SparkSession, folder: Path, run: str | None = None) -> Recorded:
    """The only run in a folder, or the one that is named. Raises RecordedError."""
    tables, missing = {}, set()
    for dataset in DATASETS:
        schema = spark_schema(dataset)
        if any((folder / dataset).rglob("*.parquet")):
            tables[dataset] = spark.read.schema(schema).parquet(str(folder / dataset))
        else:
            missing.add(dataset)
            tables[dataset] = spark.createDataFrame([], schema)
    if "runs" in missing:
        raise RecordedError(f"{folder}: no dataset `runs` here; name a folder that a run was recorded in")
    rows = tables["runs"].collect()
    names = sorted({row.run for row in rows})
    if run is None and len(names) != 1:
        raise RecordedError(f"{folder}: several runs ({', '.join(names)}); say which with --run")
    chosen = run if run is not None else names[0]
    rows = [row for row in rows if row.run == chosen]
    if not rows:
        raise RecordedError(f"{folder}: no run {chosen!r}; there are {', '.join(names)}")
    settings = {row.node: json.loads(row.settings) for row in rows}
    return Recorded(
        run=chosen,
        world=rows[0].world,
        mode=settings[rows[0].node]["mode"],
        settings=settings,
        tables={name: table.where(table.run == chosen) for name, table in tables.items()},
        missing=frozenset(missing),
    )
