"""Chapar's tables, against counting."""

from __future__ import annotations

import math

import pytest

from chapar_audit.models import table
from chapar_audit.models.conditions import ImpossibleInputError


def test_the_fmt_of_the_report_has_1500_bytes() -> None:
    """100 filters of five 16-bit elements among 40 nodes."""
    assert table.fmt_bits(100, 40, 5, 16) / 8 == 1500


@pytest.mark.parametrize("bits", [1, 2, 3, 5])
def test_false_matches_are_counted(bits: int) -> None:
    """Over all pairs of elements."""
    values = range(2**bits)
    pairs = [(a, b) for a in values for b in values]
    false = [(a, b) for a, b in pairs if a & b == a != b and a != 0]
    assert table.false_match(bits) == pytest.approx(len(false) / len(pairs))
    specified = [(a, b) for a, b in pairs if b != a != 0]
    assert table.false_match_of_specified(bits) == pytest.approx(len(false) / len(specified))
    equal = sum(a == b for a, b in pairs)
    assert table.equality_false_match(bits) == pytest.approx(equal / len(pairs))


def test_the_numbers_of_16_bits() -> None:
    """A hundredth for the & test, 1.5 in 100 000 with equality."""
    assert round(table.false_match(16), 5) == 0.00999
    assert table.equality_false_match(16) == pytest.approx(1.5e-5, rel=0.02)


def test_the_best_bloom_filter_has_ln_2_times_the_ratio() -> None:
    """More or fewer hash functions are worse."""
    k = table.bloom_best_k(8)
    assert k == pytest.approx(8 * math.log(2))
    rates = [table.bloom_false_positive(8, each) for each in range(1, 12)]
    assert 1 + rates.index(min(rates)) in {math.floor(k), math.ceil(k)}


def test_impossible_tables_are_refused() -> None:
    """Negative counts, no bits, no hash functions."""
    with pytest.raises(ImpossibleInputError, match="nodes"):
        table.fmt_bits(1, -1, 1, 1)
    for bits in (0, 513):
        with pytest.raises(ImpossibleInputError, match="bits"):
            table.false_match(bits)
    with pytest.raises(ImpossibleInputError, match="elements"):
        table.false_match_of_specified(8, 0)
    with pytest.raises(ImpossibleInputError, match="ratio"):
        table.bloom_false_positive(0, 5)
    with pytest.raises(ImpossibleInputError, match="hash function"):
        table.bloom_false_positive(8, 0)


def test_a_search_visits_half_of_the_table_and_a_scan_all_of_it() -> None:
    """Against counting: each filter is looked for once."""
    filters, elements = 7, 5
    steps = [elements * place for place in range(1, filters + 1)]
    assert table.search_steps(filters, elements) == pytest.approx(sum(steps) / filters)
    assert table.scan_steps(filters, elements) == max(steps)
