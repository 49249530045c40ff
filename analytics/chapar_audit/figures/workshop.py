"""Where figures get their measurements: the simulator, run as a command, many at a time, and remembered.

What was measured is kept in a cache under what was asked for and the code of the simulator, so that nothing is run
twice and nothing old is taken for new.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from chapar_audit import recorded, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

COMMAND: Final = (str(Path(sys.executable).parent / "chapar-sim"),)
"""The simulator of the same installation."""
MEASURED_CODE: Final = ("chapar", "chapard", "chapar_olsr", "chapar_sim")
"""Packages whose sources decide what the simulator measures."""
LONGEST: Final = 3600.0
"""Seconds that one run may take."""
SCENARIO: Final = "scenario.toml"
RESULT: Final = "result.json"


class WorkshopError(Exception):
    """A measurement failed; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario that was run and recorded."""

    folder: Path
    result: dict[str, Any]
    """`result.json`."""


def cache_folder() -> Path:
    """Where measurements are kept unless another place is named (XDG)."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "chapar-audit" / "figures"


def fingerprint() -> str:
    """Of the code that measures: other code measures anew."""
    digest = hashlib.sha256()
    for package in MEASURED_CODE:
        spec = importlib.util.find_spec(package)
        for place in spec.submodule_search_locations or () if spec else ():
            for file in sorted(Path(place).rglob("*.py")):
                digest.update(str(file.relative_to(place)).encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


class Workshop:
    """Measurements for figures. Close it, or use it in a `with` statement: Spark may be running."""

    def __init__(
        self,
        cache: Path,
        tell: Callable[[str], None],
        *,
        command: Sequence[str] = COMMAND,
        at_a_time: int | None = None,
        spark: SparkSession | None = None,
    ) -> None:
        """`tell` hears what is under way. A session that is given stays open."""
        self._cache = cache
        self._tell = tell
        self._command = tuple(command)
        self._at_a_time = at_a_time or len(os.sched_getaffinity(0))
        self._spark = spark
        self._is_ours = spark is None
        self._opened: dict[Path, recorded.Recorded] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._spark is not None and self._is_ours:
            self._spark.stop()
            self._spark = None

    # What figures ask for

    def traffic(self, options: Sequence[str]) -> list[dict[str, Any]]:
        """What `chapar-sim traffic` measures with each of these options."""
        return self.asked([f"traffic {each}" for each in options])

    def asked(self, commands: Sequence[str]) -> list[dict[str, Any]]:
        """The JSON that `chapar-sim` answers to each of these commands. Raises WorkshopError."""
        return self._all(self._answer, commands)

    def record(self, scenarios: Sequence[str]) -> list[Run]:
        """Run each of these scenarios (TOML) and record it. Raises WorkshopError, for broken promises too."""
        return self._all(self._run, scenarios)

    def recorded(self, run: Run) -> recorded.Recorded:
        """What was recorded, for the jobs of the audit. Raises WorkshopError."""
        if run.folder not in self._opened:
            try:
                self._opened[run.folder] = recorded.load(self.spark, run.folder)
            except recorded.RecordedError as error:
                raise WorkshopError(str(error)) from None
        return self._opened[run.folder]

    @property
    def spark(self) -> SparkSession:
        """The one session. Raises WorkshopError."""
        if self._spark is None:
            self._tell("starting Spark")
            try:
                self._spark = session.start()
            except session.NoSparkError as error:
                raise WorkshopError(str(error)) from None
        return self._spark

    # How it gets it

    def _all(self, work: Callable[[str], Any], asked: Sequence[str]) -> list[Any]:
        done: list[Any] = []
        with ThreadPoolExecutor(self._at_a_time) as pool:
            under_way = [pool.submit(work, each) for each in asked]
            try:
                for each in under_way:
                    self._tell(f"run {len(done) + 1} of {len(asked)}")
                    done.append(each.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return done

    @cached_property
    def _code(self) -> str:
        return fingerprint()

    def _place(self, *asked: str) -> Path:
        """Where in the cache the answer to something is."""
        key = hashlib.sha256(json.dumps([self._code, *asked]).encode()).hexdigest()
        return self._cache / key[:32]

    def _answer(self, command: str) -> dict[str, Any]:
        place = self._place(command).with_suffix(".json")
        if (known := _json(place)) is not None:
            return known
        answer = self._simulator([*shlex.split(command), "--json"], command)
        with self._bench() as folder:
            (folder / RESULT).write_text(answer, encoding="utf-8")
            found = _json(folder / RESULT)
            if found is None:
                raise WorkshopError(f"chapar-sim {command}: its answer is not JSON")
            (folder / RESULT).replace(place)
        return found

    def _run(self, scenario: str) -> Run:
        place = self._place("run", scenario)
        if (known := _json(place / RESULT)) is not None:
            return Run(place, known)
        with self._bench() as folder:
            (folder / SCENARIO).write_text(scenario, encoding="utf-8")
            first = scenario.strip().partition("\n")[0]
            self._simulator(["run", str(folder / SCENARIO), "--out", str(folder / "run")], f"run of {first}")
            shutil.copy(folder / SCENARIO, folder / "run")  # for a person who looks
            shutil.rmtree(place, ignore_errors=True)
            with suppress(OSError):  # somebody else has just measured the same
                (folder / "run").rename(place)
        result = _json(place / RESULT)
        if result is None:
            raise WorkshopError(f"{place}: a run without {RESULT}")
        return Run(place, result)

    @contextmanager
    def _bench(self) -> Iterator[Path]:
        """A folder to work in, on the file system of the cache, that goes when the work is done."""
        try:
            self._cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".", dir=self._cache) as folder:
                yield Path(folder)
        except OSError as error:
            raise WorkshopError(f"{self._cache}: {error.strerror}; name another --cache") from None

    def _simulator(self, arguments: Sequence[str], what: str) -> str:
        """What it writes. Raises WorkshopError."""
        try:
            done = subprocess.run(  # noqa: S603 - our own program
                [*self._command, *arguments], capture_output=True, text=True, check=False, timeout=LONGEST
            )
        except OSError as error:
            raise WorkshopError(f"{self._command[0]}: cannot run the simulator: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise WorkshopError(f"chapar-sim {what}: took more than {LONGEST:g} s") from None
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise WorkshopError(f"chapar-sim {what}: {lines[-1].strip() if lines else f'ended with {done.returncode}'}")
        return done.stdout


def _json(file: Path) -> dict[str, Any] | None:
    """What is in it; None if there is no such thing."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
