"""Multipoint relay selection: the heuristic of RFC 3626, section 8.3.1, over plain neighbour sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def select_mprs(index: int, neighbours: Mapping[int, frozenset[int]]) -> frozenset[int]:
    """Choose relays among `neighbours`, each given with its own, that cover every two-hop neighbour of `index`.

    Ties go to the neighbour with the larger degree, then to the lower index, so that every node that knows the same
    neighbourhood chooses the same relays.
    """
    covers = {n: beyond - neighbours.keys() - {index} for n, beyond in neighbours.items()}
    uncovered = frozenset().union(*covers.values()) if covers else frozenset()
    chosen: set[int] = set()
    for two_hop in sorted(uncovered):
        only = [n for n in sorted(covers) if two_hop in covers[n]]
        if len(only) == 1:
            chosen.add(only[0])
    uncovered = uncovered.difference(*(covers[n] for n in chosen))
    while uncovered:
        best = max(covers, key=lambda n: (len(covers[n] & uncovered), len(neighbours[n]), -n))
        chosen.add(best)
        uncovered -= covers[best]
    return frozenset(chosen - _redundant(chosen, covers))


def _redundant(chosen: set[int], covers: Mapping[int, frozenset[int]]) -> set[int]:
    """Relays whose two-hop neighbours the others cover as well (step 5), the highest index dropped first."""
    kept = set(chosen)
    for relay in sorted(chosen, reverse=True):
        others = frozenset().union(*(covers[n] for n in kept if n != relay))
        if covers[relay] <= others:
            kept.discard(relay)
    return chosen - kept
