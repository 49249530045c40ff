"""A configuration that could not keep the promises is refused at once and in words."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from math import nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.limits import HOP_LIMIT, MAX_EVENT_BYTES, MAX_FILTERS_PER_FRAME, MAX_MESSAGE_BYTES, MAX_NODES
from chapar.wire import MIN_MTU
from chapard.core.config import Config, ConfigError, Group, QueuePolicy

REFUSED: list[dict[str, Any]] = [
    {"nodes": 0},
    {"nodes": MAX_NODES + 1},
    {"mtu": 255},
    {"mtu": 65508},
    {"hop_limit": 0},
    {"hop_limit": HOP_LIMIT + 1},
    {"broker_min": 0},
    {"retries": 0},
    {"retries": 33},
    {"filters_per_home": 0},
    {"filters_per_home": MAX_FILTERS_PER_FRAME + 1},
    {"reassembly_bytes": MAX_MESSAGE_BYTES - 1},
    {"met_bytes": MAX_EVENT_BYTES - 1},
    *({name: 0} for name in ("fmt_homes", "link_window", "link_queue", "reassembly_messages", "seen_limit")),
    *({name: 0} for name in ("outbox_limit", "met_events", "persistent_events", "serve_window", "session_limit")),
    *({name: 0} for name in ("session_window", "session_queue", "subscriptions_per_client")),
    *({name: 0} for name in ("beacon_min", "refresh_period", "retry_first", "sync_delay", "sync_retry")),
    *({name: 0.0} for name in ("keep_alive", "serve_retry", "session_retry")),
    {"keep_alive": nan},
    {"beacon_min": 16.5},
    {"contact_periods": 1.9},
    {"subscription_lease": 47.9},
    {"retry_first": 3.1},
    {"ack_delay": 0.5},
    {"ack_every": 0},
    {"ack_delay": -0.1},
    {"reassembly_patience": 11.7},
    {"power_critical": 0.4},
    {"power_low": 1.1},
    {"power_critical": -0.1},
]


@pytest.mark.parametrize("wrong", REFUSED, ids=str)
def test_what_cannot_work_is_refused_by_name(wrong: dict[str, Any]) -> None:
    """The message is one line that names the key."""
    with pytest.raises(ConfigError) as error:
        Config(**wrong)
    (name,) = wrong
    assert name in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "right",
    [
        {},
        {"nodes": 1, "mtu": 256, "hop_limit": 1, "broker_min": 1, "retries": 1},
        {"nodes": MAX_NODES, "mtu": 65507, "hop_limit": HOP_LIMIT, "retries": 5},
        {"beacon_min": 16.0, "contact_periods": 2.0, "subscription_lease": 48.0},
        {"retry_first": 3.0, "retries": 5, "reassembly_patience": 18.0},
        {"reassembly_patience": 1.0, "hop_ack": False},
        {"power_low": 0.0, "power_critical": 0.0},
        {"power_low": 1.0, "power_critical": 1.0},
        {"session_queue": 4, "queue_policy": QueuePolicy("refuse")},
        {"groups": {"rovers": Group(frozenset({1}), frozenset({"c"}))}},
    ],
    ids=str,
)
def test_what_can_work_is_taken(right: dict[str, Any]) -> None:
    """The defaults, and the edges of every range."""
    config = Config(**right)
    assert all(getattr(config, name) == value for name, value in right.items())


@given(st.floats(0.01, 2.0), st.floats(2.0, 10.0), st.integers(1, 32))
def test_the_patience_of_a_hop_is_the_sum_of_its_delays(first: float, longest: float, retries: int) -> None:
    """One delay before each repetition and one after the last, each twice the one before, up to `retry_max`."""
    config = Config(retry_first=first, retry_max=longest, retries=retries, ack_delay=0.0, reassembly_patience=1e6)
    delay, total = first, first
    for _ in range(retries):
        delay = min(2 * delay, longest)
        total += delay
    assert config.hop_patience == pytest.approx(total)


def test_the_smallest_datagram_can_carry_a_fragment() -> None:
    """An `mtu` that is accepted here is accepted by the wire."""
    assert Config(mtu=256).mtu >= MIN_MTU


def test_a_configuration_is_a_value() -> None:
    """It cannot be changed behind the back of the machines that read it, and equal ones are equal."""
    config = Config()
    for each in fields(config):
        with pytest.raises(FrozenInstanceError):
            setattr(config, each.name, None)
    assert config == Config()
    with pytest.raises(TypeError):
        config.groups["rovers"] = Group()  # type: ignore[index]  # that it is read-only is the claim
