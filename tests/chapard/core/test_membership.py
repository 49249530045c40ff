"""Membership: an event with a group comes from a member's home, or is counted and goes no further."""

from __future__ import annotations

import pytest

from chapar import Event
from chapard.core.config import Config, Group
from chapard.core.effects import Reason
from chapard.core.membership import is_member
from chapard.core.outlet import Outlet

CONFIG = Config(groups={"crew": Group(nodes=frozenset({1, 2}))})


@pytest.mark.parametrize(
    ("group", "origin", "passes"), [(None, 9, True), ("open", 9, True), ("crew", 2, True), ("crew", 3, False)]
)
def test_only_members_publish_to_a_group(group: str | None, origin: int, *, passes: bool) -> None:
    """A group that nobody configured is open; of the others the homes are named."""
    outlet = Outlet()
    assert is_member(CONFIG, outlet, Event(subject="x", group=group), origin) is passes
    assert outlet.drops[Reason.NOT_MEMBER] == (not passes)
