"""Pages that stand alone."""

from __future__ import annotations

import re

import pytest

from chapar_audit import page
from chapar_audit.verdict import Finding, State

NASTY = '<script>alert("1")</script>&'


def test_a_page_loads_nothing() -> None:
    """It opens offline, and runs nothing."""
    text = page.page("Title", [page.heading(1, "Title"), page.paragraph("text")])
    assert text.startswith("<!doctype html>")
    assert not re.search(r"https?:|<script|<link|@import|url\(", text)


@pytest.mark.parametrize(
    "text",
    [
        page.page(NASTY, []),
        page.heading(2, NASTY, NASTY),
        page.paragraph(NASTY, NASTY),
        page.link(NASTY, NASTY),
        page.listed([("", NASTY)]),
        page.facts([(NASTY, NASTY)]),
        page.figure("", NASTY),
        page.table([NASTY], [[NASTY]], [NASTY]),
        page.folded(NASTY, "", is_open=True),
        page.verdict([Finding(NASTY, NASTY, State.DEVIATES, 1.0, 2.0, NASTY, NASTY, NASTY)]),
    ],
)
def test_names_are_escaped(text: str) -> None:
    """Whatever a client calls itself is shown, not run."""
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_what_deviates_comes_first_and_has_a_sign() -> None:
    """The state is told by words, signs and classes."""
    findings = [Finding("traffic", f"row {state}", state) for state in (State.HOLDS, State.OPEN, State.DEVIATES)]
    text = page.verdict(findings)
    assert re.findall(r"row (\w+)", text) == ["deviates", "open", "holds"]
    assert '<tr class="deviates"><td class="state">✗ deviates</td>' in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (3, "3"), (1234567, "1 234 567"), (0.12345, "0.1235"), (98765.4, "98 765"), (2.0, "2"), ("x", "x"),
        (float("inf"), "inf"), (-1.5, "-1.5"),
    ],
)  # fmt: skip
def test_numbers_are_short(value: object, text: str) -> None:
    """Four digits, thousands apart, a dash for nothing."""
    assert page.shown(value) == text


def test_columns_of_numbers_are_flush_right() -> None:
    """One word among them and they are text."""
    text = page.table(["a", "b"], [[1, 2.5], [None, "x"]])
    assert text.count('class="number"') == 3
