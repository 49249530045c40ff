"""What was lost, by name."""

from __future__ import annotations

from chapar.event import event_id
from chapard.core.effects import Drop, Loss, Reason
from chapard.core.nodevector import NodeVector
from chapard.ledger import MOST_KEPT, Entry, Ledger

EVENT = event_id(1, 2, 3)
HOMES = NodeVector.of([4, 7], 16)


def test_losses_are_kept_newest_first() -> None:
    """Of a drop, the node itself is the home that does not get the event."""
    ledger = Ledger(9)
    ledger.note(Loss(EVENT, HOMES, Reason.NO_ROUTE), 10.0)
    ledger.note(Drop(Reason.QUEUE_FULL, None, "rover", EVENT), 11.0)
    assert list(ledger.latest()) == [
        (2, Entry(11.0, EVENT, (9,), "queue_full", "rover")),
        (1, Entry(10.0, EVENT, (4, 7), "no_route", None)),
    ]


def test_what_names_no_event_or_loses_none_is_not_kept() -> None:
    """The counters have it."""
    ledger = Ledger(9)
    ledger.note(Drop(Reason.STALE, 3, None, None), 10.0)
    ledger.note(Drop(Reason.DUPLICATE, 3, None, EVENT), 10.0)
    ledger.note(Drop(Reason.LOOP, 3, None, EVENT), 10.0)
    assert (len(ledger), ledger.total, list(ledger.latest())) == (0, 0, [])


def test_the_oldest_make_room() -> None:
    """However many there were, so many are kept, and the numbers go on."""
    ledger = Ledger(9)
    for second in range(MOST_KEPT + 5):
        ledger.note(Loss(EVENT, HOMES, Reason.EXPIRED), float(second))
    kept = list(ledger.latest())
    assert len(kept) == len(ledger) == MOST_KEPT
    assert kept[0][0] == ledger.total == MOST_KEPT + 5
    assert kept[-1] == (6, Entry(5.0, EVENT, (4, 7), "expired", None))
