"""When the links of one broker begin and end.

A link is there while both ends are in contact and have agreed on its beginning. Nothing said over it before counts
after, so that both ends know what the other has been told. The rules:

- Each end numbers its beginnings. MEET says the sender's number, and which of the other's it answers.
- An end that finds its neighbour, or finds it again, sends MEET and waits, asking again after a while. What comes over
  the link meanwhile is of an earlier life, and void.
- A MEET begins the link at its receiver, unless it has begun there and this is the answer. It is answered if it is
  none, or one to another number. Frames stay in order, so what either end says after its MEET comes to an end for which
  the link has begun.
- A link ends at an end that loses contact, or whose frames come back unconfirmed. That end's next beginning has another
  number, and the other end, which may not have noticed, begins anew with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.wire import Meet

COUNTER_BITS = 24
"""Beginnings of one incarnation; the numbers of the next lie above them."""


@dataclass(slots=True)
class _Side:
    number: int
    theirs: int = 0
    is_up: bool = False
    ask_at: float = inf
    """When to send MEET again."""


class Meetings:
    """The links of one broker, by the neighbour at the other end."""

    def __init__(self, neighbours: Iterable[int], incarnation: int, patience: float) -> None:
        """`patience`: how long to wait for an answer."""
        self._sides = {each: _Side((incarnation << COUNTER_BITS) + 1) for each in neighbours}
        self._patience = patience

    def is_up(self, neighbour: int) -> bool:
        return self._sides[neighbour].is_up

    def number(self, neighbour: int) -> int:
        return self._sides[neighbour].number

    def theirs(self, neighbour: int) -> int:
        """The other end's number; 0 while the link is not up."""
        side = self._sides[neighbour]
        return side.theirs if side.is_up else 0

    def found(self, neighbour: int, now: float) -> bool:
        """The neighbour is in contact; whether to send it MEET now."""
        side = self._sides[neighbour]
        if side.is_up or (side.ask_at < inf and now < side.ask_at):
            return False
        side.ask_at = now + self._patience
        return True

    def lost(self, neighbour: int) -> None:
        """The link has ended at this end, or was about to begin."""
        side = self._sides[neighbour]
        if side.is_up or side.ask_at < inf:
            side.number += 1
        side.is_up, side.ask_at = False, inf

    def on_meet(self, meet: Meet) -> tuple[bool, bool]:
        """Whether the link begins with this MEET, and whether to answer it."""
        side = self._sides[meet.sender]
        begins = not side.is_up or meet.number != side.theirs or not meet.answer
        side.theirs, side.is_up, side.ask_at = meet.number, True, inf
        return begins, meet.answer != side.number

    def due(self, now: float) -> list[int]:
        """The neighbours to ask again."""
        return [neighbour for neighbour, side in self._sides.items() if side.ask_at <= now]

    def next_deadline(self) -> float:
        return min((side.ask_at for side in self._sides.values()), default=inf)
