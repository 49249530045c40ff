"""The columns of the datasets, as data."""

from chapar_audit.schema import DATASETS, OF_THE_MEDIUM, TYPES


def test_every_dataset_is_dated_and_typed() -> None:
    """Each row has its time first, no column is there twice, run and node are in the path, and all types are known."""
    for columns in DATASETS.values():
        names = [column.name for column in columns]
        assert columns[0] == ("ts_us", "i64", False)
        assert len(set(names)) == len(names)
        assert not {"run", "node"} & set(names)
        assert {column.type for column in columns} <= set(TYPES)
    assert set(OF_THE_MEDIUM) <= DATASETS.keys()


def test_a_question_mark_means_that_a_value_may_be_missing() -> None:
    """A broadcast has no peer, a route that is gone no next hop; what was published always has its publisher."""
    assert {c.name for c in DATASETS["frames"] if c.nullable} == {"peer", "event_id", "filter_id"}
    assert {c.name for c in DATASETS["routes"] if c.nullable} == {"next_hop"}
    assert {c.name for c in DATASETS["publishes"] if c.nullable} == {"subject"}
