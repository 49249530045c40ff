"""Multipoint relay selection: the heuristic of RFC 3626, section 8.3.1, over plain neighbour sets."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NEVER: Final = 0
DEFAULT: Final = 3
ALWAYS: Final = 7
"""Willingness to relay for others (RFC 3626, 18.8)."""
_ALL_ALIKE: Final[Mapping[int, int]] = MappingProxyType({})


def select_mprs(
    index: int, neighbours: Mapping[int, frozenset[int]], willingness: Mapping[int, int] = _ALL_ALIKE
) -> frozenset[int]:
    """Choose relays among `neighbours`, each given with its own, that cover every two-hop neighbour of `index`.

    Whoever is not in `willingness` has the usual one. Ties go to the neighbour with the larger degree, then to the
    lower index, so that every node that knows the same neighbourhood chooses the same relays.
    """
    will = {n: willingness.get(n, DEFAULT) for n in neighbours}
    covers = {n: beyond - neighbours.keys() - {index} for n, beyond in neighbours.items() if will[n] != NEVER}
    uncovered = frozenset().union(*covers.values()) if covers else frozenset()
    chosen = {n for n in covers if will[n] == ALWAYS}
    for two_hop in sorted(uncovered):
        only = [n for n in sorted(covers) if two_hop in covers[n]]
        if len(only) == 1:
            chosen.add(only[0])
    uncovered = uncovered.difference(*(covers[n] for n in chosen))
    while uncovered:
        useful = [n for n in covers if covers[n] & uncovered]
        best = max(useful, key=lambda n: (will[n], len(covers[n] & uncovered), len(covers[n]), -n))
        chosen.add(best)
        uncovered -= covers[best]
    return frozenset(chosen - _redundant(chosen, covers, will))


def _redundant(chosen: set[int], covers: Mapping[int, frozenset[int]], will: Mapping[int, int]) -> set[int]:
    """Relays whose two-hop neighbours the others cover as well (step 5), the least willing dropped first."""
    kept = set(chosen)
    for relay in sorted(chosen, key=lambda n: (will[n], -n)):
        others = frozenset().union(*(covers[n] for n in kept if n != relay))
        if will[relay] != ALWAYS and covers[relay] <= others:
            kept.discard(relay)
    return chosen - kept
