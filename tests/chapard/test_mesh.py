"""Nodes reach each other by index, over real sockets on this machine."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

from chapard.addresses import Addresses
from chapard.mesh import Mesh
from chapard.settings import MeshSettings
from chapard.transport import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

PATIENCE = 5.0
PREFIX = "127.0.0.0/24"


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 3 * PATIENCE))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.001)


class Station:
    """A mesh port that notes what it hears."""

    def __init__(self, index: int, prefix: str = PREFIX, mapping: dict[str, int] | None = None) -> None:
        self.heard: list[tuple[bytes, int]] = []
        addresses = Addresses([prefix] if prefix else [], mapping or {}, 256)
        self.mesh = Mesh(addresses, index, lambda data, source: self.heard.append((data, source)))

    async def open(self, address: str, port: int = 0, interfaces: tuple[str, ...] = ()) -> int:
        settings = MeshSettings(port=port, interfaces=interfaces, receive_buffer=65_536, send_buffer=65_536)
        await self.mesh.open(settings, address)
        return int(self.mesh.address[1])


def neighbour(host: str) -> socket.socket:
    """A socket of another node, without a daemon."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((host, 0))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    sock.settimeout(PATIENCE)
    return sock


def test_nodes_on_addresses_of_one_machine_reach_each_other() -> None:
    """Unicast goes to the node with that index; a broadcast goes to each neighbour and to nobody else."""

    async def work() -> None:
        one, two, three = Station(1), Station(2), Station(3)
        port = await one.open("127.0.0.1")
        await two.open("127.0.0.2", port)
        await three.open("127.0.0.3", port)
        one.mesh.send(2, b"to two")
        await until(lambda: two.heard == [(b"to two", 1)])
        two.mesh.neighbours = frozenset({1, 3})
        two.mesh.send(None, b"to all")
        await until(lambda: one.heard == [(b"to all", 2)] and three.heard == [(b"to all", 2)])
        assert two.heard == [(b"to two", 1)]
        for each in (one, two, three):
            await each.mesh.flushed()
            each.mesh.close()

    run(work())


def test_a_node_is_answered_where_it_was_last_heard() -> None:
    """A node that sends from another port than ours is answered there, and at its new port when that changes."""

    async def work() -> None:
        station = Station(1)
        await station.open("127.0.0.1")
        for word in (b"first", b"second"):
            with neighbour("127.0.0.7") as other:
                other.sendto(word, station.mesh.address)
                await until(lambda word=word: station.heard[-1:] == [(word, 7)])  # type: ignore[misc]  # bound now
                station.mesh.send(7, word + b" answer")
                await station.mesh.flushed()
                assert other.recv(100) == word + b" answer"
        station.mesh.close()

    run(work())


def test_strangers_and_nodes_without_address_are_counted() -> None:
    """A datagram from an address that is no node's is not handed on; one to a node without address does not leave."""

    async def work() -> None:
        station = Station(1, prefix="", mapping={"127.0.0.1": 1, "127.0.0.2": 2})
        await station.open("127.0.0.1")
        with neighbour("127.0.0.9") as stranger, neighbour("127.0.0.2") as friend:
            stranger.sendto(b"let me in", station.mesh.address)
            friend.sendto(b"hello", station.mesh.address)
            await until(lambda: station.heard == [(b"hello", 2)])
        assert station.mesh.strangers == 1
        station.mesh.send(9, b"nowhere")
        assert station.mesh.unaddressed == 1
        station.mesh.close()

    run(work())


def test_an_interface_hears_unicast_and_broadcast_and_not_itself() -> None:
    """On a named interface both kinds arrive; what we broadcast comes back to our socket and is not handed on."""

    async def work() -> None:
        station = Station(1)
        port = await station.open("127.0.0.1", interfaces=("lo",))
        with neighbour("127.0.0.2") as other:
            other.sendto(b"for you", ("127.0.0.1", port))
            other.sendto(b"for all", ("127.255.255.255", port))
            await until(lambda: len(station.heard) == 2)
            assert station.heard == [(b"for you", 2), (b"for all", 2)]
            station.mesh.send(2, b"answer")
            await station.mesh.flushed()
            assert other.recv(100) == b"answer"
        received = station.mesh.transports[0].traffic.received
        station.mesh.send(None, b"our own")
        await until(lambda: station.mesh.transports[0].traffic.received == received + 1)
        assert len(station.heard) == 2
        assert station.mesh.strangers == 0
        station.mesh.close()

    run(work())


@pytest.mark.skipif(not socket.has_ipv6, reason="this Python has no IPv6")
def test_ipv6_addresses_work_alike() -> None:
    """A node whose address is IPv6 hears and answers, too."""

    async def work() -> None:
        station = Station(1, prefix="", mapping={"::1": 2})
        try:
            await station.open("::1")
        except StartError as error:
            pytest.skip(str(error))
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as other:
            other.settimeout(PATIENCE)
            other.sendto(b"hello", station.mesh.address)
            await until(lambda: station.heard == [(b"hello", 2)])
            station.mesh.send(2, b"answer")
            await station.mesh.flushed()
            assert other.recv(100) == b"answer"
        station.mesh.close()

    run(work())


def test_what_cannot_be_opened_is_a_sentence() -> None:
    """A port in use, an interface that is not there, one without our address: each says what to do."""

    async def work() -> None:
        station = Station(1)
        port = await station.open("127.0.0.1")
        with pytest.raises(StartError, match=r"mesh\.port\): it is in use"):
            await Station(1).open("127.0.0.1", port)
        with pytest.raises(StartError, match=r"there is no interface radio7"):
            await Station(1).open("127.0.0.1", interfaces=("radio7",))
        with pytest.raises(StartError, match=r"lo has no address that is node 5's in 127\.0\.0\.0/24 \(it has 127\.0"):
            await Station(5).open("127.0.0.1", interfaces=("lo",))
        station.mesh.close()

    run(work())
