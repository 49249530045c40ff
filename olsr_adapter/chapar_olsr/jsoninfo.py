"""What olsrd's jsoninfo plugin says, as a view: replies of olsrd 0.6.6 to 0.9.9, and of `chapar-olsrd`.

The replies are not trusted. One that is no JSON, or lacks a list that every version has, gives no view; an entry in a
list that makes no sense is counted and left out. Names that changed between versions are tried one after the other,
so that nobody has to know which version answers:

    a neighbour       ipv4Address, for IPv6 too, since 0.9.0 ipAddress
    an MPR            multiPointRelay, since 0.9.5 isMultiPointRelay
    a node's aliases  under ipAddress, since 0.9.5 under main.ipAddress
    costs             integers in 1024ths, since 0.9.5 numbers in ETX: not read, as quality says the same in one scale

Routes to networks (HNA, a default route) are none to a node of the mesh, and no fault.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from chapar_olsr.faults import Fault
from chapar_olsr.replies import LONGEST_ADDRESS, entries_untrusted, quoted
from chapar_olsr.source import Findings, Hop, assemble

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chapar_olsr.faults import Faults
    from chapar_olsr.source import Identity
    from chapar_olsr.view import RouteView

ENDPOINTS: Final = ("neighbors", "routes", "mid", "links")
"""What is asked for, and all that is read."""
HOST_BITS: Final = (32, 128)
"""The prefix length of a route to a host, for IPv4 and IPv6."""
_ADDRESS: Final = ("ipAddress",)
_NEIGHBOUR: Final = ("ipAddress", "ipv4Address")
_MPR: Final = ("isMultiPointRelay", "multiPointRelay")
_SELECTOR: Final = ("multiPointRelaySelector",)


def read_untrusted(replies: Mapping[str, bytes], identity: Identity, faults: Faults) -> RouteView:
    """The view that the bodies of the replies to `ENDPOINTS` give. Raises SourceError, and nothing else."""
    entries = {
        each: entries_untrusted(replies[each], each, f"the reply to /{each}", faults) for each in ENDPOINTS
    }
    near = [each for each in entries["neighbors"] if _flag(each, ("symmetric",), faults)]
    return assemble(
        identity,
        Findings(
            neighbours=list(_addresses(near, _NEIGHBOUR, faults)),
            routes=list(_hops(entries["routes"], faults)),
            mprs=list(_addresses([each for each in near if _flag(each, _MPR, faults)], _NEIGHBOUR, faults)),
            selectors=list(_addresses([each for each in near if _flag(each, _SELECTOR, faults)], _NEIGHBOUR, faults)),
            quality=_qualities(entries["links"], faults),
            aliases=_aliases(entries["mid"], faults),
        ),
        faults,
    )


def _hops(routes: list[dict[str, Any]], faults: Faults) -> Iterator[Hop]:
    for each in routes:
        bits, metric = each.get("genmask"), each.get("metric")
        if type(bits) is not int or type(metric) is not int:
            faults.add(Fault.BAD_VALUE, f"a route with genmask {quoted(bits)} and metric {quoted(metric)}")
            continue
        if bits not in HOST_BITS:
            continue
        destination, gateway = _address(each, ("destination",), faults), _address(each, ("gateway",), faults)
        if destination is not None and gateway is not None:
            yield Hop(destination, gateway, metric)


def _aliases(mid: list[dict[str, Any]], faults: Faults) -> dict[str, str]:
    aliases: dict[str, str] = {}
    for each in mid:
        entry = each.get("main", each)
        main = _address(entry, _ADDRESS, faults) if isinstance(entry, dict) else None
        listed = each.get("aliases")
        if main is None or not isinstance(listed, list):
            faults.add(Fault.BAD_VALUE, f"an entry of /mid: {quoted(each)}")
            continue
        for alias in _addresses([one for one in listed if isinstance(one, dict)], _ADDRESS, faults):
            aliases[alias] = main
    return aliases


def _qualities(links: list[dict[str, Any]], faults: Faults) -> dict[str, float]:
    """How much of what is sent over each link arrives, both ways together; nothing where olsrd does not measure it."""
    found: dict[str, float] = {}
    for each in links:
        remote = _address(each, ("remoteIP",), faults)
        there, back = each.get("linkQuality"), each.get("neighborLinkQuality")
        if there in (None, 0) or back in (None, 0):  # not measured: no neighbour's link loses all
            continue
        if not _is_share(there) or not _is_share(back):
            faults.add(Fault.BAD_VALUE, f"link quality {quoted(there)}, {quoted(back)}")
        elif remote is not None:
            found[remote] = max(found.get(remote, 0.0), there * back)
    return found


def _is_share(value: object) -> bool:
    return type(value) in (int, float) and isfinite(value) and 0 <= value <= 1  # type: ignore[arg-type, operator]  # a number by its type


def _addresses(entries: list[dict[str, Any]], names: tuple[str, ...], faults: Faults) -> Iterator[str]:
    for each in entries:
        address = _address(each, names, faults)
        if address is not None:
            yield address


def _address(entry: Mapping[str, Any], names: tuple[str, ...], faults: Faults) -> str | None:
    """The text under the first of these that is there; whether it is an address, and whose, is decided later."""
    for name in names:
        value = entry.get(name)
        if isinstance(value, str) and len(value) <= LONGEST_ADDRESS:
            return value
    faults.add(Fault.BAD_ADDRESS, f"{names[0]} {quoted(entry.get(names[0]))}")
    return None


def _flag(entry: Mapping[str, Any], names: tuple[str, ...], faults: Faults) -> bool:
    """The first of these that is there. Of what no version leaves out, nothing is believed without it."""
    for name in names:
        value = entry.get(name)
        if isinstance(value, bool):
            return value
    faults.add(Fault.BAD_VALUE, f"{names[0]} {quoted(entry.get(names[0]))}")
    return False
