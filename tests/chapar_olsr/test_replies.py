"""Lists in JSON from a daemon that nobody trusts."""

from __future__ import annotations

import pytest

from chapar_olsr.faults import Fault, Faults
from chapar_olsr.replies import LONGEST_QUOTE, entries_untrusted, quoted
from chapar_olsr.source import SourceError


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", Fault.SYNTAX),
        (b"Error, unknown command\n", Fault.SYNTAX),
        (b'{"routes": [', Fault.SYNTAX),
        (b"\xff\xfe", Fault.SYNTAX),
        (b'{"routes": "\xff"}', Fault.SYNTAX),
        (b"[" * 100_000, Fault.SYNTAX),
        (b'{"routes":' * 100_000, Fault.SYNTAX),
        (b'{"routes": [{"metric": ' + b"9" * 5000 + b"}]}", Fault.SYNTAX),
        (b"[]", Fault.MISSING),
        (b"null", Fault.MISSING),
        (b"{}", Fault.MISSING),
        (b'{"error": "no such table"}', Fault.MISSING),
        (b'{"routes": {}}', Fault.MISSING),
    ],
)
def test_an_answer_that_is_none_is_one_error(body: bytes, fault: Fault) -> None:
    """It says what was no answer, in one line, and counts as what it is."""
    faults = Faults()
    with pytest.raises(SourceError, match=r"the reply is no JSON|the reply has no list") as refused:
        entries_untrusted(body, "routes", "the reply", faults)
    assert refused.value.fault is fault
    assert "\n" not in str(refused.value)
    assert not faults.counts


def test_what_is_no_entry_is_counted() -> None:
    """The others stand."""
    faults = Faults()
    body = b'{"pid": 1, "routes": [{"metric": 1}, 7, null, [], {}]}'
    assert entries_untrusted(body, "routes", "the reply", faults) == [{"metric": 1}, {}]
    assert faults.counts == {Fault.BAD_VALUE: 3}


def test_a_bad_value_is_repeated_shortly_and_in_one_line() -> None:
    """Whatever it is."""
    assert quoted(None) == "None"
    assert quoted("a\n\tb") == "a b"
    assert quoted("x" * 1000) == "x" * LONGEST_QUOTE + "…"
