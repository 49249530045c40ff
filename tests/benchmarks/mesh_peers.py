"""The other nodes of a mesh, for a daemon that is measured: on loopback addresses, told apart by the last number.

Run as a program it is a full mesh of idle nodes: real protocol cores in one process, so that the daemon gets the
beacons, and the silence between them, that it would get from real daemons. `announce` instead makes up homes with many
filters, frame by frame, as cores that hold such tables themselves would need more time than the measurement.
"""

from __future__ import annotations

import argparse
import selectors
import socket
import time
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from chapar.wire import Beacon, Subscribe, encode, fragment
from chapar_olsr.view import RouteView
from chapard.core.config import Config
from chapard.core.effects import Transmit
from chapard.core.fmt import filters_digest
from chapard.core.node import Node

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chapar.filter import Filter

PREFIX = "127.0.77.0/24"
DAEMON = 1
"""Index of the node that is measured."""
FIRST = 11
"""Index of the first of the others."""
DATAGRAM = 32 * 1024
LARGEST = 65_536


def address(index: int) -> str:
    return f"127.0.77.{index}"


def indexes(count: int) -> range:
    """The nodes around the one that is measured."""
    return range(FIRST, FIRST + count)


class Peer(NamedTuple):
    """One node of the mesh."""

    core: Node
    socket: socket.socket
    neighbours: Sequence[int]

    @classmethod
    def start(cls, index: int, mesh: Iterable[int], port: int, now: float) -> Peer:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind((address(index), port))
        sock.settimeout(0)
        others = [node for node in mesh if node != index]
        core = Node(index, int(now), Config(), Random(index), now)
        core.route_changed(RouteView(index, frozenset(others)), now)
        return cls(core, sock, others)

    def receive(self, now: float) -> None:
        try:
            data, (host, _) = self.socket.recvfrom(LARGEST)
        except (BlockingIOError, ConnectionRefusedError):
            return
        self.core.datagram_received(data, int(host.rpartition(".")[2]), now)

    def send(self, now: float) -> None:
        port = self.socket.getsockname()[1]
        for effect in self.core.drain(now):
            if isinstance(effect, Transmit):
                for node in self.neighbours if effect.to is None else (effect.to,):
                    self.socket.sendto(effect.data, (address(node), port))


def serve(port: int, count: int) -> None:
    """Be the nodes around the daemon, for ever."""
    offset = time.time() - time.monotonic()
    mesh = (DAEMON, *indexes(count))
    peers = [Peer.start(index, mesh, port, time.monotonic() + offset) for index in indexes(count)]
    with selectors.DefaultSelector() as selector:
        for peer in peers:
            selector.register(peer.socket, selectors.EVENT_READ, peer)
        while True:
            now = time.monotonic() + offset
            for peer in peers:
                if peer.core.next_deadline() <= now:
                    peer.core.tick(now)
                peer.send(now)
            due = min(peer.core.next_deadline() for peer in peers)
            for key, _ in selector.select(max(0.001, due - now)):
                key.data.receive(time.monotonic() + offset)


def announce(port: int, home: int, wanted: tuple[Filter, ...]) -> None:
    """Have the daemon at `port` hear of a home with these filters."""
    beacon = Beacon(
        sender=home, incarnation=1, flags=0, broker=DAEMON, version=1, digest=filters_digest(wanted), neighbours=b"",
        relays=b"", fmt_count=0, fmt_digest=0, met_count=0, met_digest=0, acks=(),
    )  # fmt: skip
    subscribe = encode(Subscribe(home, home, 1, 0, wanted))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address(home), 0))
        for data in (*fragment(subscribe, 1, home, DATAGRAM), encode(beacon)):
            sock.sendto(data, (address(DAEMON), port))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    options = parser.parse_args()
    serve(options.port, options.count)
