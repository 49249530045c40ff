"""Who wanted which event, and was given it, on a few made-up rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar.event import event_id
from chapar.filter import Filter
from chapar_audit.jobs import fates
from chapar_audit.recorded import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

S = 1_000_000
SPAN = fates.Span(0, 100 * S)
REPORT, ANYTHING = Filter(subject="report").fid, Filter(where="speed exists").fid


def table(spark: SparkSession, dataset: str, *rows: tuple[Any, ...]) -> DataFrame:
    """Rows of a dataset; the last value of each is its node."""
    return spark.createDataFrame([(*row[:-1], "run", row[-1]) for row in rows], spark_schema(dataset)).coalesce(1)


def change(at: float, client: str, filter_id: bytes, what: str, node: int = 3) -> tuple[Any, ...]:
    return (round(at * S), client, None, None, filter_id, what, node)


def published(at: float, number: int, subject: str | None, lifetime: int = 0, node: int = 1) -> tuple[Any, ...]:
    kind = "lifetime" if lifetime else "realtime"
    return (round(at * S), "source", event_id(node, 1, number), kind, 1000 * lifetime, 10, subject, node)


def given(at: float, number: int, client: str, node: int = 3) -> tuple[Any, ...]:
    return (round(at * S), client, event_id(1, 1, number), 1, None, 2, "realtime", 0, node)


def test_a_wish_stands_until_the_last_subscription_is_taken_back(spark: SparkSession) -> None:
    """What brokers tell each other is none; filters with conditions are not plain."""
    rows = table(
        spark,
        "interests",
        change(1, "twice", REPORT, "subscribe"),
        change(2, "twice", REPORT, "subscribe"),
        change(3, "twice", REPORT, "unsubscribe"),
        change(4, "twice", REPORT, "unsubscribe"),
        change(5, "twice", REPORT, "subscribe"),
        change(1, "vague", ANYTHING, "subscribe"),
        (S, None, 2, "tx", REPORT, "subscribe", 3),
    )
    found = sorted(
        (row.client, row.is_plain, row.began_us, row.ended_us) for row in fates.spells(rows).collect()
    )  # fmt: skip
    assert found == [
        ("twice", True, 1 * S, 4 * S),
        ("twice", True, 5 * S, fates.FOR_EVER),
        ("vague", False, 1 * S, fates.FOR_EVER),
    ]


def test_who_wanted_an_event_and_who_was_given_it(spark: SparkSession) -> None:
    """Real-time events are wanted when they are published, others in the end; by subject and sender, or by all."""
    wishes = fates.spells(
        table(
            spark,
            "interests",
            change(1, "reader", REPORT, "subscribe"),
            change(50, "late", REPORT, "subscribe"),
            change(1, "gone", REPORT, "subscribe"),
            change(20, "gone", REPORT, "unsubscribe"),
            change(1, "of-one", Filter(sender=1).fid, "subscribe"),
            change(1, "of-two", Filter(sender=2).fid, "subscribe"),
            change(1, "all", Filter().fid, "subscribe"),
            change(1, "vague", ANYTHING, "subscribe"),
        )
    )
    events = table(
        spark, "publishes", published(10, 1, "report"), published(10, 2, "report", 60), published(10, 3, None)
    )
    once = fates.events(events, *fates.elements(events), SPAN.end)
    pairs = fates.wanted(once, wishes, SPAN)
    rows = table(
        spark,
        "deliveries",
        given(11, 1, "reader"),
        given(13, 1, "reader"),
        given(30, 1, "reader"),
        (*given(12, 9, "reader")[:6], "?", 0, 3),
    )
    known = fates.fates(pairs, fates.lives(rows, {3: [20 * S]}), once).collect()
    wanted: dict[int, set[str]] = {}
    for row in known:
        if row.began_us is not None:
            wanted.setdefault(row.event_id[-1], set()).add(row.client)
    assert wanted == {
        1: {"reader", "gone", "of-one", "all"},
        2: {"reader", "late", "of-one", "all"},
        3: {"of-one", "all"},
    }
    counted = {row.event_id[-1]: row for row in known if row.client == "reader"}
    first = counted[1]
    assert (first.times, first.lives, first.first_us, first.hops, first.life) == (3, 2, 11 * S, 2, 0)
    assert (first.origin, first.delivery, first.published_us, first.via) == (1, "realtime", 10 * S, "realtime")
    assert (counted[2].times, counted[2].lives, counted[2].first_us, counted[2].lifetime_ms) == (0, 0, None, 60_000)
    assert (counted[9].times, counted[9].published_us, counted[9].via) == (1, None, "unknown")


def test_wishes_are_met_in_every_part_of_a_run(spark: SparkSession) -> None:
    """Also at its very ends, and beyond them."""
    wishes = fates.spells(
        table(spark, "interests", change(-5, "reader", REPORT, "subscribe"), change(200, "no", REPORT, "subscribe"))
    )
    times = (-1, 0, 33, 99.9, 100, 101)
    events = table(spark, "publishes", *(published(at, place, "report") for place, at in enumerate(times)))
    once = fates.events(events, *fates.elements(events), SPAN.end)
    assert {row.event_id[-1] for row in fates.wanted(once, wishes, SPAN).collect()} == set(range(len(times)))
