"""Tables whose entries are believed for a time."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from chapar_olsr.agent.expiring import Expiring


def table(limit: int = 10) -> Expiring[str, int]:
    return Expiring(limit)


def test_an_entry_stands_until_its_time() -> None:
    """And not at it."""
    known = table()
    known.put("a", 1, until=5.0)
    assert known.expire(4.9) == []
    assert known.get("a") == 1
    assert known.expire(5.0) == ["a"]
    assert known.get("a") is None
    assert known.deadline == inf


def test_a_renewed_entry_stands_longer() -> None:
    """The first time it was given no longer counts."""
    known = table()
    known.put("a", 1, until=5.0)
    known.put("a", 1, until=9.0)
    assert known.expire(6.0) == []
    assert known.until("a") == 9.0
    assert known.deadline == 9.0


def test_only_what_differs_is_news() -> None:
    """A renewal is none."""
    known = table()
    assert known.put("a", 1, 5.0) is True
    assert known.put("a", 1, 6.0) is False
    assert known.put("a", 2, 6.0) is True


def test_a_full_table_takes_no_more_but_renews_what_it_has() -> None:
    """And says so."""
    known = table(limit=2)
    known.put("a", 1, 5.0)
    known.put("b", 1, 5.0)
    assert known.put("c", 1, 5.0) is None
    assert known.put("a", 3, 6.0) is True
    assert sorted(known) == ["a", "b"]
    assert known.remove(["a", "x"])
    assert not known.remove(["x"])
    assert known.put("c", 1, 5.0) is True


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), max_size=40), st.integers(0, 25))
def test_no_entry_outlives_its_time_and_the_deadline_is_never_late(puts: list[tuple[int, int]], now: int) -> None:
    """Whatever was put in whatever order, `expire` leaves exactly what is still believed."""
    known: Expiring[int, None] = Expiring(100)
    truth: dict[int, float] = {}
    for key, until in puts:
        known.put(key, None, until)
        truth[key] = until
    assert known.deadline <= min(truth.values(), default=inf)
    gone = known.expire(now)
    assert sorted(gone) == sorted(key for key, until in truth.items() if until <= now)
    assert set(known) == {key for key, until in truth.items() if until > now}
    assert known.deadline <= min((until for until in truth.values() if until > now), default=inf)
