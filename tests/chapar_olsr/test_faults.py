"""What is wrong with what a source says."""

from __future__ import annotations

from chapar_olsr.faults import LONGEST_DETAIL, TOLD_EVERY, Fault, Faults


def test_each_kind_is_told_once_per_interval_with_its_count() -> None:
    """However often it happens; another kind is told beside it."""
    faults = Faults()
    for number in range(1000):
        faults.add(Fault.SYNTAX, f"line {number}")
    assert faults.news(0.0) == [(Fault.SYNTAX, 1000, "line 999")]
    faults.add(Fault.SYNTAX, "again")
    faults.add(Fault.LOOP, "round and round")
    assert faults.news(1.0) == [(Fault.LOOP, 1, "round and round")]
    assert faults.news(TOLD_EVERY) == [(Fault.SYNTAX, 1001, "again")]
    assert faults.news(9 * TOLD_EVERY) == []


def test_a_detail_is_short() -> None:
    """Whoever sends us megabytes fills neither memory nor log with them."""
    faults = Faults()
    faults.add(Fault.OUTSIDE_PREFIX, "9" * 1_000_000)
    ((_, _, detail),) = faults.news(0.0)
    assert len(detail) <= LONGEST_DETAIL + 1


def test_the_names_are_values_of_a_metric() -> None:
    """Small words without spaces."""
    assert all(each.value.replace("_", "").isalpha() and each.islower() for each in Fault)
