"""The themes of random scenarios: each draws a network and what goes wrong in it, to test certain promises."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chapar_sim.draw import Entry, Sketch

REACH: Final = 250.0
"""Metres within which nodes of a placed network hear each other."""


Theme = Callable[["Sketch"], None]


def calm(sketch: Sketch) -> None:
    """Nothing goes wrong but the air: real-time events must all arrive, in order and once."""
    _draw_graph(sketch, least=2, most=14)
    sketch.active = sketch.between(60, 90)
    if sketch.nodes > 3 and sketch.chance(0.3):
        sketch.plain = sorted(sketch.rng.sample(range(1, sketch.nodes + 1), sketch.rng.randint(1, 2)))


def partition(sketch: Sketch) -> None:
    """The network falls apart and heals, while subscriptions come and go on both sides."""
    _draw_graph(sketch, least=4, most=12)
    sketch.active = sketch.between(90, 140)
    t = sketch.between(12, 25)
    while t < sketch.active - 15:
        until = round(min(t + sketch.between(12, 45), sketch.active), 2)
        sketch.faults.append({"at": t, "kind": "cut", "until": until, "groups": _split(sketch)})
        t = round(until + sketch.between(8, 30), 2)


def crashes(sketch: Sketch) -> None:
    """Daemons crash, with and without their disks, and nodes are switched off."""
    _draw_graph(sketch, least=3, most=10)
    sketch.active = sketch.between(80, 120)
    for _ in range(sketch.rng.randint(1, 4)):
        at = sketch.between(10, sketch.active - 20)
        fault: Entry = {"at": at, "kind": sketch.rng.choice(("crash", "crash", "stop", "power_off"))}
        fault["node"] = sketch.rng.randint(1, sketch.nodes)
        if fault["kind"] == "crash":
            fault["disk"] = sketch.rng.choice(("kept", "wiped"))
        if sketch.chance(0.85):
            fault["until"] = round(min(at + sketch.between(1, 30), sketch.active), 2)
        sketch.faults.append(fault)


def courier(sketch: Sketch) -> None:
    """A publisher and its neighbour live apart; the publisher is gone for good, and the neighbour joins the others.

    It comes as a leaf, so it is a broker no more: what only it holds must survive its dismissal (report 3.3.6).
    """
    rng = sketch.rng
    others = rng.randint(3, 8)
    publisher, carrier = others + 1, others + 2
    attached = rng.randint(1, others)
    sketch.nodes = carrier
    sketch.topology = {"kind": "edges", "edges": [*_graph(sketch, others), [publisher, carrier], [attached, carrier]]}
    sketch.diameter = others
    meeting = sketch.between(40, 60)
    sketch.active = round(meeting + sketch.between(5, 40), 2)
    sketch.faults.append({"at": 0.0, "kind": "cut", "until": meeting, "edges": [[attached, carrier]]})
    end: Entry = {"at": round(meeting - rng.choice((0.0, 0.0, 0.5, 1.5)), 2), "kind": rng.choice(("cut", "power_off"))}
    end.update({"edges": [[publisher, carrier]]} if end["kind"] == "cut" else {"node": publisher})
    sketch.faults.append(end)
    sketch.routes.update(convergence=[0.0, rng.choice((0.0, 0.5))], neighbour_delay=[0.0, 0.0])


def leave(sketch: Sketch) -> None:
    """A node leaves for longer than the lease of its subscriptions; it may come back."""
    _draw_graph(sketch, least=3, most=9)
    away = sketch.rng.randint(1, sketch.nodes)
    at = sketch.between(10, 30)
    until = round(at + float(sketch.config["subscription_lease"]) * sketch.between(0.5, 2.0), 2)
    fault: Entry = {"at": at, "kind": "cut", "groups": [[away]]}
    if sketch.chance(0.6):
        fault["until"] = until
    sketch.faults.append(fault)
    sketch.active = round(until + sketch.between(10, 30), 2)


def mobile(sketch: Sketch) -> None:
    """Nodes wander about, and the network with them."""
    sketch.nodes = sketch.rng.randint(4, 14)
    side = round(REACH * math.sqrt(sketch.nodes) * sketch.rng.uniform(0.45, 0.8), 1)
    sketch.topology = {"kind": "range", "range": REACH, "area": [side, side]}
    sketch.mobility = {"kind": "waypoint", "speed": [2.0, 15.0], "pause": [0.0, sketch.between(0, 20)], "step": 1.0}
    sketch.diameter = max(1, sketch.nodes - 1)
    sketch.active = sketch.between(60, 110)


def storm(sketch: Sketch) -> None:
    """Everything at once."""
    _draw_graph(sketch, least=3, most=10)
    sketch.active = sketch.between(80, 130)
    for _ in range(sketch.rng.randint(2, 6)):
        _befall(sketch)


def add_trouble(sketch: Sketch) -> None:
    """Now and then something happens that the theme did not ask for; a calm stays calm."""
    if sketch.theme not in {calm.__name__, courier.__name__} and sketch.chance(0.3):
        _befall(sketch)


def _befall(sketch: Sketch) -> None:
    at = sketch.between(8, sketch.active - 15)
    until = round(min(at + sketch.between(2, 25), sketch.active), 2)
    sketch.faults.append(_trouble(sketch, at, until))


def _trouble(sketch: Sketch, at: float, until: float) -> Entry:
    rng, node = sketch.rng, sketch.rng.randint(1, sketch.nodes)
    other = rng.choice([each for each in range(1, sketch.nodes + 1) if each != node])
    return rng.choice(
        (
            {"at": at, "kind": "cut", "until": until, "groups": _split(sketch)},
            {"at": at, "kind": "cut", "until": until, "one_way": [[node, other]]},
            {"at": at, "kind": "crash", "node": node, "disk": rng.choice(("kept", "wiped")), "until": until},
            {"at": at, "kind": "power_off", "node": node, "until": until},
            {"at": at, "kind": "pause", "node": node, "until": round(min(until, at + 8), 2)},
            {"at": at, "kind": "skew", "node": node, "by": sketch.between(0.5, 20)},
            {"at": at, "kind": "corrupt", "node": node},
            {"at": at, "kind": "battery", "node": node, "level": sketch.between(0.05, 0.5)},
            {"at": at, "kind": "garbage", "node": node, "rate": sketch.between(1, 20), "until": until},
            {"at": at, "kind": "replay", "node": node, "rate": sketch.between(1, 20), "until": until},
            {"at": at, "kind": "duplicate", "probability": sketch.between(0.1, 0.6), "until": until},
        )
    )


THEMES: Final[tuple[Theme, ...]] = (
    partition, courier, crashes, calm, storm, leave, partition, courier, mobile, crashes, calm, storm,
)  # fmt: skip
"""Seeds take them in turns, so that any dozen in a row has them all."""


def _draw_graph(sketch: Sketch, *, least: int, most: int) -> None:
    """A network that stands still: a graph by name, or nodes scattered so that all are connected."""
    rng = sketch.rng
    nodes = sketch.nodes = rng.randint(least, most)
    kind = rng.choice(("chain", "ring", "grid", "star", "full", "range"))
    if kind == "range":
        side = round(REACH * math.sqrt(nodes) * 0.55, 1)
        sketch.topology = {"kind": kind, "range": REACH, "area": [side, side], "connected": True}
        sketch.diameter = max(1, math.ceil(nodes * 0.6))
        return
    columns = max(2, round(math.sqrt(nodes)))
    sketch.topology = {"kind": kind, **({"columns": columns} if kind == "grid" else {})}
    sketch.diameter = nodes - 1  # what is left of it after a cut may be a chain
    if nodes > 3 and kind != "full" and sketch.chance(0.2):
        sketch.topology["one_way"] = [rng.sample(range(1, nodes + 1), 2)]


def _graph(sketch: Sketch, nodes: int) -> list[list[int]]:
    """The edges of a small connected graph over 1 to `nodes`."""
    rng = sketch.rng
    if sketch.chance(0.4):
        return [[node, node + 1] for node in range(1, nodes)]
    edges = [[rng.randint(1, node - 1), node] for node in range(2, nodes + 1)]
    extra = [sorted(rng.sample(range(1, nodes + 1), 2)) for _ in range(rng.randint(0, nodes))]
    return edges + [edge for place, edge in enumerate(extra) if edge not in edges + extra[:place]]


def _split(sketch: Sketch) -> list[list[int]]:
    """All nodes in two or three groups."""
    nodes = list(range(1, sketch.nodes + 1))
    if sketch.chance(0.5):
        sketch.rng.shuffle(nodes)
    places = sorted(sketch.rng.sample(range(1, len(nodes)), min(len(nodes) - 1, sketch.rng.choice((1, 1, 2)))))
    return [sorted(nodes[a:b]) for a, b in zip([0, *places], [*places, len(nodes)], strict=True)]
