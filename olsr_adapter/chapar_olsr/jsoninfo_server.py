"""What the agent knows, over HTTP, as olsrd's jsoninfo plugin says it: whoever can read one can read the other.

The form is that of 0.9.9. What had another name before 0.9.5 has both, so that a reader of either finds it; costs are
in ETX, as since then.

A path names tables, several if need be (`/neighbors/routes`); `/`, `/all` and `/runtime` are all there are. Of a real
olsrd's tables these are the ones that a reader of routes asks for. Whoever says no more than a path, as many a script
does (`echo /routes | nc localhost 9090`), gets no more than the JSON.

One request per connection, and whoever connects can hold little: a request head of 4 kB, a few seconds, one of 8
places.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chapar_olsr.agent.agent import Agent, LinkState

    Table = Callable[[], object]
    """Gives one table as JSON values."""

PORT: Final = 9090
"""Of the jsoninfo plugin."""
MAX_HEAD_BYTES: Final = 4096
"""Request line and headers."""
PATIENCE: Final = 5.0
"""Seconds for a request to come, and for its answer to be taken."""
MOST_CONNECTIONS: Final = 8
"""At one time; whoever comes beyond them is sent away."""
EVERYTHING: Final = ("all", "runtime")
COST_BROKEN: Final = float(1 << 22)
"""What olsrd writes for the cost of a link that cannot be used."""

_END: Final = re.compile(rb"\r?\n\r?\n")
"""Of a request's head."""
_REQUEST: Final = re.compile(r"(GET|HEAD) (?:http://[^/?#\s]*)?(/[^?#\s]*)(?:[?#]\S*)?(?: HTTP/1\.[0-9])?")


class JsoninfoServer:
    """Serves `tables`, by name."""

    def __init__(self, tables: Mapping[str, Table], *, patience: float = PATIENCE) -> None:
        self._tables = tables
        self._patience = patience
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError if that cannot be."""
        self._server = await asyncio.start_server(self._connected, host, port, limit=MAX_HEAD_BYTES)

    @property
    def port(self) -> int:
        """The port that is listened on, where 0 was asked for."""
        assert self._server is not None, "started"
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def connections(self) -> int:
        """Places taken at this moment."""
        return len(self._tasks)

    async def close(self) -> None:
        """Stop listening, and drop whoever is connected."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):  # the client is gone, or (TimeoutError) too slow: there is nobody to tell
                async with asyncio.timeout(self._patience):
                    answer = await self._answer(reader)
                async with asyncio.timeout(self._patience):
                    writer.write(answer)
                    writer.write_eof()  # before closing, which resets the connection if anything was not read
                    writer.close()
                    await writer.wait_closed()  # until all is written
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        head = b""
        while not head.startswith(b"/") and _END.search(head) is None:
            part = await reader.read(MAX_HEAD_BYTES)
            if not part:
                return _problem(HTTPStatus.BAD_REQUEST, "the request ends before its headers do")
            head += part
            if len(head) > MAX_HEAD_BYTES:
                return _problem(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"at most {MAX_HEAD_BYTES} bytes")
        return self._reply_untrusted(head)

    def _reply_untrusted(self, head: bytes) -> bytes:
        """The answer to a request head, which may be anything, or to a path alone."""
        line = head.partition(b"\n")[0].decode("latin-1").removesuffix("\r")
        if line.startswith("/"):
            tables = self._tables_at(line)
            return _json({"error": self._no_such_table()} if tables is None else tables)
        request = _REQUEST.fullmatch(line)
        if request is None:
            return _problem(HTTPStatus.BAD_REQUEST, "this is no GET or HEAD request of HTTP")
        method, path = request.groups()
        tables = self._tables_at(path)
        if tables is None:
            return _problem(HTTPStatus.NOT_FOUND, self._no_such_table())
        return _encoded(HTTPStatus.OK, "application/json", _json(tables), has_body=method == "GET")

    def _tables_at(self, path: str) -> dict[str, object] | None:
        """The tables that a path names; None if there is one of them that is not there."""
        names = {name for name in path.split("/") if name}
        if not names or not names.isdisjoint(EVERYTHING):
            names = set(self._tables)
        if names - self._tables.keys():
            return None
        return {name: table() for name, table in self._tables.items() if name in names}

    def _no_such_table(self) -> str:
        return f"no such table; there are {', '.join(f'/{name}' for name in self._tables)}"


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"


def _problem(status: HTTPStatus, text: str) -> bytes:
    return _encoded(status, "text/plain; charset=utf-8", f"{text}\n".encode())


def _encoded(status: HTTPStatus, content_type: str, body: bytes, *, has_body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + (body if has_body else b"")


class AgentTables:
    """The tables of an agent, each in the form that the plugin gives it."""

    def __init__(
        self, agent: Agent, *, text: Callable[[int], str], interface_name: Callable[[int], str], version: str
    ) -> None:
        self._agent = agent
        self._text = text
        self._interface_name = interface_name
        self._version = version
        self._length = 128 if ":" in text(agent.main) else 32
        """Bits of an address."""

    def by_name(self) -> dict[str, Table]:
        return {
            "neighbors": self.neighbors,
            "links": self.links,
            "routes": self.routes,
            "mid": self.mid,
            "2hop": self.two_hop,
            "hna": self.hna,
            "version": self.version,
        }

    def neighbors(self) -> list[dict[str, object]]:
        return [{**entry, "twoHopNeighborCount": len(beyond)} for entry, beyond in self._neighbours()]

    def two_hop(self) -> list[dict[str, object]]:
        return [
            {**entry, "twoHopNeighbors": [{"ipAddress": address} for address in beyond]}
            for entry, beyond in self._neighbours()
        ]

    def links(self) -> list[dict[str, object]]:
        return [
            {
                "localIP": self._text(link.local),
                "remoteIP": self._text(link.remote),
                "validityTime": round(1000 * link.expires),
                "linkQuality": round(link.quality, 3),
                # Plain OLSR does not tell what the other end hears: olsrd says 0 then.
                "neighborLinkQuality": round(link.neighbour_quality, 3),
                "linkCost": _link_cost(link),
            }
            for link in self._agent.links()
        ]

    def routes(self) -> list[dict[str, object]]:
        return [
            {
                "destination": self._text(route.destination),
                "genmask": self._length,
                "gateway": self._text(route.gateway),
                "metric": route.hops,
                "etx": float(route.hops),
                "rtpMetricCost": float(route.hops),
                "networkInterface": self._interface_name(route.interface),
            }
            for route in self._agent.routes().values()
        ]

    def mid(self) -> list[dict[str, object]]:
        by_main: dict[int, list[str]] = {}
        for alias, main in self._agent.aliases().items():
            by_main.setdefault(main, []).append(self._text(alias))
        return [
            {
                "main": {"ipAddress": self._text(main)},
                "ipAddress": self._text(main),
                "aliases": [{"ipAddress": each} for each in aliases],
            }
            for main, aliases in by_main.items()
        ]

    def hna(self) -> list[dict[str, object]]:
        return [
            {
                "gateway": self._text(each.gateway),
                "destination": self._text(each.network),
                "genmask": each.mask.bit_count(),
                "validityTime": round(1000 * each.expires),
            }
            for each in self._agent.networks()
        ]

    def version(self) -> dict[str, object]:
        return {"version": f"chapar-olsrd {self._version}"}

    def _neighbours(self) -> list[tuple[dict[str, object], list[str]]]:
        return [
            (
                {
                    "ipAddress": self._text(each.address),
                    "symmetric": each.is_symmetric,
                    "isMultiPointRelay": each.is_mpr,
                    "multiPointRelay": each.is_mpr,
                    "multiPointRelaySelector": each.is_selector,
                    "willingness": each.willingness,
                },
                [self._text(beyond) for beyond in sorted(each.two_hop)],
            )
            for each in self._agent.neighbours()
        ]


def _link_cost(link: LinkState) -> float:
    """Of a link that is not measured at both ends, which plain OLSR does not do, one hop."""
    if not link.is_symmetric:
        return COST_BROKEN
    both_ways = link.quality * link.neighbour_quality
    return min(COST_BROKEN, round(1 / both_ways, 6)) if both_ways > 0 else 1.0
