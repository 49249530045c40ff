"""What a model answers: values for programs and lines for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Answer(NamedTuple):
    """The same numbers twice."""

    values: Mapping[str, object]
    lines: Sequence[str]


def shown(value: object) -> str:
    """A number with six digits; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def columns(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """A table; the first column is flush left, the others, numbers, are flush right."""
    cells = [list(head), *([shown(each) for each in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, *others in cells:
        numbers = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *numbers]).rstrip())
    return lines


def listed(rows: Sequence[tuple[str, object, str]]) -> list[str]:
    """One line for each quantity: its symbol, its value, what it is."""
    symbol = max(len(row[0]) for row in rows)
    number = max(len(shown(row[1])) for row in rows)
    return [f"{name:<{symbol}}  {shown(value):>{number}}  {meaning}".rstrip() for name, value, meaning in rows]


def cheaper(identity: float, flooding: float) -> str:
    """What to choose."""
    if identity == flooding:
        return "identity-based routing and flooding cost the same"
    name, less, more = ("identity-based routing", identity, flooding) if identity < flooding else (
        "flooding", flooding, identity,
    )  # fmt: skip
    return f"{name} is cheaper: {shown(less)} instead of {shown(more)}"
