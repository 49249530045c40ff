"""What survives a restart: written key by key, read back by prefix."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapard.core.effects import Save, Settle
from chapard.core.outlet import Outlet
from chapard.core.store import Store, saved_under

parts = st.text("ab-_.é ", min_size=1, max_size=3)
values = st.lists(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary(max_size=5) | st.text("xé"),
    max_size=4,
)
keys = st.tuples(st.sampled_from(["queue", "session", "taken"]), parts, parts).map("/".join)


@given(st.lists(st.tuples(keys, st.none() | values), max_size=30))
def test_what_was_put_and_not_forgotten_is_read_back_in_order(acts: list[tuple[str, list[object] | None]]) -> None:
    """Applying the Save effects to a disk and reading it under a prefix gives the last values, in order of the keys."""
    outlet = Outlet()
    store = Store(outlet)
    expected: dict[str, list[object]] = {}
    for key, what in acts:
        if what is None:
            store.forget(key)
            expected.pop(key, None)
        else:
            store.put(key, *what)
            expected[key] = what
    disk: dict[str, bytes] = {}
    for effect in outlet.drain():
        assert isinstance(effect, Save)
        if effect.value is None:
            disk.pop(effect.key, None)
        else:
            disk[effect.key] = effect.value
    for prefix in ("queue/", "session/", "taken/"):
        read = list(saved_under(disk, prefix))
        wanted = [key for key in sorted(expected) if key.startswith(prefix)]
        assert [prefix + "/".join(names) for names, _ in read] == wanted
        assert [each for _, each in read] == [expected[key] for key in wanted]
        assert all(len(names) == 2 for names, _ in read)


def test_every_put_is_one_save() -> None:
    """The driver sees one Save for each key, in the order in which they were made."""
    outlet = Outlet()
    store = Store(outlet)
    store.put("home", 7)
    store.forget("home")
    assert outlet.drain() == [Save("home", b"\x91\x07"), Save("home", None)]


def test_what_is_marked_is_asked_about_once_at_the_end() -> None:
    """All marks between two drains are one number; who marks nothing is not told anything."""
    outlet = Outlet()
    store = Store(outlet)
    store.put("a", 1)
    assert store.mark() == store.mark() == 1
    store.put("b", 2)
    store.settle()
    assert outlet.drain()[-1] == Settle(1)
    store.put("c", 3)
    store.settle()
    assert len(outlet.drain()) == 1
    assert store.mark() == 2
