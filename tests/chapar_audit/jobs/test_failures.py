"""Why an event was not delivered, on a few made-up rows: each has its own reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar.event import event_id
from chapar_audit.jobs import failures
from chapar_audit.jobs.failures import Times, Unsaid
from chapar_audit.jobs.fates import FOR_EVER
from chapar_audit.recorded import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

S = 1_000_000
TIMES = Times(end=200 * S, settling=20 * S, crossing=5 * S, serving=30 * S, silence=16 * S)
LACKING = (
    "event_id binary, home int, client string, began_us long, ended_us long, origin int, "
    "delivery string, lifetime_ms long, published_us long"
)


def lacking(client: str, published: float, **changed: Any) -> tuple[Any, ...]:
    """An event of node 1 that a client at node 3 wanted since the beginning, and never got."""
    kind = "lifetime" if "lifetime_ms" in changed else "realtime"
    values = {
        "event_id": event_id(1, 1, sum(client.encode())), "home": 3, "client": client, "began_us": 0,
        "ended_us": FOR_EVER, "origin": 1, "delivery": kind, "lifetime_ms": 0, "published_us": round(published * S),
    } | changed  # fmt: skip
    return tuple(values.values())


def kept(client: str, published: float, lifetime: float = 50, **changed: Any) -> tuple[Any, ...]:
    return lacking(client, published, lifetime_ms=round(lifetime * 1000), **changed)


def lost(client: str, reason: str, *, home: int = 3, only: bool = False, node: int = 2, at: int = 1) -> tuple[Any, ...]:
    return (at, event_id(1, 1, sum(client.encode())), home, client if only else None, reason, "run", node)


def table(spark: SparkSession, schema: Any, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), schema).coalesce(1)


def reasons(spark: SparkSession, rows: list[tuple[Any, ...]], losses: list[tuple[Any, ...]]) -> dict[str, str]:
    """In a run in which node 3 was in reach of node 1 from 10 to 110 s, and node 4 from 100 s on, and again later."""
    routes = table(
        spark,
        "ts_us long, destination int, next_hop int, hops short, run string, node int",
        (10 * S, 3, 2, 2, "run", 1), (50 * S, 3, 7, 3, "run", 1), (110 * S, 3, None, 0, "run", 1),
        (100 * S, 4, 2, 2, "run", 1),
    )  # fmt: skip
    sessions = table(
        spark, spark_schema("sessions"), (0, "off", "on", 0, "run", 3), (60 * S, "off", "off", 0, "run", 3),
        (0, "back", "off", 0, "run", 3), (5 * S, "back", "on", 0, "run", 3),
    )  # fmt: skip
    told = failures.recorded(table(spark, LACKING, *rows), table(spark, spark_schema("losses"), *losses))
    downs = {5: [(120 * S, 180 * S)], 6: [(190 * S, FOR_EVER)], 1: [(191 * S, 192 * S)]}
    met, away = failures.contacts(routes), failures.absences(sessions)
    return {row.client: row.reason for row in failures.explained(told, met, away, downs, TIMES).collect()}


def test_the_reason_follows_from_what_was_recorded_or_from_what_was_not(spark: SparkSession) -> None:
    """Real-time events are owed to those who are settled; others to those who were long enough in contact."""
    found = reasons(
        spark,
        [
            lacking("no-route", 40),
            lacking("of-another", 40),
            lacking("owed", 40),
            lacking("back", 40),
            lacking("new-wish", 40, began_us=25 * S),
            lacking("gave-up", 40, ended_us=43 * S),
            lacking("new-route", 25),
            lacking("route-ends", 107),
            lacking("never-in-reach", 40, home=9),
            lacking("at-home", 15, home=1, began_us=1),
            lacking("off", 70),
            lacking("at-the-end", 197, home=1),
            lacking("crash", 130),
            lacking("home-was-down", 165, home=5),
            lacking("home-was-down-since", 188, home=5, began_us=1),
            kept("home-came-back", 40, 150, home=5, origin=5),
            kept("owed-kept", 40),
            kept("hardly-met", 85),
            kept("expired-met", 40),
            kept("alive", 180, home=9),
            kept("full", 40),
            kept("dropped", 40),
            kept("not-final", 40),
            kept("in-its-queue", 40),
            kept("persistent", 30, home=9, delivery="persistent"),
        ],
        [
            lost("no-route", "no_route"),
            lost("no-route", "unreachable", at=0),
            (*lost("of-another", "queue_full")[:3], "somebody", "queue_full", "run", 3),
            lost("expired-met", "expired"),
            lost("full", "queue_full", only=True),
            lost("dropped", "table_full", home=7, node=7),
            lost("not-final", "no_route"),
            lost("in-its-queue", "expired", only=True),
        ],
    )  # fmt: skip
    assert found == {
        "no-route": "no_route",
        "of-another": Unsaid.VANISHED,
        "owed": Unsaid.VANISHED,
        "back": Unsaid.VANISHED,
        "new-wish": Unsaid.SETTLING,
        "gave-up": Unsaid.SETTLING,
        "new-route": Unsaid.APART,
        "route-ends": Unsaid.APART,
        "never-in-reach": Unsaid.APART,
        "at-home": Unsaid.VANISHED,
        "off": Unsaid.WAITING,
        "at-the-end": Unsaid.UNDER_WAY,
        "crash": Unsaid.RESTARTED,
        "home-was-down": Unsaid.RESTARTED,
        "home-was-down-since": Unsaid.RESTARTED,
        "home-came-back": Unsaid.RESTARTED,
        "owed-kept": Unsaid.VANISHED,
        "hardly-met": Unsaid.EXPIRED,
        "expired-met": Unsaid.VANISHED,
        "alive": Unsaid.UNDER_WAY,
        "full": "queue_full",
        "dropped": "table_full",
        "not-final": Unsaid.VANISHED,
        "in-its-queue": "expired",
        "persistent": Unsaid.UNDER_WAY,
    }


def test_what_never_comes_to_a_node_may_be_addressed_to_others(spark: SparkSession) -> None:
    """But not where something of the kind was given, or lost; frames that were sent there speak against it, too."""
    columns = f"{LACKING}, told string, reason string"
    found = table(
        spark,
        columns,
        (*lacking("a", 1), None, "vanished"),
        (*lacking("b", 1, home=4), None, "vanished"),
        (*lacking("c", 1, home=5), None, "vanished"),
        (*lacking("d", 1, home=5), "no_route", "no_route"),
    )
    known = table(spark, "event_id binary, times long, origin int, delivery string, home int",
                  (b"same", 1, 1, "realtime", 3), (b"other", 1, 1, "realtime", 4))  # fmt: skip
    ids = {row.event_id for row in found.collect()} | {b"same"}
    kinds = [(bytes(each), "source", None) for each in ids] + [(b"other", "source", "t")]
    rows = failures.addressed(found, known, table(spark, "event_id binary, publisher string, subject string", *kinds))
    assert {row.client: row.reason for row in rows.collect()} == {
        "a": Unsaid.VANISHED,
        "b": Unsaid.ADDRESSED,
        "c": Unsaid.VANISHED,
        "d": "no_route",
    }
    sent = [(0, way, peer, "event", "data", 9, event_id(1, 1, ord(name)), None, 0, "run", 2)
            for way, peer, name in (("tx", 3, "a"), ("tx", 3, "c"), ("rx", 5, "c"))]  # fmt: skip
    assert failures.sent_home(rows, table(spark, spark_schema("frames"), *sent)) == 1


def test_a_daemon_that_was_started_again_had_gone_when_its_frames_end(spark: SparkSession) -> None:
    """Life by life."""
    rows = [(at, "tx", None, "beacon", "control", 9, None, None, 0, "run", node)
            for at, node in ((1, 2), (5, 2), (12, 2), (14, 2), (30, 2), (31, 3))]  # fmt: skip
    found = failures.signs(table(spark, spark_schema("frames"), *rows), {2: [10, 20]}).collect()
    assert {(row.node, row.life): row.last_us for row in found} == {(2, 0): 5, (2, 1): 14, (2, 2): 30}
