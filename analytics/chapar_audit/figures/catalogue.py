"""All figures that can be drawn again, as data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from chapar_audit.figures import battalion, density, end_to_end, filter_table, presence, static_tree, waiting, waves
from chapar_audit.figures.figure import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_audit.figures.figure import Figure

MODULES: Final = (static_tree, waves, battalion, presence, filter_table, density, waiting, end_to_end)
"""Each has `FIGURES`."""
ALL: Final = "all"


class UnknownFigureError(Exception):
    """There is no such figure, or several; the message says which there are."""


def _order(figure: Figure) -> tuple[str, bool, list[int]]:
    """By document, figures before tables, by number."""
    number = figure.number.partition(":")[2]
    return figure.document, not number[0].isdigit(), [int(each) for each in re.findall(r"\d+", number)]


FIGURES: Final = tuple(sorted((figure for module in MODULES for figure in module.FIGURES), key=_order))
assert len({figure.number for figure in FIGURES}) == len(FIGURES), "a number names one figure"
assert all(figure.document in DOCUMENTS for figure in FIGURES), "every document has a name"


def chosen(names: Sequence[str]) -> list[Figure]:
    """The figures of these names, like `000:2.4` or, where one document only has it, `2.4`; `all` for all of them.

    Raises UnknownFigureError.
    """
    wanted: dict[str, Figure] = {}
    for name in names:
        wanted |= {figure.number: figure for figure in _named(name)}
    return sorted(wanted.values(), key=_order)


def _named(name: str) -> Sequence[Figure]:
    if _plain(name) == ALL:
        return FIGURES
    found = [figure for figure in FIGURES if _plain(name) in (_plain(figure.number), _plain(figure.number)[4:])]
    if len(found) == 1:
        return found
    numbers = ", ".join(figure.number for figure in found or FIGURES)
    if found:
        raise UnknownFigureError(f"{name}: several documents have it; write one of {numbers}")
    raise UnknownFigureError(f"{name}: no such figure; there are {numbers}")


def _plain(name: str) -> str:
    """Without what people write differently: `table3` is `Table 3`."""
    return re.sub(r"\s", "", name).lower()
