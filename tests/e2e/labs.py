"""Labs for tests: `chapar-lab run` as a user starts it, and what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow.parquet as pq
import pytest

from chapar_lab import ways
from chapar_lab.box import can_box
from chapar_lab.program import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND: Final = str(Path(sys.executable).parent / "chapar-lab")
PATIENCE: Final = 180.0
"""Seconds for a run on a busy machine; none lasts longer than two thirds of them."""
MESH_PORT: Final = 7701
LOOK_EVERY: Final = 0.25
BRISK: Final = '[routes]\nsource = "olsr"\nhello_interval = 0.5\ntc_interval = 1.0\n'
"""Agents that find each other in seconds."""


@cache
def why_not() -> str:
    """Why there can be no lab on this machine; empty if there can."""
    return can_box()


def require() -> None:
    """Skip the test where there can be no lab."""
    if why_not():
        pytest.skip(f"no network namespaces here: {why_not()}")


class Done(NamedTuple):
    """A run that has ended."""

    code: int
    figures: dict[str, Any]
    """`result.json`; empty if there was none."""
    said: str
    """On standard error."""

    @property
    def events(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.figures["per_event"]
        return found

    def missed(self) -> list[str]:
        """Who should have got which event and did not."""
        return [f"{each['id']} at {who}" for each in self.events for who in each["wanted"] if who not in each["got"]]


def require_program(name: str) -> None:
    """Skip the test where a program is not installed."""
    try:
        ways.command(name)
    except LabError as error:
        pytest.skip(str(error))


def run(folder: Path, scenario: str | Path, *options: str, path: str = "") -> Done:
    """Run a scenario, given as a file or as text, to its end. Programs are looked for in `path` too, and first."""
    require()
    done = subprocess.run(  # noqa: S603 - our own command
        _command(folder, scenario, *options),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "PATH": os.pathsep.join(filter(None, (path, os.environ["PATH"])))},
    )
    return Done(done.returncode, result(folder), done.stderr)


def result(folder: Path) -> dict[str, Any]:
    """What a run has left in `result.json`; nothing if there is none."""
    file = folder / "out" / "result.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def kept(folder: Path, scenario: str | Path, *options: str) -> Done:
    """Run a scenario in which every promise is to be kept."""
    done = run(folder, scenario, *options)
    assert done.figures, done.said
    assert done.figures["violations"] == [], done.figures["violations"]
    assert done.figures["duplicates"] == 0
    assert done.code == 0, done.said
    return done


def told_of_the_air(folder: Path) -> tuple[Counter[tuple[int, str]], Counter[tuple[int, str]]]:
    """Bytes by node and kind of frame: what the daemons recorded that they sent, and what the medium saw of them."""
    told: Counter[tuple[int, str]] = Counter()
    for row in pq.read_table(folder / "out" / "frames").to_pylist():
        if row["direction"] == "tx":
            told[row["node"], row["kind"]] += row["bytes"]
    seen: Counter[tuple[int, str]] = Counter()
    for row in pq.read_table(folder / "out" / "air").to_pylist():
        if row["port"] == MESH_PORT and row["sender"] == row["source"]:
            for kind, size in zip(row["kinds"], row["kind_bytes"], strict=True):
                seen[row["sender"], kind] += size
    return told, seen


def recorded(folder: Path, dataset: str) -> list[dict[str, Any]]:
    """The rows of a dataset of a run."""
    rows: list[dict[str, Any]] = pq.read_table(folder / "out" / dataset).to_pylist()
    return rows


class Up:
    """A lab that is up."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, *arguments: str) -> str:
        """What a command about this run prints."""
        command = [COMMAND, arguments[0], "--run", str(self.process.pid), *arguments[1:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603
        assert done.returncode == 0, done.stderr
        return done.stdout

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("status", "--json"))
        return found

    def reach(self, *phases: str) -> None:
        """Wait until the run is in one of these phases."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            asked = [COMMAND, "status", "--json", "--run", str(self.process.pid)]
            done = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE, check=False)  # noqa: S603
            if done.returncode == 0 and json.loads(done.stdout)["phase"] in phases:
                return
            time.sleep(LOOK_EVERY)
        raise AssertionError(f"not {' or '.join(phases)}: {self.process.poll()}")


@contextmanager
def up(folder: Path, scenario: str | Path, *options: str) -> Iterator[Up]:
    """A run that stays up until the block is left."""
    require()
    log = folder / "said"
    with log.open("w", encoding="utf-8") as said:
        process = subprocess.Popen(_command(folder, scenario, "--hold", *options), stdout=said, stderr=said, text=True)  # noqa: S603
    try:
        yield Up(process)
    except BaseException:
        print(log.read_text(encoding="utf-8"))
        raise
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()


def _command(folder: Path, scenario: str | Path, *options: str) -> list[str]:
    file = scenario if isinstance(scenario, Path) else folder / "scenario.toml"
    if isinstance(scenario, str):
        file.write_text(scenario, encoding="utf-8")
    return [COMMAND, "run", str(file), "--out", str(folder / "out"), *options]


def processes(words: str) -> list[int]:
    """The processes of this machine whose command line has these words, this one left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = entry.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if words in line:
                found.append(int(entry.name))
    return found
