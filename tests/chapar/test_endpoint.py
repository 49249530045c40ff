"""Hosts and ports as people write them."""

from __future__ import annotations

import pytest

from chapar.endpoint import Endpoint
from chapar.errors import AddressError


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:7700", "127.0.0.1", 7700),
        ("rover.local:80", "rover.local", 80),
        ("rover", "rover", 7700),
        ("[::1]:9", "::1", 9),
        ("[fe80::1%eth0]", "fe80::1%eth0", 7700),
    ],
)
def test_an_address_is_read_as_it_is_written(text: str, host: str, port: int) -> None:
    """With its port or without; what is printed can be read again."""
    address = Endpoint.parse(text, 7700)
    assert address == (host, port)
    assert Endpoint.parse(str(address)) == address


@pytest.mark.parametrize("text", ["", ":7700", "host:", "host:0", "host:65536", "host:x", "::1", "::1:7700", "h:٣"])
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    """The message shows what was given and how it is written."""
    with pytest.raises(AddressError, match=r"write .*:7700"):
        Endpoint.parse(text, 7700)


def test_where_one_listens_the_port_is_named_and_may_be_left_to_the_system() -> None:
    """Without a default a port must be there; 0 is one."""
    assert Endpoint.parse("127.0.0.1:0") == ("127.0.0.1", 0)
    with pytest.raises(AddressError, match="host:port"):
        Endpoint.parse("127.0.0.1")
