"""Drawings: SVG that stands in a page beside others, with text as text."""

from __future__ import annotations

import re

from chapar_audit import drawing


def drawn(name: str, text: str = "x") -> str:
    canvas, axes = drawing.plane(text, "y")
    drawing.model_line(axes, [1, 10, 100], [1, 10, 100], f"model of {text}")
    drawing.printed_line(axes, [1, 100], [2, 200], "printed")
    drawing.measured_points(axes, [1, 10], [1, 11], "measured", [0.1, 1])
    drawing.mark_end(axes, [1, 100], [2, 200], "end")
    drawing.legend(axes)
    return drawing.svg(canvas, name)


def test_several_drawings_share_no_ids() -> None:
    """What one refers to is its own."""
    one, other = drawn("one"), drawn("other")
    ids = [set(re.findall(r'id="([^"]+)"', each)) for each in (one, other)]
    assert all(ids)
    assert not ids[0] & ids[1]
    for text, own in zip((one, other), ids, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) <= own


def test_a_drawing_loads_nothing_and_is_the_same_each_time() -> None:
    """No address, no script, no style that reaches beyond it, no date."""
    text = drawn("one")
    assert text == drawn("one")
    assert not re.search(r"https?:|<script|<style|<metadata", text)
    assert len(text) < 25_000


def test_text_is_text() -> None:
    """Names are neither markup nor mathematics."""
    text = drawn("one", "<b>$\\frac{$&")
    assert "&lt;b&gt;$\\frac{$&amp;" in text


def test_logarithmic_axes_have_plain_numbers() -> None:
    """Not the mathematics that matplotlib would write."""
    canvas, axes = drawing.plane("x", "y")
    axes.set_yscale("log")
    drawing.model_line(axes, [1, 2], [0.01, 10_000], None)
    text = drawing.svg(canvas, "log")
    assert "mathdefault" not in text
    assert {">0.01<", ">1<", ">10\u2009000<"} <= set(re.findall(r">[^<>]*<", text))
