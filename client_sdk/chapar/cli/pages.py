"""What the daemon says of itself (`/status` and the pages below it), put into words and tables.

The JSON comes from a daemon that may be older or newer than this command: what is missing is shown as absent, and
nothing here fails on what is not as expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from chapar.cli.table import ABSENT, facts, table
from chapar.cli.units import bytes_text, seconds_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chapar.cli.table import Cell


class Column(NamedTuple):
    heading: str
    cell: Callable[[Mapping[str, Any]], Cell]


class Listing(NamedTuple):
    """A page that is a list: where its rows are, what to show of each, what to say if there are none."""

    rows: str
    columns: tuple[Column, ...]
    empty: str


def _plain(key: str, heading: str | None = None) -> Column:
    """The value under `key` as it is."""

    def cell(row: Mapping[str, Any]) -> Cell:
        value = row.get(key)
        return value if isinstance(value, str | int | float) and not isinstance(value, bool) else _words(value)

    return Column(heading or key.replace("_", " "), cell)


def _words(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(str(item) for item in value) or ABSENT
    return str(value)


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _time(value: object, suffix: str = "") -> str | None:
    seconds = _number(value)
    return None if seconds is None else seconds_text(seconds) + suffix


def _size(value: object) -> str | None:
    size = _number(value)
    return None if size is None else bytes_text(size)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _role_of_peer(row: Mapping[str, Any]) -> str | None:
    is_broker = row.get("is_broker")
    return None if is_broker is None else "broker" if is_broker else "node"


def _delivered(row: Mapping[str, Any]) -> str | None:
    """How many of the homes that are to have the event have it."""
    if not isinstance(row.get("wanted"), list) or not isinstance(row.get("delivered"), list):
        return None
    wanted = set(map(str, row["wanted"]))
    return f"{len(wanted & set(map(str, row['delivered'])))} of {len(wanted)}"


def _waiting(row: Mapping[str, Any]) -> str | None:
    """The homes that are still to have the event."""
    delivered = _list(row.get("delivered"))
    return _words([node for node in _list(row.get("wanted")) if node not in delivered])


def _expires(row: Mapping[str, Any]) -> str | None:
    if "expires_seconds" in row and row["expires_seconds"] is None:
        return "never"
    return _time(row.get("expires_seconds"))


CUT_SHORT: Final = "(there is more: the daemon cut the list short)"
LISTINGS: Final[Mapping[str, Listing]] = {
    "peers": Listing(
        "peers",
        (
            _plain("index", "node"),
            Column("role", _role_of_peer),
            _plain("broker", "its broker"),
            Column("heard", lambda row: _time(row.get("heard_seconds_ago"), " ago")),
            _plain("incarnation"),
            _plain("neighbours"),
        ),
        "no peer has been heard; chapar routes shows the neighbours that this node knows",
    ),
    "fmt": Listing(
        "homes",
        (_plain("home"), _plain("version"), _plain("filter")),
        "the FMT is empty: nobody has subscribed",
    ),
    "met": Listing(
        "events",
        (
            _plain("id"),
            _plain("delivery"),
            Column("size", lambda row: _size(row.get("bytes"))),
            Column("expires in", _expires),
            Column("delivered", _delivered),
            Column("waiting for", _waiting),
            _plain("subject"),
        ),
        "the MET is empty: no event is kept for anyone",
    ),
    "clients": Listing(
        "clients",
        (
            _plain("client"),
            _plain("state"),
            _plain("subscriptions"),
            _plain("queue", "queued"),
            _plain("in_flight"),
            _plain("published"),
        ),
        "no client has opened a session",
    ),
    "routes": Listing(
        "routes",
        (_plain("destination"), _plain("next_hop"), _plain("hops")),
        "no routes: this node knows nobody else",
    ),
    "losses": Listing(
        "losses",
        (
            _plain("id"),
            Column("lost", lambda row: _time(row.get("seconds_ago"), " ago")),
            _plain("reason"),
            _plain("homes", "not at"),
            _plain("client"),
        ),
        "nothing was lost here",
    ),
}

OVER_LINKS: Final = Listing(
    "links",
    (_plain("link"), _plain("told"), _plain("filter")),
    "nobody has subscribed, as far as this broker knows",
)
"""The filters of a node on a tree, which knows them by link."""


def page(name: str, data: Mapping[str, Any], *, width: int | None = None) -> str:
    """The page `name` (`status`, or one of LISTINGS) as text; lines of lists are cut to `width`."""
    if name == "status":
        return _status(data)
    listing = OVER_LINKS if name == "fmt" and _list(data.get("links")) else LISTINGS[name]
    rows = [_dict(row) for row in _list(data.get(listing.rows))]
    if listing is OVER_LINKS:
        rows = [each for row in rows for each in _over_link(row)]
    elif name == "fmt":
        rows = [{**row, "filter": text} for row in rows for text in _list(row.get("filters")) or [None]]
    shown = [[column.cell(row) for column in listing.columns] for row in rows]
    headings = [column.heading for column in listing.columns]
    text = table(headings, shown, width=width) if shown else f"{listing.empty}\n"
    if name == "routes":
        text = f"{_route_facts(data)}\n{text}"
    if data.get("truncated"):
        text += f"{CUT_SHORT}\n"
    return text


def _over_link(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line for each filter: who told whom of it."""
    neighbour = row.get("neighbour")
    where = {"link": "own clients" if neighbour is None else str(neighbour)}
    ways = (("to us", "received"), ("by us", "sent"))
    return [{**where, "told": told, "filter": text} for told, way in ways for text in _list(row.get(way))]


def _route_facts(data: Mapping[str, Any]) -> str:
    named = (("neighbours", "neighbours"), ("mprs", "multipoint relays"), ("selectors", "relay for"))
    lists = [(label, _words(data[key]) or ABSENT) for key, label in named if data.get(key) is not None]
    quality = [(str(node), _number(value)) for node, value in _dict(data.get("quality")).items()]
    if quality:
        lists.append(("link quality", ", ".join(f"{node} {ABSENT if q is None else q}" for node, q in quality)))
    if _dict(data.get("faults")):
        lists.append(("faults", _counts(_dict(data.get("faults")))))
    return facts([("source", _source(data)), *lists])


def _source(routes: Mapping[str, Any]) -> str:
    return _said("{source}: {state} (version {version})", routes)


class _Count(str):
    """A value on its way into a sentence; with a noun as the format it counts: `1 home`, `2 homes`."""

    __slots__ = ()

    def __format__(self, noun: str) -> str:
        return f"{self!s} {noun}{'' if self == '1' else 's'}" if noun else str(self)


class _Shown:
    """The values of a JSON object by name, for `str.format_map`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> _Count:
        return _Count(_words(self._data.get(key)) or ABSENT)


def _said(sentence: str, data: object, **more: str | None) -> str:
    """`sentence` with the names in braces replaced by what the object holds under them."""
    return sentence.format_map(_Shown({**_dict(data), **more}))


def _status(data: Mapping[str, Any]) -> str:
    node, tables, routes = (_dict(data.get(key)) for key in ("node", "tables", "routes"))
    met = _dict(tables.get("met"))
    where = "{index} at {address}, up {up}, incarnation {incarnation}"
    pairs = [
        ("node", _said(where, node, up=_time(node.get("uptime_seconds")))),
        ("version", _said("{version}", data)),
        ("role", _role(_dict(data.get("role")))),
        ("peers", _said("{peers}", data)),
        ("routing", _routing(_dict(data.get("routing")))),
        ("routes", _said("{destinations:destination}, {neighbours:neighbour}; source ", routes) + _source(routes)),
        ("FMT", _said("{filters:filter} of {homes:home}, digest {digest}", tables.get("fmt"))),
        ("MET", _said("{events:event}, {size}, digest {digest}", met, size=_size(met.get("bytes")))),
        ("clients", _said("{on} on, {off} off; {queued:event} queued", data.get("sessions"))),
        ("disk", _said("{state}, {pending:write} pending", data.get("disk"))),
        ("drops", _counts(_dict(data.get("drops")))),
        ("losses", _counts(_dict(data.get("losses")))),
        ("kernel drops", _said("{kernel_drops}", data)),
    ]
    routing = _dict(data.get("routing"))
    return facts(pairs) + _links(routing) + _choices(routing) + _sizes(_dict(data.get("sizes")))


def _role(role: Mapping[str, Any]) -> str:
    sentence = "{role} ({why})"
    if role.get("broker") is not None:
        sentence += ", its broker is node {broker}"
    if role.get("power") is not None:
        sentence += ", power {power}"
    return _said(sentence, role)


def _routing(routing: Mapping[str, Any]) -> str:
    if routing.get("mode") != "tree":
        return _said("{mode}", routing)
    sentence = "{mode}, {algorithm}"
    if routing.get("advertisements"):
        sentence += ", with advertisements"
    if routing.get("loops"):
        sentence += "; {loops:event} came back over another link: the tree has a cycle"
    return _said(sentence, routing)


def _links(routing: Mapping[str, Any]) -> str:
    """The links of the tree, and how many interests stand over each, received and sent."""
    links = [_dict(link) for link in _list(routing.get("links"))]
    if not links:
        return ""
    topics = [topic for topic in ("subscriptions", "advertisements") if topic == "subscriptions" or routing.get(topic)]
    rows = [
        (_words(link.get("neighbour")), _words(link.get("state")), *(_both(link.get(topic)) for topic in topics))
        for link in links
    ]
    return "\n" + table(("neighbour", "link", *topics), rows)


def _choices(routing: Mapping[str, Any]) -> str:
    """What `auto` does with each class of filters over each link, with the rates seen and what each way would cost."""
    chosen = [_dict(choice) for choice in _list(routing.get("choices"))]
    rates = [(choice, _dict(choice.get("rates")), _dict(choice.get("costs"))) for choice in chosen]
    rows = [
        (
            _words(choice.get("neighbour")),
            _words(choice.get("subject")) or "any",
            _words(choice.get("type")) or "any",
            _said("{routed}", choice) + (" (must)" if choice.get("forced") else ""),
            *(_rate(seen.get(each)) for each in ("lambda", "mu", "omega")),
            *(_rate(costs.get(each)) for each in ("flooding", "filtering")),
        )
        for choice, seen, costs in rates
    ]
    headings = ("neighbour", "subject", "type", "routed by", "λ/s", "μ/s", "ω/s", "flooding msg/s", "filtering msg/s")
    cut = f"{CUT_SHORT}\n" if routing.get("truncated") else ""
    return "\n" + table(headings, rows) + cut if rows else ""


def _rate(value: object) -> float | None:
    rate = _number(value)
    return None if rate is None else float(f"{rate:.3g}")


def _both(counts: object) -> str:
    return _said("{received} in, {sent} out", counts)


def _counts(counts: Mapping[str, Any]) -> str:
    """What is not zero, the most first."""
    counted = [(_number(count) or 0, name) for name, count in counts.items()]
    return ", ".join(f"{name} {count}" for count, name in sorted(counted, reverse=True) if count) or "none"


def _sizes(sizes: Mapping[str, Any]) -> str:
    """How full each bounded thing is."""
    rows = [(name, _number(pair[0]), _number(pair[1])) for name, pair in sizes.items() if _is_pair(pair)]
    return "\n" + table(("bounded", "used", "limit"), rows) if rows else ""


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2
