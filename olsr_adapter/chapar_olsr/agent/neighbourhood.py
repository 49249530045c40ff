"""The neighbourhood (RFC 3626, section 8): symmetric neighbours, theirs, whom we chose as relays and who chose us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chapar_olsr.agent.expiring import Expiring
from chapar_olsr.mpr import DEFAULT, select_mprs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_TWO_HOP: Final = 65_536
"""Pairs of a neighbour and one of its own: 256 neighbours with as many each."""
MAX_SELECTORS: Final = 512
"""As many as there are links."""


class Neighbourhood:
    """What one node knows of the nodes within two hops, by main address. `settle` after changes."""

    def __init__(self, main: int) -> None:
        self.near: frozenset[int] = frozenset()
        """Symmetric neighbours."""
        self.mprs: frozenset[int] = frozenset()
        self.willingness: dict[int, int] = {}
        self.is_changed = False
        """Whether who is near, or near them, has changed; for the reader to reset."""
        self._main = main
        self._two_hop: Expiring[tuple[int, int], float] = Expiring(MAX_TWO_HOP)
        """Cost of the link between a neighbour and one of its own."""
        self._selectors: Expiring[int, None] = Expiring(MAX_SELECTORS)
        self._grouped: dict[int, dict[int, float]] | None = None
        self._is_settled = True

    @property
    def selectors(self) -> frozenset[int]:
        """The neighbours that chose us."""
        return frozenset(self._selectors)

    def two_hop(self) -> Mapping[int, Mapping[int, float]]:
        """The symmetric neighbours of each of ours, with the cost of the link."""
        if self._grouped is None:
            grouped: dict[int, dict[int, float]] = {near: {} for near in sorted(self.near)}
            for (near, beyond), cost in self._two_hop.items():
                if near in grouped:
                    grouped[near][beyond] = cost
            self._grouped = grouped
        return self._grouped

    def declared(self, neighbour: int, willingness: int) -> None:
        """A HELLO says how willing a neighbour is."""
        self._changed(is_news=self.willingness.get(neighbour, DEFAULT) != willingness)
        self.willingness[neighbour] = willingness

    def reached(self, neighbour: int, beyond: Mapping[int, float], until: float) -> bool:
        """A symmetric neighbour names its own (8.2.1); whether there is room for all of them."""
        has_room = True
        for node, cost in beyond.items():
            if node != self._main:
                is_news = self._two_hop.put((neighbour, node), cost, until)
                self._changed(is_news=is_news is not False)
                has_room &= is_news is not None
        return has_room

    def lost_sight(self, neighbour: int, beyond: Iterable[int]) -> None:
        """A neighbour names nodes that are none of its neighbours any more."""
        self._changed(is_news=self._two_hop.remove((neighbour, node) for node in beyond))

    def selected_by(self, neighbour: int, until: float) -> None:
        """A neighbour says that it chose us (8.4.1)."""
        self._selectors.put(neighbour, None, until)

    def deselected_by(self, neighbour: int) -> None:
        """A neighbour names us and does not say so."""
        self._selectors.remove([neighbour])

    def settle(self, near: frozenset[int], now: float) -> None:
        """Take the symmetric neighbours of this moment (8.5), and choose relays if anything has changed."""
        self._selectors.expire(now)
        self._changed(is_news=bool(self._two_hop.expire(now)))
        if near != self.near:
            gone = self.near - near
            self.near = near
            self._changed(is_news=True)
            self._two_hop.remove([pair for pair in self._two_hop if pair[0] in gone])
            self._selectors.remove(gone)
            self.willingness = {each: will for each, will in self.willingness.items() if each not in gone}
        if not self._is_settled:
            self._is_settled = True
            reach = {neighbour: frozenset(beyond) for neighbour, beyond in self.two_hop().items()}
            self.mprs = select_mprs(self._main, reach, self.willingness)

    @property
    def deadline(self) -> float:
        return min(self._two_hop.deadline, self._selectors.deadline)

    def _changed(self, *, is_news: bool) -> None:
        if is_news:
            self._grouped = None
            self._is_settled = False
            self.is_changed = True
