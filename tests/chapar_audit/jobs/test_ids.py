"""What filter ids tell: the same as the filters that they are of."""

from __future__ import annotations

from chapar.filter import Filter
from chapar_audit.jobs.ids import asks_for, class_of, element, is_plain, may_cover


def test_an_id_tells_the_subject_of_its_filter() -> None:
    """By its hash; one that asks for none may match any event."""
    position = Filter(subject="position").fid
    assert position.startswith(element("position"))
    assert asks_for(position, "position")
    assert not asks_for(position, "report")
    assert not asks_for(position, None)
    assert asks_for(Filter(where="speed > 3").fid, "report")
    assert asks_for(Filter(type="gps").fid, None)


def test_filters_of_a_class_ask_for_the_same_subject_and_type() -> None:
    """And those that ask for a subject and nothing else are plain."""
    plain, fast, typed = (
        Filter(subject="position"),
        Filter(subject="position", where="speed > 3"),
        Filter(subject="position", type="gps"),
    )
    assert class_of(plain.fid) == class_of(fast.fid) != class_of(typed.fid)
    assert [is_plain(each.fid) for each in (plain, fast, typed)] == [True, False, False]


def test_filters_for_different_subjects_cover_none_of_each_other() -> None:
    """Of one subject they may, and one for any subject may cover all."""
    one, other, narrow = Filter(subject="a").fid, Filter(subject="b").fid, Filter(subject="a", where="x > 1").fid
    assert not may_cover([one, other])
    assert not may_cover([Filter(where="x > 1").fid])
    assert may_cover([one, other, narrow])
    assert may_cover([one, Filter(where="x > 1").fid])
