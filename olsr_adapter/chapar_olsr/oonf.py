"""What OONF's olsrd2 says, as a view: answers to the commands of its plugins nhdpinfo and olsrv2info.

The answers are not trusted. One that is no JSON, or lacks the list it is named after, gives no view; an entry in a list
that makes no sense is counted and left out. The commands ask for `jsonraw`: plain `json` writes large numbers with a
prefix such as "1.2 k", which is no JSON. What has to be known of the answers:

- True and false are written as strings, and an address that is not there as "-".
- A neighbour is known by its originator, the address that routes lead to: a node's own address must be that one. olsrd2
  speaks IPv4 and IPv6 side by side, with a neighbour and routes in each. Only the family of our address is for us.
- The gateway of a route is the address of a link, for IPv6 a link-local one. `link_addr` tells whose it is.
- Nearly all is repeated for each routing domain (RFC 7722). The lowest one counts.
- `domain_mpr_remote` says that the neighbour is our routing MPR, `domain_mpr_local` that we are its (RFC 7181, 18).
- Metrics are no shares of what arrives, so that there is no quality.
"""

from __future__ import annotations

from ipaddress import ip_address
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from chapar_olsr.faults import Fault
from chapar_olsr.replies import LONGEST_ADDRESS, entries_untrusted, quoted
from chapar_olsr.source import Findings, Hop, assemble

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chapar_olsr.faults import Faults
    from chapar_olsr.source import Identity
    from chapar_olsr.view import RouteView

Entry = dict[str, Any]

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "neighbor": "nhdpinfo jsonraw neighbor",
        "link_addr": "nhdpinfo jsonraw link_addr",
        "route": "olsrv2info jsonraw route",
    }
)
"""What is asked, by the name of the list in the answer: all that is read."""
NO_ADDRESS: Final = "-"
_FLAGS: Final = MappingProxyType({"true": True, "false": False})


def read_untrusted(answers: Mapping[str, bytes], identity: Identity, faults: Faults) -> RouteView:
    """The view that the answers to `COMMANDS` give. Raises SourceError, and nothing else."""
    entries = {name: _entries(name, answers[name], faults) for name in COMMANDS}
    family = ip_address(identity.address).version
    near: list[tuple[str, Entry]] = []
    for each in _of_one_domain(entries["neighbor"]):
        originator = _address(each, "neighbor_originator", family, faults)
        if originator and _flag(each, "neighbor_symmetric", faults):
            near.append((originator, each))
    return assemble(
        identity,
        Findings(
            neighbours=[originator for originator, _ in near],
            routes=list(_hops(_of_one_domain(entries["route"]), family, faults)),
            mprs=_chosen(near, "domain_mpr_remote", faults),
            selectors=_chosen(near, "domain_mpr_local", faults),
            aliases=_aliases(entries["link_addr"], family, faults),
        ),
        faults,
    )


def _entries(name: str, body: bytes, faults: Faults) -> list[Entry]:
    """The list that an answer is about. Over telnet a prompt may stand before it."""
    answer = body[max(body.find(b"{"), 0) :]
    return entries_untrusted(answer, name, f"the answer to '{COMMANDS[name]}'", faults)


def _of_one_domain(entries: list[Entry]) -> list[Entry]:
    """Those of the lowest domain. nhdpinfo writes it as a number, olsrv2info as a string."""
    domains = [str(each.get("domain", "")) for each in entries]
    lowest = min(domains, key=lambda domain: (len(domain), domain), default="")
    return [each for each, domain in zip(entries, domains, strict=True) if domain == lowest]


def _chosen(near: list[tuple[str, Entry]], key: str, faults: Faults) -> list[str] | None:
    """The neighbours with this flag; None from an olsrd2 that does not have it, which leaves relays to the broker."""
    if near and not any(key in each for _, each in near):
        return None
    return [originator for originator, each in near if _flag(each, key, faults)]


def _hops(routes: list[Entry], family: int, faults: Faults) -> Iterator[Hop]:
    """Routes to hosts. One to a network has its prefix length, which a host has not."""
    for each in routes:
        target = each.get("route_dst")
        if isinstance(target, str) and "/" in target:
            continue
        destination = _address(each, "route_dst", family, faults)
        if not destination:
            continue
        gateway, hops = _address(each, "route_gw", None, faults), each.get("domain_path_hops")
        if type(hops) is not int:
            faults.add(Fault.BAD_VALUE, f"{destination} at {quoted(hops)} hops")
        elif gateway is not None:
            yield Hop(destination, gateway, hops)


def _aliases(links: list[Entry], family: int, faults: Faults) -> dict[str, str]:
    """Whose each address of a link is. Nobody is known by an address that is somebody's originator."""
    aliases: dict[str, str] = {}
    originators: set[str] = set()
    for each in links:
        originator = _address(each, "neighbor_originator", family, faults)
        if originator:
            originators.add(originator)
            for key in ("link_bindto", "link_address"):
                alias = _address(each, key, None, faults)
                if alias:
                    aliases.setdefault(alias, originator)
    return {alias: main for alias, main in aliases.items() if alias not in originators}


def _address(entry: Entry, key: str, family: int | None, faults: Faults) -> str | None:
    """The address under a key in its usual spelling, "" if it is none for us; None, which is counted, if it is none.

    `family` 4 or 6: another family is not for us.
    """
    value = entry.get(key)
    if value == NO_ADDRESS:
        return ""
    try:
        if not isinstance(value, str) or len(value) > LONGEST_ADDRESS:
            raise ValueError
        address = ip_address(value)
    except ValueError:
        faults.add(Fault.BAD_ADDRESS, f"{key} {quoted(value)}")
        return None
    return str(address) if family in (None, address.version) else ""


def _flag(entry: Entry, key: str, faults: Faults) -> bool:
    """Nothing is believed of a flag that is not there."""
    value = entry.get(key)
    flag = value if isinstance(value, bool) else _FLAGS.get(value) if isinstance(value, str) else None
    if flag is None:
        faults.add(Fault.BAD_VALUE, f"{key} {quoted(value)}")
    return flag is True
