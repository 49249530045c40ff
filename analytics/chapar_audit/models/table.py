"""Chapar's tables: the size of the filter mapping table, false matches, and Bloom filters.

A. R. Khakpour and I. Demeure, Designing and Prototyping an Event-based Communication System on Mobile Ad Hoc Networks
(2008): sections 3.2.3, 3.2.4, 3.4.
"""

from __future__ import annotations

import math

from chapar_audit.models.conditions import above_zero, at_least, require


def fmt_bits(filters: int, nodes: int, elements: int, bits: int) -> int:
    """S = F (F_e + N) bits: a filter has so many elements of so many bits, and a bit for each node (3.27, 3.28)."""
    for name, value in (("filters", filters), ("nodes", nodes), ("elements", elements), ("bits", bits)):
        at_least(name, value)
    return filters * (elements * bits + nodes)


def search_steps(filters: int, elements: int) -> float:
    """Elements compared on average until a filter is found that lies around the middle of a table (3.4.5)."""
    for name, value in (("filters", filters), ("elements", elements)):
        at_least(name, value)
    return elements * (filters + 1) / 2


def scan_steps(filters: int, elements: int) -> float:
    """Elements compared where every filter of a table has to be looked at: an event may match several."""
    for name, value in (("filters", filters), ("elements", elements)):
        at_least(name, value)
    return float(elements * filters)


def false_match(bits: int) -> float:
    """P that a filter element A matches an event's element B falsely: A & B = A, A ≠ 0, A ≠ B, both uniform."""
    _check(bits)
    return float((3**bits - 2 ** (bits + 1) + 1) / 4**bits)


def false_match_of_specified(bits: int, elements: int = 1) -> float:
    """The same given that `elements` elements are specified (A ≠ 0) and all differ from the event's (A ≠ B)."""
    _check(bits)
    require(elements >= 1, f"elements = {elements}: must be a whole number from 1")
    return float((false_match(bits) / (1 - 2**-bits) ** 2) ** elements)


def equality_false_match(bits: int) -> float:
    """P that two different values have the same element, where elements are compared for equality."""
    _check(bits)
    return float(2.0**-bits)


def bloom_false_positive(ratio: float, k: int) -> float:
    """P that a Bloom filter of `ratio` = m/n bits per element with k hash functions claims what it does not hold."""
    above_zero("ratio", ratio)
    require(k >= 1, f"k = {k}: a Bloom filter has at least 1 hash function")
    return float((1 - math.exp(-k / ratio)) ** k)


def bloom_best_k(ratio: float) -> float:
    """The number of hash functions with the fewest false positives: (m/n) ln 2."""
    return above_zero("ratio", ratio) * math.log(2)


def _check(bits: int) -> None:
    require(1 <= bits <= 512, f"bits = {bits}: must be a whole number from 1 to 512")
