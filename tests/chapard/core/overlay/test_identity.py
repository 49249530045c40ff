"""Identity-based routing: each filter goes once, and is withdrawn once."""

from __future__ import annotations

from chapar.filter import Filter
from chapard.core.overlay.identity import Identity
from chapard.core.overlay.interest import Delta, Interest

WIDE, NARROW = Interest(Filter.parse("x > 1")), Interest(Filter.parse("x > 2"))


def test_what_begins_to_stand_is_sent_and_what_ends_is_withdrawn() -> None:
    """Whether filters cover each other plays no part."""
    identity = Identity()
    assert identity.gained(WIDE) == Delta(new=(WIDE,))
    assert identity.gained(NARROW) == Delta(new=(NARROW,))
    assert list(identity.sent) == [WIDE, NARROW]
    assert WIDE in identity
    assert identity.lost(WIDE) == Delta(gone=(WIDE,))
    assert WIDE not in identity
    assert list(identity.sent) == [NARROW]
