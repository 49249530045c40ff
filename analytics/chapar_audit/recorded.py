"""A recorded run: its datasets as Spark reads them, under the schema that they must have, and what its daemons said."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as sql

from chapar_audit.schema import DATASETS, OF_THE_MEDIUM
from chapar_audit.survey import RecordedError, survey

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from chapar_audit.survey import Start, Survey

__all__ = ["Recorded", "RecordedError", "load", "read", "spark_schema"]

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
_OF_A_PATTERN: Final = re.compile(r"([\\*?\[\]{}])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One run."""

    run: str
    world: str
    """`sim`, `lab` or `daemon`: who wrote `runs`."""
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
    starts: tuple[Start, ...] = ()
    """When daemons started, in order of time: more than once, if they were restarted."""
    spans: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """By node the first and last time of what it recorded of frames."""
    rows: int = 0
    """Of all datasets."""


def spark_schema(dataset: str) -> sql.StructType:
    """The columns of a dataset, those that are in the path included."""
    fields = [sql.StructField(name, TYPES[kind], nullable) for name, kind, nullable in DATASETS[dataset]]
    fields.append(sql.StructField("run", sql.StringType(), nullable=False))
    if dataset not in OF_THE_MEDIUM:
        fields.append(sql.StructField("node", sql.IntegerType(), nullable=False))
    return sql.StructType(fields)


def load(spark: SparkSession, folder: Path, run: str | None = None) -> Recorded:
    """The only run in a folder, or the one that is named. Raises RecordedError."""
    return read(spark, folder, survey(folder, run))


def read(spark: SparkSession, folder: Path, found: Survey) -> Recorded:
    """The run of a folder that has been surveyed."""
    settings = {start.node: start.settings for start in found.starts}
    return Recorded(
        run=found.run,
        world=found.starts[0].world,
        mode=found.starts[0].settings["mode"],
        settings=dict(sorted(settings.items())),
        tables={dataset: _table(spark, folder.absolute(), dataset, found) for dataset in DATASETS},
        missing=found.missing,
        complaints=found.complaints,
        starts=found.starts,
        spans=found.spans,
        rows=found.rows,
    )


def _table(spark: SparkSession, folder: Path, dataset: str, found: Survey) -> DataFrame:
    schema = spark_schema(dataset)
    files = [path.absolute() for path in found.files[dataset]]
    if not files:
        return spark.createDataFrame([], schema)
    base = folder / dataset
    places = files if dataset in found.partial else {base / file.relative_to(base).parts[0] for file in files}
    reader = spark.read.schema(schema).option("basePath", str(base))
    return reader.parquet(*(_OF_A_PATTERN.sub(r"\\\1", str(place)) for place in sorted(places)))
