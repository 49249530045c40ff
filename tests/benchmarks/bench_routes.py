"""Routes from a routing daemon: what it takes to read an answer about a large network and to act on it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from itertools import cycle
from random import Random
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.figure import Figure
from chapar_olsr.faults import Faults
from chapar_olsr.jsoninfo import read_untrusted
from chapar_olsr.live import LiveRoutes
from chapar_olsr.olsrd import OlsrdSource
from chapar_olsr.source import Identity
from chapard.addresses import Addresses
from chapard.core.config import Config
from chapard.core.node import Node
from fake_olsrd import FakeOlsrd, identity
from fake_olsrd import replies as recorded

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapar_olsr.view import RouteView

NODES = 500
NEIGHBOURS = 20
ROUNDS = 40
MOST_MS = 10.0
MOST_TIMES = 6.0
"""Times what it takes to read the same bytes as JSON and do nothing with them."""
WATCHED = 4.5
"""Seconds in which questions to a routing daemon are counted."""
MOST_QUESTIONS = 1.0


def measure() -> list[Figure]:
    reading, bare, questions = application(), plain_json(), asyncio.run(questions_per_second())
    return [
        Figure(f"parse and apply a {NODES}-node routes reply", reading, "ms", f"< {MOST_MS:g}", reading < MOST_MS),
        Figure(
            "the same, beside the JSON alone", reading / bare, "times", f"< {MOST_TIMES:g}", reading / bare < MOST_TIMES
        ),
        Figure(
            "asking olsrd the same while each answer is another",
            questions,
            "a second",
            f"≤ {MOST_QUESTIONS:g}",
            questions <= MOST_QUESTIONS,
        ),
    ]


def application() -> float:
    """Milliseconds from the replies to a node that acts on them; each round every far route has changed."""
    addresses = Addresses(["10.66.0.0/22"], {}, NODES + 1)
    identity = Identity(1, address(1), addresses.index_of)
    node = Node(1, 1, Config(nodes=NODES + 1), Random(0), 0.0)
    variants = [replies(shift) for shift in range(2)]
    faults = Faults()
    turn = iter(range(10**9))

    def once() -> None:
        number = next(turn)
        node.route_changed(read_untrusted(variants[number % 2], identity, faults), float(number))
        node.drain(float(number))

    took = _milliseconds(once)
    assert not faults.counts, "the replies are good"
    assert len(node.station.view.routes) == NODES - 1, "and all of them were read"
    return took


def plain_json() -> float:
    """Milliseconds to read the same replies as JSON."""
    bodies = list(replies(0).values())
    return _milliseconds(lambda: [json.loads(body) for body in bodies])


async def questions_per_second() -> float:
    """How often olsrd is asked one thing. Answers that change have it asked as often as ever."""
    async with FakeOlsrd(recorded("chain5", 3)) as olsrd:
        others = cycle([recorded("grid9", 3), recorded("chain5", 3)])

        def change(_: RouteView) -> None:
            olsrd.replies = next(others)

        live = LiveRoutes(OlsrdSource(identity(3), port=olsrd.port), index=3)
        following = asyncio.create_task(live.run(change))
        await asyncio.sleep(WATCHED)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        assert live.version > 2, "each answer was another"
        return (max(Counter(olsrd.asked).values()) - 1) / WATCHED


def _milliseconds(work: Callable[[], object]) -> float:
    """Of processor time, which other processes do not lengthen."""
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return 1000 * median(times)


def address(node: int) -> str:
    return f"10.66.{node // 256}.{node % 256}"


def replies(shift: int) -> dict[str, bytes]:
    """What olsrd 0.9.9 says at node 1 among `NODES`; `shift` moves each far route to another neighbour."""
    near = range(2, 2 + NEIGHBOURS)
    listed: dict[str, list[dict[str, object]]] = {
        "neighbors": [
            {
                "ipAddress": address(node),
                "symmetric": True,
                "willingness": 3,
                "isMultiPointRelay": node % 4 == 0,
                "wasMultiPointRelay": False,
                "multiPointRelaySelector": node % 3 == 0,
                "skip": False,
                "neighbor2nocov": 0,
                "linkcount": 1,
                "twoHopNeighborCount": 9,
            }
            for node in near
        ],
        "routes": [
            {
                "destination": address(node),
                "genmask": 32,
                "gateway": address(node if node in near else near[(node + shift) % NEIGHBOURS]),
                "metric": 1 if node in near else 2 + node % 5,
                "etx": 6.415039,
                "rtpMetricCost": 6.415039,
                "networkInterface": "wlan0",
            }
            for node in range(2, NODES + 1)
        ],
        "mid": [],
        "links": [
            {
                "localIP": address(1),
                "remoteIP": address(node),
                "olsrInterface": "wlan0",
                "validityTime": 24300,
                "linkCost": 3.321289,
                "linkQuality": 0.568,
                "neighborLinkQuality": 0.529,
            }
            for node in near
        ],
    }
    return {name: json.dumps({"pid": 1, name: entries}).encode() for name, entries in listed.items()}
