"""Places as a person writes them."""

from __future__ import annotations

import pytest

from chapar_olsr.hostport import host_and_port


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:9090", ("127.0.0.1", 9090)),
        ("localhost:1", ("localhost", 1)),
        ("[::1]:33123", ("::1", 33123)),
        ("[fe80::1%wlan0]:65535", ("fe80::1%wlan0", 65535)),
    ],
)
def test_a_place_is_a_host_and_a_port(text: str, place: tuple[str, int]) -> None:
    """An IPv6 host stands in brackets."""
    assert host_and_port(text) == place


NONE = ["", ":", "9090", ":9090", "localhost", "localhost:", "[::1]", "::1", "::1:9090", "[]:9090"]
PORTS = ["port", "0", "65536", "-1", "+1", "٣", "9" * 5000]


@pytest.mark.parametrize("text", [*NONE, *(f"localhost:{port}" for port in PORTS)])
def test_all_else_is_none(text: str) -> None:
    """So is a port that nobody can ask."""
    assert host_and_port(text) is None
