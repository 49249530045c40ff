"""What people type at the command line, read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapar.cli.notation import NotationError, attribute, attribute_value, duration, http_endpoint
from chapar.endpoint import Endpoint
from chapar.filter_text import value_text
from strategies.values import names, values

if TYPE_CHECKING:
    from chapar.value import Value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("21", 21),
        ("+21", 21),
        ("0021", 21),
        ("-5", -5),
        ("21.5", 21.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("lab", "lab"),
        ("", ""),
        ("two words", "two words"),
        ("21 C", "21 C"),
        ("nan", "nan"),
        ('"21"', "21"),
        ("'true'", "true"),
        ('"a\\nb"', "a\nb"),
        ('"', '"'),
        ("'tis", "'tis"),
        ("a=b", "a=b"),
    ],
)
def test_a_value_is_what_it_reads_like(text: str, value: Value) -> None:
    """Numbers and booleans are recognised, quotes make a string of anything, the rest is text."""
    read = attribute_value(text)
    assert (read, type(read)) == (value, type(value))


@given(values)
def test_every_value_that_the_filter_language_writes_is_read(value: Value) -> None:
    """So does `chapar sub` print them: what was printed can be published again."""
    read = attribute_value(value_text(value))
    assert (read, type(read)) == (value, type(value))


@given(names, values)
def test_an_attribute_is_a_name_and_a_value(name: str, value: Value) -> None:
    """The first = separates them."""
    assert attribute(f"{name}={value_text(value)}") == (name, value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("celsius", "write NAME=VALUE"),
        ("=3", "is no attribute name"),
        ("a b=3", "is no attribute name"),
        ("subject=3", "header element"),
        ("and=3", "word of the filter language"),
        ("n=99999999999999999999", "does not fit into 64 bits"),
        (f"n={'9' * 5000}", "does not fit into 64 bits"),
        ("n=1e999", "numbers are finite"),
        ('s="a" and x = "b"', "for a quote within quotes"),
        ('s="\\q"', "is no escape"),
        (f"s={'a' * 1025}", "longer than 1024"),
        ("s=\udcff", "lone surrogate"),
    ],
)
def test_a_wrong_attribute_says_what_to_write(text: str, complaint: str) -> None:
    """A number that cannot be is no text, whatever it looks like; nothing is published that was not meant."""
    with pytest.raises(NotationError, match=complaint) as raised:
        attribute(text)
    assert "column" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("60s", 60), ("5m", 300), ("5min", 300), ("2h", 7200), ("1d", 86_400), ("7", 7), ("1.5 h", 5400)],
)
def test_a_length_of_time_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    """All the units that people use."""
    assert duration(text) == pytest.approx(seconds)


@given(st.text(max_size=6))
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    """Nothing else than the one error, and never a negative time."""
    try:
        assert duration(text) >= 0
    except NotationError as error:
        assert "write 500ms" in str(error)  # noqa: PT017 - most texts raise, some do not


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("10.0.0.1:7700", Endpoint("10.0.0.1", 7700)),
        ("10.0.0.1", Endpoint("10.0.0.1", 7780)),
        ("[::1]:80", Endpoint("::1", 80)),
        ("[fe80::1%wlan0]", Endpoint("fe80::1%wlan0", 7780)),
        ("node-7.mesh:99", Endpoint("node-7.mesh", 99)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, read: Endpoint) -> None:
    """The port may be left out; an IPv6 address has brackets, with and without a zone."""
    assert http_endpoint(text) == read
    assert http_endpoint(str(read)) == read


@pytest.mark.parametrize("text", ["", ":", "::1", "host:", "host:0", "host:65536", "host:x", "http://host:1", "a b:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    """The complaint shows one of each family."""
    with pytest.raises(NotationError, match=r"127\.0\.0\.1:7780, .*\[::1\]:7780"):
        http_endpoint(text)
