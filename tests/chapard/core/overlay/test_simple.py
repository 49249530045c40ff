"""Simple routing: equal filters of several subscribers are several interests."""

from __future__ import annotations

from chapar.filter import Filter
from chapard.core.overlay.interest import Delta, Interest, Subscriber
from chapard.core.overlay.simple import Simple


def test_each_subscriber_is_told_and_withdrawn_for_itself() -> None:
    one, other = (Interest(Filter(subject="f"), Subscriber(1, name)) for name in ("a", "b"))
    simple = Simple()
    assert simple.gained(one) == Delta(new=(one,))
    assert simple.gained(other) == Delta(new=(other,))
    assert simple.lost(one) == Delta(gone=(one,))
    assert list(simple.sent) == [other]
