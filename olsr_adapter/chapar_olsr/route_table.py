"""The kernel's routing table, kept as an agent wants it.

Every route is to one host and carries our own protocol number, by which it is known again: what an earlier life left
behind is removed at the start, and all of it at the end. Its metric is the number of hops, so that others who read the
kernel's table learn it too. A new way is put in before the old one is taken out.

What others take out is put in again: an interface that goes down takes its routes along, for IPv4 without a word, and
brings none back. So the table is looked at now and then (8 ms for 200 routes).
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar_olsr.netlink import Netlink, NetlinkError

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOL: Final = 199
"""Of our routes in the kernel's table (`ip route show proto 199`); nobody else in rt_protos has it."""
LOOK_EVERY: Final = 10.0
"""Seconds after which an update looks at what the kernel really has."""
_ONLINK: Final = 4
"""RTNH_F_ONLINK: the gateway is on the link, whatever prefixes say."""
_LINK_SCOPE: Final = 253
_ANY_SCOPE: Final = 255
"""RT_SCOPE_NOWHERE, which in a removal means any."""
_GONE: Final = frozenset({errno.ESRCH, errno.ENODEV})
"""What is to be removed is not there any more."""


class RouteTableError(Exception):
    """The kernel refuses; one line that says what to do."""


class _Entry(NamedTuple):
    destination: str
    gateway: str
    interface: str
    hops: int


class RouteTable:
    """Our routes in the kernel. `open`, `update` as often as wanted, `close`."""

    def __init__(self, *, look_every: float = LOOK_EVERY) -> None:
        self._netlink = Netlink()
        self._installed: dict[str, _Entry] = {}
        self._look_every = look_every
        self._look_at = 0.0

    async def open(self) -> None:
        """Begin with a table that has none of our routes. Raises RouteTableError."""
        try:
            await self._netlink.open()
            await self._netlink.run(self._remove_leftovers())
            self._look_at = asyncio.get_running_loop().time() + self._look_every
        except ImportError:
            await self._netlink.close()
            raise RouteTableError("pyroute2 is not installed: pip install 'chapar[broker]'") from None
        except (NetlinkError, OSError) as error:
            await self._netlink.close()
            raise RouteTableError(_why(error)) from None

    async def update(self, wanted: Mapping[str, tuple[str, str, int]]) -> None:
        """Have these routes and no others: gateway, interface and hops by destination. Raises RouteTableError.

        What the kernel refuses, or has lost, is tried again with a later update; the others are there.
        """
        target = {destination: _Entry(destination, *way) for destination, way in wanted.items()}
        refused: NetlinkError | OSError | None = None
        now = asyncio.get_running_loop().time()
        if now >= self._look_at:
            self._look_at = now + self._look_every
            try:
                await self._netlink.run(self._forget_what_is_gone())
            except (NetlinkError, OSError) as error:
                refused = error
        changes = [self._take_out(old) for destination, old in self._installed.items() if destination not in target]
        changes += [self._put_in(new) for destination, new in target.items() if self._installed.get(destination) != new]
        for change in changes:
            try:
                await self._netlink.run(change)
            except (NetlinkError, OSError) as error:
                refused = error
        if refused is not None:
            raise RouteTableError(_why(refused))

    async def close(self) -> None:
        """Take all our routes out, if it is open. Raises RouteTableError if that cannot be."""
        if not self._netlink.is_open:
            return
        try:
            await self.update({})
        finally:
            await self._netlink.close()

    # In netlink's thread

    async def _remove_leftovers(self) -> None:
        for family, host, metric in await self._ours():
            await self._remove(family, host, metric)

    async def _forget_what_is_gone(self) -> None:
        there = {(host, metric) for _, host, metric in await self._ours()}
        kept = (each for each in self._installed.values() if (_host(each.destination), each.hops) in there)
        self._installed = {each.destination: each for each in kept}

    async def _ours(self) -> list[tuple[int, str, int]]:
        """The routes with our number that the kernel has: family, destination and metric."""
        dump = await self._netlink.socket.route("dump", proto=PROTOCOL)
        return [
            (each["family"], f"{each.get_attr('RTA_DST')}/{each['dst_len']}", each.get_attr("RTA_PRIORITY") or 0)
            async for each in dump
            if each["proto"] == PROTOCOL
        ]

    async def _put_in(self, entry: _Entry) -> None:
        old = self._installed.get(entry.destination)
        way: dict[str, Any] = {"gateway": entry.gateway, "flags": _ONLINK}
        if entry.gateway == entry.destination:
            way = {"scope": _LINK_SCOPE} if _family(entry.destination) == socket.AF_INET else {}
        await self._netlink.socket.route(
            "replace",
            dst=_host(entry.destination),
            oif=socket.if_nametoindex(entry.interface),
            priority=entry.hops,
            proto=PROTOCOL,
            **way,
        )
        self._installed[entry.destination] = entry
        if old is not None and old.hops != entry.hops:
            await self._remove(_family(old.destination), _host(old.destination), old.hops)

    async def _take_out(self, entry: _Entry) -> None:
        del self._installed[entry.destination]
        await self._remove(_family(entry.destination), _host(entry.destination), entry.hops)

    async def _remove(self, family: int, host: str, metric: int) -> None:
        from pyroute2.netlink.exceptions import NetlinkError as Refusal  # noqa: PLC0415 - see netlink

        scope = {"scope": _ANY_SCOPE} if family == socket.AF_INET else {}
        try:
            await self._netlink.socket.route("del", family=family, dst=host, priority=metric, proto=PROTOCOL, **scope)
        except Refusal as error:
            if error.code not in _GONE:
                raise


def _host(address: str) -> str:
    return f"{address}/{128 if ':' in address else 32}"


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _why(error: NetlinkError | OSError) -> str:
    code = error.code if isinstance(error, NetlinkError) else error.errno
    if code in (errno.EPERM, errno.EACCES):
        return "not permitted: run with CAP_NET_ADMIN, or set olsr.install_routes = false (chapar-olsrd: --no-routes)"
    if code == errno.EAFNOSUPPORT:
        return "netlink is forbidden here: allow AF_NETLINK (RestrictAddressFamilies of the systemd unit)"
    return f"the kernel refuses: {error}"
