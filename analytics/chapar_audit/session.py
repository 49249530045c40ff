"""Spark, quiet and on loopback, on this machine or on the cluster that `--master` names."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import IO

    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
LOOPBACK: Final = "127.0.0.1"
HERE: Final = frozenset({"localhost", LOOPBACK, "::1"})
PARTITIONS: Final = 4
"""Of a shuffle on one machine."""
SMALL: Final = 2_000_000
"""Rows up to which it takes longer to compile Spark's plans than it saves."""
LARGE: Final = 20_000_000
"""Rows from which it pays that Java compiles with care."""
INTERPRETED: Final[Mapping[str, str]] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""How the plans for small runs are carried out."""
MEMORY: Final = "1600m"
"""Of Spark's heap on one machine; with what it needs beside that, and Python, it stays below 3 GB."""
HURRIED: Final = "-XX:TieredStopAtLevel=1"
"""Java compiles fast what runs little, at half of the processor time of an audit."""
OLDEST: Final = 17
"""The first Java that this Spark runs on."""
INSTALL: Final = f"install Java {OLDEST} or newer (on Debian and Ubuntu the package openjdk-{OLDEST}-jre-headless)"
PATIENCE: Final = 5.0
"""Seconds for a master to take a connection."""
PATIENCE_FOR_WORKERS: Final = 60.0
LOOK_EVERY: Final = 0.1
_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]/]+):(?P<port>\d+)")
_LOCAL: Final = re.compile(r"local(\[(\*|\d+)(, *\d+)?\])?")
_LOG4J: Final = Path(__file__).parent / "log4j2.properties"


class NoSparkError(Exception):
    """Spark cannot start; the message says what to do, in one line."""


def check_java() -> None:
    """Raises NoSparkError if there is no Java."""
    if shutil.which(_java()) is None:
        home = os.environ.get("JAVA_HOME")
        where = f"there is none in JAVA_HOME ({home})" if home else "there is none"
        raise NoSparkError(f"Spark needs Java, and {where}: {INSTALL}")


def check_version() -> None:
    """Raises NoSparkError if the Java that there is says of itself that it is too old."""
    version = subprocess.run([_java(), "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = re.search(r'version "(?:1\.)?(\d+)', version)
    if found and int(found[1]) < OLDEST:
        raise NoSparkError(f"Spark needs Java {OLDEST} or newer, and this is Java {found[1]}: {INSTALL}")


def check_master(master: str) -> None:
    """Raises NoSparkError if `master` is none, or if it is a standalone one that nobody can connect to."""
    if _LOCAL.fullmatch(master):
        return
    kind, has_kind, rest = master.partition("://")
    if not has_kind:
        if master == "yarn":
            return
        raise NoSparkError(f"--master {master}: write local[2], spark://HOST:PORT, or yarn")
    if kind != "spark":
        return
    problem = ""
    for each in rest.split(","):
        address = _ADDRESS.fullmatch(each)
        if address is None or not 0 < int(address["port"]) < 1 << 16:
            raise NoSparkError(f"--master {master}: write spark://HOST:PORT")
        try:
            socket.create_connection((address["host"].strip("[]"), int(address["port"])), PATIENCE).close()
        except OSError as error:
            problem = error.strerror or "it does not answer"
        else:
            return
    raise NoSparkError(f"--master {master}: {problem}; is a Spark master running there?")


def start(master: str = LOCAL, rows: int = 0) -> SparkSession:
    """A session: the one that there is, or a new one, for a run of so many rows. Raises NoSparkError."""
    check_master(master)
    check_java()
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from py4j.protocol import Py4JError  # noqa: PLC0415 - Spark takes a second to load, and Java may be missing
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    conf = SparkConf(loadDefaults=False).setAll(list(settings(master, rows).items()))
    there = _children()
    with TemporaryFile() as said:
        try:
            gateway = launch_gateway(conf, {"stdout": said, "stderr": said})  # type: ignore[no-untyped-call]
            session = SparkSession(SparkContext(conf=conf, gateway=gateway))
        except (Py4JError, PySparkException, OSError) as error:
            raise NoSparkError(_why(said, error)) from None
        except KeyboardInterrupt:  # it would notice by itself, but only once it is up
            for child in _children() - there:
                os.kill(child, signal.SIGTERM)
            raise
    if not _LOCAL.fullmatch(master):
        _await_workers(session, master)
        if rows > SMALL:
            cores = session.sparkContext.defaultParallelism
            session.conf.set("spark.sql.shuffle.partitions", max(PARTITIONS, 2 * cores))
    return session


def settings(master: str, rows: int) -> Mapping[str, str]:
    """Of a session for a run of so many rows."""
    java = f"-Dlog4j2.configurationFile={_LOG4J} -XX:+UseParallelGC"
    chosen = {
        "spark.master": master,
        "spark.app.name": "chapar-audit",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": MEMORY,
        "spark.driver.extraJavaOptions": f"{java} {HURRIED}" if rows < LARGE else java,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    }
    if _LOCAL.fullmatch(master):
        chosen["spark.sql.shuffle.partitions"] = str(PARTITIONS)
    if rows <= SMALL:
        chosen |= INTERPRETED
    if _LOCAL.fullmatch(master) or _hosts(master) <= HERE:
        chosen |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return chosen


@contextmanager
def opened(master: str = LOCAL, rows: int = 0) -> Iterator[SparkSession]:
    """A session for as long as the block lasts; one that was there before stays. Raises NoSparkError."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - takes a second to load

    is_ours = SparkSession.getActiveSession() is None
    session = start(master, rows)
    try:
        yield session
    finally:
        if is_ours:
            session.stop()


def _hosts(master: str) -> set[str]:
    """The machines of a standalone master; something that is not here for any other."""
    return {each.rpartition(":")[0].strip("[]") for each in master.partition("://")[2].split(",")}


def _await_workers(session: SparkSession, master: str) -> None:
    """Raises NoSparkError if no worker takes us in time."""
    tracker = session.sparkContext._jsc.sc().statusTracker()  # noqa: SLF001 - Python's own tracker has no workers
    end = time.monotonic() + PATIENCE_FOR_WORKERS
    while len(tracker.getExecutorInfos()) < 2:  # the first is we ourselves
        if time.monotonic() > end:
            session.stop()
            raise NoSparkError(f"--master {master}: no worker has taken us in {PATIENCE_FOR_WORKERS:.0f} s")
        time.sleep(LOOK_EVERY)


def _children() -> set[int]:
    """The processes that we have started."""
    return {int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()}


def _java() -> str:
    """What Spark would run."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def _why(said: IO[bytes], error: Exception) -> str:
    """Why Spark did not start, from what it said."""
    try:
        check_version()
    except NoSparkError as too_old:
        return str(too_old)
    said.seek(0)
    lines = [line.strip() for line in said.read().decode(errors="replace").splitlines()]
    told = [line for line in lines if re.search(r"Error|Exception|error:", line)] or [str(error).strip()]
    return f"Spark does not start: {told[0].splitlines()[0]}"
