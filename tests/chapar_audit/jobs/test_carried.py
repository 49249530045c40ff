"""Over which links events should have gone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from chapar_audit.jobs.carried import Pattern, Published, carried, collected, flooded, in_vain, patterns, sent_twice
from chapar_audit.jobs.ids import element
from chapar_audit.jobs.overlay import Overlay
from chapar_audit.jobs.wishes import Wanted
from chapar_audit.recorded import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

OVERLAY = Overlay(((1, 2), (2, 3), (2, 4)), "identity", 1.0)


def event(origin: int, number: int) -> bytearray:
    return bytearray(origin.to_bytes(2, "big") + number.to_bytes(8, "big"))


def test_events_are_gathered_by_where_they_came_from_and_to(spark: SparkSession) -> None:
    """However often and to how many clients; losses apart."""
    deliveries = [
        (0, client, event(*which), which[0], None, 1, "realtime", 0, "r", node)
        for which, node, client in (
            ((1, 1), 3, "a"), ((1, 1), 3, "b"), ((1, 1), 4, "a"),
            ((1, 2), 4, "a"), ((1, 2), 3, "a"), ((300, 1), 4, "a"),
        )
    ]  # fmt: skip
    losses = [(0, event(1, 3), 4, None, "hop_dead", "r", 1)]
    found = collected(
        patterns(
            spark.createDataFrame(deliveries, spark_schema("deliveries")),
            spark.createDataFrame(losses, spark_schema("losses")),
        )
    )
    assert set(found) == {Pattern(1, (3, 4), (), 2), Pattern(300, (4,), (), 1), Pattern(1, (), (4,), 1)}


def test_an_event_goes_where_it_was_given_and_perhaps_where_it_was_lost() -> None:
    """Or waits for a client that is OFF."""
    least, most = carried(OVERLAY, [Pattern(1, (3,), (), 2), Pattern(1, (), (4,), 3)], frozenset())
    assert least == {(1, 2): 2, (2, 3): 2}
    assert most == {(1, 2): 5, (2, 3): 2, (2, 4): 3}
    assert carried(OVERLAY, [Pattern(1, (3,), (), 2)], frozenset({4})).most[2, 4] == 2


def test_a_flood_takes_every_link_away_from_its_origin() -> None:
    due = flooded(OVERLAY, Counter({1: 5, 3: 7})).least
    assert due == {(1, 2): 5, (2, 1): 7, (2, 3): 5, (3, 2): 7, (2, 4): 12, (4, 2): 0}


def test_an_event_may_go_in_vain_to_whom_ceases_to_want_it() -> None:
    """Within the delay, of that subject, and from elsewhere."""
    changes = {element("position") + bytes(16): Wanted(*(np.array(c) for c in ((0, 100), (3, 3), (1, -1), (0, 0))))}
    events = [Published(ts, 1, "position") for ts in (80, 95, 101)]
    found = in_vain(OVERLAY, [*events, Published(95, 1, "report"), Published(95, 3, "position")], changes, 10)
    assert {way: count for way, count in found.items() if count} == {(1, 2): 1, (2, 3): 1}


def test_a_memorised_event_may_go_twice_while_both_ends_compare() -> None:
    """Those near a comparison on that way."""
    events = [Published(95, 1, "x", kept=True), Published(95, 1, "x"), Published(50, 1, "x", kept=True)]
    found = sent_twice(OVERLAY, events, {(1, 2): [100], (2, 3): [30, 70]}, 10)
    assert {way: count for way, count in found.items() if count} == {(1, 2): 1}
    assert sent_twice(OVERLAY, [Published(95, 1, "x")], {(1, 2): [95]}, 10) == {}
