"""What other ways to route would have cost: against runs of them, and what an operator is told."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from chapar.event import Event
from chapar.filter import Filter
from chapar_audit.jobs.breakeven import chosen, costs, judge, reached, totals, unpriced
from chapar_audit.recorded import Recorded, load, spark_schema
from chapar_audit.verdict import State
from chapar_sim.broker_tree import BrokerTree
from chapar_sim.datasets import write
from chapar_sim.recorded_tree import RecordedTree
from chapar_sim.tree_shapes import m_ary
from chapar_sim.tree_traffic import Crowd, Source, Traffic
from chapard.core.overlay.router import Algorithm, RouterConfig

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

SECONDS = 200
ANY = Filter(subject="position")
FAST = Filter(subject="position", where="speed > 5")
NOTICES = tuple(Event(subject="position", attributes={"speed": speed}) for speed in (3, 8))


def traffic(algorithm: Algorithm, make: Callable[..., BrokerTree]) -> Traffic:
    """At four end-brokers some want any event and more want those of one half, which the others' filter covers."""
    shape = m_ary(2, 3)
    crowds = [Crowd(leaf, rate, 1.0, wants=wants) for leaf in shape.leaves for wants, rate in ((ANY, 0.2), (FAST, 0.6))]
    config = RouterConfig(nodes=shape.nodes, algorithm=algorithm, refresh_period=1)
    return Traffic(shape, config, [Source(0, 2, notices=NOTICES)], crowds, Random(5), make)


@pytest.fixture(scope="module")
def identity(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("identity")
    run = traffic(Algorithm.IDENTITY, partial(RecordedTree, run="identity"))
    run.run(SECONDS)
    assert isinstance(run.tree, RecordedTree)
    write(run.tree.trace, "identity", folder, has_medium=False)
    return load(spark, folder)


def test_other_algorithms_cost_what_one_run_says_they_would(identity: Recorded) -> None:
    """The prices from a run of identity routing are those of runs of the others, within 5 %."""
    findings, tables = judge(identity)
    found = {row.algorithm: row.rate for row in tables["alternatives"].collect()}
    assert sorted(found) == ["covering", "flooding", "identity", "simple"]
    for algorithm, rate in found.items():
        measured = traffic(Algorithm(algorithm), BrokerTree).run(SECONDS).total
        assert rate == pytest.approx(measured, rel=0.05), algorithm
    choice, merging = findings
    assert choice.subject == "choice of the routing algorithm: identity"
    assert choice.state is State.OPEN, "an expensive choice is no broken model"
    assert choice.reason.startswith("flooding routing would have cost 21 % less: set routing.algorithm = flooding")
    assert merging.state is State.OPEN


def test_the_cheapest_and_what_is_near_it_hold() -> None:
    """Of auto, each class counts by itself; of the others, one is chosen for all."""
    found = {
        "a": {"flooding": 10.0, "simple": 9.0, "identity": 2.0},
        "b": {"flooding": 2.0, "simple": 9.0, "identity": 9.0, "covering": 8.0},
    }
    assert totals(found) == {"flooding": 12, "simple": 18, "identity": 11}
    assert chosen("identity", 99.0, found).state is State.HOLDS, "none is cheaper, whatever the run cost"
    assert chosen("flooding", 12.0, found)[2:5] == (State.HOLDS, 12, 11)
    costly = chosen("simple", 22.0, found)
    assert (costly.state, costly.expected) == (State.OPEN, 11)
    assert costly.reason.startswith("identity routing would have cost 50 % less: set routing.algorithm = identity")
    assert chosen("auto", 4.5, found).state is State.HOLDS
    slow = chosen("auto", 8.0, found)
    assert (slow.state, slow.expected) == (State.OPEN, 4)
    assert "(identity for a, flooding for b) would have cost 50 % less" in slow.reason
    assert [each.subject for each in unpriced(found)] == ["cost of covering routing", "cost of merging routing"]


def test_what_cannot_be_priced_is_open(identity: Recorded) -> None:
    """What is not recorded, brokers that advertise, and settings that are no tree."""
    routing = {**identity.settings[0]["routing"], "advertisements": True}
    advertised = {node: {**each, "routing": routing} for node, each in identity.settings.items()}
    broken = {**identity.settings, 0: {**identity.settings[0], "overlay": {"links": []}}}
    for changed, why in (
        (replace(identity, missing=frozenset({"deliveries"})), "not recorded: deliveries"),
        (replace(identity, settings=advertised), "of which only ids are recorded"),
        (replace(identity, settings=broken), "different links"),
    ):
        (row,) = judge(changed).findings
        assert row.state is State.OPEN
        assert why in row.reason


def test_a_mesh_multicasts_as_cheaply_as_it_can(spark: SparkSession, chain_run: Path) -> None:
    """Two subscribers on one way: one message over each link, where two messages would share the first."""
    (row,), tables = judge(load(spark, chain_run))
    assert row.state is State.HOLDS
    rates = {each.algorithm: each.rate for each in tables["alternatives"].collect()}
    assert rates["multicast"] < rates["unicast"]
    assert rates["unicast"] / rates["flooding"] == pytest.approx(1, rel=0.05), "1 + 3 hops, four nodes"


def frame(spark: SparkSession, dataset: str, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame([(*row[1:], "run", row[0]) for row in rows], spark_schema(dataset)).coalesce(1)


def test_what_events_cost_and_would_have_cost(spark: SparkSession) -> None:
    """A route of the time counts, or else the hops that it went; what was lost or went nowhere does not count."""
    events = [bytes([number]) * 10 for number in range(4)]
    published = [(1, 10 * number, "c", event, "realtime", 0, 9, "s") for number, event in enumerate(events)]
    tables = {
        "publishes": frame(spark, "publishes", *published),
        "frames": frame(
            spark, "frames",
            *((1, 10 * n, "tx", 2, "event", "data", 9, e, None, 0) for n, e in enumerate(events) for _ in range(3)),
            (1, 5, "tx", 2, "event", "data", 9, events[0], None, 1),
        ),
        "deliveries": frame(
            spark, "deliveries",
            *((node, 50, "c", e, 1, 0, 3, "realtime", 0) for node in (1, 4) for e in events[:3]),
            (5, 50, "c", events[0], 1, 0, 7, "realtime", 0),
        ),
        "routes": frame(spark, "routes", (1, 0, 4, 2, 2), (1, 5, 4, None, 0)),
        "losses": frame(spark, "losses", (9, 99, events[2], 9, None, "no_route")),
    }  # fmt: skip
    row = costs(tables).first()
    assert row is not None
    assert tuple(row) == (0, 10, 2, 6, (2 + 7) + 3)
    assert costs(tables, share=10**9).first() == (None, None, 0, None, None)


def test_how_far_events_of_a_time_came(spark: SparkSession) -> None:
    """By node, subject and homes; null is nowhere."""
    publishes = frame(spark, "publishes", *((1, t, "c", bytes([t]) * 10, "realtime", 0, 9, "s") for t in (1, 5, 6, 9)))
    deliveries = frame(spark, "deliveries", *((node, 7, "c", b"\5" * 10, 1, 0, 1, "realtime", 0) for node in (3, 2, 3)))
    found = {
        (row.node, row.subject, tuple(row.homes or ()), row.events)
        for row in reached(publishes, deliveries, 5, 9).collect()
    }
    assert found == {(1, "s", (2, 3), 1), (1, "s", (), 1)}
