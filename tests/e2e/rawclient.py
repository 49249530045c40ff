"""A client without the SDK, for requests that the SDK would never make."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Self

from chapar.session import Opened, Refused
from chapar.wire.client import datagrams, decode_messages_untrusted

if TYPE_CHECKING:
    from types import TracebackType

    from chapar.session import Message, Request
    from e2e.daemons import Daemon


class RawClient:
    """One UDP socket to a daemon's client port: what is sent is sent once, and nothing is answered by itself."""

    def __init__(self, daemon: Daemon, name: str = "raw") -> None:
        self.name = name
        self._to = daemon.host, daemon.ports.clients
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)

    def __enter__(self) -> Self:
        self._socket.connect(self._to)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    async def send(self, *requests: Request) -> None:
        for data in datagrams(requests):
            await self.send_bytes(data)

    async def send_bytes(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def receive(self, within: float = 10.0) -> list[Message]:
        """The messages of the next datagram."""
        async with asyncio.timeout(within):
            return decode_messages_untrusted(await asyncio.get_running_loop().sock_recv(self._socket, 65_536))

    async def answer(self, kind: type[Message] | tuple[type[Message], ...], within: float = 10.0) -> Message:
        """The next message of a kind; what else comes is dropped."""
        async with asyncio.timeout(within):
            while True:
                for message in await self.receive(within):
                    if isinstance(message, kind):
                        return message

    async def open(self, request: Request) -> Opened:
        """Open a session, which must not be refused."""
        await self.send(request)
        opened = await self.answer((Opened, Refused))
        assert isinstance(opened, Opened), opened
        return opened

    def drain(self) -> int:
        """Throw away what has arrived; returns how many datagrams that was."""
        count = 0
        while True:
            try:
                self._socket.recv(65_536)
            except BlockingIOError:
                return count
            count += 1
