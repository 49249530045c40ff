"""The tree that a run was configured with."""

from __future__ import annotations

from typing import Any

import pytest

from chapar_audit.jobs.overlay import Overlay, OverlayError, overlay_of

LINKS = ((1, 2), (2, 3), (2, 4))


def settings(**routing: Any) -> dict[str, Any]:
    usual = {"algorithm": "identity", "refresh_period": 2.0, "advertisements": False, "publisher_roots": []}
    return {"mode": "tree", "routing": usual | routing, "overlay": {"links": [list(link) for link in LINKS]}}


def test_who_is_behind_each_way() -> None:
    """All brokers from which its sender is nearer than its receiver."""
    overlay = overlay_of({1: settings(), 2: settings()})
    assert (overlay.links, overlay.period, overlay.brokers) == (LINKS, 2.0, (1, 2, 3, 4))
    assert overlay.behind == {
        (1, 2): {1}, (2, 1): {2, 3, 4}, (2, 3): {1, 2, 4}, (3, 2): {3}, (2, 4): {1, 2, 3}, (4, 2): {4},
    }  # fmt: skip


def test_subscriptions_go_towards_publishers_where_these_are_known() -> None:
    """And everywhere else."""
    assert Overlay(LINKS, "identity", 1.0).told == {*LINKS, (2, 1), (3, 2), (4, 2)}
    assert Overlay(LINKS, "identity", 1.0, roots=(1,)).told == {(2, 1), (3, 2), (4, 2)}


def test_an_event_crosses_each_link_to_its_homes_once() -> None:
    """A home that is no broker is not reached, and one's own is without a link."""
    overlay = Overlay(LINKS, "identity", 1.0)
    assert overlay.crossed(3, [1, 4, 3, 9]) == {(3, 2), (2, 1), (2, 4)}
    assert overlay.crossed(9, [1]) == set()


@pytest.mark.parametrize(
    ("nodes", "complaint"),
    [
        ({1: settings(), 5: settings(algorithm="simple")}, "nodes 1 and 5 were configured with different algorithm"),
        ({1: settings(), 2: {**settings(), "overlay": {"links": [[1, 2]]}}}, "different links"),
        ({1: {**settings(), "overlay": {"links": []}}}, "has no links"),
    ],
)
def test_what_is_no_one_tree_is_named(nodes: dict[int, dict[str, Any]], complaint: str) -> None:
    with pytest.raises(OverlayError, match=complaint):
        overlay_of(nodes)
