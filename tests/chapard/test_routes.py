"""Where route views come from."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from chapard.routes import MAX_FILE_BYTES, OK, NoRoutes, RoutesError, RouteSource, StaticRoutes, source_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from chapard.core.topology import RouteView

PATIENCE = 20.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "routes.toml"


def write(file: Path, text: str) -> None:
    """Replace the file in one step, as a careful editor does."""
    new = file.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(file)


def source(file: Path) -> StaticRoutes:
    return StaticRoutes(file, index=1, nodes=16, every=0.002)


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


def test_a_change_of_the_file_is_a_new_view(file: Path) -> None:
    """What is written is what the daemon is told, once."""

    async def scene() -> None:
        write(file, "neighbours = [2]")
        async with running(routes := source(file)) as views:
            await until(lambda: len(views) == 1)
            assert views[0].neighbours == {2}
            assert (routes.state, routes.version, routes.view) == (OK, 1, views[0])
            write(file, "edges = [[1, 3], [3, 4]]")
            await until(lambda: len(views) == 2)
            assert sorted(views[1].routes) == [3, 4]
            assert routes.version == 2

    asyncio.run(scene())


def test_a_file_written_in_place_is_seen(file: Path) -> None:
    """Its size or its time tells."""

    async def scene() -> None:
        file.write_text("neighbours = [2]", encoding="utf-8")
        os.utime(file, ns=(0, 0))
        async with running(source(file)) as views:
            await until(lambda: len(views) == 1)
            file.write_text("neighbours = [3]", encoding="utf-8")
            await until(lambda: len(views) == 2)
            assert views[1].neighbours == {3}

    asyncio.run(scene())


def test_an_equal_view_causes_nothing(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A comment more, or another order, is no news to the daemon, nor to the log."""
    caplog.set_level(logging.INFO)

    async def scene() -> None:
        write(file, "neighbours = [2, 3]")
        async with running(routes := source(file)) as views:
            await until(lambda: len(views) == 1)
            write(file, "# the same\nneighbours = [3, 2]")
            await routes.refresh()
            write(file, "neighbours = [4]")
            await until(lambda: len(views) > 1)
            assert [sorted(view.neighbours) for view in views] == [[2, 3], [4]]
            assert routes.version == 2
            assert [record.message for record in caplog.records] == ["routes read", "routes read"]

    asyncio.run(scene())


def test_an_unchanged_file_is_not_read_again(file: Path) -> None:
    """Its outside is looked at, not its inside: what changed within the same size, time and inode is not seen."""

    async def scene() -> None:
        write(file, "neighbours = [2]")
        routes = source(file)
        await routes.refresh()
        before = file.stat()
        file.write_text("neighbours = [3]", encoding="utf-8")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        await routes.refresh()
        assert routes.view is not None
        assert routes.view.neighbours == {2}

    asyncio.run(scene())


def test_a_broken_file_keeps_the_last_view(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its state says what is wrong, the log says it once, and a good file ends it."""
    caplog.set_level(logging.INFO)

    async def scene() -> None:
        write(file, "neighbours = [2]")
        async with running(routes := source(file)) as views:
            await until(lambda: len(views) == 1)
            caplog.clear()
            write(file, "neighbours = [2")
            await until(lambda: routes.state != OK)
            assert routes.state.startswith(f"stale: {file}: this is not TOML")
            for _ in range(3):
                await routes.refresh()
            assert [record.levelname for record in caplog.records] == ["WARNING"]
            assert routes.view is views[0]
            write(file, "neighbours = [2] # again")
            await until(lambda: routes.state == OK)
            assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
            assert len(views) == 1

    asyncio.run(scene())


def test_a_vanished_file_keeps_the_last_view(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As above; the same file may come back."""

    async def scene() -> None:
        write(file, "neighbours = [2]")
        async with running(routes := source(file)) as views:
            await until(lambda: len(views) == 1)
            away = file.rename(file.with_suffix(".away"))
            await until(lambda: routes.state != OK)
            assert "No such file" in routes.state
            for _ in range(3):
                await routes.refresh()
            assert [record.levelname for record in caplog.records if record.levelno > logging.INFO] == ["WARNING"]
            away.rename(file)
            await until(lambda: routes.state == OK)
            assert len(views) == 1

    asyncio.run(scene())


def test_a_file_that_comes_later_is_enough(file: Path) -> None:
    """Until then there is no view, and the state says why."""

    async def scene() -> None:
        async with running(routes := source(file)) as views:
            await until(lambda: routes.state.startswith("down: "))
            assert routes.view is None
            write(file, "neighbours = [2]")
            await until(lambda: len(views) == 1)
            assert routes.state == OK

    asyncio.run(scene())


def test_a_view_loaded_before_the_start_is_handed_over(file: Path) -> None:
    """The daemon can check its file first, and is told of it like of any other."""

    async def scene() -> None:
        write(file, "neighbours = [2]")
        routes = source(file)
        routes.load()
        assert routes.view is not None
        async with running(routes) as views:
            await until(lambda: views == [routes.view])

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        (b"neighbours = [1]", "this node itself"),
        (b"neighbours = [\xff]", "not a text in UTF-8"),
        (b"#" * (MAX_FILE_BYTES + 1), "at most 4194304 bytes"),
    ],
    ids=["missing", "wrong", "binary", "large"],
)
def test_a_file_that_gives_no_view_is_one_line(
    file: Path, content: bytes | None, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The line names the file and what is wrong with it; whoever asked prints it, so it is not logged as well."""
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(RoutesError) as refusal:
        source(file).load()
    line = str(refusal.value)
    assert line.startswith(f"{file}: ")
    assert says in line
    assert "\n" not in line
    assert not caplog.records


def test_a_pipe_is_not_read(file: Path) -> None:
    """Nobody may ever write to it."""
    os.mkfifo(file)
    with pytest.raises(RoutesError, match="not a regular file"):
        source(file).load()


def test_a_node_without_routes_is_alone() -> None:
    """It is told so once, and the source stays until it is ended."""

    async def scene() -> None:
        routes = NoRoutes(index=7)
        async with running(routes) as views:
            await until(lambda: len(views) == 1)
            assert (views[0].neighbours, dict(views[0].routes)) == (frozenset(), {})
            assert (routes.name, routes.state) == ("none", OK)

    asyncio.run(scene())


def test_the_configuration_names_the_source(file: Path) -> None:
    """By the words of the settings."""
    assert isinstance(source_of("none", file, index=1, nodes=4), NoRoutes)
    assert isinstance(source_of("static", file, index=1, nodes=4), StaticRoutes)
