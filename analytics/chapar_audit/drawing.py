"""How everything that the audit draws looks: one style, colours with a meaning, and SVG that fits into a page."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, NullFormatter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

INK, FAINT, GRID = "#1b1f24", "#5b6570", "#dfe3e8"
MODEL, PRINTED, MEASURED, OTHER = "#0b5394", "#8a8f98", "#c2410c", "#4d7c0f"
"""The right model, the document's own curve, what we measured, and the alternative (mostly flooding)."""
SERIES: Final = ("#0b5394", "#c2410c", "#4d7c0f", "#7e22ce", "#b7791f", "#0f766e", "#9d174d", "#475569")
"""Of things that are alike, in this order."""
DASHES: Final = ("-", "--", "-.", ":")
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Colour is never alone: lines and points of a series differ by these as well."""
STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "chapar",
    "text.parse_math": False,  # names of clients and nodes are text, dollar signs included
    "font.size": 10,
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica Neue", "Helvetica", "Arial", "DejaVu Sans"],
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
}


def canvas(width: float = 7.2, height: float = 3.8, columns: int = 1) -> tuple[Canvas, Sequence[Axes]]:
    """A drawing of so many inches, and its axes from left to right."""
    mpl.rcParams.update(STYLE)
    drawn = Canvas(figsize=(width, height), layout="constrained")
    axes = drawn.subplots(1, columns, squeeze=False)
    return drawn, list(axes[0])


def plane(x: str, y: str, *, width: float = 7.2, height: float = 3.8) -> tuple[Canvas, Axes]:
    """A drawing with one pair of axes, which say what they are."""
    drawn, (axes,) = canvas(width, height)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return drawn, axes


def model_line(axes: Axes, x: Sequence[float], y: Sequence[float], label: str | None, **more: Any) -> None:
    """A curve that follows from the right model."""
    axes.plot(x, y, **{"color": MODEL, "linestyle": "-", "label": label, "zorder": 2, **more})


def printed_line(axes: Axes, x: Sequence[float], y: Sequence[float], label: str | None, **more: Any) -> None:
    """A curve of the document, from formulas as printed."""
    axes.plot(x, y, **{"color": PRINTED, "linestyle": "--", "label": label, "zorder": 1, **more})


def measured_points(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    label: str | None,
    error: Sequence[float] | None = None,
    **more: Any,
) -> None:
    """What was measured, with half-widths of 95 % confidence if there are any."""
    style = {"color": MEASURED, "fmt": "o", "capsize": 3, "label": label, "zorder": 3, **more}
    axes.errorbar(x, y, yerr=error, **style)


def legend(axes: Axes, **more: Any) -> None:
    """Say what is what, above the plot, where it hides nothing."""
    style = {"loc": "lower left", "bbox_to_anchor": (0, 1.01), "borderaxespad": 0, "ncols": 3, **more}
    axes.legend(**style)


def shared_legend(drawn: Canvas) -> None:
    """Say once, above all axes of a drawing, what is what in each of them."""
    drawn.legend(*drawn.axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=5)


def mark_end(axes: Axes, x: Sequence[float], y: Sequence[float], text: str, color: str = INK) -> None:
    """Name a curve at its right end."""
    axes.annotate(text, (x[-1], y[-1]), xytext=(6, 0), textcoords="offset points", va="center", fontsize=9, color=color)


def plain(value: float, _place: int | None = None) -> str:
    """A number on an axis, without powers of ten."""
    return f"{value:,.0f}".replace(",", "\u2009") if abs(value) >= 1 or value == 0 else f"{value:.9f}".rstrip("0")


def svg(drawn: Canvas, name: str) -> str:
    """The drawing as an element of a page. Its ids begin with `name`, so that several fit into one page."""
    for axis in (each for axes in drawn.axes for each in (axes.xaxis, axes.yaxis)):
        if axis.get_scale() == "log":  # its own numbers are mathematics, which SVG text is not
            axis.set_major_formatter(FuncFormatter(plain))
            axis.set_minor_formatter(NullFormatter())
    sheet = io.StringIO()
    drawn.savefig(sheet, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = sheet.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)  # the page has it
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"(\s(?:xlink:href=\"#|id=\")|url\(#)", rf"\g<1>{name}-", text)
    text = text.replace("xlink:href", "href").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    text = text.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1)  # the page is HTML, which knows
    return re.sub(r'<svg ([^>]*?)height="[^"]*"([^>]*?)width="[^"]*"', r"<svg \1\2", text, count=1).strip()
