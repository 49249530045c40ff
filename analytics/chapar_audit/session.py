"""Spark, quiet and on loopback, on this machine or on the cluster that `--master` names."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
LOOPBACK: Final = "127.0.0.1"
PARTITIONS: Final = 4
"""Of a shuffle on one machine."""


class NoSparkError(Exception):
    """Spark cannot start; the message says what to do."""


def check_java() -> None:
    """Raises NoSparkError if there is no Java."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").exists()):
        raise NoSparkError("Spark needs Java 17 or newer: install one (on Debian and Ubuntu openjdk-17-jre-headless)")


def start(master: str = LOCAL) -> SparkSession:
    """A session. Raises NoSparkError."""
    check_java()
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    from pyspark.sql import SparkSession  # noqa: PLC0415 - takes a second, and needs no Java to fail

    builder = (
        SparkSession.builder.master(master)
        .appName("chapar-audit")
        .config("spark.driver.host", LOOPBACK)
        .config("spark.driver.bindAddress", LOOPBACK)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", PARTITIONS)
        .config("spark.sql.session.timeZone", "UTC")
    )
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
