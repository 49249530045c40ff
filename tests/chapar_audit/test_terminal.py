"""The verdict as people read it."""

from __future__ import annotations

from io import StringIO

import pytest

from chapar_audit.terminal import Progress, conclusion, number, text_of
from chapar_audit.verdict import Finding, State

GOOD = Finding("truth", "transmissions of event", State.HOLDS, 1234.0, 1234.0, "", "exact")
BAD = Finding("traffic", "beacons", State.DEVIATES, 0.5, 0.25, "1/s", "3 %", "node 7 sends twice as often; " * 5)
OPEN = Finding("truth", "receptions", State.OPEN, reason="the medium was not recorded")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_rows_are_aligned_and_reasons_stand_below() -> None:
    """Numbers to the right, and no line is longer than the terminal."""
    lines = text_of("a run", [GOOD, BAD, OPEN], 100).splitlines()
    assert lines[0] == "a run"
    assert max(map(len, lines)) <= 100
    head, good, bad, reason, more, undecided, why = lines[2:9]
    end = head.index("measured") + len("measured")
    assert [line[:end].split()[-1] for line in (good, bad)] == ["1,234", "1/s"]
    assert [good.split()[0], bad.split()[0], undecided.split()[0]] == ["holds", "DEVIATES", "open"]
    assert reason.startswith("          node 7 sends")
    assert more.startswith("          ")
    assert why == "          the medium was not recorded"


def test_what_was_checked_goes_on_below_itself() -> None:
    """Where it is too long for its column."""
    finding = GOOD._replace(subject="transmissions of event and of many other kinds of frame " * 3)
    lines = text_of("a run", [finding], 100).splitlines()
    assert max(map(len, lines)) <= 100
    assert len([line for line in lines if "kinds" in line]) > 1


def test_a_long_tolerance_stands_below() -> None:
    """Before the reason; whatever else there is keeps its room."""
    finding = BAD._replace(tolerance="exact for 29 of 30 counts, the others within " + "3 that were under way " * 5)
    lines = text_of("a run", [finding], 100).splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[4].startswith("          tolerance: exact for 29 of 30 counts, ")
    assert lines[6].startswith("          node 7 sends")


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([GOOD], "verdict: holds, in all 1 rows that could be decided"),
        ([GOOD, OPEN], "verdict: holds, in all 1 rows that could be decided; 1 open"),
        ([GOOD, BAD, OPEN], "verdict: deviates, in 1 of 3 rows; 1 open"),
        ([OPEN], "verdict: open, nothing could be decided"),
        ([], "verdict: open, nothing could be decided"),
    ],
)
def test_the_last_line_says_it_all(findings: list[Finding], said: str) -> None:
    assert conclusion(findings) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, ""), (0.0, "0"), (12345, "12,345"), (0.123456, "0.1235"), (1234567.8, "1,234,568"), (13.6667, "13.67")],
)
def test_numbers_have_four_digits(value: float | None, said: str) -> None:
    """Whole ones have all of them."""
    assert number(value) == said


def test_progress_is_one_line_on_a_terminal() -> None:
    """Written over, and wiped in the end."""
    terminal = Terminal()
    with Progress(terminal) as progress:
        progress.tell("starting Spark")
        progress.steps = 2
        progress.tell("delivery")
    assert terminal.getvalue() == "\r\x1b[Kaudit: starting Spark …\r\x1b[Kaudit: 1/2 delivery …\r\x1b[K"


def test_progress_is_a_line_each_elsewhere() -> None:
    """As in a log."""
    log = StringIO()
    with Progress(log) as progress:
        progress.tell("starting Spark")
        progress.tell("delivery")
    assert log.getvalue() == "audit: starting Spark …\naudit: delivery …\n"
