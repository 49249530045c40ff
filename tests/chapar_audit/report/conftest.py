"""The rows that a full report is drawn from, made up: a grid of nine, an hour of everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from chapar_audit.report.summaries import Rows

CLASSES = ("data", "control", "sync", "routing")


@pytest.fixture
def rows() -> dict[str, Rows]:
    pairs = [(node, node + 1) for node in range(1, 9) if node % 3] + [(node, node + 3) for node in range(1, 7)]
    return {
        "over_time": [
            {"start_s": 60.0 * place, "width_s": 60.0, "traffic_class": name, "bytes": 1000 * (place + 1)}
            for place in (0, 1, 3)
            for name in CLASSES
        ],
        "kinds": [
            {"traffic_class": "control", "kind": "beacon", "messages": 2838, "bytes": 252_250},
            {"traffic_class": "data", "kind": "event", "messages": 27, "bytes": 15_653},
        ],
        "links": [
            {"a": a, "b": b, "traffic_class": name, "bytes": 1000 * a * b} for a, b in pairs for name in CLASSES[:3]
        ],
        "neighbours": [{"a": a, "b": b} for a, b in pairs],
        "brokers": [{"node": node, "role": "broker" if node == 5 else "regular"} for node in range(1, 10)],
        "costs": [
            {"subscribers": 1, "events": 20, "measured": 2.1, "deviation": 0.4, "expected": 2.0, "alone": 2.0},
            {"subscribers": 4, "events": 1, "measured": 5.0, "deviation": None, "expected": 5.0, "alone": 8.0},
        ],
        "latency": [
            {"delivery": "realtime", "via": "routed", "count": 100, "p50_us": 3100, "p95_us": 9000, "p99_us": 20_000,
             "max_us": 120_000},
        ],
        "latency_histogram": [
            {"delivery": "realtime", "bucket_us": 1000, "count": 40},
            {"delivery": "realtime", "bucket_us": 2000, "count": 60},
            {"delivery": "lifetime", "bucket_us": 1, "count": 1},
        ],
        "waiting": [
            {"node": 3, "client": "c", "events": 900, "lam": lam, "d_s": 0.125, "t_on_s": 20.0, "t_off_s": 20.0,
             "measured_s": 10.25 / (1 - lam / 4), "half_width_s": 0.5, "expected_s": 10.25 / (1 - lam / 4)}
            for lam in (0.5, 1.0)
        ],
        "alternatives": [
            {"filter_class": name, "algorithm": algorithm, "rate": 10.0 + place, "form": "right"}
            for name in ("subject", "type")
            for place, algorithm in enumerate(("flooding", "identity", "covering"))
        ],
        "reasons": [{"reason": "no_route", "count": 12}],
        "told": [
            {"kind": "beacon", "told_frames": 9, "seen_frames": 9, "told_bytes": 500, "seen_bytes": 500},
        ],
    }  # fmt: skip
