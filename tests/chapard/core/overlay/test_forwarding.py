"""What was sent is made right from what stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chapar.filter import Filter
from chapard.core.overlay.covering import Covering
from chapard.core.overlay.forwarding import corrected, is_told_of
from chapard.core.overlay.identity import Identity
from chapard.core.overlay.interest import Delta, Interest
from chapard.core.overlay.merging import Merging

if TYPE_CHECKING:
    from collections.abc import Callable

    from chapard.core.overlay.forwarding import Forwarding

F, G, H = (Interest(Filter(subject=name)) for name in "fgh")
FIVE, FIVE_TOO = (Interest(Filter.parse(text)) for text in ("x = 5", "x >= 5 and x <= 5"))


def test_what_is_missing_is_sent_and_what_does_not_stand_is_withdrawn() -> None:
    assert corrected(dict.fromkeys([F, G]), Identity(), [G, H]) == Delta(new=(H,), gone=(F,))
    assert corrected(dict.fromkeys([F, G]), Identity(), [G, F]) == Delta()


def test_of_two_that_cover_each_other_the_one_already_sent_stays() -> None:
    """Otherwise they could take turns with every period."""
    for sent, other in ((FIVE, FIVE_TOO), (FIVE_TOO, FIVE)):
        for standing in ([sent, other], [other, sent]):
            assert corrected({sent: None}, Covering(), standing) == Delta()


def test_gathered_filters_are_settled() -> None:
    """A correction does not wait for the end of a gathering."""
    union = Interest(Filter.parse('subject in ("f", "g")'))
    assert corrected({F: None}, Merging(), [F, G]) == Delta(new=(union,), gone=(F,))


@pytest.mark.parametrize("algorithm", [Identity, Covering, Merging])
def test_what_stands_is_known_or_not(algorithm: Callable[[], Forwarding]) -> None:
    """Sent or hidden, it is known; one too few or too many is not right."""
    forwarding = algorithm()
    for each in (F, FIVE, FIVE_TOO):
        forwarding.gained(each)
    assert is_told_of(forwarding, [FIVE_TOO, F, FIVE])
    assert not is_told_of(forwarding, [F, FIVE])
    assert not is_told_of(forwarding, [F, FIVE, G])
    assert not is_told_of(forwarding, [F, FIVE, FIVE_TOO, G])
