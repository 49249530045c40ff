"""Figures on one page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chapar_audit import drawing
from chapar_audit.figures.album import album
from chapar_audit.figures.figure import Drawing, Effort, Figure, Grid
from chapar_audit.verdict import compared

if TYPE_CHECKING:
    from chapar_audit.figures.workshop import Workshop


def unmade(_workshop: Workshop, _effort: Effort) -> Drawing:
    raise AssertionError


def figure(number: str, error: str = "") -> Figure:
    return Figure(number=number, title=f"About {number} <b>", make=unmade, error=error)


def picture() -> Drawing:
    canvas, axes = drawing.plane("x", "y")
    drawing.model_line(axes, [1, 2], [1, 2], "model")
    findings = [compared("figure", f"point {place}", 1.0, right, within=0.1) for place, right in enumerate((1.0, 2.0))]
    return Drawing(canvas, "What <i>to see.", findings)


def test_an_album_stands_alone() -> None:
    """Drawings, tables, and what could not be made; nothing is loaded."""
    table = Drawing(Grid(["case", "time"], [["1 & 2", 43.7]]), "A table.")
    text = album(
        [(figure("000:2.4", "a wrong < sign"), picture()), (figure("004:Table 3"), table), (figure("004:7"), "no <b>")],
        Effort.QUICK,
    )
    assert not re.search(r"https?:|<script|<b>|<i>", text)
    assert text.count("<svg") == 1
    assert "a wrong &lt; sign" in text
    assert "1 &amp; 2" in text
    assert "Not made: no &lt;b&gt;" in text
    assert set(re.findall(r'href="#(figure-[^"]+)"', text)) <= set(re.findall(r'id="([^"]+)"', text))
    places = [text.index(each) for each in ("000: F. van Vliet", "Figure 2.4. About", "004: G. Boul", "Table 3. About")]
    assert places == sorted(places)


def test_rows_are_open_where_a_point_deviates() -> None:
    """What is wrong is seen at once."""
    drawn = picture()
    assert "<details open>" in album([(figure("000:2.4"), drawn)], Effort.FULL)
    fine = drawn._replace(findings=drawn.findings[:1])
    text = album([(figure("000:2.4"), fine)], Effort.FULL)
    assert "<details>" in text
    assert "1 of 1 comparisons" in text
