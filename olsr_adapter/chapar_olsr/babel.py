"""babeld's local protocol as a machine: lines in, a `RouteView` out.

babeld greets whoever connects. To one that says `monitor` it tells everything it knows and then every change, in lines:

    BABEL 1.0
    version babeld-1.12.1
    host relay
    my-id 7c:4b:11:6a:c0:b4:24:e2
    ok
    add neighbour 55f1 address fe80::4 if wlan0 reach ffff ureach 0000 rxcost 96 txcost 96 cost 96
    add route 56a0 prefix 10.66.0.5/32 from 0.0.0.0/0 installed yes id … metric 192 refmetric 96 via fe80::4 if wlan0
    ok
    flush route 56a0 prefix 10.66.0.5/32 …

`change` and `flush` repeat the whole line. A neighbour or a route is known by the word after its kind. What a line says
beyond the words that are read here may grow with babeld's versions. What is believed:

- A neighbour counts while its cost is finite: babeld has then heard it, and heard from it that it was heard.
- babeld knows neighbours by their link-local address. Which node one is follows from the host routes it announces as
  its own, those with refmetric 0 (the metric as seen by the neighbour itself): so every babeld must announce its node's
  address, as `redistribute local` does. A neighbour with several node addresses is all those nodes.
- A route counts if it is installed, leads to one host, and has a finite metric: babeld keeps a route that it lost for
  some minutes, so that nothing goes in circles meanwhile.
- Babel has metrics and no hop counts. A route over a link of cost C with refmetric R takes 1 + R / C hops, rounded.
  That is exact where all links cost the same (`link-quality false`, or nobody loses anything), and an estimate of the
  same order otherwise; a neighbour is one hop away, and whoever else at least two.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from chapar_olsr.faults import Fault
from chapar_olsr.source import MAX_HOPS, Findings, Hop, assemble

if TYPE_CHECKING:
    from chapar_olsr.faults import Faults
    from chapar_olsr.source import Identity
    from chapar_olsr.view import RouteView

INFINITY: Final = 0xFFFF
"""A cost or metric of what cannot be reached (RFC 8966, 3.5.1)."""
MAX_LINE: Final = 512
"""Characters: babeld's own buffer for a line."""
MAX_NEIGHBOURS: Final = 1_000
MAX_ROUTES: Final = 20_000
"""A route is known once per neighbour that announces it: fifty neighbours in a network of two hundred nodes with two
addresses each fill this."""
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_GREETING: Final = re.compile(r"BABEL 1\.[0-9]{1,9}")
_HEADERS: Final = frozenset({"version", "host", "my-id"})
_CHANGES: Final = frozenset({"add", "change", "flush"})
_QUOTED: Final = 80
"""Characters of a line that are shown."""
_E = TypeVar("_E")


class Answer(Enum):
    """How babeld ends its answer to a request; its greeting ends in OK."""

    OK = auto()
    REFUSED = auto()
    """It said `no` or `bad`."""


class _Neighbour(NamedTuple):
    address: str
    interface: str
    cost: int


class _Route(NamedTuple):
    destination: str
    installed: bool
    metric: int
    refmetric: int
    via: str
    interface: str


class _SyntaxError(Exception):
    """A line is none of the protocol."""


class Babel:
    """What one babeld has said since the connection was made."""

    def __init__(self, faults: Faults) -> None:
        self.is_greeted = False
        """Whether it said that it speaks this protocol, in a version that we know."""
        self.version = 0
        """Rises when a line says something new."""
        self._faults = faults
        self._neighbours: dict[str, _Neighbour] = {}
        self._routes: dict[str, _Route] = {}

    def receive_untrusted(self, line: str) -> Answer | None:
        """Take one line, without its end; what it answers, if it is the end of an answer. Never raises."""
        try:
            return self._receive(line)
        except _SyntaxError:
            self._faults.add(Fault.SYNTAX, f"not a line of babeld: {line[:_QUOTED]!r}")
            return None

    def view(self, identity: Identity) -> RouteView:
        """What all of it means for our node."""
        near = (each for each in self._neighbours.values() if each.cost < INFINITY)
        links = {(each.address, each.interface): each.cost for each in near}
        names = self._names(identity, links)
        own_family = ip_address(identity.address).version
        routes: dict[int, tuple[bool, int, Hop]] = {}
        for each in self._routes.values():
            link = (each.via, each.interface)
            node = identity.index_of(each.destination)
            if not each.installed or each.metric >= INFINITY or node is None or link not in names:
                continue
            hop = Hop(each.destination, min(names[link])[1], _hops(each.refmetric, links[link]))
            # A node with addresses of both families has a route to each: the one of our own family speaks for it.
            rank = (ip_address(each.destination).version != own_family, each.metric, hop)
            routes[node] = min(rank, routes.get(node, rank))
        addresses = [address for nodes in names.values() for _, address in nodes]
        findings = Findings(neighbours=addresses, routes=[hop for _, _, hop in routes.values()])
        return assemble(identity, findings, self._faults)

    def _names(
        self, identity: Identity, links: dict[tuple[str, str], int]
    ) -> dict[tuple[str, str], set[tuple[int, str]]]:
        """The nodes at the other end of each link: index and address."""
        names: dict[tuple[str, str], set[tuple[int, str]]] = {}
        strangers: dict[tuple[str, str], str] = {}
        for link in links:
            node = identity.index_of(link[0])
            if node is not None:
                names[link] = {(node, link[0])}
        for each in self._routes.values():
            link = (each.via, each.interface)
            if link not in links or each.refmetric != 0 or each.metric >= INFINITY:
                continue
            node = identity.index_of(each.destination)
            if node is None:
                strangers[link] = each.destination
            elif node != identity.index:
                names.setdefault(link, set()).add((node, each.destination))
        for link, address in strangers.items():
            if link not in names:
                self._faults.add(Fault.OUTSIDE_PREFIX, f"the babel neighbour {link[0]} announces {address} only")
        return names

    # Lines

    def _receive(self, line: str) -> Answer | None:
        words = line.split()
        if len(line) > MAX_LINE or not words:
            raise _SyntaxError
        if not self.is_greeted:
            self.is_greeted = _GREETING.fullmatch(line.strip()) is not None
            if not self.is_greeted:
                raise _SyntaxError
        elif words[0] in _CHANGES:
            self._change(words)
        elif words[0] == "ok":
            return Answer.OK
        elif words[0] in {"no", "bad"}:
            return Answer.REFUSED
        elif words[0] not in _HEADERS:
            raise _SyntaxError
        return None

    def _change(self, words: list[str]) -> None:
        # A kind, an id, and pairs of a name and a value.
        if len(words) < 3 or len(words) % 2 == 0:
            raise _SyntaxError
        verb, kind, key = words[:3]
        says = dict(zip(words[3::2], words[4::2], strict=True))
        if kind == "neighbour":
            self._put(self._neighbours, key, None if verb == "flush" else _neighbour(says), MAX_NEIGHBOURS)
        elif kind == "route":
            self._put(self._routes, key, None if verb == "flush" else _route(says), MAX_ROUTES)
        elif kind not in {"interface", "xroute"}:
            raise _SyntaxError

    def _put(self, table: dict[str, _E], key: str, entry: _E | None, limit: int) -> None:
        """Enter or, for None, remove an entry. Without room it is counted, and entered with a later change of it."""
        old = table.get(key)
        if entry == old:
            return
        if entry is None:
            del table[key]
        elif old is None and len(table) >= limit:
            self._faults.add(Fault.FULL, f"more than {limit} entries of babeld")
            return
        else:
            table[key] = entry
        self.version += 1


def _hops(refmetric: int, cost: int) -> int:
    if refmetric == 0:
        return 1
    return min(max(2, 1 + round(refmetric / max(cost, 1))), MAX_HOPS)


def _neighbour(says: dict[str, str]) -> _Neighbour:
    return _Neighbour(_address(says), _word(says, "if"), _number(says, "cost"))


def _route(says: dict[str, str]) -> _Route | None:
    """The route of a line; None for one to a network, or from some sources only, which is no route to a node."""
    prefix, source = _network(says, "prefix"), _network(says, "from")
    route = _Route(
        destination=str(prefix.network_address),
        installed=_word(says, "installed") == "yes",
        metric=_number(says, "metric"),
        refmetric=_number(says, "refmetric"),
        via=_address(says, "via"),
        interface=_word(says, "if"),
    )
    return route if prefix.prefixlen == prefix.max_prefixlen and source.prefixlen == 0 else None


def _word(says: dict[str, str], name: str) -> str:
    if name not in says:
        raise _SyntaxError
    return says[name]


def _number(says: dict[str, str], name: str) -> int:
    word = _word(says, name)
    if _NUMBER.fullmatch(word) is None:
        raise _SyntaxError
    return int(word)


def _address(says: dict[str, str], name: str = "address") -> str:
    try:
        return str(ip_address(_word(says, name)))
    except ValueError:
        raise _SyntaxError from None


def _network(says: dict[str, str], name: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(_word(says, name))
    except ValueError:
        raise _SyntaxError from None
