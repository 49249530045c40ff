"""The agent's tables over HTTP: in the plugin's form, to whoever behaves, and little to those who do not."""

from __future__ import annotations

import asyncio
import json
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest

from chapar_olsr.agent.agent import LinkState, NetworkState
from chapar_olsr.faults import Faults
from chapar_olsr.jsoninfo import ENDPOINTS, read_untrusted
from chapar_olsr.jsoninfo_server import (
    COST_BROKEN,
    MAX_HEAD_BYTES,
    MOST_CONNECTIONS,
    AgentTables,
    JsoninfoServer,
)
from chapar_olsr.source import Identity
from chapar_olsr.view import Route
from olsr_network import Network

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

A, B, C = (int(ip_address(f"10.66.0.{each}")) for each in (1, 2, 3))
PAGES = {"neighbors": lambda: [1], "routes": lambda: [2], "mid": list}


def text(address: int) -> str:
    return str(ip_address(address))


def converse(conversation: Callable[[JsoninfoServer], Awaitable[None]], patience: float = 5.0) -> None:
    """Have a conversation with a server on a free port."""

    async def run() -> None:
        server = JsoninfoServer(PAGES, patience=patience)
        await server.start("127.0.0.1", 0)
        try:
            async with asyncio.timeout(20):
                await conversation(server)
        finally:
            await server.close()

    asyncio.run(run())


async def said(server: JsoninfoServer, request: bytes, *, eof: bool = False) -> bytes:
    """Everything the server says to these bytes, until it closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(request)
        if eof:
            writer.write_eof()
        return await reader.read(-1)
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


def get(path: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


async def asked(server: JsoninfoServer, path: str) -> Any:
    head, _, body = (await said(server, get(path))).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    return json.loads(body)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/routes", {"routes"}),
        ("/neighbors/routes", {"neighbors", "routes"}),
        ("//mid//routes/", {"mid", "routes"}),
        ("/routes?x=1", {"routes"}),
        ("http://localhost:9090/routes", {"routes"}),
        ("/", set(PAGES)),
        ("/all", set(PAGES)),
        ("/runtime", set(PAGES)),
    ],
)
def test_a_path_names_tables(path: str, names: set[str]) -> None:
    """One, several, or all of them."""

    async def conversation(server: JsoninfoServer) -> None:
        assert (await asked(server, path)).keys() == names

    converse(conversation)


def test_head_is_get_without_the_body() -> None:
    """Its length is told."""

    async def conversation(server: JsoninfoServer) -> None:
        head, _, body = (await said(server, get("/routes"))).partition(b"\r\n\r\n")
        assert body
        assert await said(server, get("/routes", "HEAD")) == head + b"\r\n\r\n"

    converse(conversation)


def test_a_request_without_a_version_is_answered() -> None:
    """A person with `nc` types one line and an empty one."""

    async def conversation(server: JsoninfoServer) -> None:
        assert (await said(server, b"GET /routes\r\n\r\n")).startswith(b"HTTP/1.1 200 ")

    converse(conversation)


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\nwhatever else\n"])
def test_a_path_alone_is_answered_with_the_json_alone(ending: bytes) -> None:
    """As `echo /routes | nc localhost 9090` asks olsrd; there is no status for what is not there, so JSON says it."""

    async def conversation(server: JsoninfoServer) -> None:
        assert json.loads(await said(server, b"/neighbors/routes" + ending)) == {"neighbors": [1], "routes": [2]}
        assert json.loads(await said(server, b"/" + ending)).keys() == PAGES.keys()
        assert "/neighbors, /routes, /mid" in json.loads(await said(server, b"/topology" + ending))["error"]

    converse(conversation)


def test_lines_may_end_without_a_return() -> None:
    """Whoever writes HTTP by hand leaves it out."""

    async def conversation(server: JsoninfoServer) -> None:
        assert (await said(server, b"GET /routes HTTP/1.0\nHost: localhost\n\n")).startswith(b"HTTP/1.1 200 ")

    converse(conversation)


def test_a_request_may_come_in_pieces() -> None:
    """And is answered when it is whole."""

    async def conversation(server: JsoninfoServer) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for each in get("/routes"):
            writer.write(bytes([each]))
            await writer.drain()
        assert (await reader.read(-1)).startswith(b"HTTP/1.1 200 ")
        writer.close()

    converse(conversation)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (get("/topology"), 404),
        (get("/routes/nonsense"), 404),
        (get("/../etc/passwd"), 404),
        (get("/routes", "POST"), 400),
        (get("routes"), 400),
        (b"\r\n\r\n", 400),
        (b"\xff\x00\xfe" * 100 + b"\r\n\r\n", 400),
        (b"GET /" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\n\r\n", 431),
        (b"x" * 300_000, 431),
    ],
    ids=lambda value: repr(value[:30]) if isinstance(value, bytes) else None,
)
def test_what_is_wrong_is_answered(request_bytes: bytes, status: int) -> None:
    """Each mistake has its status and one line, and the server goes on."""

    async def conversation(server: JsoninfoServer) -> None:
        head, _, body = (await said(server, request_bytes)).partition(b"\r\n\r\n")
        assert head.startswith(f"HTTP/1.1 {status} ".encode())
        assert body.count(b"\n") == 1
        assert await asked(server, "/routes") == {"routes": [2]}

    converse(conversation)


def test_a_missing_table_names_those_there_are() -> None:
    """The line says what to ask for instead."""

    async def conversation(server: JsoninfoServer) -> None:
        assert b"/neighbors, /routes, /mid" in await said(server, get("/topology"))

    converse(conversation)


def test_half_a_request_is_no_request() -> None:
    """Whoever stops speaking before the headers end is told so."""

    async def conversation(server: JsoninfoServer) -> None:
        assert (await said(server, b"GET /routes HTTP/1.1\r\nHost:", eof=True)).startswith(b"HTTP/1.1 400 ")

    converse(conversation)


def test_whoever_says_nothing_is_dropped() -> None:
    """A silent connection loses its place."""

    async def conversation(server: JsoninfoServer) -> None:
        assert await said(server, b"GET /rou") == b""
        assert server.connections == 0

    converse(conversation, patience=0.1)


def test_there_are_so_many_places_and_no_more() -> None:
    """Beyond them connections are dropped at once; when one is free again, the next is served."""

    async def conversation(server: JsoninfoServer) -> None:
        crowd = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(MOST_CONNECTIONS)]
        while server.connections < MOST_CONNECTIONS:
            await asyncio.sleep(0)
        assert await said(server, get("/routes")) == b""
        for _, writer in crowd:
            writer.transport.abort()
        while server.connections:
            await asyncio.sleep(0)
        assert await asked(server, "/routes") == {"routes": [2]}

    converse(conversation)


# The tables


def tables_of(node: int) -> dict[str, Any]:
    """Every table of a node in a chain of three."""
    network = Network([A, B, C], [(A, B), (B, C)])
    network.run(30)
    tables = AgentTables(network.agents[node], text=text, interface_name=lambda _: "wlan0", version="1")
    return {name: table() for name, table in tables.by_name().items()}


def test_neighbours_have_the_plugins_keys() -> None:
    """Whether each is symmetric, our relay, and whether we are its relay: with the names of before and since 0.9.5."""
    (entry,) = tables_of(A)["neighbors"]
    assert entry == {
        "ipAddress": "10.66.0.2",
        "symmetric": True,
        "isMultiPointRelay": True,
        "multiPointRelay": True,
        "multiPointRelaySelector": False,
        "willingness": 3,
        "twoHopNeighborCount": 1,
    }
    assert [each["multiPointRelaySelector"] for each in tables_of(B)["neighbors"]] == [True, True]


def test_routes_have_the_plugins_keys() -> None:
    """Each is a host's, over a gateway, with its hops as metric."""
    assert tables_of(A)["routes"][1] == {
        "destination": "10.66.0.3",
        "genmask": 32,
        "gateway": "10.66.0.2",
        "metric": 2,
        "etx": 2.0,
        "rtpMetricCost": 2.0,
        "networkInterface": "wlan0",
    }


def test_two_hop_neighbours_are_listed() -> None:
    """By the neighbour they are reached over."""
    (entry,) = tables_of(A)["2hop"]
    assert entry["twoHopNeighbors"] == [{"ipAddress": "10.66.0.3"}]


def test_links_have_the_plugins_keys() -> None:
    """Both ends, the milliseconds left, and a cost; what the other end hears is 0 where it does not tell."""
    (entry,) = tables_of(A)["links"]
    assert entry.keys() == {"localIP", "remoteIP", "validityTime", "linkQuality", "neighborLinkQuality", "linkCost"}
    assert entry["neighborLinkQuality"] == 0
    assert (entry["localIP"], entry["remoteIP"]) == ("10.66.0.1", "10.66.0.2")
    assert 1000 < entry["validityTime"] < 60_000
    assert entry["linkCost"] == 1.0


def test_our_own_source_reads_them() -> None:
    """What it makes of the tables is what the agent knows, and it finds no fault in them."""
    tables = tables_of(B)
    replies = {name: json.dumps({name: tables[name]}).encode() for name in ENDPOINTS}
    faults = Faults()
    view = read_untrusted(replies, Identity(2, "10.66.0.2", lambda address: int(ip_address(address)) & 0xFF), faults)
    assert view.routes == {1: Route(1, 1), 3: Route(3, 1)}
    assert (view.mprs, view.selectors) == (frozenset(), frozenset({1, 3}))
    assert not faults.counts


class FakeAgent:
    """What a network does not show within seconds: several addresses of a node, and bad links."""

    main = A

    def aliases(self) -> dict[int, int]:
        return {C + 1: C, C + 2: C}

    def links(self) -> list[LinkState]:
        """One at half and four fifths, one that is heard in one direction only, one that hardly carries anything."""
        good = LinkState(
            local=A,
            remote=B,
            is_symmetric=True,
            is_heard=True,
            is_lost=False,
            quality=0.5,
            neighbour_quality=0.8,
            expires=6.0,
        )
        return [good, good._replace(is_symmetric=False), good._replace(quality=1e-9)]

    def networks(self) -> list[NetworkState]:
        return [NetworkState(gateway=B, network=int(ip_address("192.0.2.0")), mask=0xFFFFFF00, expires=9.5)]


def test_aliases_stand_with_their_main_address() -> None:
    """A node has one entry, however many addresses it has."""
    tables = AgentTables(FakeAgent(), text=text, interface_name=str, version="1")  # type: ignore[arg-type]  # a fake
    aliases = [{"ipAddress": "10.66.0.4"}, {"ipAddress": "10.66.0.5"}]
    main = {"ipAddress": "10.66.0.3"}
    assert tables.mid() == [{"main": main, **main, "aliases": aliases}]


def test_networks_behind_others_have_the_plugins_keys() -> None:
    """Who leads there, and for how many milliseconds that is believed."""
    tables = AgentTables(FakeAgent(), text=text, interface_name=str, version="1")  # type: ignore[arg-type]  # a fake
    network = {"gateway": "10.66.0.2", "destination": "192.0.2.0", "genmask": 24, "validityTime": 9500}
    assert tables.by_name()["hna"]() == [network]


def test_a_links_cost_is_its_expected_transmissions() -> None:
    """One that cannot be used, or hardly, costs what olsrd writes for a broken one."""
    tables = AgentTables(FakeAgent(), text=text, interface_name=str, version="1")  # type: ignore[arg-type]  # a fake
    costs = [each["linkCost"] for each in tables.links()]
    assert [each["neighborLinkQuality"] for each in tables.links()] == [0.8, 0.8, 0.8]
    assert costs == [2.5, COST_BROKEN, COST_BROKEN]


def test_the_version_names_us() -> None:
    """A reader can tell us from olsrd."""
    assert tables_of(A)["version"] == {"version": "chapar-olsrd 1"}
