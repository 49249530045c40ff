"""What brokers hold and use that carry nothing: idle among peers, and with many filters."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.brokers import chapard, mosquitto
from benchmarks.load_mosquitto import held
from benchmarks.mesh_peers import DAEMON, PREFIX, address, announce, indexes
from benchmarks.processes import cpu_seconds, free_port, module, resident_mb, running, wait_for
from chapar.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.brokers import Broker

HOMES, FILTERS_PER_HOME = 25, 4000
PATIENCE = 30.0


class Memory(NamedTuple):
    """Megabytes: of a broker that has just started, and of the same broker with 100 000 filters."""

    idle: float
    filled: float


@contextmanager
def _in_mesh(folder: Path, neighbours: range) -> Iterator[tuple[Broker, int]]:
    """A daemon of a mesh, and the port on which its nodes speak to each other."""
    port = free_port(socket.SOCK_DGRAM, address(DAEMON))
    routes = folder / f"routes-{port}.toml"
    routes.write_text(f"neighbours = {list(neighbours)}\n")
    settings = (
        f"node.address={address(DAEMON)}",
        f'node.prefixes=["{PREFIX}"]',
        f"mesh.port={port}",
        "routes.source=static",
        f"routes.file={routes}",
    )
    with chapard(folder, *settings) as daemon:
        yield daemon, port


@contextmanager
def idle_mesh(folder: Path, peers: int) -> Iterator[Broker]:
    """A daemon that hears so many peers."""
    with _in_mesh(folder, indexes(peers)) as (daemon, port):
        command = module("mesh_peers", "--port", str(port), "--count", str(peers))
        with running(command, folder / "peers.log") as others:
            wait_for(lambda: daemon.status()["peers"] == peers, PATIENCE, f"{peers} peers", others)
            yield daemon


def idle_share(daemon: Broker, seconds: float) -> float:
    """Percent of a core that it uses."""
    used, began = cpu_seconds(daemon.pid), time.perf_counter()
    time.sleep(seconds)
    return 100 * (cpu_seconds(daemon.pid) - used) / (time.perf_counter() - began)


def topic(home: int, number: int) -> str:
    return f"sensor/{home}/{number}"


def of_one_subject(home: int, number: int) -> Filter:
    """All that a subscription of mosquitto can ask for: a topic."""
    return Filter(subject=topic(home, number))


def of_three_constraints(home: int, number: int) -> Filter:
    return Filter(subject=topic(home, number), where=f"level > {number % 100} and site = 's{number % 37}'")


def chapard_memory(folder: Path, make: Callable[[int, int], Filter]) -> Memory:
    """The filters are those of other nodes, as a broker of a mesh holds them."""
    with _in_mesh(folder, indexes(HOMES)) as (daemon, port):
        idle = resident_mb(daemon.pid)
        for known, home in enumerate(indexes(HOMES), start=1):
            announce(port, home, tuple(make(home, number) for number in range(FILTERS_PER_HOME)))
            wait_for(lambda known=known: _filters_of(daemon) == known * FILTERS_PER_HOME, PATIENCE, f"home {home}")  # type: ignore[misc]  # bound here
        return Memory(idle, resident_mb(daemon.pid))


def _filters_of(daemon: Broker) -> int:
    held: int = daemon.status()["tables"]["fmt"]["filters"]
    return held


def mosquitto_memory(folder: Path) -> Memory:
    """The filters are the subscriptions of one client."""
    topics = (topic(home, number) for home in indexes(HOMES) for number in range(FILTERS_PER_HOME))
    with mosquitto(folder) as broker:
        idle = resident_mb(broker.pid)
        with held(broker.port, topics):
            return Memory(idle, resident_mb(broker.pid))
