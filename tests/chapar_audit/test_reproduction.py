"""The command chapar-audit reproduce."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest

from chapar_audit.cli import main
from chapar_audit.figures.catalogue import FIGURES
from chapar_audit.reproduction import Progress

if TYPE_CHECKING:
    from pathlib import Path


def test_figures_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """One a line."""
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [figure.number for figure in FIGURES]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["9.9"], "9.9: no such figure; there are "), ([], "say which figure"), (["all", "--effort", "some"], "--effort")],
)
def test_wrong_usage_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str) -> None:
    """With exit code 2."""
    try:
        code: object = main(["reproduce", *arguments])
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_a_folder_that_cannot_be_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is measured."""
    (tmp_path / "out").write_text("a file", encoding="utf-8")
    assert main(["reproduce", "3.13", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_figure_that_cannot_be_measured_is_said_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page is there, with the reason."""
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    assert main(["reproduce", "3.13", "--out", str(tmp_path), "--cache", str(tmp_path / "cache")]) == 1
    out, err = capsys.readouterr()
    assert re.search(r"^chapar-audit reproduce: 002:3.13: .*name another --cache$", err, re.MULTILINE)
    assert "Not made:" in (tmp_path / "figures.html").read_text(encoding="utf-8")
    assert out.strip() == str(tmp_path / "figures.html")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_stays_on_one_line_of_a_terminal() -> None:
    """And is gone in the end; elsewhere there is a line for each figure."""
    for stream, lines in ((Terminal(), 0), (io.StringIO(), 2)):
        progress = Progress(stream, 2)
        for each in ("one", "two"):
            progress.next(each)
            progress.tell("run 1 of 9")
        progress.clear()
        assert stream.getvalue().count("\n") == lines
        assert "[2/2] two" in stream.getvalue()
    assert "run 1" not in stream.getvalue()
