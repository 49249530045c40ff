"""The kernel as a source of routes: the real one in a namespace, and one that cannot keep up."""

from __future__ import annotations

import asyncio
import errno
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import pytest

from chapar_olsr.kernel import KernelSource
from chapar_olsr.netlink import Netlink, NetlinkError
from chapar_olsr.source import Identity, SourceError
from e2e import netns
from e2e.netns import Mesh, wait_until
from e2e.route_watch import Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator

PATIENCE: Final = 10.0
"""Seconds for a process to start and look on a busy machine; an idle one takes one."""
SOON: Final = 3.0
"""Seconds for a change to be seen: a tenth of one, and what a busy machine adds."""


@pytest.fixture
def mesh() -> Iterator[Mesh]:
    """Three nodes of which the first is near the two others."""
    netns.require()
    with Mesh(nodes=3, edges=[(1, 2), (1, 3)]) as made:
        yield made


def ip(mesh: Mesh, *arguments: str) -> None:
    done = mesh[1].run(["ip", *arguments])
    assert done.returncode == 0, done.stderr


def test_routes_are_followed_as_they_change(mesh: Mesh) -> None:
    """What was there before, what comes, what is replaced and what goes; unrelated routes cause nothing."""
    ip(mesh, "route", "add", "10.66.0.2", "dev", "wlan0", "scope", "link", "metric", "1")
    watcher = Watcher(mesh[1], "kernel")
    wait_until(lambda: watcher.seen().routes == {2: (2, 1)}, PATIENCE, "the route that was there")
    ip(mesh, "route", "add", "10.66.0.9", "via", "10.66.0.2", "metric", "3")
    wait_until(lambda: watcher.seen().routes == {2: (2, 1), 9: (2, 3)}, SOON, "a new route")
    ip(mesh, "route", "add", "10.66.0.3", "dev", "wlan0")
    ip(mesh, "route", "replace", "10.66.0.9", "via", "10.66.0.3", "metric", "3")
    wait_until(lambda: watcher.seen().routes == {2: (2, 1), 3: (3, 1), 9: (3, 3)}, SOON, "another way")
    ip(mesh, "route", "add", "192.0.2.0/24", "via", "10.66.0.2")
    ip(mesh, "route", "add", "192.0.2.7", "via", "10.66.0.2")
    ip(mesh, "route", "add", "10.66.0.8", "via", "10.66.0.2", "table", "100")
    ip(mesh, "route", "add", "unreachable", "10.66.0.7")
    ip(mesh, "-6", "route", "add", "fd66::5", "via", "fd66::2", "metric", "4")
    wait_until(lambda: watcher.seen().routes.get(5) == (2, 4), SOON, "a route of the other family")
    assert watcher.seen().routes == {2: (2, 1), 3: (3, 1), 5: (2, 4), 9: (3, 3)}
    ip(mesh, "route", "del", "10.66.0.9")
    wait_until(lambda: watcher.seen().routes == {2: (2, 1), 3: (3, 1), 5: (2, 4)}, SOON, "a route less")
    assert {each.state for each in watcher.history()} == {"starting", "ok"}
    assert not any(each.knows_relays for each in watcher.history())


@pytest.mark.parametrize("loss", ["link set wlan0 down", "addr del 10.66.0.1/24 dev wlan0", "link del wlan0"])
def test_routes_that_go_without_a_word_are_missed(mesh: Mesh, loss: str) -> None:
    """An interface or an address that goes takes its IPv4 routes with it, and the kernel tells of the former only."""
    ip(mesh, "route", "add", "10.66.0.2", "dev", "wlan0", "scope", "link", "metric", "1")
    watcher = Watcher(mesh[1], "kernel")
    wait_until(lambda: watcher.seen().routes == {2: (2, 1)}, PATIENCE, "the route that was there")
    ip(mesh, *loss.split())
    wait_until(lambda: watcher.seen().routes == {}, SOON, "they went with it")


def test_a_neighbour_that_does_not_answer_is_gone_before_its_route(mesh: Mesh) -> None:
    """The kernel knows it from ARP a few seconds after somebody has tried, and it is back as soon as it answers."""
    netns.require("ping")
    mesh[1].run(["sh", "-c", "echo 100 >/proc/sys/net/ipv4/neigh/wlan0/retrans_time_ms"])
    ip(mesh, "route", "add", "10.66.0.2", "dev", "wlan0", "scope", "link", "metric", "1")
    watcher = Watcher(mesh[1], "kernel")
    wait_until(lambda: watcher.seen().neighbours == {2}, PATIENCE, "the neighbour")
    mesh.cut(1, 2)
    mesh[1].run(["ping", "-c", "1", "-W", "1", mesh[2].address])
    wait_until(lambda: watcher.seen().neighbours == frozenset(), SOON, "it did not answer")
    mesh.heal(1, 2)
    mesh[1].run(["ping", "-c", "1", "-W", "1", mesh[2].address])
    wait_until(lambda: watcher.seen().neighbours == {2}, SOON, "it answers")


def test_many_changes_at_once_are_all_seen(mesh: Mesh) -> None:
    """A burst that lasts longer than one look ends in the table as the kernel has it."""
    watcher = Watcher(mesh[1], "kernel")
    wait_until(lambda: watcher.seen().state == "ok", PATIENCE, "it looks")
    routes = "".join(f"route add 10.66.0.{node} dev wlan0\n" for node in range(2, 250))
    gone = "".join(f"route del 10.66.0.{node}\n" for node in range(2, 249))
    mesh[1].folder.joinpath("batch").write_text(routes + gone + routes.splitlines()[0] + "\n", encoding="ascii")
    ip(mesh, "-batch", str(mesh[1].folder / "batch"))
    wait_until(lambda: watcher.seen().neighbours == {2, 249}, SOON, lambda: str(watcher.seen()))


# A kernel that does not do as the real one


async def _nothing() -> AsyncIterator[None]:
    for _ in range(0):
        yield


class FakeNetlink(Netlink):
    """Connects to nothing; its table is empty, and it tells no changes or fails to."""

    def __init__(self, *, refuses: Exception | None = None, fails: Exception | None = None) -> None:
        super().__init__()
        self._refuses = refuses
        self._fails = fails
        self.reads = 0
        self.is_closed = False

    async def open(self, groups: int = 0) -> None:
        assert groups
        self.socket = self
        if self._refuses is not None:
            raise self._refuses

    async def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return await work

    async def route(self, command: str, **_: Any) -> AsyncIterator[Any]:
        assert command == "dump"
        self.reads += 1

        return _nothing()

    async def get(self) -> AsyncIterator[Any]:
        if self._fails is not None:
            raise self._fails
        await asyncio.get_running_loop().create_future()
        yield

    async def close(self) -> None:
        self.is_closed = True
        await super().close()


def source(*kernels: FakeNetlink, recheck: float = 30.0, sign_of_life: float = 4.0) -> KernelSource:
    """A source that finds one of these kernels after the other."""
    identity = Identity(1, "10.66.0.1", lambda _: None)
    return KernelSource(identity, connect=iter(kernels).__next__, recheck=recheck, sign_of_life=sign_of_life)


async def look(kernel_source: KernelSource, times: int) -> int:
    """How many views there were of so many wanted."""
    seen = 0
    async with asyncio.timeout(PATIENCE), aclosing(kernel_source.views()) as views:
        async for _ in views:
            seen += 1
            if seen == times:
                break
    return seen


def refused(error: Exception) -> str:
    kernel = FakeNetlink(refuses=error)
    with pytest.raises(SourceError) as failed:
        asyncio.run(look(source(kernel), 1))
    assert kernel.is_closed
    assert len(str(failed.value).splitlines()) == 1
    return str(failed.value)


def test_a_sandbox_without_netlink_is_said_with_what_to_do() -> None:
    """The line names what to allow, or what to install."""
    assert "RestrictAddressFamilies" in refused(OSError(errno.EAFNOSUPPORT, "Address family not supported"))
    assert "pip install" in refused(ImportError("pyroute2"))
    assert "no free address" in refused(KeyError("no free address available"))
    assert "Permission denied" in refused(NetlinkError(errno.EACCES, "Permission denied"))


def test_the_last_view_is_repeated_without_asking_the_kernel() -> None:
    """That is our sign of life; the table was read once, for each family."""
    kernel = FakeNetlink()
    assert asyncio.run(look(source(kernel, sign_of_life=0.01), 5)) == 5
    assert kernel.reads == 2
    assert kernel.is_closed


def test_the_table_is_read_again_now_and_then() -> None:
    """In case a change was misread."""
    kernel = FakeNetlink()
    assert asyncio.run(look(source(kernel, recheck=0.01), 3)) == 3
    assert kernel.reads == 6


def test_a_kernel_that_had_too_much_to_tell_is_read_again() -> None:
    """A new connection takes the place of the one that overflowed; whoever follows the source does not notice."""
    overflows = FakeNetlink(fails=NetlinkError(errno.ENOBUFS, "No buffer space available"))
    other = FakeNetlink()
    asyncio.run(look(source(overflows, other), 2))
    assert overflows.is_closed
    assert other.reads == 2


def test_a_kernel_that_fails_otherwise_has_failed() -> None:
    """That is for the supervisor to try again."""
    with pytest.raises(SourceError, match="does not tell"):
        asyncio.run(look(source(FakeNetlink(fails=OSError(errno.EBADF, "Bad file descriptor"))), 2))
