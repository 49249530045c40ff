"""The filter mapping table of the report on Chapar: its size (3.13), and the steps of a lookup (3.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar_audit import drawing
from chapar_audit.figures.figure import Drawing, Effort, Figure
from chapar_audit.models.table import fmt_bits, scan_steps, search_steps
from chapar_audit.verdict import compared

if TYPE_CHECKING:
    from chapar_audit.figures.workshop import Workshop

SIZE, STEPS = "figure 002:3.13", "figure 002:3.14"
ELEMENTS: Final = 5
BITS, OUR_BITS = 16, 32
"""Of an element: in the report, and in our filter ids."""
NODES: Final = (40, 100, 250)
STEPS_OF: Final = (5, 8, 12)
"""Elements for which the lookup is shown."""
SMALLEST: Final = 10


def _counts(effort: Effort, most: int) -> list[int]:
    """Of filters."""
    parts = 2 if effort is Effort.QUICK else 10
    return [SMALLEST, *(most * part // parts for part in range(1, parts + 1) if most * part // parts > SMALLEST)]


def size(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 3.13."""
    counts = _counts(effort, 200)
    asked = [(filters, nodes) for nodes in NODES for filters in counts]
    found = workshop.asked([f"matching --filters {filters} --nodes {nodes} --lookups 1" for filters, nodes in asked])
    drawn, axes = drawing.plane("filters F", "bytes")
    findings = [
        compared(SIZE, "the report's example: 100 filters, 40 nodes", fmt_bits(100, 40, ELEMENTS, BITS) / 8,
                 1500, within=0, unit="bytes")
    ]  # fmt: skip
    for place, nodes in enumerate(NODES):
        names = ("report: 16-bit elements", "32-bit elements, as ours", "our broker")
        printed_label, expected_label, our_label = names if place == 0 else (None, None, None)
        printed, expected = (
            [fmt_bits(filters, nodes, ELEMENTS, bits) / 8 for filters in counts] for bits in (BITS, OUR_BITS)
        )
        measured = [each["index_bytes"] for each, (_, of) in zip(found, asked, strict=True) if of == nodes]
        drawing.printed_line(axes, counts, printed, printed_label)
        drawing.model_line(axes, counts, expected, expected_label)
        drawing.measured_points(axes, counts, measured, our_label, fmt=drawing.MARKERS[place])
        drawing.mark_end(axes, counts, expected, f"N = {nodes}", drawing.MODEL)
        drawing.mark_end(axes, counts, printed, f"N = {nodes}", drawing.PRINTED)
        findings += [
            compared(SIZE, f"index of {filters} filters among {nodes} nodes", each, right, within=0, unit="bytes",
                     reason="a node vector or a filter id has another length")
            for filters, each, right in zip(counts, measured, expected, strict=True)
        ]  # fmt: skip
    drawing.legend(axes)
    most, filters = found[-1], asked[-1][0]
    caption = (
        "The table grows linearly with the filters, S = F (F_e + N): grey is the report's (3.27, five elements of "
        "16 bits), points are the index that our broker's matcher keeps, ids and node vectors, read from its own "
        "table. Our ids have five elements of 32 bits (blue), 10 bytes more a filter, which is all of the difference. "
        f"Between our brokers travel filters that can be evaluated, not hashes: {most['record_bytes'] / filters:.0f} "
        f"bytes for each of {filters} filters with five values, whatever the number of nodes."
    )
    return Drawing(drawn, caption, findings)


def steps(workshop: Workshop, effort: Effort) -> Drawing:
    """Draw 3.14."""
    counts = _counts(effort, 200)
    asked = [(filters, elements) for elements in STEPS_OF for filters in counts]
    found = workshop.asked([f"matching --filters {filters} --elements {elements}" for filters, elements in asked])
    drawn, axes = drawing.plane("filters F", "steps of a lookup", height=5.4)
    axes.set_yscale("log")
    findings = []
    for place, elements in enumerate(STEPS_OF):
        names = ("report: until it is found", "every row, as an event needs", "our broker")
        printed_label, every_label, our_label = names if place == 0 else (None, None, None)
        dense = range(counts[0], counts[-1] + 1)
        printed = [search_steps(filters, elements) for filters in dense]
        every = [scan_steps(filters, elements) for filters in dense]
        measured = [each["steps"] for each, (_, of) in zip(found, asked, strict=True) if of == elements]
        drawing.printed_line(axes, dense, printed, printed_label, linestyle=drawing.DASHES[1 + place])
        drawing.model_line(axes, dense, every, every_label)
        drawing.measured_points(axes, counts, measured, our_label, fmt=drawing.MARKERS[place])
        drawing.mark_end(axes, dense, every, f"ID_e = {elements}", drawing.MODEL)
        drawing.mark_end(axes, dense, printed, f"ID_e = {elements}", drawing.PRINTED)
        findings.append(
            compared(STEPS, f"steps with {counts[-1]} filters of {elements} elements, against {counts[0]}",
                     measured[-1], measured[0], within=0.05, unit="steps",
                     reason="a lookup visits more of the table the larger it is")
        )  # fmt: skip
    drawing.legend(axes)
    caption = (
        "The report's search compares element by element, so it grows linearly with the table, the steeper the more "
        "elements a filter id has. It gives no formula: the grey lines let the search end at the filter that is "
        "looked for, which lies around the middle (normal, σ = 0.1 F); an event may fit several filters, so that "
        "every row has to be visited (blue). Points count the lines of code that our broker's matcher runs for an "
        f"event, which is no coarser than counting checks of elements: about {found[0]['steps']:.0f} however many "
        "filters there are, as they are looked up by the values they ask for."
    )
    return Drawing(drawn, caption, findings)


FIGURES: Final = (
    Figure(number="002:3.13", title="Size of the filter mapping table", make=size),
    Figure(number="002:3.14", title="Steps of matching against the number of filters", make=steps),
)
