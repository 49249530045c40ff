"""A page that stands alone: HTML without scripts, with nothing to load, readable on paper and in a narrow window."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Final

from chapar_audit.verdict import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chapar_audit.verdict import Finding

SIGNS: Final = {State.HOLDS: "✓ holds", State.DEVIATES: "✗ deviates", State.OPEN: "? open"}
"""A state is told by its sign and its word; the colour only helps."""
STYLE: Final = """\
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.25rem 4rem; max-width: 62rem; background: #fff; color: #1b1f24;
  font: 16px/1.5 system-ui, "Helvetica Neue", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; padding-bottom: .25rem; border-bottom: 1px solid #dfe3e8; }
h3 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
p { margin: .4rem 0; max-width: 48rem; }
.lead { color: #3d4650; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; margin: .6rem 0; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid #dfe3e8; }
th { font-weight: 600; color: #3d4650; border-bottom: 2px solid #b6bec8; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.state { white-space: nowrap; font-weight: 600; }
td.checked { min-width: 13rem; }
.reason { color: #3d4650; font-style: italic; }
tr.holds td.state { color: #166534; }
tr.deviates td.state { color: #b91c1c; }
tr.deviates { background: #fef2f2; }
tr.open td.state { color: #8a5a00; }
.overall { display: inline-block; margin: .4rem 0; padding: .3rem .8rem; border: 2px solid; border-radius: .3rem;
  font-weight: 700; }
.overall.holds { color: #166534; }
.overall.deviates { color: #b91c1c; }
.overall.open { color: #8a5a00; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: .8rem 0; font-size: .925rem; }
dt { color: #5b6570; }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0 2rem; }
figure .scroll svg { display: block; width: 100%; min-width: 34rem; height: auto; }
figcaption, .caption { margin-top: .4rem; font-size: .925rem; color: #3d4650; max-width: 48rem; }
details { font-size: .925rem; } summary { cursor: pointer; color: #3d4650; }
.error { border-left: 4px solid #b7791f; padding: .1rem 0 .1rem .8rem; font-size: .925rem; }
.missing { color: #5b6570; font-style: italic; }
nav ol { columns: 2 20rem; column-gap: 3rem; padding-left: 1.8rem; font-size: .925rem; }
a { color: #0b5394; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
@media (max-width: 40rem) { body { padding: 1rem .8rem 3rem; } dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .4rem; } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; } .scroll { overflow: visible; } figure .scroll svg { min-width: 0; }
  .overall, tr.deviates { print-color-adjust: exact; -webkit-print-color-adjust: exact; } a { color: inherit; } }
"""


def link(anchor: str, text: str) -> str:
    return f'<a href="#{escape(anchor)}">{escape(text)}</a>'


def page(title: str, body: Iterable[str]) -> str:
    """A whole document."""
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    )
    return head + "\n".join(body) + "\n</body>\n</html>\n"


def listed(items: Iterable[tuple[str, str]]) -> str:
    """A table of contents: a link, and what is behind it."""
    return "<nav><ol>\n" + "\n".join(f"<li>{to} {escape(text)}</li>" for to, text in items) + "\n</ol></nav>"


def heading(level: int, text: str, anchor: str = "") -> str:
    mark = f' id="{escape(anchor)}"' if anchor else ""
    return f"<h{level}{mark}>{escape(text)}</h{level}>"


def paragraph(text: str, kind: str = "") -> str:
    mark = f' class="{escape(kind)}"' if kind else ""
    return f"<p{mark}>{escape(text)}</p>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """What is what, line by line."""
    return "<dl>\n" + "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs) + "\n</dl>"


def figure(svg: str, caption: str) -> str:
    """A drawing, which is SVG already, with what there is to see in it."""
    return f'<figure>\n<div class="scroll">{svg}</div>\n<figcaption>{escape(caption)}</figcaption>\n</figure>'


def table(head: Sequence[str], rows: Iterable[Sequence[object]], kinds: Iterable[str] = ()) -> str:
    """A table. Numbers are flush right; `kinds` are the rows' classes."""
    cells = [[*row] for row in rows]
    numeric = [bool(cells) and all(_is_number(row[place]) for row in cells) for place in range(len(head))]
    first = "".join(_cell("th", each, is_number=number) for each, number in zip(head, numeric, strict=True))
    marks = [f' class="{escape(kind)}"' for kind in kinds] or [""] * len(cells)
    lines = []
    for mark, row in zip(marks, cells, strict=True):
        columns = (_cell("td", each, is_number=number) for each, number in zip(row, numeric, strict=True))
        lines.append(f"<tr{mark}>{''.join(columns)}</tr>")
    return _framed(first, lines)


def _framed(head: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def verdict(findings: Sequence[Finding]) -> str:
    """The rows of the verdict; what deviates comes first, then what is open."""
    order = (State.DEVIATES, State.OPEN, State.HOLDS)
    rows = sorted(findings, key=lambda finding: order.index(finding.state))
    head = ("", "job", "checked", "measured", "expected", "unit", "tolerance")
    first = "".join(_cell("th", each, is_number=each in ("measured", "expected")) for each in head)
    lines = []
    for row in rows:
        why = f'<div class="reason">{escape(row.reason)}</div>' if row.reason else ""
        cells = (
            f'<td class="state">{SIGNS[row.state]}</td>{_cell("td", row.job, is_number=False)}'
            f'<td class="checked">{escape(row.subject)}{why}</td>'
            f"{_cell('td', row.measured, is_number=True)}{_cell('td', row.expected, is_number=True)}"
            f"{_cell('td', row.unit, is_number=False)}{_cell('td', row.tolerance, is_number=False)}"
        )
        lines.append(f'<tr class="{row.state}">{cells}</tr>')
    return _framed(first, lines)


def folded(summary: str, content: str, *, is_open: bool) -> str:
    """Something that a reader may open."""
    return f"<details{' open' if is_open else ''}>\n<summary>{escape(summary)}</summary>\n{content}\n</details>"


def overall(state: State) -> str:
    """The state of the whole."""
    return f'<p class="overall {state}">{SIGNS[state]}</p>'


def shown(value: object) -> str:
    """A number as a person reads it; a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value == int(value):
        return f"{int(value):,}".replace(",", " ")
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 10_000 else f"{value:.4g}"


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(tag: str, value: object, *, is_number: bool) -> str:
    mark = ' class="number"' if is_number else ""
    return f"<{tag}{mark}>{escape(shown(value))}</{tag}>"
