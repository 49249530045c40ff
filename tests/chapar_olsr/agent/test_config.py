"""The parameters of an agent."""

from __future__ import annotations

import pytest

from chapar_olsr.agent.config import AgentConfig, ConfigError


def test_the_defaults_are_the_rfcs() -> None:
    """RFC 3626, 18.2 and 18.3."""
    config = AgentConfig()
    assert (config.hello_interval, config.tc_interval, config.willingness) == (2.0, 5.0, 3)
    assert (config.neighbour_hold, config.topology_hold, config.mid_hold) == (6.0, 15.0, 15.0)
    assert config.max_jitter == 0.5


def test_a_packet_leaves_room_for_the_headers_of_ip_and_udp() -> None:
    """20 or 40 bytes of IP, 8 of UDP."""
    assert AgentConfig(mtu=1500).packet_bytes == 1472
    assert AgentConfig(mtu=1500, address_bytes=16).packet_bytes == 1452


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("address_bytes", 6),
        ("hello_interval", 0.0),
        ("hello_interval", float("nan")),
        ("tc_interval", 1e9),
        ("mid_interval", -1.0),
        ("willingness", 8),
        ("mtu", 100),
    ],
)
def test_what_cannot_work_is_refused_by_name(name: str, value: float) -> None:
    """One line that begins with the parameter."""
    with pytest.raises(ConfigError, match=f"^{name}: ") as refused:
        AgentConfig(**{name: value})  # type: ignore[arg-type]  # the point of the test
    assert "\n" not in str(refused.value)
