"""Forwarding of interest: what each routing algorithm sends over one link.

An algorithm is told of each interest that begins to stand elsewhere than behind its link, or no longer stands there.
It keeps what it has sent, and answers with what to send and what to withdraw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

from chapard.core.overlay.interest import NOTHING, Delta

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from chapard.core.overlay.interest import Interest


class Forwarding(Protocol):
    """One routing algorithm on one link."""

    @property
    def sent(self) -> Mapping[Interest, None]:
        """What was sent and not withdrawn, in the order in which it was."""

    @property
    def unsettled(self) -> bool:
        """Whether `settle` may have something to send."""

    def __contains__(self, interest: Interest) -> bool:
        """Whether the algorithm has been told that the interest stands, and may have sent it or something for it."""

    def __len__(self) -> int:
        """How many it has been told of so."""

    def gained(self, interest: Interest) -> Delta:
        """The interest begins to stand elsewhere."""

    def lost(self, interest: Interest) -> Delta:
        """The interest, which the algorithm knows, stands nowhere else any more."""

    def settle(self) -> Delta:
        """What was gathered has waited long enough."""

    def refreshed(self) -> Iterable[Interest]:
        """A period begins: what of that which was sent is sent again."""

    def afresh(self) -> Forwarding:
        """The same algorithm, told of nothing."""


class Plain:
    """An algorithm that has nothing but what it was told, and sends it again in every period."""

    sent: Mapping[Interest, None]

    def refreshed(self) -> Iterable[Interest]:
        return self.sent

    def afresh(self) -> Self:
        return type(self)()


class Prompt(Plain):
    """One that gathers nothing, too."""

    unsettled = False

    def settle(self) -> Delta:
        return NOTHING


def is_told_of(forwarding: Forwarding, standing: Collection[Interest]) -> bool:
    """Whether the algorithm knows of just these, so that what it has sent is right for them."""
    return len(forwarding) == len(standing) and all(each in forwarding for each in standing)


def corrected(sent: Mapping[Interest, None], fresh: Forwarding, standing: Iterable[Interest]) -> Delta:
    """Fill a fresh algorithm with what stands, and return what that changes in what was sent.

    What was sent comes first, so that of two filters that cover each other the one already sent stays.
    """
    for interest in sorted(standing, key=lambda each: each not in sent):
        fresh.gained(interest)
    fresh.settle()
    new = tuple(each for each in fresh.sent if each not in sent)
    gone = tuple(each for each in sent if each not in fresh.sent)
    return Delta(new, gone)
