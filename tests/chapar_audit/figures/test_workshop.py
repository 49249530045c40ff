"""The workshop: what it asks the simulator, what it remembers, and how it fails. The simulator is a small program."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from chapar_audit.figures.workshop import Workshop, WorkshopError, cache_folder, fingerprint

if TYPE_CHECKING:
    from pathlib import Path

SIMULATOR = """\
import json, pathlib, sys
log = pathlib.Path(sys.argv[1])
asked = sys.argv[2:]
with log.open("a") as file:
    file.write(" ".join(asked[:1]) + chr(10))
if "fail" in asked:
    sys.exit("first line\\nλ is not a number")
if "quiet" in asked:
    sys.exit(3)
if "nonsense" in asked:
    print("nonsense")
elif asked[0] == "run":
    if "broken" in pathlib.Path(asked[1]).read_text():
        print("PROMISES BROKEN: 1\\n  3.000 s  order: b before a")
        sys.exit(1)
    out = pathlib.Path(asked[3])
    out.mkdir()
    (out / "result.json").write_text(json.dumps({"scenario": pathlib.Path(asked[1]).read_text()}))
else:
    print(json.dumps({"asked": asked}))
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def workshop(tmp_path: Path, log: Path) -> Workshop:
    return shop(tmp_path, log)


def shop(tmp_path: Path, log: Path) -> Workshop:
    program = tmp_path / "simulator.py"
    program.write_text(SIMULATOR, encoding="utf-8")
    command = (sys.executable, "-S", str(program), str(log))
    return Workshop(tmp_path / "cache", lambda _: None, command=command, at_a_time=2)


def runs(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_answers_come_in_order(workshop: Workshop) -> None:
    """Options are split as a shell would, and --json is added."""
    found = workshop.traffic(["--tree 2,4 --lam '1/6'", "--static 8"])
    assert [each["asked"] for each in found] == [
        ["traffic", "--tree", "2,4", "--lam", "1/6", "--json"],
        ["traffic", "--static", "8", "--json"],
    ]


def test_what_was_measured_is_not_measured_again(tmp_path: Path, workshop: Workshop, log: Path) -> None:
    """Not by another workshop of the same cache either; what differs is."""
    scenario = 'name = "one"'
    first = (workshop.asked(["matching --filters 3"]), workshop.record([scenario]))
    assert runs(log) == 2
    again = shop(tmp_path, log)
    assert (again.asked(["matching --filters 3"]), again.record([scenario])) == first
    assert runs(log) == 2
    again.asked(["matching --filters 4"])
    again.record(['name = "two"'])
    assert runs(log) == 4


def test_a_spoilt_answer_is_measured_again(tmp_path: Path, workshop: Workshop, log: Path) -> None:
    """A cache that somebody wrote to gives no nonsense."""
    workshop.asked(["matching"])
    (file,) = (tmp_path / "cache").glob("*.json")
    file.write_text('{"asked": ', encoding="utf-8")
    assert workshop.asked(["matching"]) == [{"asked": ["matching", "--json"]}]
    assert runs(log) == 2


def test_a_run_is_kept_with_its_scenario(workshop: Workshop) -> None:
    """The datasets and result.json, and what was run."""
    (run,) = workshop.record(['name = "one"'])
    assert run.result == {"scenario": 'name = "one"'}
    assert {each.name for each in run.folder.iterdir()} == {"result.json", "scenario.toml"}


@pytest.mark.parametrize(
    ("asked", "why"),
    [("fail", "λ is not a number"), ("quiet", "ended with 3"), ("nonsense", "its answer is not JSON")],
)
def test_a_simulator_that_fails_is_one_line(workshop: Workshop, tmp_path: Path, asked: str, why: str) -> None:
    """The last it said; and nothing is remembered."""
    with pytest.raises(WorkshopError, match=f"^chapar-sim {asked}: {why}$"):
        workshop.asked([asked])
    assert not list((tmp_path / "cache").glob("*"))


def test_a_broken_promise_is_a_failure(workshop: Workshop) -> None:
    """A figure is not drawn from a run in which the broker was wrong."""
    with pytest.raises(WorkshopError, match=r"^chapar-sim run of # broken: 3.000 s  order: b before a$"):
        workshop.record(["# broken"])


def test_no_simulator_is_one_line(tmp_path: Path) -> None:
    """It says which program is missing."""
    with pytest.raises(WorkshopError, match="/nowhere/chapar-sim: cannot run the simulator: No such file"):
        Workshop(tmp_path, lambda _: None, command=("/nowhere/chapar-sim",)).asked(["matching"])


def test_a_cache_that_cannot_be_is_one_line(tmp_path: Path, log: Path) -> None:
    """It says which option helps."""
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    with pytest.raises(WorkshopError, match="cache: File exists; name another --cache"):
        shop(tmp_path, log).record(["x"])


def test_the_cache_is_where_caches_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """XDG_CACHE_HOME, or ~/.cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().is_relative_to(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder().is_relative_to(tmp_path / ".cache")


def test_the_code_that_measures_is_part_of_the_key() -> None:
    """It is read, and the same each time."""
    assert len(fingerprint()) == 64
    assert fingerprint() == fingerprint()
