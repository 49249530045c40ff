"""Figures on one page that stands alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar_audit import drawing, page
from chapar_audit.figures.figure import DOCUMENTS, Drawing, Grid
from chapar_audit.page import SIGNS
from chapar_audit.verdict import State, state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_audit.figures.figure import Effort, Figure
    from chapar_audit.verdict import Finding

TITLE = "The papers' figures, measured with our own broker"
LEAD = (
    "Each figure was drawn again from the model (blue) and from what our own broker did in the simulator (orange). "
    "Where the paper's own figure rests on an error, its curve is drawn as well (grey, dashed)."
)


def album(made: Sequence[tuple[Figure, Drawing | str]], effort: Effort) -> str:
    """The page. Of a figure that could not be made there is the reason."""
    findings = [finding for _, drawn in made if isinstance(drawn, Drawing) for finding in drawn.findings]
    body = [page.heading(1, TITLE), page.paragraph(LEAD, "lead")]
    if findings:
        body.append(page.overall(state_of(findings)))
    body.append(page.facts([("effort", effort), ("figures", str(len(made))), ("rows", str(len(findings)))]))
    body.append(_contents(made))
    document = ""
    for figure, drawn in made:
        if figure.document != document:
            document = figure.document
            body.append(page.heading(2, f"{document}: {DOCUMENTS[document]}"))
        body += _section(figure, drawn)
    return page.page(TITLE, body)


def _anchor(figure: Figure) -> str:
    return "figure-" + figure.number.replace(":", "-").replace(" ", "-")


def _name(figure: Figure) -> str:
    number = figure.number.partition(":")[2]
    return number if not number[0].isdigit() else f"Figure {number}"


def _contents(made: Sequence[tuple[Figure, Drawing | str]]) -> str:
    return page.listed(
        (page.link(_anchor(figure), f"{figure.document}: {_name(figure)}"), figure.title) for figure, _ in made
    )


def _section(figure: Figure, drawn: Drawing | str) -> list[str]:
    parts = [page.heading(3, f"{_name(figure)}. {figure.title}", _anchor(figure))]
    if figure.error:
        parts.append(page.paragraph(f"The paper's figure rests on an error: {figure.error}", "error"))
    if not isinstance(drawn, Drawing):
        return [*parts, page.paragraph(f"Not made: {drawn}", "missing")]
    if isinstance(drawn.picture, Grid):
        parts += [page.table(drawn.picture.head, drawn.picture.rows), page.paragraph(drawn.caption, "caption")]
    else:
        parts.append(page.figure(drawing.svg(drawn.picture, _anchor(figure)), drawn.caption))
    if drawn.findings:
        parts.append(_rows(drawn.findings))
    return parts


def _rows(findings: Sequence[Finding]) -> str:
    """Folded if every measured point fits."""
    holding = sum(finding.state is State.HOLDS for finding in findings)
    summary = f"{SIGNS[state_of(findings)]}: {holding} of {len(findings)} comparisons within their tolerance"
    return page.folded(summary, page.verdict(findings), is_open=holding < len(findings))
