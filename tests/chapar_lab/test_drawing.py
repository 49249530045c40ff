"""Networks as pictures."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from chapar_lab.drawing import BROKER, PLAIN, REGULAR, Picture, Way, as_svg, as_text, hops_of

SVG = "{http://www.w3.org/2000/svg}"
GRID = {1: (0.0, 0.0), 2: (1.0, 0.0), 3: (0.0, 1.0), 4: (1.0, 1.0)}
LINKS = frozenset({(1, 2), (2, 1), (2, 4), (4, 2), (1, 3)})
PICTURE = Picture(
    title="four <nodes>",
    places=GRID,
    links=LINKS,
    roles={1: REGULAR, 2: BROKER, 3: PLAIN, 4: REGULAR},
    clients={1: ("pub & co",), 4: ("a", "b")},
    ways=(Way(publisher="pub & co", hops=((1, 2), (2, 4))),),
)


def test_hops_are_those_of_the_routes() -> None:
    """Shared hops count once; where routes end or go round in circles, the way ends."""
    next_hops = {1: {3: 2, 4: 2, 5: 2, 6: 2}, 2: {3: 3, 4: 3, 6: 1}, 3: {4: 4}}
    assert hops_of(1, [3, 4], next_hops) == [(1, 2), (2, 3), (3, 4)]
    assert hops_of(1, [5], next_hops) == [(1, 2)]
    assert hops_of(1, [6], next_hops) == [(1, 2)]
    assert hops_of(1, [1], next_hops) == []


def test_svg_shows_nodes_links_and_ways() -> None:
    """A square for a broker, a circle for another, a cross for none; each link once, one-way ones dashed."""
    root = ET.fromstring(as_svg(PICTURE))  # noqa: S314 - our own
    assert len(root.findall(f"{SVG}rect")) == 2, "the background and the broker"
    assert len(root.findall(f"{SVG}circle")) == 2
    assert len(root.findall(f"{SVG}path")) == 1
    lines = root.findall(f"{SVG}line")
    assert len(lines) == 3 + 2
    assert len([line for line in lines if line.get("stroke-dasharray")]) == 1
    texts = [text.text for text in root.findall(f"{SVG}text")]
    assert {"four <nodes>", "1", "2", "3", "4", "pub & co", "a, b", "events of pub & co"} == set(texts)


def test_text_shows_the_same() -> None:
    """A map, and lines for what it cannot show."""
    lines = as_text(PICTURE).splitlines()
    assert lines[0] == "four <nodes>"
    map_ = "\n".join(lines[1 : lines.index("") + 30])
    for node in ("(1)", "[2]", "<3>", "(4)"):
        assert node in map_
    assert "*" in map_
    assert "   1  regular          heard by 2, 3; clients pub & co" in lines
    assert "   3  without chapard  heard by nobody" in lines
    assert "events of pub & co: 1→2, 2→4" in lines
    assert max(map(len, lines)) <= 100


def test_the_smallest_pictures() -> None:
    """One node, and none at all."""
    for places in ({}, {7: (3.0, 4.0)}):
        picture = Picture(title="small", places=places, links=frozenset(), roles={})
        ET.fromstring(as_svg(picture))  # noqa: S314 - our own
        assert ("<7>" in as_text(picture)) is bool(places)
