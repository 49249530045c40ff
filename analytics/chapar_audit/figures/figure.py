"""A figure of a paper, and what is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure as Canvas

    from chapar_audit.figures.workshop import Workshop
    from chapar_audit.verdict import Finding

DOCUMENTS: Final[Mapping[str, str]] = {
    "000": "F. van Vliet: Content-based routing in publish/subscribe systems with dynamic clients behaviour (2007)",
    "002": "A. R. Khakpour, I. Demeure: Designing and Prototyping an Event-based Communication System on Mobile Ad Hoc "
    "Networks (2008)",
    "004": "G. Bouloukakis, N. Georgantas, A. Kattepur, V. Issarny: Timeliness Evaluation of Intermittent Mobile "
    "Connectivity over Pub/Sub Systems (2017)",
}


class Effort(StrEnum):
    """How much is measured."""

    QUICK = "quick"
    """A few points and short runs, for tests: some seconds a figure."""
    FULL = "full"


class Grid(NamedTuple):
    """A table, where that is what the paper shows."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]


class Drawing(NamedTuple):
    """What came of a figure."""

    picture: Canvas | Grid
    caption: str
    """What to see, and what was measured how."""
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure or table of a paper."""

    number: str
    """Document and number, like `000:2.4` or `004:Table 3`."""
    title: str
    make: Callable[[Workshop, Effort], Drawing]
    """Raises WorkshopError if a measurement fails."""
    error: str = ""
    """What the paper's own figure rests on, if that is wrong, in one sentence."""

    @property
    def document(self) -> str:
        return self.number.partition(":")[0]
