"""A network as a picture: who hears whom, who is a broker, and the ways that events take; as SVG, or as text.

Brokers are squares, other nodes circles, nodes without chapard crosses. Links that work one way only are dashed. The
way of a publisher's events to their subscribers is drawn over the links in a colour of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from chapar_sim.links import Pairs, Position

BROKER, REGULAR, PLAIN = "broker", "regular", "plain"
"""Roles as they are drawn: of a broker, of any other node with chapard, of a node without."""
COLOURS: Final = ("#c0392b", "#2471a3", "#1e8449", "#b9770e", "#6c3483", "#117a65")
"""Of the ways of different publishers, in turns."""
WIDTH, HEIGHT, MARGIN = 760, 520, 48
"""Of the picture, in points."""
COLUMNS, ROWS = 64, 20
"""Of the map in characters."""
_TIP: Final = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>'
)
_BRACKETS: Final = {BROKER: "[]", REGULAR: "()", PLAIN: "<>"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The hops that the events of one publisher take."""

    publisher: str
    hops: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is to be drawn."""

    title: str
    places: Mapping[int, Position]
    links: Pairs
    roles: Mapping[int, str]
    clients: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Names of the clients of each node."""
    ways: tuple[Way, ...] = ()


def hops_of(source: int, targets: Iterable[int], next_hops: Mapping[int, Mapping[int, int]]) -> list[tuple[int, int]]:
    """The hops of an event from `source` to `targets` along each node's next hops, each hop once.

    Targets that routes do not lead to are left out from where the routes end.
    """
    hops: dict[tuple[int, int], None] = {}
    for target in sorted(targets):
        node, seen = source, {source}
        while node != target:
            onward = next_hops.get(node, {}).get(target)
            if onward is None or onward in seen:
                break
            hops[node, onward] = None
            seen.add(onward)
            node = onward
    return list(hops)


def _edges(links: Pairs) -> Iterator[tuple[int, int, bool]]:
    """Each link once, with whether it works both ways."""
    for a, b in sorted(links):
        is_both = (b, a) in links
        if a < b or not is_both:
            yield a, b, is_both


# SVG


def as_svg(picture: Picture) -> str:
    """The picture as one file that stands alone."""
    where = _scaled(picture.places, WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN - 24)
    at = {node: (x + MARGIN, y + MARGIN + 24) for node, (x, y) in where.items()}
    size = f'width="{WIDTH}" height="{HEIGHT + 18 * len(picture.ways)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        _TIP,
        f'<text x="{MARGIN}" y="24" font-size="15">{escape(picture.title)}</text>',
    ]
    for a, b, is_both in _edges(picture.links):
        dash = "" if is_both else ' stroke-dasharray="4 4" marker-end="url(#tip)"'
        lines.append(_line(at[a], at[b], f'stroke="#bbb" stroke-width="1.5"{dash}'))
    for place, way in enumerate(picture.ways):
        colour = COLOURS[place % len(COLOURS)]
        shift = 3 * (place - (len(picture.ways) - 1) / 2)
        style = f'stroke="{colour}" stroke-width="2.5" marker-end="url(#tip)"'
        lines += [_line(_moved(at[a], shift), _moved(at[b], shift), style, short=16) for a, b in way.hops]
        below = HEIGHT + 18 * place
        lines.append(f'<text x="{MARGIN}" y="{below}" fill="{colour}">{escape(f"events of {way.publisher}")}</text>')
    for node, (x, y) in at.items():
        lines += _node(node, x, y, picture)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _node(node: int, x: float, y: float, picture: Picture) -> Iterator[str]:
    role = picture.roles.get(node, PLAIN)
    if role == BROKER:
        yield f'<rect x="{x - 13:.1f}" y="{y - 13:.1f}" width="26" height="26" rx="4" fill="#f9e79f" stroke="#333"/>'
    elif role == REGULAR:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="13" fill="#eaf2f8" stroke="#333"/>'
    else:
        yield f'<path d="M{x - 11:.1f} {y - 11:.1f}l22 22m0 -22l-22 22" stroke="#999" stroke-width="2"/>'
    yield f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{node}</text>'
    names = ", ".join(picture.clients.get(node, ()))
    if names:
        place = f'x="{x:.1f}" y="{y + 28:.1f}" text-anchor="middle"'
        yield f'<text {place} fill="#555" font-size="10">{escape(names)}</text>'


def _line(start: Position, end: Position, style: str, short: float = 0.0) -> str:
    (ax, ay), (bx, by) = start, end
    length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5 or 1.0
    cut_x, cut_y = (bx - ax) * short / length, (by - ay) * short / length
    return (
        f'<line x1="{ax + cut_x:.1f}" y1="{ay + cut_y:.1f}" x2="{bx - cut_x:.1f}" y2="{by - cut_y:.1f}" '
        f'fill="none" {style}/>'
    )


def _moved(place: Position, by: float) -> Position:
    return place[0] + by, place[1] + by


def _scaled(places: Mapping[int, Position], width: float, height: float) -> dict[int, Position]:
    """The places stretched to a rectangle, without bending: a metre is as long across as it is down."""
    if not places:
        return {}
    xs, ys = zip(*places.values(), strict=True)
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    scale = min(width / wide if wide else float("inf"), height / high if high else float("inf"))
    scale = 1.0 if scale == float("inf") else scale
    left, top = (width - wide * scale) / 2, (height - high * scale) / 2
    return {node: (left + (x - min(xs)) * scale, top + (y - min(ys)) * scale) for node, (x, y) in places.items()}


# Text


def as_text(picture: Picture) -> str:
    """The picture in characters, and below it what it cannot show."""
    legend = "[n] broker   (n) other node   <n> without chapard   · link   * way of events"
    return "\n".join([picture.title, "", *_map(picture), "", legend, "", *_list(picture)]) + "\n"


def _map(picture: Picture) -> list[str]:
    # A character is twice as high as it is wide.
    scaled = _scaled({node: (2 * x, y) for node, (x, y) in picture.places.items()}, COLUMNS - 6, ROWS - 1)
    at = {node: (round(x) + 3, round(y)) for node, (x, y) in scaled.items()}
    canvas = [[" "] * COLUMNS for _ in range(ROWS)]
    taken = {frozenset(hop) for way in picture.ways for hop in way.hops}
    for a, b, _ in sorted(_edges(picture.links), key=lambda edge: frozenset(edge[:2]) in taken):
        mark = "*" if frozenset((a, b)) in taken else "·"
        for column, row in _dots(at[a], at[b]):
            canvas[row][column] = mark
    for node, (column, row) in at.items():
        brackets = _BRACKETS[picture.roles.get(node, PLAIN)]
        for place, character in enumerate(f"{brackets[0]}{node}{brackets[1]}", -1 - (len(str(node)) - 1) // 2):
            if 0 <= column + place < COLUMNS:
                canvas[row][column + place] = character
    rows = ["".join(row).rstrip() for row in canvas]
    first = next((place for place, row in enumerate(rows) if row), 0)
    last = next((place for place in range(len(rows), 0, -1) if rows[place - 1]), 0)
    return rows[first:last]


def _dots(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The characters between two places, every second one where the line runs along."""
    (ax, ay), (bx, by) = start, end
    steps = max(abs(bx - ax) // 2, abs(by - ay), 1)
    for step in range(1, steps):
        yield ax + round((bx - ax) * step / steps), ay + round((by - ay) * step / steps)


def _list(picture: Picture) -> Iterator[str]:
    for node in sorted(picture.places):
        heard = sorted(b for a, b in picture.links if a == node)
        names = ", ".join(picture.clients.get(node, ()))
        role = picture.roles.get(node, PLAIN)
        what = "without chapard" if role == PLAIN else role
        line = f"{node:>4}  {what:<15}  heard by {', '.join(map(str, heard)) or 'nobody'}"
        yield f"{line}; clients {names}" if names else line
    for way in picture.ways:
        yield f"events of {way.publisher}: " + ", ".join(f"{a}→{b}" for a, b in way.hops)
