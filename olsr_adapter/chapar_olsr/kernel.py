"""Routes from the kernel's own table, for any daemon that writes a route per node: see `fib` for what is made of it.

The kernel tells every change, and a burst of them gives one view. The table is read at the start, when an interface
goes down or loses an address (which takes IPv4 routes with it without a word), when the kernel had more to tell than
fitted into the socket, and now and then, in case a change was misread. In between the kernel is not asked: it cannot
fall silent while we run, so the last view is repeated as our own sign of life.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar_olsr.faults import Faults
from chapar_olsr.fib import MAIN_TABLE, Fib, KernelRoute
from chapar_olsr.netlink import Netlink, NetlinkError
from chapar_olsr.source import SourceError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from chapar_olsr.source import Identity
    from chapar_olsr.view import RouteView

RECHECK: Final = 30.0
"""Seconds after which the table is read again."""
SIGN_OF_LIFE: Final = 4.0
"""Seconds after which the last view is repeated."""
BURST: Final = 0.1
"""Seconds in which changes are gathered for one view."""
PAUSE: Final = 1.0
"""Seconds before a connection is made again that could not keep up."""
MAX_WAITING: Final = 10_000
"""Changes that wait to be looked at; with more of them the table is read again instead."""

_GROUPS: Final = 0x1 | 0x4 | 0x10 | 0x40 | 0x400
"""RTMGRP_LINK, RTMGRP_NEIGH, RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE and RTMGRP_IPV6_ROUTE."""
_UP: Final = 0x1
"""IFF_UP."""
_UNICAST: Final = 1
"""RTN_UNICAST."""
_FAILED: Final = 0x20
"""NUD_FAILED."""
_HOST: Final = {socket.AF_INET: 32, socket.AF_INET6: 128}
"""Length of the prefix that is one host."""

_log = logging.getLogger(__name__)


class _RouteChange(NamedTuple):
    route: KernelRoute
    is_gone: bool


class _NeighbourChange(NamedTuple):
    address: str
    has_failed: bool


class _Loss(NamedTuple):
    """Routes may be gone that the kernel does not tell of."""


_Change = _RouteChange | _NeighbourChange | _Loss


class KernelSource:
    """Follows the kernel of this network namespace."""

    name: Final = "kernel"

    def __init__(
        self,
        identity: Identity,
        *,
        tables: Iterable[int] = (MAIN_TABLE,),
        recheck: float = RECHECK,
        sign_of_life: float = SIGN_OF_LIFE,
        connect: Callable[[], Netlink] = Netlink,
    ) -> None:
        self.faults = Faults()
        self._identity = identity
        self._tables = tuple(tables)
        self._recheck = recheck
        self._sign_of_life = sign_of_life
        self._connect = connect

    async def views(self) -> AsyncGenerator[RouteView, None]:
        """See `Source`."""
        fib = Fib(self._identity, self.faults, self._tables)
        clock = asyncio.get_running_loop().time
        while True:
            netlink, news = self._connect(), _News()
            await self._open(netlink)
            follower = asyncio.ensure_future(news.follow(netlink))
            follower.add_done_callback(news.wake)
            try:
                read_again, view = clock(), None
                while not follower.done():
                    changed = news.tell(fib, clock()) | fib.tick(clock())
                    if clock() >= read_again or news.is_incomplete:
                        news.is_incomplete = False
                        changed |= await self._read(netlink, fib)
                        read_again = clock() + self._recheck
                    if changed or view is None:
                        view = fib.view()
                    yield view
                    await news.wait(min(read_again, clock() + self._sign_of_life, fib.next_deadline() or read_again))
                self._ended(follower)
            finally:
                follower.cancel()
                with suppress(asyncio.CancelledError, NetlinkError, OSError):
                    await follower
                await netlink.close()
            await asyncio.sleep(PAUSE)

    async def _open(self, netlink: Netlink) -> None:
        try:
            await netlink.open(_GROUPS)
        except ImportError:
            await netlink.close()
            raise SourceError("pyroute2 is not installed: pip install 'chapar[broker]'") from None
        except (NetlinkError, OSError, KeyError) as error:  # KeyError is pyroute2's for a bind that was refused
            await netlink.close()
            raise SourceError(_why(error)) from None

    @staticmethod
    async def _read(netlink: Netlink, fib: Fib) -> bool:
        """Read the whole table; whether it was not as we knew it. Changes that wait may be in it: no harm is done."""
        try:
            return fib.replace(await netlink.run(_dump(netlink.socket)))
        except (NetlinkError, OSError) as error:
            raise SourceError(_why(error)) from None

    @staticmethod
    def _ended(follower: asyncio.Future[None]) -> None:
        """The kernel stopped telling. Raises SourceError unless it only had too much to tell."""
        error = follower.exception()
        code = error.code if isinstance(error, NetlinkError) else error.errno if isinstance(error, OSError) else 0
        if code != errno.ENOBUFS:
            raise SourceError(_why(error) if error else "the kernel tells no changes any more")
        _log.info("the kernel had more changes of routes to tell than fitted: reading its table again")


class _News:
    """Changes on their way from netlink's thread to ours."""

    def __init__(self) -> None:
        self.is_incomplete = False
        """Whether there were changes that nobody told, or that were dropped here."""
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Change] = deque()
        self._some = asyncio.Event()

    async def follow(self, netlink: Netlink) -> None:
        """Hear of changes, until that fails."""
        await netlink.run(self._follow(netlink.socket))

    async def _follow(self, sock: Any) -> None:
        """In netlink's thread: hand over what is of interest."""
        while True:
            async for message in sock.get():
                change = _change(message)
                if change is not None:
                    self._loop.call_soon_threadsafe(self._take, change)

    def wake(self, _: object) -> None:
        self._some.set()

    async def wait(self, until: float) -> None:
        """Wait for a change, and for those that come with it."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._some.wait()
            await asyncio.sleep(BURST)

    def tell(self, fib: Fib, now: float) -> bool:
        """Tell all that waits; whether a view may differ."""
        changed = False
        while self._waiting:
            match self._waiting.popleft():
                case _RouteChange(route, is_gone):
                    changed |= fib.remove(route) if is_gone else fib.add(route, now)
                case _NeighbourChange(address, has_failed):
                    changed |= fib.failed(address, now) if has_failed else fib.resolved(address)
                case _Loss():
                    self.is_incomplete = True
        self._some.clear()
        return changed

    def _take(self, change: _Change) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.clear()
            self.is_incomplete = True
        self._waiting.append(change)
        self._some.set()


async def _dump(sock: Any) -> list[KernelRoute]:
    """In netlink's thread: all routes to hosts."""
    routes = []
    for family in _HOST:
        async for message in await sock.route("dump", family=family):
            route = _route(message)
            if route is not None:
                routes.append(route)
    return routes


def _change(message: Any) -> _Change | None:
    """What a message of the kernel says; None if that is nothing to us."""
    event = message["event"]
    if event in {"RTM_NEWROUTE", "RTM_DELROUTE"}:
        route = _route(message)
        return None if route is None else _RouteChange(route, event == "RTM_DELROUTE")
    if event in {"RTM_NEWNEIGH", "RTM_DELNEIGH"} and message["family"] in _HOST:
        address = message.get_attr("NDA_DST")
        has_failed = event == "RTM_NEWNEIGH" and bool(message["state"] & _FAILED)
        return None if address is None else _NeighbourChange(str(address), has_failed)
    is_down = event == "RTM_NEWLINK" and not message["flags"] & _UP
    return _Loss() if is_down or event in {"RTM_DELLINK", "RTM_DELADDR"} else None


def _route(message: Any) -> KernelRoute | None:
    """The route of a message; None for one to a network."""
    destination = message.get_attr("RTA_DST")
    if destination is None or message["dst_len"] != _HOST.get(message["family"]) or message["src_len"]:
        return None
    # Of several ways to one destination, the first stands for all.
    way = next(iter(message.get_attr("RTA_MULTIPATH") or ()), None)
    via = way or message
    foreign = via.get_attr("RTA_VIA")  # a gateway of the other family
    gateway = foreign["addr"] if foreign else via.get_attr("RTA_GATEWAY")
    return KernelRoute(
        destination=str(destination),
        prefix_length=message["dst_len"],
        gateway=str(gateway or ""),
        interface=(way["oif"] if way else message.get_attr("RTA_OIF")) or 0,
        metric=message.get_attr("RTA_PRIORITY") or 0,
        table=message.get_attr("RTA_TABLE") or message["table"],
        is_unicast=message["type"] == _UNICAST,
    )


def _why(error: BaseException) -> str:
    code = error.code if isinstance(error, NetlinkError) else error.errno if isinstance(error, OSError) else None
    if code == errno.EAFNOSUPPORT:
        return "netlink is forbidden here: allow AF_NETLINK (RestrictAddressFamilies of the systemd unit)"
    return f"the kernel does not tell its routes: {error}"
