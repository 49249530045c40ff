"""Report: a row says what crossed which link, and the figures of a link what stands over it."""

from __future__ import annotations

from chapar import Event, Filter
from chapard.core.config import Mode, Overlay, Routing
from chapard.core.effects import InterestRow
from chapard.core.overlay.interest import Change, Interest
from chapard.core.overlay.report import LinkFigures, figures, filters, interest_row
from fake_network import FakeNetwork, chain, quick

X = Filter(subject="x")


def test_a_row_names_the_link_and_the_change() -> None:
    """No client: that is the difference to what a client of ours wants."""
    row = interest_row(4, "tx", Change.REFRESH, Interest(X))
    assert row == InterestRow(None, X.fid, "refresh", 4, "tx")


def test_figures_count_what_is_said_and_heard() -> None:
    """Both tables of each link, whether it is up or not."""
    routing = Routing(mode=Mode.TREE, advertisements=True)
    network = FakeNetwork(chain(2), config=quick(routing=routing, overlay=Overlay(((0, 1), (1, 2)))))
    network.run(3)
    broker = network.nodes[1].tree
    assert broker is not None
    network.client("s", at=1).subscribe(X)
    network.run(1)
    up, down = figures(broker)
    assert down == LinkFigures(2, False, 0, 0, 0, 0, 0)  # noqa: FBT003 - a row of figures
    assert up._replace(neighbour=2, is_up=False) == down
    network.client("p", at=0).publish(Event(subject="x"))
    network.run(2)
    [other] = figures(network.nodes[0].tree) if network.nodes[0].tree is not None else []
    up = figures(broker)[0]
    assert (up.advertisements_received, up.subscriptions_sent) == (1, 1)
    assert (other.advertisements_sent, other.subscriptions_received) == (1, 1)


def test_filters_are_told_by_link() -> None:
    """Those of our own clients first."""
    network = FakeNetwork(chain(2), config=quick(routing=Routing(mode=Mode.TREE), overlay=Overlay(((0, 1),))))
    network.run(3)
    network.client("s", at=1).subscribe(X)
    network.run(1)
    for node, expected in ((0, [(None, (), ()), (1, (X,), ())]), (1, [(None, (X,), ()), (0, (), (X,))])):
        tree = network.nodes[node].tree
        assert tree is not None
        assert filters(tree) == expected
