"""The command line."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from chapar_audit.schema import DATASETS
from chapar_sim.cli import main

LIBRARY = Path(__file__).resolve().parents[2] / "deploy" / "scenarios"
SMALL = """
duration = 40
settle = 20
nodes = 3
[topology]
kind = "chain"
[[client]]
name = "pub"
node = 1
[[client.publish]]
subject = "s"
every = 2
start = 5
[[client]]
name = "sub"
node = 3
[[client.subscribe]]
subject = "s"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


def test_run_prints_a_summary(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A good run ends with 0 and a page that names the seed."""
    assert main(["run", str(small), "--seed", "7"]) == 0
    out = capsys.readouterr().out
    assert "seed 7" in out
    assert "every promise kept" in out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bar that grows to the end, on standard error; nothing of it where nobody watches."""
    with contextlib.redirect_stderr(Terminal()) as terminal:
        assert main(["run", str(small)]) == 0
    bars = terminal.getvalue().split("\r")
    assert len(bars) > 100
    assert bars[-1] == f"[{'#' * 30}]   40.0 of 40 s\n"
    main(["run", str(small)])
    assert capsys.readouterr().err == ""


def test_run_prints_json(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same figures for a program; the scenario's own seed unless another is given; one seed, one digest."""
    digests = []
    for seed in ([], ["--seed", "1"]):
        assert main(["run", str(small), "--json", *seed]) == 0
        figures = json.loads(capsys.readouterr().out)
        digests.append(figures["digest"])
        assert figures["events"]["realtime"]["delivered"] == 8
    assert digests[0] == digests[1]


def test_run_writes_the_datasets(small: Path, tmp_path: Path) -> None:
    """With --out, the result and every dataset are there, the daemons' own rows too, and instead of those before."""
    for _ in range(2):
        assert main(["run", str(small), "--out", str(tmp_path / "out")]) == 0
        assert sorted(each.name for each in (tmp_path / "out").iterdir()) == sorted([*DATASETS, "result.json"])
        publishes = pq.read_table(tmp_path / "out" / "publishes")
        assert publishes.num_rows == 8


def test_datasets_that_cannot_be_written_end_with_one_line_and_1(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run is over by then, and what was recorded is still there."""
    (tmp_path / "air").write_text("in the way")
    assert main(["run", str(small), "--out", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"chapar-sim: the datasets are still in {tmp_path / 'spool'}: ")
    assert err.count("\n") == 1
    assert [each.name for each in (tmp_path / "spool").iterdir()] == ["air.spool"]


def test_wrong_scenarios_end_with_one_line_and_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file, the key and what to write; nothing on standard output, nothing written."""
    file = tmp_path / "wrong.toml"
    file.write_text(SMALL.replace("settle", "setle"))
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"chapar-sim: {file}: setle: unknown key; did you mean settle?\n")
    assert not (tmp_path / "out").exists()
    assert main(["run", str(tmp_path / "none.toml")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_output_directory_that_cannot_be_made_is_refused(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the run, not after it."""
    assert main(["run", str(small), "--out", str(small / "below-a-file")]) == 2
    assert capsys.readouterr().err.startswith("chapar-sim: --out ")


@pytest.mark.parametrize("arguments", [[], ["run"], ["fly"], ["run", "x.toml", "--seed", "-1"]])
def test_wrong_usage_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is wrong with the command."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("chapar-sim")
    assert err.count("\n") == 1


def test_a_scenario_of_the_library_keeps_every_promise(capsys: pytest.CaptureFixture[str]) -> None:
    """From the file to the verdict."""
    assert main(["run", str(LIBRARY / "chain.toml")]) == 0, capsys.readouterr().out
