"""Both transports carry datagrams alike, on both loops, and nothing the kernel says to them raises."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import pytest
import uvloop

from chapard.transport import (
    DRAIN_DATAGRAMS,
    SEND_QUEUE,
    DgramTransport,
    DrainedSocket,
    StartError,
    bind,
    kernel_drops,
    refusal,
    set_buffers,
    udp_socket,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from pathlib import Path

    from chapard.transport import Address, Receiver

    Make = Callable[[socket.socket, Receiver], Awaitable[DrainedSocket | DgramTransport]]

PATIENCE = 5.0


async def drained(sock: socket.socket, receiver: Receiver) -> DrainedSocket:
    return DrainedSocket(sock, receiver)


KINDS = pytest.mark.parametrize("make", [drained, DgramTransport.open], ids=["drained", "dgram"])
LOOPS = pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])


def run(factory: Callable[[], asyncio.AbstractEventLoop], work: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(work)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.001)


def bound(host: str = "127.0.0.1") -> socket.socket:
    sock = udp_socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bind(sock, (host, 0), "a test")
    return sock


def peer() -> socket.socket:
    """An ordinary socket of somebody else."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    sock.settimeout(PATIENCE)
    return sock


@KINDS
@LOOPS
def test_a_datagram_comes_with_its_sender_and_can_be_answered(
    factory: Callable[[], asyncio.AbstractEventLoop], make: Make
) -> None:
    """Bytes and the sender's address come in; what is sent to that address arrives there, from ours."""

    async def work() -> None:
        got: list[tuple[bytes, Address]] = []
        transport = await make(bound(), lambda data, address: got.append((data, address)))
        with peer() as other:
            other.sendto(b"question", transport.address)
            await until(lambda: bool(got))
            assert got == [(b"question", other.getsockname())]
            transport.send(b"answer", got[0][1])
            await until(lambda: transport.traffic.sent == 1)
            assert other.recvfrom(100) == (b"answer", transport.address)
        assert (transport.traffic.received, transport.traffic.received_bytes) == (1, 8)
        assert transport.traffic.sent_bytes == 6
        transport.close()

    run(factory, work())


@KINDS
@LOOPS
def test_what_the_kernel_refuses_is_counted(factory: Callable[[], asyncio.AbstractEventLoop], make: Make) -> None:
    """A datagram that cannot be sent (too long, broadcast not allowed) is an error counted; the next one leaves."""

    async def work() -> None:
        transport = await make(bound(), lambda _data, _address: None)
        with peer() as other:
            transport.send(bytes(70_000), other.getsockname())
            transport.send(b"to all", ("127.255.255.255", 9))
            await until(lambda: transport.traffic.send_errors == 2)
            transport.send(b"fine", other.getsockname())
            await until(lambda: transport.traffic.sent >= 1)
            assert other.recv(100) == b"fine"
        transport.close()

    run(factory, work())


@KINDS
def test_a_closed_transport_is_silent(make: Make) -> None:
    """After close nothing is received, and closing again does no harm."""

    async def work() -> None:
        got: list[bytes] = []
        transport = await make(bound(), lambda data, _address: got.append(data))
        address = transport.address
        transport.close()
        transport.close()
        await asyncio.sleep(0)
        with peer() as other:
            other.sendto(b"late", address)
        await asyncio.sleep(0)
        assert got == []

    asyncio.run(work())


def test_a_full_socket_is_drained_in_turns() -> None:
    """However much waits, one wake-up takes a bounded number, and whoever else is ready runs in between."""

    async def work() -> None:
        turns: list[int] = []
        others = 0

        def receive(_data: bytes, _address: Address) -> None:
            if not turns or turns[-1] == -1:
                turns.append(0)
            turns[-1] += 1
            asyncio.get_running_loop().call_soon(mark)

        def mark() -> None:
            nonlocal others
            others += 1
            if turns[-1] != -1:
                turns.append(-1)

        transport = DrainedSocket(bound(), receive)
        with peer() as other:
            for _ in range(3 * DRAIN_DATAGRAMS):
                other.sendto(b"x", transport.address)
            await until(lambda: others == 3 * DRAIN_DATAGRAMS)
        assert [turn for turn in turns if turn != -1] == [DRAIN_DATAGRAMS] * 3
        transport.close()

    asyncio.run(work())


def test_the_end_of_a_drain_is_told_after_its_datagrams() -> None:
    """What came in together is handed on first; then whoever acts on it is called, without another turn of the loop."""

    async def work() -> None:
        seen: list[bytes | None] = []
        transport = DrainedSocket(bound(), lambda data, _address: seen.append(data), lambda: seen.append(None))
        with peer() as other:
            for data in (b"a", b"b", b"c"):
                other.sendto(data, transport.address)
        await until(lambda: None in seen)
        assert seen == [b"a", b"b", b"c", None]
        transport.close()

    asyncio.run(work())


def test_what_the_socket_does_not_take_waits_in_order(tmp_path: Path) -> None:
    """When the kernel says "not now", datagrams wait and leave in order; those beyond the bound are counted."""

    async def work() -> None:
        # A Unix socket pushes back as soon as its receiver does not read; UDP over loopback never does.
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.bind(str(tmp_path / "receiver"))
        sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        transport = DrainedSocket(sender, lambda _data, _address: None)
        address = cast("Address", str(tmp_path / "receiver"))
        count = SEND_QUEUE + 2000
        for number in range(count):
            transport.send(str(number).encode(), address)
        left = transport.traffic.sent
        assert 0 < left < 2000
        assert transport.traffic.queue_drops == count - left - SEND_QUEUE
        receiver.settimeout(0)
        got: list[int] = []

        def read() -> bool:
            with suppress(BlockingIOError):
                got.append(int(receiver.recv(100)))
            return len(got) == left + SEND_QUEUE

        async with asyncio.timeout(PATIENCE):
            while not read():
                await asyncio.sleep(0)
        assert got == list(range(left + SEND_QUEUE))
        transport.close()
        receiver.close()

    asyncio.run(work())


def test_the_queue_of_the_slow_transport_is_bounded() -> None:
    """Before its task runs, datagrams gather up to the bound; the rest is counted, and all that gathered leaves."""

    async def work() -> None:
        transport = await DgramTransport.open(bound(), lambda _data, _address: None)
        with peer() as other:
            for _ in range(SEND_QUEUE + 5):
                transport.send(b"x", other.getsockname())
            assert transport.traffic.queue_drops == 5
            async with asyncio.timeout(PATIENCE):
                await transport.flushed()
            assert transport.traffic.sent == SEND_QUEUE
        transport.close()

    asyncio.run(work())


def test_kernel_drops_are_counted() -> None:
    """Every datagram is either received or counted as dropped by the kernel."""

    async def work() -> None:
        sock = bound()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        got: list[bytes] = []
        transport = DrainedSocket(sock, lambda data, _address: got.append(data))
        with peer() as other:
            for _ in range(200):
                other.sendto(bytes(100), transport.address)
        dropped = transport.kernel_drops()
        assert 0 < dropped < 200
        assert dropped == kernel_drops(sock)
        await until(lambda: len(got) == 200 - dropped)
        transport.close()

    asyncio.run(work())


class Kernel:
    """A socket whose kernel grants only so much, and forces nothing."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sizes = {socket.SO_RCVBUF: 0, socket.SO_SNDBUF: 0}

    def setsockopt(self, _level: int, option: int, value: int) -> None:
        if option not in self._sizes:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        self._sizes[option] = 2 * min(value, self._limit)

    def getsockopt(self, _level: int, option: int) -> int:
        return self._sizes[option]


def test_a_buffer_cut_short_is_a_sentence_with_the_remedy() -> None:
    """What the kernel grants is checked: enough is no complaint, less is one that names the sysctl and the size."""
    assert set_buffers(cast("socket.socket", Kernel(limit=8192)), receive=8192, send=4096) == []
    complaints = set_buffers(cast("socket.socket", Kernel(limit=8192)), receive=65_536, send=4096)
    assert complaints == [
        "receive buffer is 8192 bytes, not 65536: sysctl -w net.core.rmem_max=65536, then restart"
    ]
    with bound() as sock:
        assert set_buffers(sock, receive=16_384, send=16_384) == []


def test_a_port_in_use_and_a_foreign_address_say_what_to_do() -> None:
    """Binding fails with one line that names the address, the setting and a way out."""
    in_use = pytest.raises(StartError, match=r"UDP 127\.0\.0\.1:\d+ \(some\.key\): it is in use: stop the other")
    with bound() as taken, in_use:
        bind(udp_socket(socket.AF_INET), taken.getsockname(), "some.key")
    with pytest.raises(StartError, match=r"198\.51\.100\.1:0 .*no such address"):
        bind(udp_socket(socket.AF_INET), ("198.51.100.1", 0), "some.key")
    denied = refusal(PermissionError(errno.EACCES, "Permission denied"), "TCP", ("::1", 80), "http.listen")
    assert str(denied).startswith("cannot listen on TCP [::1]:80 (http.listen): permission denied: choose a port")
    other = refusal(OSError(errno.EMFILE, "Too many open files"), "UDP", ("::1", 80), "clients.listen")
    assert str(other).endswith("(clients.listen): Too many open files")
