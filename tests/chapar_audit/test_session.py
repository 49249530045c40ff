"""Spark is started where Java is, and says what is missing where it is not."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from chapar_audit import session
from chapar_audit.session import LOCAL, NoSparkError, check_java, check_master, opened, start

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def test_without_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In one line."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoSparkError, match="Spark needs Java, and there is none: install Java 17 or newer"):
        check_java()


def test_a_home_of_java_without_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spark would look nowhere else."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NoSparkError, match=f"there is none in JAVA_HOME .{tmp_path}.: install"):
        check_java()


def test_a_java_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a process of its own, as Spark is started once in each. It ends as an old Java does, whatever it is given."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\necho \'openjdk version "1.8.0_392"\' >&2\n[ "$1" = -version ] || exit 1\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    program = "from chapar_audit import session\ntry: session.start()\nexcept session.NoSparkError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)  # noqa: S603
    assert done.stderr == ""
    assert done.stdout.startswith("Spark needs Java 17 or newer, and this is Java 8: install")


@pytest.mark.parametrize(
    ("master", "said"),
    [
        ("spark:7077", "write local.2., spark://HOST:PORT, or yarn"),
        ("spark://here", "write spark://HOST:PORT"),
        ("spark://127.0.0.1:99999", "write spark://HOST:PORT"),
        ("spark://no-such-host.invalid:7077", "is a Spark master running there"),
    ],
)
def test_a_master_that_is_none_is_refused(master: str, said: str) -> None:
    """Before Spark is started."""
    with pytest.raises(NoSparkError, match=said):
        check_master(master)


def test_a_master_that_does_not_answer_is_named() -> None:
    """At once, where nobody listens."""
    with socket.socket() as bound:
        bound.bind((session.LOOPBACK, 0))
        master = f"spark://{session.LOOPBACK}:{bound.getsockname()[1]}"
        with pytest.raises(NoSparkError, match=f"--master {master}: Connection refused; is a Spark master running"):
            start(master)
        bound.listen()
        check_master(master)


@pytest.mark.parametrize("master", [LOCAL, "local", "local[2]", "yarn"])
def test_other_masters_are_left_to_spark(master: str) -> None:
    """There is nobody to connect to."""
    check_master(master)


def test_a_session_that_is_there_is_used_and_stays(spark: SparkSession) -> None:
    """One process has one."""
    with opened() as session_:
        assert session_ is spark
    assert [row.id for row in spark.range(2).collect()] == [0, 1]


def test_only_a_large_run_is_worth_compiling_for() -> None:
    """Below, the start of Java and of each query is most of the work; a larger one yet is worth compiling well for."""
    small, more, large = (session.settings("local[2]", rows) for rows in (0, session.SMALL + 1, session.LARGE))
    assert small.items() >= session.INTERPRETED.items()
    assert not session.INTERPRETED.items() & more.items()
    assert [session.HURRIED in each["spark.driver.extraJavaOptions"] for each in (small, more, large)] == [
        True, True, False,
    ]  # fmt: skip


def test_memory_is_bounded(spark: SparkSession) -> None:
    """Spark's heap has the size that we chose."""
    assert spark.conf.get("spark.driver.memory") == session.MEMORY
