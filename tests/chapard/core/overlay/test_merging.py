"""Merging-based routing: what was gathered goes as one, and the merger goes with the last of its parts."""

from __future__ import annotations

from chapar.filter import Filter
from chapard.core.overlay.interest import NOTHING, Delta, Interest
from chapard.core.overlay.merging import Merging, widest

F, G, H = (Interest(Filter(subject=name)) for name in "fgh")
FG, FGH = (Interest(Filter.parse(f"subject in ({names})")) for names in ('"f", "g"', '"f", "g", "h"'))
WIDE, NARROW = Interest(Filter.parse("x > 1")), Interest(Filter.parse("x > 2"))
NEVER = Interest(Filter.parse("x < 1 and x > 2"))


def gathered(*interests: Interest) -> Merging:
    merging = Merging()
    for each in interests:
        assert merging.gained(each) == NOTHING
    merging.settle()
    return merging


def test_what_is_new_waits_and_goes_as_one() -> None:
    merging = Merging()
    assert merging.gained(F) == NOTHING
    assert merging.gained(G) == NOTHING
    assert merging.unsettled
    assert F in merging
    assert not merging.sent
    assert merging.settle() == Delta(new=(FG,))
    assert merging.settle() == NOTHING
    assert not Merging().unsettled
    assert not gathered(F, G).unsettled


def test_a_wider_merger_takes_the_place_of_a_narrower() -> None:
    merging = gathered(F, G)
    merging.gained(H)
    assert merging.settle() == Delta(new=(FGH,), gone=(FG,))


def test_a_merger_stands_while_a_part_remains_and_is_then_made_again() -> None:
    merging = gathered(F, G, H)
    assert merging.lost(H) == NOTHING
    assert list(merging.sent) == [FGH]
    assert merging.unsettled
    assert merging.settle() == Delta(new=(FG,), gone=(FGH,))


def test_a_merger_goes_at_once_with_its_last_part() -> None:
    merging = gathered(F, G, WIDE)
    merging.lost(F)
    assert merging.lost(G) == Delta(gone=(FG,))
    assert list(merging.sent) == [WIDE]


def test_what_is_covered_is_not_sent() -> None:
    """As with covering; what no event matches is covered by anything."""
    merging = gathered(WIDE, NARROW, NEVER)
    assert list(merging.sent) == [WIDE]
    assert merging.lost(WIDE) == NOTHING, "its events are still wanted in part"
    assert merging.settle() == Delta(new=(NARROW,), gone=(WIDE,))


def test_the_widest_are_the_same_in_any_order() -> None:
    five, five_too = (Interest(Filter.parse(text)) for text in ("x = 5", "x >= 5 and x <= 5"))
    for each in ([five, five_too, NARROW, WIDE], [WIDE, NARROW, five_too, five]):
        assert list(widest(each)) == [WIDE]
    assert list(widest([five, five_too])) == list(widest([five_too, five]))
