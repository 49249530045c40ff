"""A Spark cluster gives the verdict that this machine gives alone, under the same command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyspark
import pytest

from chapar_audit.cli import main
from chapar_audit.session import HURRIED, LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = pytest.mark.xdist_group("spark")

SPARK: Final = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
COMMAND: Final = str(Path(sys.executable).parent / "chapar-audit")
PATIENCE: Final = 300.0
ANYWHERE: Final = ("--host", LOOPBACK, "--port", "0", "--webui-port", "0")
ENVIRON: Final = {"SPARK_LOCAL_IP": LOOPBACK, "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": HURRIED}


@contextmanager
def service(kind: str, *arguments: str, ready: str) -> Iterator[re.Match[str]]:
    """A process of a cluster, from when it has said that it is ready until the block is left."""
    command = [SPARK, f"org.apache.spark.deploy.{kind}", *ANYWHERE, *arguments]
    with subprocess.Popen(  # noqa: S603 - Spark's own
        command, env=os.environ | ENVIRON, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        end = threading.Timer(PATIENCE, process.kill)
        end.start()
        try:
            found = next(filter(None, (re.search(ready, line) for line in process.stderr)), None)
            assert found, f"{kind} ended, or was not ready within {PATIENCE} s"
            end.cancel()
            rest = threading.Thread(target=process.stderr.read)  # so that it can go on speaking
            rest.start()
            yield found
        finally:
            end.cancel()
            process.terminate()
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """Where a master is that has a worker."""
    with (
        service("master.Master", ready=r"Starting Spark master at (spark://\S+)") as found,
        service(
            "worker.Worker", found[1], "--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / "work"),
            ready="Successfully registered with master",
        ),
    ):  # fmt: skip
        yield found[1]


def findings(out: Path) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = json.loads((out / "verdict.json").read_text(encoding="utf-8"))["findings"]
    return found


@pytest.mark.usefixtures("spark")
def test_a_cluster_gives_the_same_verdict(chain_run: Path, tmp_path: Path, master: str) -> None:
    """Row by row, and the same numbers."""
    assert main([str(chain_run), "--out", str(tmp_path / "here")]) == 0
    command = [COMMAND, str(chain_run), "--out", str(tmp_path / "there"), "--master", master]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    here, there = findings(tmp_path / "here"), findings(tmp_path / "there")
    for mine, other in zip(here, there, strict=True):
        numbers = {name for name in ("measured", "expected") if mine[name] is not None}
        assert [mine[name] for name in mine.keys() - numbers] == [other[name] for name in mine.keys() - numbers]
        assert [mine[name] for name in numbers] == pytest.approx([other[name] for name in numbers], rel=1e-9)
