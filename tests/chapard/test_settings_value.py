"""Single values: what each reader takes, and the words with which it refuses the rest."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chapar.endpoint import Endpoint
from chapard import settings_value as value
from chapard.core.config import QueuePolicy

if TYPE_CHECKING:
    from chapard.settings_value import Reader

WHOLE = partial(value.whole, low=1, high=9)
TEXTS = partial(value.items, read=value.text, what="names")
LEVEL = partial(value.choice, options=("debug", "info"))
POLICY = partial(value.member, kind=QueuePolicy)
MAP = partial(value.by_address, read=WHOLE)


@pytest.mark.parametrize(
    ("read", "given", "wanted"),
    [
        (value.text, "x", "x"),
        (value.flag, False, False),
        (WHOLE, 9, 9),
        (value.whole, 2**62, 2**62),
        (value.number, 3, 3.0),
        (value.number, 0.5, 0.5),
        (LEVEL, "info", "info"),
        (POLICY, "refuse", QueuePolicy.REFUSE),
        (TEXTS, ["a", "b"], ("a", "b")),
        (TEXTS, [], ()),
        (value.path, "/var/lib/x", Path("/var/lib/x")),
        (value.path, "~nobody-of-that-name/x", Path("~nobody-of-that-name/x")),
        (value.address, "FD66::7", "fd66::7"),
        (value.prefix, "10.66.0.7/24", "10.66.0.0/24"),
        (MAP, {"10.66.0.7": 7}, {"10.66.0.7": 7}),
        (value.interface, "wlan0.12", "wlan0.12"),
        (value.endpoint, "127.0.0.1:0", Endpoint("127.0.0.1", 0)),
        (value.endpoint, "[::1]:7700", Endpoint("::1", 7700)),
        (value.endpoint, "[fe80::1%wlan0]:7700", Endpoint("fe80::1%wlan0", 7700)),
        (value.endpoint, "localhost:7700", Endpoint("localhost", 7700)),
        (value.optional_endpoint, "", None),
        (value.optional_endpoint, "127.0.0.1:80", Endpoint("127.0.0.1", 80)),
        (value.server, "", ""),
        (value.server, "/run/babeld.sock", "/run/babeld.sock"),
        (value.server, "[0::1]:33123", "[0::1]:33123"),
    ],
)
def test_what_fits_is_taken(read: Reader, given: object, wanted: object) -> None:
    """A good value comes out as the type the daemon uses."""
    found = read(given)
    assert found == wanted
    assert type(found) is type(wanted) or isinstance(wanted, dict)


@pytest.mark.parametrize(
    ("read", "given", "complaint"),
    [
        (value.text, 7, "want text in quotes, got 7"),
        (value.text, "", 'want text in quotes, got ""'),
        (value.flag, "yes", 'want true or false, got "yes"'),
        (value.flag, 1, "want true or false, got 1"),
        (WHOLE, 10, "want a whole number from 1 to 9, got 10"),
        (WHOLE, True, "want a whole number from 1 to 9, got true"),
        (WHOLE, 2.0, "want a whole number from 1 to 9, got 2.0"),
        (value.whole, -1, "want a whole number from 0, got -1"),
        (value.whole, 2**62 + 1, f"want a whole number from 0, got {2**62 + 1}"),
        pytest.param(value.whole, 16**9000, "want a whole number from 0, got a number that is far too long", id="long"),
        (value.number, float("nan"), "want a number from 0, got NaN"),
        (value.number, float("inf"), "want a number from 0, got Infinity"),
        (value.number, -0.1, "want a number from 0, got -0.1"),
        pytest.param(value.number, 10**400, "want a number from 0, got 1000", id="beyond floats"),
        (value.number, "5s", 'want a number from 0, got "5s"'),
        (LEVEL, "loud", 'want "debug" or "info", got "loud"'),
        (LEVEL, ["info"], 'want "debug" or "info", got ["info"]'),
        (POLICY, "oldst", 'want "oldest" or "newest" or "refuse", got "oldst"'),
        (TEXTS, "a", 'want a list of names in square brackets, got "a"'),
        (TEXTS, ["a", 3], "want text in quotes, got 3"),
        (TEXTS, ["a", "a"], 'want each of the names once, got ["a", "a"]'),
        (value.path, "", 'want the name of a file or directory in quotes, got ""'),
        (value.path, "a\0b", r'want the name of a file or directory in quotes, got "a\u0000b"'),
        (value.address, "10.66.0", 'want an IPv4 or IPv6 address in quotes, got "10.66.0"'),
        (value.address, 10.66, "want text in quotes, got 10.66"),
        (value.prefix, "10.66.0.0/40", 'want a prefix such as "10.66.0.0/24" or "fd66::/120", got "10.66.0.0/40"'),
        (MAP, [], 'want a table of "address" = index, got []'),
        (MAP, {"rover": 7}, 'want an IPv4 or IPv6 address in quotes, got "rover"'),
        (MAP, {"::1": 1, "0::1": 2}, 'want each address once, got {"::1": 1, "0::1": 2}'),
        (value.interface, "a name that is long", 'want the name of an interface such as "wlan0", got'),
        (value.interface, "", 'want the name of an interface such as "wlan0", got ""'),
        (value.endpoint, 7700, 'want "host:port", got 7700'),
        (value.endpoint, "127.0.0.1", 'want "host:port", got "127.0.0.1"'),
        (value.endpoint, ":7700", 'want "host:port", got ":7700"'),
        (value.endpoint, "127.0.0.1:70000", 'want "host:port", got "127.0.0.1:70000"'),
        (value.endpoint, "127.0.0.1:٣", 'want "host:port", got "127.0.0.1:٣"'),
        (value.endpoint, "999.0.0.1:7700", 'want "host:port", got "999.0.0.1:7700"'),
        (value.endpoint, "::1:7700", 'want "[host]:port" with an IPv6 host in brackets, got "::1:7700"'),
        (value.optional_endpoint, False, 'want "host:port", or "" for none, got false'),
        (value.server, 9090, 'want "host:port", or the path of a socket, or "", got 9090'),
        (value.server, "run/babeld", 'want "host:port", got "run/babeld"'),
        (value.text, date(2026, 1, 2), 'want text in quotes, got "2026-01-02"'),
    ],
)
def test_what_does_not_fit_is_refused_in_words(read: Reader, given: object, complaint: str) -> None:
    """Each refusal says what is wanted and repeats what was given, on one line."""
    with pytest.raises(value.ValueFault) as caught:
        read(given)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_a_long_value_is_not_repeated_in_full() -> None:
    """The operator's screen is not flooded, and a line break does not break the line."""
    assert value.shown("x" * 1000) == f'"{"x" * (value.SHOWN - 1)}…'
    assert value.shown("two\nlines") == r'"two\nlines"'


def test_a_strange_key_is_shown_in_quotes() -> None:
    """A name of letters stands as it is; anything else as TOML would write it."""
    assert value.key_shown("beacon_min") == "beacon_min"
    assert value.key_shown("two\nlines") == r'"two\nlines"'
