"""The picture of a run; its nodes are pages."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from chapar_lab.drawing import BROKER, PLAIN, REGULAR, Picture, Way
from chapar_lab.portrait import MOST_WAYS, portrait
from chapar_sim.clock import Clock
from chapar_sim.ground import Ground
from chapar_sim.scenario import Scenario
from chapar_sim.trace import Trace


class Node:
    """Node I of a chain of four: its routes lead along the chain."""

    def __init__(self, index: int, *, daemon: bool, is_up: bool = True) -> None:
        self.index = index
        self.daemon = object() if daemon else None
        self._is_up = is_up

    async def status(self, part: str = "") -> dict[str, Any] | None:
        assert self.daemon is not None, "nobody asks a node without daemon"
        if not self._is_up:
            return None
        if not part:
            return {"role": {"role": "broker" if self.index == 2 else "regular"}}
        others = [each for each in range(1, 5) if each != self.index]
        return {"routes": [{"destination": each, "next_hop": self.index + _sign(each - self.index)} for each in others]}


def _sign(number: int) -> int:
    return 1 if number > 0 else -1


def picture(*clients: dict[str, Any], down: int = 0, plain: int = 0, **more: object) -> Picture:
    data = {
        "duration": 10,
        "nodes": 4,
        "topology": {"kind": "chain"},
        "client": list(clients),
        "name": "four",
        "node": [{"index": plain, "chapard": False}] if plain else [],
        **more,
    }
    scenario = Scenario.from_dict(data)
    ground = Ground(scenario, 1, Clock(), Trace(), lambda _: None)
    ground.lay()
    nodes = {each: Node(each, daemon=each != plain, is_up=each != down) for each in range(1, 5)}
    lab = SimpleNamespace(scenario=scenario, seed=1, ground=ground, nodes=nodes)
    return asyncio.run(portrait(lab))  # type: ignore[arg-type]  # a lab, as far as it is drawn


def publisher(name: str, node: int, **stream: object) -> dict[str, Any]:
    return {"name": name, "node": node, "publish": [{"subject": "a", "at": [1], **stream}]}


def subscriber(name: str, node: int, filter_: str = 'subject = "a"') -> dict[str, Any]:
    return {"name": name, "node": node, "subscribe": [{"filter": filter_}]}


def test_roles_are_what_daemons_say() -> None:
    """A node without chapard, and one that does not answer, are drawn as plain ones."""
    assert picture(down=3, plain=4).roles == {1: REGULAR, 2: BROKER, 3: PLAIN, 4: PLAIN}


def test_links_and_clients_are_those_of_the_run() -> None:
    """Clients by their homes, links as they are now."""
    drawn = picture(publisher("pub", 1), subscriber("sub", 4), subscriber("other", 4))
    assert drawn.clients == {1: ("pub",), 4: ("sub", "other")}
    assert drawn.links == {(1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3)}


def test_nodes_are_drawn_where_they_are() -> None:
    """If they have positions; if not, in the shape of their graph."""
    topology = {"kind": "range", "range": 50, "area": [100, 100]}
    standing = [{"index": each, "x": 10 * each, "y": 5} for each in range(1, 5)]
    assert picture(topology=topology, node=standing).places == {each: (10.0 * each, 5.0) for each in range(1, 5)}
    assert sorted(picture().places) == [1, 2, 3, 4]


def test_the_title_says_what_the_scenario_is_about() -> None:
    """Its name alone, if it does not say."""
    assert picture().title == "four"
    assert picture(about="a chain").title == "four: a chain"


def test_a_way_leads_from_a_publisher_to_all_who_ask() -> None:
    """Hop by hop along the routes of the daemons; who asks for something else is no target."""
    drawn = picture(publisher("pub", 1), subscriber("sub", 3), subscriber("other", 4, 'subject = "b"'))
    assert drawn.ways == (Way(publisher="pub", hops=((1, 2), (2, 3))),)


def test_events_for_some_nodes_go_there_only() -> None:
    """Whoever else asks."""
    drawn = picture(publisher("pub", 2, to=[1]), subscriber("sub", 1), subscriber("other", 4))
    assert drawn.ways == (Way(publisher="pub", hops=((2, 1),)),)


def test_what_stays_on_a_node_or_starts_at_a_silent_one_has_no_way() -> None:
    """It is on no link, or nobody knows."""
    assert picture(publisher("pub", 1), subscriber("sub", 1)).ways == ()
    assert picture(publisher("pub", 1), subscriber("sub", 2), down=1).ways == ()


def test_a_picture_has_as_many_ways_as_can_be_told_apart() -> None:
    """The first ones."""
    many = [publisher(f"pub{each}", 1) for each in range(MOST_WAYS + 2)]
    ways = picture(*many, subscriber("sub", 2)).ways
    assert [way.publisher for way in ways] == [f"pub{each}" for each in range(MOST_WAYS)]
