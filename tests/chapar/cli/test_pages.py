"""What the daemon says of itself, in words and tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.cli.arguments import PAGES
from chapar.cli.pages import CUT_SHORT, page

STATUS: dict[str, Any] = {
    "routing": {"mode": "chapar"},
    "version": "0.1.0",
    "node": {"index": 3, "incarnation": 1700000000, "address": "10.0.0.3", "uptime_seconds": 11520.4},
    "role": {"role": "broker", "why": "most neighbours", "broker": 3, "power": 0.8},
    "peers": 4,
    "tables": {
        "fmt": {"homes": 5, "filters": 12, "digest": "a1b2"},
        "met": {"events": 30, "bytes": 12345, "digest": "c3d4"},
    },
    "sessions": {"on": 2, "off": 1, "queued": 7},
    "routes": {"source": "static", "state": "ok", "version": 6, "destinations": 4, "neighbours": 1},
    "sizes": {"met events": [30, 10000], "sessions": [3, 1000]},
    "drops": {"no_route": 8, "loop": 0, "unreachable": 87},
    "losses": {"unreachable": 1},
    "disk": {"state": "ok", "pending": 0},
    "kernel_drops": 0,
}


def test_status_is_a_page_of_facts() -> None:
    """Everything that the daemon tells, in the words a person uses; of drops those that happened, the most first."""
    assert page("status", STATUS) == (
        "node          3 at 10.0.0.3, up 3 h 12 min, incarnation 1700000000\n"
        "version       0.1.0\n"
        "role          broker (most neighbours), its broker is node 3, power 0.8\n"
        "peers         4\n"
        "routing       chapar\n"
        "routes        4 destinations, 1 neighbour; source static: ok (version 6)\n"
        "FMT           12 filters of 5 homes, digest a1b2\n"
        "MET           30 events, 12.3 kB, digest c3d4\n"
        "clients       2 on, 1 off; 7 events queued\n"
        "disk          ok, 0 writes pending\n"
        "drops         unreachable 87, no_route 8\n"
        "losses        unreachable 1\n"
        "kernel drops  0\n"
        "\n"
        "bounded     used  limit\n"
        "met events    30  10000\n"
        "sessions       3   1000\n"
    )


def test_status_shows_the_links_of_a_tree() -> None:
    """Mode and algorithm among the facts, and below them each link with what stands over it; loops where there are."""
    nothing = {"received": 0, "sent": 0}
    links = [
        {"neighbour": 2, "state": "up", "subscriptions": {"received": 3, "sent": 1}, "advertisements": nothing},
        {"neighbour": 5, "state": "down", "subscriptions": nothing, "advertisements": nothing},
    ]
    routing = {"mode": "tree", "algorithm": "covering", "advertisements": False, "loops": 0, "links": links}
    text = page("status", {**STATUS, "routing": routing})
    assert "routing       tree, covering\n" in text
    assert "neighbour  link  subscriptions\n2          up    3 in, 1 out\n5          down  0 in, 0 out\n" in text
    shown = page("status", {**STATUS, "routing": {**routing, "advertisements": True, "loops": 4}})
    assert "tree, covering, with advertisements; 4 events came back over another link: the tree has a cycle" in shown
    assert "neighbour  link  subscriptions  advertisements\n" in shown


def test_filters_on_a_tree_are_listed_by_link() -> None:
    """Who told whom; a node whose links carry nothing says so, of as much as it knows."""
    links = [
        {"neighbour": None, "received": ["*"], "sent": []},
        {"neighbour": 0, "received": ['subject = "x"'], "sent": ["*"]},
    ]
    assert page("fmt", {"homes": [], "links": links}) == (
        "link         told   filter\n"
        "own clients  to us  *\n"
        '0            to us  subject = "x"\n'
        "0            by us  *\n"
    )
    nothing: list[dict[str, Any]] = [{"neighbour": None, "received": [], "sent": []}]
    assert page("fmt", {"homes": [], "links": nothing}) == "nobody has subscribed, as far as this broker knows\n"


def test_status_shows_what_auto_chose_and_why() -> None:
    """Each class of filters on each link, with the rates that were seen and the price of each way; none seen, none."""
    seen = {"rates": {"lambda": 0.25, "mu": 1, "omega": 6.0006}, "costs": {"flooding": 6.1234, "filtering": 7}}
    unseen = {"rates": None, "costs": None}
    choices = [
        {"neighbour": 2, "subject": "position", "type": None, "routed": "flooding", "forced": True, **seen},
        {"neighbour": 5, "subject": "a", "type": "b", "routed": "filtering", "forced": False, **unseen},
    ]
    routing = {"mode": "tree", "algorithm": "auto", "choices": choices, "truncated": True}
    assert (
        "neighbour  subject   type  routed by         λ/s  μ/s  ω/s  flooding msg/s  filtering msg/s\n"
        "2          position  any   flooding (must)  0.25  1.0  6.0            6.12              7.0\n"
        "5          a         b     filtering           –    –    –               –                –\n"
        f"{CUT_SHORT}\n"
    ) in page("status", {**STATUS, "routing": routing})


def test_peers_say_when_they_were_heard() -> None:
    """One row per peer."""
    peer = {"index": 7, "broker": 3, "is_broker": False, "incarnation": 9}
    broker = {"index": 12, "broker": None, "is_broker": True, "incarnation": 10}
    heard = ({"heard_seconds_ago": 12, "neighbours": [3, 4]}, {"heard_seconds_ago": 0.3, "neighbours": []})
    assert page("peers", {"peers": [peer | heard[0], broker | heard[1]]}) == (
        "node  role    its broker  heard       incarnation  neighbours\n"
        "   7  node             3  12 s ago              9  3 4\n"
        "  12  broker           –  300 ms ago           10  –\n"
    )


def test_the_fmt_is_one_row_per_filter() -> None:
    """So that it can be searched; a home without filters is there too, and a cut list says so."""
    homes = [{"home": 1, "version": 4, "filters": ["a > 1", "b = 2"]}, {"home": 2, "version": 9, "filters": []}]
    assert page("fmt", {"homes": homes, "truncated": True}) == (
        "home  version  filter\n"
        "   1        4  a > 1\n"
        "   1        4  b = 2\n"
        "   2        9  –\n"
        "(there is more: the daemon cut the list short)\n"
    )


def test_the_met_says_who_is_waited_for() -> None:
    """How long each event is kept, who has it and who does not."""
    kept = {"id": "1.9.4", "delivery": "lifetime", "subject": "alarm", "bytes": 80, "expires_seconds": 61}
    held = {"id": "1.9.5", "delivery": "persistent", "subject": None, "bytes": 2000, "expires_seconds": None}
    events = [{**kept, "wanted": [2, 3], "delivered": [2]}, {**held, "wanted": [4], "delivered": [4, 9]}]
    assert page("met", {"events": events, "truncated": False}) == (
        "id     delivery    size    expires in  delivered  waiting for  subject\n"
        "1.9.4  lifetime    80 B    1 min 1 s   1 of 2     3            alarm\n"
        "1.9.5  persistent  2.0 kB  never       1 of 1     –            –\n"
    )


def test_clients_are_one_row_each() -> None:
    """With what waits for them."""
    client = {"client": "rover", "state": "off", "subscriptions": 2, "queue": 15, "in_flight": 0, "published": 99}
    assert page("clients", {"clients": [client]}) == (
        "client  state  subscriptions  queued  in flight  published\n"
        "rover   off                2      15          0         99\n"
    )


def test_routes_begin_with_their_source() -> None:
    """Then neighbours and relays, as far as they are known, then the routes."""
    routes = [{"destination": 4, "next_hop": 2, "hops": 2}]
    data = {"source": "static", "state": "ok", "version": 1, "routes": routes, "neighbours": [2, 3]}
    assert page("routes", {**data, "mprs": [2], "selectors": None}) == (
        "source             static: ok (version 1)\n"
        "neighbours         2 3\n"
        "multipoint relays  2\n"
        "\n"
        "destination  next hop  hops\n"
        "          4         2     2\n"
    )


def test_routes_of_a_live_source_say_how_good_they_are() -> None:
    """The quality of each link, and what was wrong with what the source said, the most first."""
    data = {"source": "olsrd", "state": "ok", "version": 9, "routes": [], "quality": {"2": 0.98, "3": None}}
    assert page("routes", {**data, "faults": {"syntax": 1, "loop": 3}}) == (
        "source        olsrd: ok (version 9)\n"
        "link quality  2 0.98, 3 –\n"
        "faults        loop 3, syntax 1\n"
        "\n"
        "no routes: this node knows nobody else\n"
    )


def test_losses_say_which_event_and_why() -> None:
    """The newest first, as the daemon lists them."""
    loss = {"number": 8, "seconds_ago": 3, "id": "1.9.4", "homes": [4, 7], "reason": "no_route", "client": None}
    assert page("losses", {"losses": [loss], "truncated": True}) == (
        "id     lost     reason    not at  client\n"
        "1.9.4  3 s ago  no_route  4 7          –\n"
        "(there is more: the daemon cut the list short)\n"
    )


@pytest.mark.parametrize("name", [name for name in PAGES if name != "status"])
def test_an_empty_list_is_said_in_words(name: str) -> None:
    """Not as a table without rows."""
    text = page(name, {})
    assert "\n\n" not in text.removeprefix("source  –: – (version –)\n\n")
    assert len(text.splitlines()[-1].split()) > 3


KEYS = """
    peers homes events clients routes filters wanted delivered expires_seconds node bytes role tables fmt met
    sizes drops is_broker neighbours mprs heard_seconds_ago truncated
"""
keys = st.sampled_from(KEYS.split())
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | numbers | st.text(max_size=3)
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


@given(st.sampled_from(sorted(PAGES)), st.dictionaries(keys, json_values, max_size=5))
def test_no_json_is_too_strange(name: str, data: dict[str, Any]) -> None:
    """A daemon of another version is shown as far as it is understood; nothing raises."""
    text = page(name, data, width=80)
    assert text.endswith("\n")
    assert text.replace("\n", "").isprintable()
