"""Routes from a running olsrd (or `chapar-olsrd`), asked through its jsoninfo plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar_olsr import webget
from chapar_olsr.faults import Faults
from chapar_olsr.jsoninfo import ENDPOINTS, read_untrusted
from chapar_olsr.polling import polled

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from chapar_olsr.source import Identity
    from chapar_olsr.view import RouteView

HOST: Final = "127.0.0.1"
PORT: Final = 9090
"""Of the plugin; some distributions use 56789."""


class OlsrdSource:
    """Asks one olsrd."""

    name: Final = "olsrd"

    def __init__(self, identity: Identity, host: str = HOST, port: int = PORT) -> None:
        self.faults = Faults()
        self._identity = identity
        self._host = host
        self._port = port

    def views(self) -> AsyncGenerator[RouteView, None]:
        """See `Source`."""
        return polled(self.ask)

    async def ask(self) -> RouteView:
        """The view of this moment. Raises SourceError."""
        replies = {each: await webget.get(self._host, self._port, f"/{each}") for each in ENDPOINTS}
        return read_untrusted(replies, self._identity, self.faults)
