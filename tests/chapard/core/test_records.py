"""What is recorded of the effects of a core."""

from __future__ import annotations

import json
from typing import Any

from chapar.event import event_id
from chapard.core.config import Config, Group
from chapard.core.effects import (
    AcknowledgementRow,
    DeliveryRow,
    Drop,
    FrameRow,
    InterestRow,
    Loss,
    PublishRow,
    Reason,
    RoleRow,
    RouteRow,
    SessionRow,
    TrafficClass,
    Transmit,
)
from chapard.core.nodevector import NodeVector
from chapard.core.records import COLUMNS, rows_of, run_settings

ID = event_id(1, 2, 3)


def test_each_row_of_the_core_fills_the_columns_of_its_dataset() -> None:
    """In their order; the time is not the core's to say."""
    rows: dict[str, Any] = {
        "frames": FrameRow("tx", 2, "event", TrafficClass.DATA, 90, ID, None, 1),
        "publishes": PublishRow("pub", ID, "realtime", 0, 70, "s", 5),
        "deliveries": DeliveryRow(["sub"], ID, 1, 3, "realtime", 9),
        "acknowledgements": AcknowledgementRow("sub", 2, 7, 1, 3),
        "interests": InterestRow("sub", bytes(20), "subscribe"),
        "sessions": SessionRow("sub", "on", 4),
        "roles": RoleRow("broker", "mpr"),
        "routes": RouteRow(2, None, 0),
    }
    for dataset, effect in rows.items():
        ((name, values, times),) = rows_of(effect, 7, 99)
        assert name == dataset
        named = dict(zip([column.name for column in COLUMNS[dataset]], values, strict=True))
        known = effect._asdict()
        assert times == known.pop("times", 1)
        if dataset == "deliveries":
            (known["client"],) = known.pop("clients")
        assert known.items() <= named.items()
        unknown = {"ts_us", "published_us"} if dataset == "deliveries" else {"ts_us"}
        assert named.keys() - known.keys() == unknown
        assert named["ts_us"] == 99


def test_a_loss_is_a_row_for_each_home() -> None:
    """Of an event that came to nothing here, one for us; what came twice is no loss, and no event no row."""
    assert [values for _, values, _ in rows_of(Loss(ID, NodeVector.of([2, 5], 8), Reason.NO_ROUTE), 7, 1)] == [
        (1, ID, 2, None, "no_route"),
        (1, ID, 5, None, "no_route"),
    ]
    expired = Drop(Reason.EXPIRED, 3, "sub", ID)
    assert [values for _, values, _ in rows_of(expired, 7, 1)] == [(1, ID, 7, "sub", "expired")]
    assert not list(rows_of(Drop(Reason.DUPLICATE, 3, None, ID), 7, 1))
    assert not list(rows_of(Drop(Reason.MALFORMED, 3, None, None), 7, 1))
    assert not list(rows_of(Transmit(None, b""), 7, 1))


def test_the_settings_of_a_run_are_json() -> None:
    """Every parameter of the protocol, groups among them, whatever it is made of."""
    config = Config(groups={"team": Group(frozenset({3, 1}), frozenset({"rover"}))})
    said = json.loads(json.dumps(run_settings(config)))
    assert said["mode"] == "chapar"
    assert said["protocol"]["groups"] == {"team": {"nodes": [1, 3], "clients": ["rover"]}}
    assert said["protocol"]["hop_ack"] is True
    assert said["protocol"]["queue_policy"] == "oldest"
