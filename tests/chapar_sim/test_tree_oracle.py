"""The oracle of a tree: what is owed follows the links of the tree, as long as they stand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chapar.event import Event, event_id
from chapar.filter import Filter
from chapar_sim.bounds import OVERLAY_REFRESHES, Bounds
from chapar_sim.case import Case
from chapar_sim.checkers import judge
from chapar_sim.spells import Disturbance
from chapar_sim.trace import Accepted, Connectivity, Delivered, Interest, NodeChange, Presence, Trace
from chapar_sim.tree_oracle import TreeOracle
from chapard.core.config import Config, Mode, Overlay, Routing

X = Filter(subject="x")
END = 400.0
AT = 200.0
ID = event_id(1, 1, 1)
CONFIG = Config(
    refresh_period=2.0, subscription_lease=20.0, routing=Routing(mode=Mode.TREE), overlay=Overlay(((1, 2), (2, 3)))
)
LINKS = frozenset({(1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3)})


def trace(event: Event, *, client_at: int = 3, since: float = 1.0, cut: tuple[float, float] | None = None) -> Trace:
    """A chain of four: an event of node 1, a client that wants it, and a link 2 - 3 that may be cut for a while."""
    made = Trace()
    made.end = END
    made.presence = [Presence(0.0, "p", 1, on=True), Presence(0.0, "s", client_at, on=True)]
    made.nodes = [NodeChange(0.0, node, up=True, disk=True) for node in (1, 2, 3, 4)]
    made.interests = [Interest(since, "s", 1, X, active=True)]
    made.accepted = [Accepted(AT, "p", 1, ID, event)]
    made.connectivity = [Connectivity(0.0, LINKS)]
    if cut is not None:
        made.connectivity += [Connectivity(cut[0], LINKS - {(2, 3), (3, 2)}), Connectivity(cut[1], LINKS)]
    return made


def case(found: Trace, config: Config = CONFIG, plain: frozenset[int] = frozenset()) -> Case:
    return Case.made(found, Bounds(config), nodes=(1, 2, 3, 4), plain=plain)


def claimed(found: Trace, config: Config = CONFIG) -> bool:
    made = case(found, config)
    assert isinstance(made.oracle, TreeOracle)
    publication = made.history.publications[ID]
    owed = made.oracle.memorised if publication.is_memorised else made.oracle.realtime
    return owed(publication, "s") is not None


@pytest.mark.parametrize("event", [Event(subject="x"), Event(subject="x", lifetime=150)])
def test_what_a_standing_tree_joins_is_owed(event: Event) -> None:
    """A subscriber on the tree is owed what it has asked for in time; one at a node that no link names is not."""
    assert claimed(trace(event))
    assert not claimed(trace(event, client_at=4))
    assert not claimed(trace(Event(subject="y", lifetime=150)))


def test_only_what_is_kept_is_owed_to_who_comes_late() -> None:
    """A subscription after the event finds memorised ones."""
    assert claimed(trace(Event(subject="x", lifetime=150), since=AT + 20))
    assert not claimed(trace(Event(subject="x"), since=AT + 20))


def test_a_cut_link_delays_what_is_kept_and_ends_what_is_not() -> None:
    """If it returns in time, memorised events are owed; real-time ones that came meanwhile are not."""
    assert claimed(trace(Event(subject="x", lifetime=150), cut=(100, 250)))
    assert not claimed(trace(Event(subject="x", lifetime=60), cut=(100, 300)))
    assert not claimed(trace(Event(subject="x"), cut=(100, 250)))


def test_a_missing_delivery_is_a_violation() -> None:
    """And with it none."""
    found = trace(Event(subject="x", lifetime=150))
    assert [each.rule for each in judge(case(found))] == ["memorised"]
    found.delivered = [Delivered(AT + 1, "s", 3, ID)]
    assert judge(case(found)) == []


def test_nodes_without_chapard_are_no_hindrance() -> None:
    """They route, and the link over them stands."""
    overlay = replace(CONFIG, overlay=Overlay(((1, 3),)))
    made = case(trace(Event(subject="x")), overlay, frozenset({2}))
    assert made.oracle.realtime(made.history.publications[ID], "s") is not None


def test_copies_at_brokers_on_the_way_count() -> None:
    """When the publisher's node is gone for good, what came past the others is still owed to who comes later."""
    found = trace(Event(subject="x", lifetime=190))
    found.presence.append(Presence(0.0, "late", 2, on=True))
    found.interests.append(Interest(330.0, "late", 1, X, active=True))
    found.nodes.append(NodeChange(300.0, 1, up=False, disk=False))
    made = case(found)
    publication = made.history.publications[ID]
    # Node 1 is down, so nothing more is claimed of the network that it is part of: it must be out of reach as well.
    assert made.oracle.memorised(publication, "late") is None
    found.connectivity.append(Connectivity(300.0, frozenset({(2, 3), (3, 2), (3, 4), (4, 3)})))
    made = case(found)
    assert made.oracle.memorised(made.history.publications[ID], "late") is not None


def test_publishers_that_are_known_are_where_events_are_found() -> None:
    """With publisher_roots nothing is owed of a publisher elsewhere."""
    routing = Routing(mode=Mode.TREE, publisher_roots=(2,))
    assert not claimed(trace(Event(subject="x")), replace(CONFIG, routing=routing))
    assert claimed(trace(Event(subject="x")), replace(CONFIG, routing=replace(routing, publisher_roots=(1,))))


def test_with_advertisements_the_first_of_its_kind_is_not_owed() -> None:
    """Real-time events count once their kind has been advertised for a while; memorised ones are found anyway."""
    config = replace(CONFIG, routing=Routing(mode=Mode.TREE, advertisements=True))
    assert not claimed(trace(Event(subject="x")), config)
    assert claimed(trace(Event(subject="x", lifetime=150)), config)
    found = trace(Event(subject="x"))
    found.accepted.insert(0, Accepted(100.0, "p", 1, event_id(1, 1, 0), Event(subject="x", lifetime=1)))
    assert claimed(found, config)


def test_what_its_home_may_have_lost_with_the_disk_is_not_owed() -> None:
    """The home had it at once, whenever its client can have been sure of that."""
    found = trace(Event(subject="x", lifetime=150))
    found.nodes += [NodeChange(AT + 0.5, 1, up=False, disk=False), NodeChange(AT + 5, 1, up=True, disk=False)]
    found.presence += [Presence(AT + 0.5, "p", 1, on=False), Presence(AT + 5, "p", 1, on=True)]
    made = case(found)
    publication = made.history.publications[ID]
    assert publication.taken > AT + 5
    assert made.oracle.memorised(publication, "s") is None


def test_corrupt_tables_are_granted_the_stated_refresh_periods() -> None:
    """What is published sooner is not owed if it is not kept."""
    found = trace(Event(subject="x"))
    periods = CONFIG.routing.refresh_period * OVERLAY_REFRESHES
    for before, is_owed in ((periods - 1, False), (periods + 20, True)):
        disturbance = Disturbance(AT - before, 2, AT - before, forgets=True)
        made = Case.made(found, Bounds(CONFIG), nodes=(1, 2, 3, 4), disturbances=(disturbance,))
        assert (made.oracle.realtime(made.history.publications[ID], "s") is not None) == is_owed
