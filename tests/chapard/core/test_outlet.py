"""The outlet keeps effects in order and counts what did not go on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chapar.event import event_id
from chapard.core.effects import Drop, Loss, Reason, Transmit
from chapard.core.nodevector import NodeVector
from chapard.core.outlet import Outlet

reasons = st.sampled_from(list(Reason))
acts = st.lists(
    st.one_of(
        st.tuples(st.just("emit"), st.binary(max_size=4)),
        st.tuples(st.just("drop"), reasons),
        st.tuples(st.just("lose"), reasons),
        st.just(("drain", b"")),
    )
)
LOST = event_id(3, 1, 9)
HOMES = NodeVector.of([2, 5], 8)


@given(acts)
def test_effects_leave_once_in_order_and_every_drop_and_loss_is_counted(acts: list[tuple[str, Reason | bytes]]) -> None:
    """Draining gives what was emitted since the last drain; drops and losses are counted since the start, by reason."""
    outlet = Outlet()
    expected: list[object] = []
    drained: list[object] = []
    for kind, what in acts:
        if isinstance(what, Reason):
            if kind == "drop":
                outlet.drop(what, peer=4, client="c", event_id=LOST)
                expected.append(Drop(what, 4, "c", LOST))
            else:
                outlet.lose(LOST, HOMES, what, "c")
                expected.append(Loss(LOST, HOMES, what, "c"))
        elif kind == "emit":
            outlet.emit(Transmit(None, what))
            expected.append(Transmit(None, what))
        else:
            drained += outlet.drain()
            assert drained == expected
    drained += outlet.drain()
    assert drained == expected
    assert outlet.drain() == []
    for reason in Reason:
        assert outlet.drops[reason] == acts.count(("drop", reason))
        assert outlet.losses[reason] == acts.count(("lose", reason))


def test_nobody_lost_is_no_loss() -> None:
    """An empty vector of homes is neither recorded nor counted."""
    outlet = Outlet()
    outlet.lose(LOST, NodeVector.empty(8), Reason.EXPIRED)
    assert outlet.drain() == []
    assert not outlet.losses
