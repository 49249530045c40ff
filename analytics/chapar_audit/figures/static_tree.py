"""One notification on a tree where nothing changes: figure 2.4 of van Vliet's thesis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_audit import drawing
from chapar_audit.figures.figure import Drawing, Effort, Figure
from chapar_audit.figures.measured import crossing, half_width
from chapar_audit.models import static
from chapar_audit.verdict import compared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_audit.figures.workshop import Workshop
    from chapar_audit.verdict import Finding

JOB: Final = "figure 000:2.4"
M, K = 3, 4
UNIT: Final = "messages"
NEAR: Final = 0.02
"""Tolerance of what is drawn at random."""


class Case(NamedTuple):
    """How subscribers are spread over the end-brokers."""

    name: str
    place: str
    """As the simulator calls it."""
    cost: static.Cost
    around: tuple[int, ...]
    """The numbers of subscribers that are measured quickly: the break-even lies between the first two."""


CASES: Final = (
    Case("best case", "together", static.best, (12, 13, 20)),
    Case("homogeneous", "random", static.homogeneous, (9, 10, 20)),
    Case("worst case", "apart", static.worst, (8, 9)),
)


def traffic(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 2.4."""
    every = range(1, static.end_brokers(M, K) + 1)
    counts = {case: case.around if effort is Effort.QUICK else tuple(every) for case in CASES}
    placements = 200 if effort is Effort.QUICK else 1000
    asked = [_options(case, count, placements) for case in CASES for count in counts[case]]
    *found, flooded = workshop.traffic([*asked, f"--tree {M},{K} --static 8 --algorithm flooding"])
    drawn, axes = drawing.plane("subscribers S", "messages of a notification")
    limit = static.flooding(M, K)
    axes.axhline(limit, color=drawing.OTHER, linestyle=":", label="flooding")
    findings = [compared(JOB, "flooding", flooded["total"], limit, within=0, unit=UNIT)]
    said = []
    for place, case in enumerate(CASES):
        expected = [case.cost(M, K, count) for count in every]
        drawing.model_line(axes, every, expected, case.name, linestyle=drawing.DASHES[place])
        here, found = found[: len(counts[case])], found[len(counts[case]) :]
        totals = [each["total"] for each in here]
        bars = [half_width(each, placements) if case.place == "random" else 0.0 for each in here]
        label = "our broker" if place == 0 else None
        drawing.measured_points(axes, counts[case], totals, label, bars, fmt=drawing.MARKERS[place], ms=4)
        findings += _rows(case, counts[case], totals)
        even = crossing(counts[case], totals, flooded["total"])
        said.append(f"{case.name} {even:.4g}" if even else f"{case.name} never")
    drawing.legend(axes)
    caption = (
        f"A tree with m = {M} and k = {K}, its publisher at the root. Subscribers fill the end-brokers from one side "
        "(best case), are as far apart as can be (worst case), or are drawn at random. Points count the subscriptions "
        f"and the notification that cross the links between our brokers, means of {placements} draws where chance has "
        "a part. From here on flooding is cheaper, by the measured points: " + ", ".join(said) + " subscribers; the "
        "thesis reads 13, just before 10, and 8 off its own figure."
    )
    return Drawing(drawn, caption, findings)


def _options(case: Case, count: int, placements: int) -> str:
    chance = f" --placements {placements} --seed {count}" if case.place == "random" else ""
    return f"--tree {M},{K} --static {count} --place {case.place}{chance}"


def _rows(case: Case, counts: Sequence[int], totals: Sequence[float]) -> list[Finding]:
    """Each point against the model, exactly where chance has no part, and the break-even."""
    within = NEAR if case.place == "random" else 0.0
    found = [
        compared(JOB, f"{case.name}, {count} subscribers", total, case.cost(M, K, count), within=within, unit=UNIT,
                 reason="a link carries the same subscription twice, or the notification where nobody wants it")
        for count, total in zip(counts, totals, strict=True)
    ]  # fmt: skip
    limit = static.flooding(M, K)
    even, expected = crossing(counts, totals, limit), static.break_even(M, K, case.cost)
    assert expected is not None, "all subscribers cost more than flooding"
    found.append(
        compared(JOB, f"{case.name}, break-even", even or 0.0, expected, within=NEAR, unit="subscribers",
                 reason="identity-based routing or flooding costs another number of messages, see above")
    )  # fmt: skip
    return found


FIGURES: Final = (Figure(number="000:2.4", title="One notification on a static tree", make=traffic),)
