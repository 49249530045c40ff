"""The sockets of an agent, on loopback."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest

from chapar_olsr.faults import Faults
from chapar_olsr.interfaces import OlsrInterface
from chapar_olsr.sockets import OlsrSockets, neighbour_address
from chapar_olsr.source import SourceError
from olsr_loopback import LOOPBACK, loop_factory, neighbour, port, run

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

__all__ = ["loop_factory", "neighbour", "port"]  # fixtures


def test_datagrams_come_in_with_their_sources(
    port: int, neighbour: socket.socket, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None
) -> None:
    """Each with the address it came from, and that of the interface it came in on."""

    async def work() -> None:
        came: asyncio.Queue[list[tuple[bytes, int, int]]] = asyncio.Queue()
        sockets = OlsrSockets([LOOPBACK], port, came.put_nowait, Faults())
        sockets.open()
        try:
            neighbour.sendto(b"hello", ("127.0.0.1", port))
            assert await came.get() == [(b"hello", int(ip_address("127.0.0.2")), LOOPBACK.number)]
        finally:
            sockets.close()

    run(work, loop_factory)


def test_what_we_broadcast_ourselves_is_ignored(
    port: int, neighbour: socket.socket, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None
) -> None:
    """It leaves with our own address and comes back to us as to everybody; it is counted, and nothing else."""

    async def work() -> None:
        came: asyncio.Queue[list[tuple[bytes, int, int]]] = asyncio.Queue()
        sockets = OlsrSockets([LOOPBACK], port, came.put_nowait, Faults())
        sockets.open()
        try:
            sockets.send(LOOPBACK.number, b"from us")
            neighbour.sendto(b"from another", ("127.0.0.1", port))
            datagrams = await came.get()
            assert [data for data, _, _ in datagrams] == [b"from another"]
            assert (sockets.sent, sockets.unsent, sockets.echoes) == (1, 0, 1)
        finally:
            sockets.close()

    run(work, loop_factory)


def test_a_datagram_leaves_from_the_nodes_own_address(port: int) -> None:
    """Also if the interface has others, of which the kernel would choose the first."""

    async def work() -> None:
        second = OlsrInterface("lo", "127.0.0.9", "127.255.255.255")
        sockets = OlsrSockets([second], port, lambda _: None, Faults())
        sockets.open()
        try:
            sockets.send(second.number, b"x")
            while not sockets.echoes:  # the source is ours, or it would be somebody else's datagram
                await asyncio.sleep(0)
        finally:
            sockets.close()

    run(work, None)


def test_two_daemons_on_one_interface_are_refused(port: int) -> None:
    """The second is told who is there already, and leaves no socket behind."""

    async def work() -> None:
        first, second = (OlsrSockets([LOOPBACK], port, lambda _: None, Faults()) for _ in range(2))
        first.open()
        with pytest.raises(SourceError, match="another OLSR daemon runs here"):
            second.open()
        first.close()
        second.open()
        second.close()

    run(work, None)


def test_an_interface_that_is_not_there_is_said(port: int) -> None:
    """In one line with its name; those that were open already are closed."""

    async def work() -> None:
        gone = OlsrInterface("wlan99", "10.66.0.1", "10.66.0.255")
        sockets = OlsrSockets([LOOPBACK, gone], port, lambda _: None, Faults())
        with pytest.raises(SourceError, match="cannot speak OLSR on wlan99, UDP port"):
            sockets.open()
        alone = OlsrSockets([LOOPBACK], port, lambda _: None, Faults())
        alone.open()
        alone.close()

    run(work, None)


def test_what_cannot_be_sent_is_counted_and_said_once(port: int, caplog: pytest.LogCaptureFixture) -> None:
    """An address that the interface has lost makes the kernel refuse; the next datagram is tried all the same."""

    async def work() -> None:
        lost = OlsrInterface("lo", "198.51.100.7", "127.255.255.255")
        sockets = OlsrSockets([lost], port, lambda _: None, Faults())
        sockets.open()
        for _ in range(3):
            sockets.send(lost.number, b"x")
        sockets.close()
        assert (sockets.sent, sockets.unsent) == (0, 3)

    run(work, None)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["cannot send on lo"]


def test_a_socket_that_was_lost_is_opened_again(port: int, neighbour: socket.socket) -> None:
    """The next datagram does it, and then it hears again."""

    async def work() -> None:
        came: asyncio.Queue[list[tuple[bytes, int, int]]] = asyncio.Queue()
        sockets = OlsrSockets([LOOPBACK], port, came.put_nowait, Faults())
        sockets.open()
        sockets.close()  # as it is when the interface was taken away
        sockets.send(LOOPBACK.number, b"x")
        assert (sockets.sent, sockets.unsent) == (1, 0)
        neighbour.sendto(b"hello", ("127.0.0.1", port))
        assert [data for data, _, _ in await came.get()] == [b"hello"]
        sockets.close()

    run(work, None)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.66.0.7", 0x0A420007),
        ("fd66::7", int(ip_address("fd66::7"))),
        ("fe80::7%wlan0", int(ip_address("fe80::7"))),
        ("0.0.0.0", None),  # noqa: S104 - nobody's address, no place to listen
        ("::", None),
        ("0.0.0.7", None),
        ("224.0.0.1", None),
        ("255.255.255.255", None),
        ("ff02::6d", None),
    ],
)
def test_a_packet_comes_from_somebodys_address(text: str, address: int | None) -> None:
    """A group sends nothing, and whoever has no address yet is no neighbour yet."""
    assert neighbour_address(text) == address
