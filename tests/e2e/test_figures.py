"""All of the papers' figures, as `make figures QUICK=1` makes them: from models and from runs of our own broker."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest

from chapar_audit import session
from chapar_audit.figures.catalogue import FIGURES
from chapar_audit.reproduction import PAGE

pytestmark = pytest.mark.xdist_group("spark")
AUDIT: Final = Path(sys.executable).parent / "chapar-audit"
LONGEST: Final = 600.0
"""Seconds; on two idle processors it takes less than a tenth of that."""
NAMED: Final = {
    "000": ("2.4", "2.7", "3.3", "3.4", "3.5", "3.6", "4.2"),
    "002": ("3.13", "3.14", "3.16", "3.17", "3.18", "3.19"),
    "004": ("7", "9", "11", "12", "Table 3"),
}
"""By document, what people ask for."""
LOADS: Final = ("src", "srcset", "data", "action", "poster", "background", "ping", "formaction")


class Reader(HTMLParser):
    """What a page would load, what it would run, and what is shown below each anchor of a figure."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []
        self.shown: dict[str, set[str]] = {}
        self._figure = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in {"script", "iframe", "object", "embed", "link", "base"}:
            self.foreign.append(tag)
        for name, value in values.items():
            is_elsewhere = name in LOADS or (name.endswith("href") and not value.startswith("#"))
            if is_elsewhere or name.startswith("on") or re.search(r"url\((?!#)", value):
                self.foreign.append(f"{tag} {name}={value}")
        if tag in {"h2", "h3"}:
            self._figure = values.get("id", "")
            self.shown[self._figure] = set()
        elif tag == "details":  # the comparisons, which are no picture
            self._figure = ""
        elif self._figure:
            self.shown[self._figure].add(tag)


def test_every_figure_is_made(tmp_path: Path) -> None:
    """Each is on the page as a drawing or a table, every measurement fits its model, and the page loads nothing."""
    try:
        session.check_java()
    except session.NoSparkError as error:
        pytest.skip(str(error))
    command = [AUDIT, "reproduce", "all", "--effort", "quick", "--out", tmp_path, "--cache", tmp_path / "cache"]
    done = subprocess.run(  # noqa: S603 - our own command
        [str(each) for each in command], capture_output=True, text=True, check=False, timeout=LONGEST
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / PAGE}\n"
    assert done.stderr.splitlines() == [
        f"[{place}/{len(FIGURES)}] {figure.number} {figure.title}" for place, figure in enumerate(FIGURES, start=1)
    ]
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert "Not made:" not in page
    assert not re.search(r"https?:|@import", page)
    reader = Reader()
    reader.feed(page)
    assert reader.foreign == []
    for document, numbers in NAMED.items():
        for number in numbers:
            shown = reader.shown[f"figure-{document}-{number.replace(' ', '-')}"]
            assert shown & {"svg", "table"}, number
