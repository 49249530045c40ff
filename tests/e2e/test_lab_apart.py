"""A partition of real daemons, and what follows it: nothing is lost, nothing comes twice, and nobody waits for long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from e2e import labs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.lab

CUT, HEALED, GONE = 20, 45, 42.5
"""When the publisher's column is cut off, when it is back, and when the publisher is switched off for good."""
START, EVENTS, BEFORE_IT_WENT = 5, 60, 38
SOON = 1.0
"""Seconds after the link is back in which everything that had waited has come."""


def scenario(*more: str) -> str:
    """Sixty events at one a second, of which 25 are published while the publisher's column is alone.

    OLSR is at its usual pace: it learns of the cut after seconds, and of its end after seconds more.
    """
    return f"""
name = "column-cut"
duration = 85
settle = 15
nodes = 9
[topology]
kind = "grid"
columns = 3
[routes]
source = "olsr"
[[client]]
name = "corner"
node = 1
publish = [{{ subject = "sample", payload = 64, lifetime = 120, every = 1, start = {START}, count = {EVENTS} }}]
[[client]]
name = "listener"
nodes = [3, 7, 9]
subscribe = [{{ filter = 'subject = "sample"' }}]
[[fault]]
kind = "cut"
at = {CUT}
until = {HEALED}
groups = [[1, 4, 7], [2, 3, 5, 6, 8, 9]]
{"".join(more)}
"""


def check(done: labs.Done, published: int) -> None:
    """Everybody has everything, once and in order; what had waited came soon after the link was back."""
    assert len(done.events) == published
    assert done.missed() == []
    (apart,) = done.figures["apart"]
    across = sum(CUT <= each["t"] < HEALED for each in done.events)
    assert apart["waited"] >= 2 * (across - 1)
    assert apart["caught_up"] <= SOON
    for client in ("listener-3", "listener-7", "listener-9"):
        times = [each["t"] + each["got"][client] for each in done.events]
        assert times == sorted(times)


def test_what_a_cut_withheld_comes_within_a_second(tmp_path: Path) -> None:
    """All 60 events at each of three subscribers, two of which were cut off."""
    check(labs.kept(tmp_path, scenario()), EVENTS)


def test_a_publisher_that_is_gone_for_good_leaves_its_events(tmp_path: Path) -> None:
    """Switched off before the link is back: all that it had published reaches everybody."""
    off = f'[[fault]]\nkind = "power_off"\nat = {GONE}\nnode = 1\n'
    done = labs.kept(tmp_path, scenario(off))
    check(done, BEFORE_IT_WENT)
