"""Routes from a running olsrd2 (OONF), asked over its telnet port or through the telnet bridge of its HTTP port.

One question is one connection. On the telnet port a line that begins with a slash is answered without a prompt, and the
connection closed after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar_olsr import webget
from chapar_olsr.faults import Faults
from chapar_olsr.oonf import COMMANDS, read_untrusted
from chapar_olsr.polling import polled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from chapar_olsr.source import Identity
    from chapar_olsr.view import RouteView

HOST: Final = "127.0.0.1"
HTTP_PORT: Final = 1980
TELNET_PORT: Final = 2009
"""Both as olsrd2 has them unless told otherwise; every other port is taken for HTTP."""


class Olsrd2Source:
    """Asks one olsrd2."""

    name: Final = "olsrd2"

    def __init__(
        self, identity: Identity, host: str = HOST, port: int = HTTP_PORT, *, telnet_port: int = TELNET_PORT
    ) -> None:
        self.faults = Faults()
        self._identity = identity
        self._host = host
        self._port = port
        self._is_telnet = port == telnet_port

    def views(self) -> AsyncGenerator[RouteView, None]:
        """See `Source`."""
        return polled(self.ask)

    async def ask(self) -> RouteView:
        """The view of this moment. Raises SourceError."""
        answers = {name: await self._answer(command) for name, command in COMMANDS.items()}
        return read_untrusted(answers, self._identity, self.faults)

    async def _answer(self, command: str) -> bytes:
        if self._is_telnet:
            return await webget.ask(self._host, self._port, f"/{command}\n".encode())
        return await webget.get(self._host, self._port, f"/telnet/{command.replace(' ', '%20')}")
