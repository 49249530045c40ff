"""Routes from babeld, over its local socket: `babeld -g 33123` listens on ::1, `babeld -G PATH` at a path.

We say `monitor` once and hear every change at once; a burst of them gives one view. While there is a neighbour babeld
has something to say every few seconds. When it has not, we ask for everything again: an answer is the sign of life
without which a babeld that was stopped, or hangs, would look like a network in which nothing changes.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from chapar_olsr.babel import MAX_LINE, Answer, Babel
from chapar_olsr.faults import Fault, Faults
from chapar_olsr.hostport import host_and_port
from chapar_olsr.source import SourceError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from chapar_olsr.source import Identity
    from chapar_olsr.view import RouteView

PATIENCE: Final = 3.0
"""Seconds for a connection, and for an answer: babeld is on this machine, and does one thing at a time."""
ASK_AFTER: Final = 3.0
"""Seconds of silence after which babeld is asked for everything again."""
BURST: Final = 0.2
"""Seconds in which changes are gathered for one view."""
CHUNK: Final = 65536
"""Bytes that are read at once."""


class BabeldSource:
    """Follows one babeld."""

    name: Final = "babeld"

    def __init__(
        self,
        identity: Identity,
        server: str,
        *,
        patience: float = PATIENCE,
        ask_after: float = ASK_AFTER,
        burst: float = BURST,
    ) -> None:
        """`server` is host:port, or the path of a socket, which has a slash in it. Raises ValueError."""
        self.faults = Faults()
        self._identity = identity
        self._server = server
        place = ("", 0) if "/" in server else host_and_port(server)
        if place is None:
            raise ValueError(f"{server!r} is no place of babeld: write host:port, [::1]:33123, or the path of a socket")
        self._host, self._port = place
        self._patience = patience
        self._ask_after = ask_after
        self._burst = burst

    async def views(self) -> AsyncGenerator[RouteView, None]:
        """See `Source`."""
        reader, writer = await self._connect()
        try:
            talk = _Talk(Babel(self.faults), reader, self._server)
            await self._answer(talk)
            await self._ask(writer, b"monitor\n")
            await self._answer(talk)
            view, seen = talk.babel.view(self._identity), talk.babel.version
            while True:
                yield view
                await self._hear(talk, writer)
                if talk.babel.version != seen:
                    view, seen = talk.babel.view(self._identity), talk.babel.version
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(self._patience):
                if not self._host:
                    return await asyncio.open_unix_connection(self._server)
                return await asyncio.open_connection(self._host, self._port)
        except TimeoutError:
            raise SourceError(f"no connection to babeld at {self._server} within {self._patience:g} s") from None
        except OSError as error:
            why = error.strerror or str(error)
            raise SourceError(f"no babeld at {self._server} ({why}): is it run with -g or -G?") from None

    async def _ask(self, writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(request)
        try:
            async with asyncio.timeout(self._patience):
                await writer.drain()
        except (OSError, TimeoutError):
            raise SourceError(f"babeld at {self._server} has gone") from None

    async def _answer(self, talk: _Talk) -> None:
        """Wait for the end of an answer."""
        try:
            async with asyncio.timeout(self._patience):
                while not (answers := await talk.read()):
                    pass
        except TimeoutError:
            if not talk.babel.is_greeted:
                raise SourceError(f"{self._server} does not greet as babeld does") from None
            raise SourceError(f"babeld at {self._server} does not answer") from None
        if Answer.REFUSED in answers:
            raise SourceError(f"babeld at {self._server} refuses: it knows no monitor", Fault.SYNTAX)

    async def _hear(self, talk: _Talk, writer: asyncio.StreamWriter) -> None:
        """Wait for babeld to say something, and for the rest of what it says then."""
        try:
            async with asyncio.timeout(self._ask_after):
                await talk.read()
        except TimeoutError:
            await self._ask(writer, b"dump\n")
            await self._answer(talk)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._burst):
                while True:
                    await talk.read()


class _Talk:
    """Lines from babeld's side of the connection."""

    def __init__(self, babel: Babel, reader: asyncio.StreamReader, server: str) -> None:
        self.babel = babel
        self._reader = reader
        self._server = server
        self._rest = b""
        """A line that has not ended yet."""

    async def read(self) -> list[Answer]:
        """Read what is there, at least something; the answers that ended in it. May be cancelled without loss."""
        try:
            chunk = await self._reader.read(CHUNK)
        except OSError as error:
            raise SourceError(f"babeld at {self._server} has gone ({error.strerror or error})") from None
        if not chunk:
            raise SourceError(f"babeld at {self._server} has closed the connection")
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > MAX_LINE:
            raise SourceError(f"{self._server} is no babeld: its lines have no end", Fault.TOO_LARGE)
        answers = [self.babel.receive_untrusted(line.decode("ascii", "replace")) for line in lines]
        return [answer for answer in answers if answer is not None]
