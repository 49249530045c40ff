"""Where route views come from: the source that the settings name, made and watched over."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_interface
from typing import TYPE_CHECKING

import pytest

from chapard.interfaces import Interface
from chapard.routes import (
    FAULT_KINDS,
    OK,
    STARTING,
    RoutesError,
    RouteSource,
    fault_counts,
    olsr_interfaces,
    source_of,
)
from chapard.settings import MeshSettings, NodeSettings, OlsrSettings, RoutesSettings, Settings
from chapard.transport import StartError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from chapard.core.topology import RouteView

PATIENCE = 20.0


def settings(source: str, **routes: object) -> Settings:
    """Node 1 on loopback."""
    return Settings(
        node=NodeSettings(prefixes=("127.0.0.0/8",)),
        mesh=MeshSettings(interfaces=("lo",)),
        routes=RoutesSettings(source=source, **routes),  # type: ignore[arg-type] # each key has its type
    )


def static(file: Path, text: str = "neighbours = [2]") -> RouteSource:
    file.write_text(text, encoding="utf-8")
    return source_of(settings("static", file=file))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "routes.toml"


@asynccontextmanager
async def running(routes: RouteSource) -> AsyncIterator[list[RouteView]]:
    """The views that a running source hands over."""
    views: list[RouteView] = []
    task = asyncio.create_task(routes.run(views.append))
    try:
        async with asyncio.timeout(PATIENCE):
            yield views
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("source", "server"),
    [
        ("olsrd", ""),
        ("olsrd", "[::1]:56789"),
        ("olsrd2", ""),
        ("olsrd2", "localhost:2009"),
        ("babeld", ""),
        ("babeld", "[::1]:33123"),
        ("babeld", "/run/babeld.sock"),
        ("kernel", ""),
        ("embedded", ""),
    ],
)
def test_the_settings_name_the_source(source: str, server: str) -> None:
    """Every word for a live source is one, which has not answered yet and has met no fault."""
    routes = source_of(settings(source, server=server))
    assert (routes.name, routes.state, routes.version) == (source, STARTING, 0)
    assert not routes.view.routes
    assert fault_counts(routes) == dict.fromkeys(FAULT_KINDS, 0)


def test_a_node_without_routes_is_alone() -> None:
    """It is told so, and the source stays until it is ended."""

    async def scene() -> None:
        async with running(routes := source_of(settings("none"))) as views:
            await until(lambda: len(views) == 1)
            assert (views[0].neighbours, dict(views[0].routes)) == (frozenset(), {})
            assert (routes.name, routes.state, routes.version) == ("none", OK, 1)
            assert fault_counts(routes) == dict.fromkeys(FAULT_KINDS, 0)

    asyncio.run(scene())


def test_a_file_is_a_view(file: Path) -> None:
    """What is written is what the daemon is told."""

    async def scene() -> None:
        async with running(routes := static(file, "edges = [[1, 3], [3, 4]]")) as views:
            await until(lambda: routes.state == OK)
            assert sorted(views[-1].routes) == [3, 4]
            assert (routes.name, routes.version) == ("static", 1)

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "No such file"), ("neighbours = [1]", "this node itself"), ("neighbours = [300]", "0 to 255")],
)
def test_a_file_that_gives_no_view_is_one_line(
    file: Path, text: str | None, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The line names the file and what is wrong with it; whoever asked prints it, so it is not logged as well."""
    with pytest.raises(RoutesError) as refusal:
        source_of(settings("static", file=file)) if text is None else static(file, text)
    line = str(refusal.value)
    assert line.startswith(f"{file}: ")
    assert says in line
    assert "\n" not in line
    assert not caplog.records


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"olsr": OlsrSettings(hello_interval=0.001)}, RoutesError, r"^olsr\.hello_interval: want "),
        ({"olsr": OlsrSettings(tc_interval=9000.0)}, RoutesError, r"^olsr\.tc_interval: want "),
        ({"mesh": MeshSettings(interfaces=("wlan99",))}, StartError, r"there is no interface wlan99"),
    ],
    ids=["hello", "tc", "interface"],
)
def test_an_agent_that_cannot_be_is_one_line(changes: dict[str, object], error: type[Exception], words: str) -> None:
    """Before anything is opened: `--check` says it too."""
    with pytest.raises(error, match=words) as refusal:
        source_of(replace(settings("embedded"), **changes))  # type: ignore[arg-type] # the sections are of several types
    assert "\n" not in str(refusal.value)


def interface(name: str, address: str) -> Interface:
    return Interface(name, 1, ip_interface(address), "10.0.0.255" if "." in address else "ff02::1")


def test_the_nodes_address_is_the_main_address_of_its_agent() -> None:
    """Its interface comes first, wherever it stands in the settings; the others keep their order."""
    ours = [interface("a", "10.1.0.7/24"), interface("b", "10.0.0.7/24"), interface("c", "10.2.0.7/24")]
    found = olsr_interfaces(ours, "10.0.0.7")
    assert [(each.name, each.address) for each in found] == [("b", "10.0.0.7"), ("a", "10.1.0.7"), ("c", "10.2.0.7")]
    assert found[0].broadcast == "10.0.0.255"


def test_olsr_has_a_group_of_its_own_in_ipv6() -> None:
    """All MANET routers of a link (RFC 5498), not all nodes as the mesh port does; and one family at a time."""
    six = interface("a", "fd66::7/64")
    assert [each.broadcast for each in olsr_interfaces([six], "fd66::7")] == ["ff02::6d"]
    with pytest.raises(RoutesError, match=r"^mesh\.interfaces: b has no address of fd66::7's family"):
        olsr_interfaces([six, interface("b", "10.0.0.7/24")], "fd66::7")
