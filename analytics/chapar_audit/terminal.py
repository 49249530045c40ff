"""The verdict as text for a terminal, and how far the audit is."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Final, TextIO

from chapar_audit.verdict import State, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from chapar_audit.verdict import Finding

WIDTH: Final = 100
NARROWEST: Final = 72
_WORDS: Final = {State.HOLDS: "holds", State.DEVIATES: "DEVIATES", State.OPEN: "open"}
_HEADINGS: Final = ("", "job", "what was checked", "measured", "expected", "tolerance")
_INDENT: Final = " " * 10
_SMALLEST_SUBJECT: Final = 24
_LONGEST_TOLERANCE: Final = len(_HEADINGS[-1])
"""What is longer goes below what was checked."""


def width_of(stream: TextIO) -> int:
    """How wide a text may be: a terminal's width, within reason."""
    return max(NARROWEST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)) if stream.isatty() else WIDTH


def text_of(title: str, findings: Sequence[Finding], width: int = WIDTH) -> str:
    """The verdict as a table, and what it comes to in words."""
    return "\n".join([title, "", *_table(findings, width), "", conclusion(findings)])


def conclusion(findings: Sequence[Finding]) -> str:
    """The state of the whole in a line."""
    count = Counter(finding.state for finding in findings)
    undecided = f"; {count[State.OPEN]} open" if count[State.OPEN] else ""
    state = state_of(findings)
    if state is State.DEVIATES:
        return f"verdict: deviates, in {count[State.DEVIATES]} of {len(findings)} rows{undecided}"
    if state is State.OPEN:
        return "verdict: open, nothing could be decided"
    return f"verdict: holds, in all {count[State.HOLDS]} rows that could be decided{undecided}"


def number(value: float | None, unit: str = "") -> str:
    """Whole numbers whole, others to four digits."""
    if value is None:
        return ""
    said = f"{value:,.0f}" if value == int(value) or abs(value) >= 1e5 else f"{value:,.4g}"
    return f"{said} {unit}".strip()


def _table(findings: Sequence[Finding], width: int) -> Iterator[str]:
    cells = [_cells(finding) for finding in findings]
    sizes = [max(map(len, column)) for column in zip(_HEADINGS, *cells, strict=True)]
    spare = width - sum(sizes) + sizes[2] - 2 * (len(sizes) - 1)
    sizes[2] = max(_SMALLEST_SUBJECT, min(sizes[2], spare))
    yield from _lines(_HEADINGS, sizes)
    for finding, row in zip(findings, cells, strict=True):
        yield from _lines(row, sizes)
        said = [finding.reason] if _has_room(finding) else [f"tolerance: {finding.tolerance}", finding.reason]
        for text in said:
            yield from textwrap.wrap(text, width, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _has_room(finding: Finding) -> bool:
    return len(finding.tolerance) <= _LONGEST_TOLERANCE


def _cells(finding: Finding) -> tuple[str, ...]:
    measured, expected = (number(value, finding.unit) for value in (finding.measured, finding.expected))
    tolerance = finding.tolerance if _has_room(finding) else ""
    return (_WORDS[finding.state], finding.job, finding.subject, measured, expected, tolerance)


def _lines(cells: Sequence[str], sizes: Sequence[int]) -> Iterator[str]:
    """A row; what was checked goes on below itself where it is long."""
    state, job, subject, measured, expected, tolerance = cells
    first, *more = textwrap.wrap(subject, sizes[2]) or [""]
    row = (state.ljust(sizes[0]), job.ljust(sizes[1]), first.ljust(sizes[2]))
    yield "  ".join((*row, measured.rjust(sizes[3]), expected.rjust(sizes[4]), tolerance)).rstrip()
    for each in more:
        yield " " * (sizes[0] + sizes[1] + 4) + each


class Progress:
    """Says what is under way: on a terminal in one line that is wiped in the end, else line by line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._step = 0
        self.steps = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._is_terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def tell(self, what: str) -> None:
        """This is under way."""
        counted = f"{self._step}/{self.steps} " if self.steps else ""
        self._step += 1
        text = f"audit: {counted}{what} …"
        self._stream.write(f"\r\x1b[K{text}" if self._is_terminal else f"{text}\n")
        self._stream.flush()
