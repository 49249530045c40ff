"""The times that daemons were configured with."""

from __future__ import annotations

from typing import Any

from chapar_audit.jobs.protocol import Protocol, protocol_of

TIMES = {
    "beacon_min": 1.0, "refresh_period": 16.0, "serve_retry": 3.0, "retry_max": 3.0, "subscription_lease": 600.0,
}  # fmt: skip


def settings(**changed: Any) -> dict[str, Any]:
    return {"mode": "chapar", "protocol": {**TIMES, **changed}}


def test_where_nodes_differ_what_allows_the_most_counts() -> None:
    found = protocol_of({1: settings(beacon_min=0.5, refresh_period=8.0), 2: settings(retry_max=4.0, serve_retry=2.0)})
    assert found == Protocol(0.5, 16.0, 2.0, 4.0, 600.0)


def test_settings_that_say_nothing_or_nonsense_are_none() -> None:
    for wrong in ({"mode": "chapar"}, settings(beacon_min="often"), settings(beacon_min=0), settings(retry_max=None)):
        assert protocol_of({1: settings(), 2: wrong}) is None
