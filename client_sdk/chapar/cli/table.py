"""Tables of text: columns aligned, numbers to the right, nothing in a cell that could move a terminal's cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from unicodedata import combining, east_asian_width

from chapar.cli.event_text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Cell = str | int | float | None

ABSENT: Final = "–"
GAP: Final = "  "
CUT: Final = "…"


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, width: int | None = None) -> str:
    """The rows under their headings; lines end without spaces. With `width`, the last column is cut to fit."""
    filled = list(rows)
    right = [
        bool(filled) and all(cell is None or isinstance(cell, int | float) for cell in column)
        for column in zip(*filled, strict=True)
    ]
    lines = [list(headings), *([_text(cell) for cell in row] for row in filled)]
    widths = [max(map(columns_of, column)) for column in zip(*lines, strict=True)]
    if width is not None:
        room = max(width - sum(widths[:-1]) - len(GAP) * (len(widths) - 1), columns_of(headings[-1]))
        widths[-1] = min(widths[-1], room)
        for line in lines:
            line[-1] = cut(line[-1], room)
    return "".join(_line(line, widths, right) for line in lines)


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what is to be said about each, one below the other."""
    named = [(name, escaped(text)) for name, text in pairs]
    longest = max((columns_of(name) for name, _ in named), default=0)
    return "".join(f"{_padded(name, longest)}{GAP}{text}\n" for name, text in named)


def columns_of(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def cut(text: str, room: int) -> str:
    """The text in at most `room` columns; what was cut off leaves a mark."""
    if columns_of(text) <= room:
        return text
    text = text[:room]
    while columns_of(text) > room - len(CUT):
        text = text[:-1]
    return text + CUT


def _text(cell: Cell) -> str:
    if cell is None:
        return ABSENT
    return escaped(cell) if isinstance(cell, str) else str(cell)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        is_right = bool(right) and right[place]
        padded.append(" " * (width - columns_of(cell)) + cell if is_right else _padded(cell, width))
    return GAP.join(padded).rstrip() + "\n"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns_of(text))
