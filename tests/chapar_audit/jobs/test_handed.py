"""How soon, in what order and to whom events were given, on a few made-up rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar.event import event_id
from chapar_audit.jobs import handed, ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

S = 1_000_000
KNOWN = (
    "event_id binary, home int, client string, began_us long, ended_us long, times long, lives int, first_us long, "
    "via string, hops int, life int, origin int, delivery string, lifetime_ms long, published_us long"
)
WISHES = (
    "home int, client string, asked_subject binary, asked_sender binary, is_plain boolean, began_us long, ended_us long"
)


def row(number: int, client: str, published: float, took: float | None, **changed: Any) -> tuple[Any, ...]:
    """Of an event of node 1 that client wanted at node 3, and was given after so many seconds."""
    kind = changed.get("delivery", "realtime")
    values = {
        "event_id": event_id(1, 1, number), "home": 3, "client": client, "began_us": 0, "ended_us": 1000 * S,
        "times": int(took is not None), "lives": 1, "first_us": None if took is None else round((published + took) * S),
        "via": "realtime", "hops": 2, "life": 0, "origin": 1, "delivery": kind,
        "lifetime_ms": 20_000 if kind == "lifetime" else 0, "published_us": round(published * S),
    } | changed  # fmt: skip
    return tuple(values.values())


def wish(client: str, subject: bytes, began: float, ended: float = 1000) -> tuple[Any, ...]:
    return (3, client, subject, ids.NOTHING, True, round(began * S), round(ended * S))


def table(spark: SparkSession, schema: str, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), schema).coalesce(1)


def test_latencies_are_those_of_the_first_deliveries(spark: SparkSession) -> None:
    """By class and way; four buckets of the histogram double, and less than a microsecond is one."""
    known = table(
        spark, KNOWN, *(row(number, "a", number, 0.001 * number) for number in range(1, 101)),
        row(101, "a", 5, 0, via="instant"), row(102, "a", 5, None),
    )  # fmt: skip
    found = {each.via: each for each in handed.latency(known).collect()}
    assert (found["realtime"]["count"], found["realtime"].p50_us, found["realtime"].max_us) == (100, 50_000, 100_000)
    assert (found["instant"]["count"], found["instant"].p99_us) == (1, 0)
    buckets = {each.bucket_us: each["count"] for each in handed.histogram(known).collect()}
    assert sum(buckets.values()) == 101
    assert buckets[1] == 1
    assert max(buckets) == pytest.approx(2**16.5)
    assert max(buckets) <= 100_000 < max(buckets) * 2**0.25


def test_an_event_comes_after_those_before_it(spark: SparkSession) -> None:
    """In one class and one life; a memorised one may be late if its broker had to give up waiting, and the like."""
    known = table(
        spark,
        KNOWN,
        *(row(2, name, 12, 0.1) for name in ("late", "same", "other", "other-life")),
        row(1, "late", 11, 2),
        row(1, "same", 11, 1.1),
        row(1, "other", 11, 2, delivery="persistent"),
        row(1, "other-life", 11, 2, life=1),
        *(row(2, name, 12, 0.1, delivery="lifetime") for name in ("kept", "patient", "new")),
        row(1, "kept", 11, 2, delivery="lifetime"),
        row(1, "patient", 11, 6, delivery="lifetime"),
        row(1, "new", 11, 2, delivery="lifetime"),
    )
    late = handed.overtaken(known, 5 * S, {})
    wishes = table(spark, WISHES, wish("kept", ids.NOTHING, 0), wish("new", ids.NOTHING, 9))
    assert {each.client for each in late.collect()} == {"late", "kept", "new"}
    assert {each.client for each in handed.unexcused(late, wishes, 3 * S).collect()} == {"late", "kept"}
    assert {each.client for each in handed.overtaken(known, 5 * S, {1: [(10 * S, 20 * S)]}).collect()} == {"late"}


def test_what_cannot_have_been_is_said(spark: SparkSession) -> None:
    """An unknown event, a number of hops, a time after the end, and who never asked, or not while it lived."""
    nobody = {"published_us": None, "origin": None, "delivery": None}
    unasked = {"began_us": None, "ended_us": None}
    known = table(
        spark,
        KNOWN,
        row(1, "fine", 10, 1),
        row(2, "unknown", 10, 1, **nobody, **unasked),
        row(3, "far", 10, 1, hops=65),
        row(4, "near", 10, 1, hops=0),
        row(5, "own", 10, 1, hops=1, home=1),
        row(6, "expired", 10, 31, delivery="lifetime"),
        row(7, "kept", 10, 29, delivery="lifetime"),
        row(8, "other", 10, 1, **unasked),
        row(8, "before", 10, 1, **unasked),
        row(8, "after", 10, 1, **unasked),
        row(8, "then", 10, 1, **unasked),
    )
    wishes = table(
        spark,
        WISHES,
        wish("other", ids.element("t"), 0),
        wish("before", ids.element("s"), 0, 9),
        wish("after", ids.element("s"), 12),
        wish("then", ids.element("s"), 10.5, 12),
    )
    elements = [(event_id(1, 1, number), ids.element("s"), ids.sender(1)) for number in range(1, 9)]
    events = table(spark, "event_id binary, subject_element binary, sender_element binary", *elements)
    assert {each.client: each.fault for each in handed.strangers(known, wishes, events, 64).collect()} == {
        "unknown": handed.UNKNOWN,
        "far": handed.IMPOSSIBLE,
        "near": handed.IMPOSSIBLE,
        "own": handed.IMPOSSIBLE,
        "expired": handed.EXPIRED,
        "other": handed.UNINVITED,
        "before": handed.UNINVITED,
        "after": handed.UNINVITED,
    }
    totals = {each.delivery: each for each in handed.totals(known, 64).collect()}
    assert (totals["realtime"].given, totals["realtime"].unasked, totals["realtime"].strange) == (8, 4, 3)
    assert (totals["lifetime"].strange, totals[None].strange) == (1, 1)
