"""`chapar-audit DIR` from its arguments to its exit code."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chapar_audit.audit import JOBS
from chapar_audit.cli import main
from chapar_audit.schema import METADATA_KEY, VERSION
from chapar_audit.session import INSTALL

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.xdist_group("spark")

COMMAND = str(Path(sys.executable).parent / "chapar-audit")
PATIENCE = 120.0


@pytest.mark.usefixtures("spark")
def test_a_run_that_is_as_it_should_be_holds(
    chain_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a table, a verdict for programs, the tables behind it, a page with plots, and word of what is under way."""
    assert main([str(chain_run), "--out", str(tmp_path / "out"), "--html"]) == 0
    said = capsys.readouterr()
    *lines, last = said.out.splitlines()
    assert lines[0].startswith("chain: simulator, chapar routing, 4 nodes, ")
    assert lines[-1].startswith("verdict: holds, in all ")
    assert max(map(len, lines)) <= 100
    assert [line.split()[2] for line in said.err.splitlines()[2:]] == [*JOBS, "drawing"]
    assert last == f"report: {tmp_path / 'out' / 'report.html'}"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Audit of chain" in page
    assert not re.search(r"https?:|<script|<link|@import|src=", page)
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text(encoding="utf-8"))
    assert (verdict["run"], verdict["state"]) == ("chain", "holds")
    assert {finding["job"] for finding in verdict["findings"]} == set(JOBS)
    for job in (tmp_path / "out").iterdir():
        for table in job.iterdir() if job.is_dir() else ():
            assert pq.read_table(table).num_columns


@pytest.mark.usefixtures("spark")
def test_what_cannot_be_read_keeps_the_verdict_from_holding(
    chain_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest is audited; the file is named. Programs read the same as in the file, people as in the report."""
    folder = tmp_path / "copy"
    shutil.copytree(chain_run, folder)
    spoilt = next((folder / "routes").rglob("*.parquet"))
    spoilt.write_bytes(b"PAR1")
    report = tmp_path / "pages" / "report.html"
    assert main([str(folder), "--json", "--html", str(report)]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert verdict == json.loads((folder / "audit" / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["state"] == "deviates"
    (bad,) = (finding for finding in verdict["findings"] if finding["state"] == "deviates")
    assert bad["job"] == "input"
    assert bad["reason"].startswith(f"{spoilt.relative_to(folder)} is left out: ")
    assert bad["reason"] in report.read_text(encoding="utf-8")


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--run", "other"], "no run 'other'; there are chain"),
        (["--master", "spark:7077"], "--master spark:7077: write local[2], spark://HOST:PORT, or yarn"),
        (["--out", "/dev/null/out"], "/dev/null/out: Not a directory"),
        (["--html", "/dev/null/page.html"], "/dev/null: File exists"),
        (["--html", "/"], "/: Is a directory"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    chain_run: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    """On standard error, with exit code 2."""
    assert main([str(chain_run), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert next(line for line in err.splitlines() if not line.startswith("audit: ")).endswith(said)
    assert "Traceback" not in err


@pytest.mark.usefixtures("spark")
def test_whatever_is_wrong_with_a_run_is_named_in_its_row(
    chain_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No medium, a clock that is wrong, a file of tomorrow, one without its end, and routing that no model knows."""
    folder = tmp_path / "copy"
    shutil.copytree(chain_run, folder)
    shutil.rmtree(folder / "air")
    for path in (folder / "runs").rglob("*.parquet"):
        rewrite(path, "settings", lambda text: text.replace('"chapar"', '"gossip"'))
    for dataset in ("frames", "publishes", "deliveries"):
        for path in (folder / dataset / "run=chain" / "node=4").glob("*.parquet"):
            rewrite(path, "ts_us", lambda ts_us: ts_us - 3_600_000_000)
    newer = one_of(folder, "roles")
    rewrite(newer, "reason", str, version=VERSION + 1)
    cut = one_of(folder, "sessions")
    cut.write_bytes(cut.read_bytes()[:-8])
    assert main([str(folder), "--json"]) == 1
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    findings = json.loads(said.out)["findings"]
    assert {finding["job"] for finding in findings} == set(JOBS)
    reasons = {
        state: [each["reason"] for each in findings if each["state"] == state] for state in ("deviates", "open")
    }
    for state, words in (
        ("open", "not recorded: air"),
        ("open", "there is no model of how routing mode gossip carries events"),
        ("deviates", "node 4 recorded 3"),
        ("deviates", "the clock of node 4 is at least 3"),
        ("deviates", f"{newer.relative_to(folder)} is left out: it is of schema version {VERSION + 1}"),
        ("deviates", f"{cut.relative_to(folder)} is left out: Parquet magic bytes not found"),
    ):
        assert any(words in reason for reason in reasons[state]), (words, reasons)
    assert all("it failed" not in reason for reason in reasons["deviates"])


def one_of(folder: Path, dataset: str) -> Path:
    return next((folder / dataset / "run=chain" / "node=1").glob("*.parquet"))


def rewrite(path: Path, name: str, change: Callable[[Any], Any], version: int = VERSION) -> None:
    """Change each value of a column."""
    table = pq.ParquetFile(path).read()
    field = table.schema.field(name)
    values = pa.array([change(value) for value in table[name].to_pylist()], field.type)
    table = table.set_column(table.schema.get_field_index(name), field, values)
    pq.write_table(table.replace_schema_metadata({METADATA_KEY: str(version)}), path)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: shutil.rmtree(folder / "runs"), "`runs` is missing, which says what run 'chain' was"),
        (
            lambda folder: shutil.copytree(folder / "runs" / "run=chain", folder / "runs" / "run=other"),
            "several runs (chain, other); say which with --run",
        ),
        (
            lambda folder: rewrite(one_of(folder, "runs"), "schema_version", lambda _: VERSION + 1),
            f"recorded under schema version {VERSION + 1}, this audit reads {VERSION}",
        ),
        (shutil.rmtree, "there is no such folder; name the one that a run was recorded in"),
    ],
    ids=["no-runs", "several", "newer", "nowhere"],
)
def test_what_cannot_be_audited_at_all_is_said_in_one_line(
    chain_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], object], said: str
) -> None:
    """Before Spark is started, with exit code 2."""
    folder = tmp_path / "copy"
    shutil.copytree(chain_run, folder)
    spoil(folder)
    assert main([str(folder)]) == 2
    assert tuple(capsys.readouterr()) == ("", f"chapar-audit: {folder}: {said}\n")


def test_without_java_it_says_how_to_get_it(
    chain_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, with exit code 2, and without a verdict of an earlier audit left behind."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "verdict.json").touch()
    assert main([str(chain_run), "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[1:] == [f"chapar-audit: Spark needs Java, and there is none: {INSTALL}"]
    assert not (tmp_path / "verdict.json").exists()


def test_an_interrupt_ends_it_without_a_verdict(chain_run: Path, tmp_path: Path) -> None:
    """While Spark starts, which is when people lose patience: no traceback, no words of Spark's, and that ends too."""
    command = [COMMAND, str(chain_run), "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stderr is not None
        assert process.stderr.readline() == "audit: starting Spark …\n"
        end = time.monotonic() + PATIENCE
        while not (children := children_of(process.pid)) and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert err == "\nchapar-audit: interrupted; there is no verdict\n"
    assert not (tmp_path / "verdict.json").exists()
    while any(is_running(child) for child in children) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(is_running(child) for child in children)


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]


def is_running(pid: int) -> bool:
    """Who has ended and was not asked for by anybody does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
