"""What lies in a folder: each thing that can be wrong with it is named in one line, and the rest is audited."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chapar_audit.schema import DATASETS, METADATA_KEY, VERSION
from chapar_audit.survey import RecordedError, survey

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("spark")  # they share one run


@pytest.fixture
def folder(chain_run: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    copy = tmp_path / "copy"
    shutil.copytree(chain_run, copy)
    return copy


def one_file(folder: Path, dataset: str = "frames", node: int = 2) -> Path:
    return next((folder / dataset / "run=chain" / f"node={node}").glob("*.parquet"))


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table], version: object = VERSION) -> None:
    """Write a file of a dataset again, changed."""
    table = change(pq.ParquetFile(path).read())
    table = table.replace_schema_metadata({METADATA_KEY: str(version)} if version is not None else None)
    pq.write_table(table, path)


def same(table: pa.Table) -> pa.Table:
    return table


def test_a_whole_run_has_nothing_to_complain_of(chain_run: Path) -> None:
    """All datasets, all daemons, and when they recorded."""
    found = survey(chain_run)
    assert (found.run, found.complaints, found.missing, found.partial) == ("chain", (), frozenset(), frozenset())
    assert sorted(start.node for start in found.starts) == sorted(found.spans) == [1, 2, 3, 4]
    assert set(found.files) == set(DATASETS)
    assert found.rows == sum(pq.read_metadata(path).num_rows for files in found.files.values() for path in files)
    assert all(first < last for first, last in found.spans.values())


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    """It is not there, a file, or empty."""
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name, said in (
        ("nowhere", "there is no such folder"),
        ("file", "is no folder"),
        ("empty", "no dataset `runs` here; name a folder that a run was recorded in"),
    ):
        with pytest.raises(RecordedError, match=said):
            survey(tmp_path / name)


def test_of_several_runs_one_has_to_be_named(folder: Path) -> None:
    """They are listed; names with signs that have a meaning in paths are read back."""
    shutil.copytree(folder / "runs" / "run=chain", folder / "runs" / "run=a%2Fb")
    with pytest.raises(RecordedError, match=r"several runs \(a/b, chain\); say which with --run"):
        survey(folder)
    assert survey(folder, "chain").run == "chain"
    assert survey(folder, "a/b").missing == set(DATASETS) - {"runs"}
    with pytest.raises(RecordedError, match="no run 'other'; there are a/b, chain"):
        survey(folder, "other")


def test_without_runs_nobody_knows_what_it_was(folder: Path) -> None:
    shutil.rmtree(folder / "runs")
    with pytest.raises(RecordedError, match="`runs` is missing, which says what run 'chain' was"):
        survey(folder)


def test_spools_are_to_be_compacted_first(folder: Path, tmp_path: Path) -> None:
    """Alone they are refused; beside datasets they are complained of."""
    (tmp_path / "fresh").mkdir()
    for place in (folder, tmp_path / "fresh"):
        (place / "frames-1-1.spool").touch()
    with pytest.raises(RecordedError, match=r"only spools here; run `chapar-audit compact .*fresh` first"):
        survey(tmp_path / "fresh")
    assert survey(folder).complaints == (
        f"a spool is not compacted, and not audited: run `chapar-audit compact {folder}`",
    )


def spoil(path: Path) -> None:
    """Bytes in the middle of a file change, its end stays."""
    data = bytearray(path.read_bytes())
    data[len(data) // 4 : len(data) // 2] = bytes(len(data) // 4)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-8]), "Parquet magic bytes not found in footer"),
        (lambda path: path.write_bytes(b""), "Parquet file size is 0 bytes"),
        (spoil, ""),
        (lambda path: rewrite(path, same, version=2), "it is of schema version 2, this audit reads 1"),
        (lambda path: rewrite(path, same, version=None), "it has no schema version"),
        (lambda path: rewrite(path, lambda table: table.drop_columns(["kind"])), "it has no column `kind`"),
        (
            lambda path: rewrite(
                path, lambda table: table.set_column(0, "ts_us", table["ts_us"].cast(pa.timestamp("us")))
            ),
            r"`ts_us` is timestamp\[us\], not int64",
        ),
        (
            lambda path: rewrite(
                path, lambda table: table.set_column(3, "kind", pa.nulls(table.num_rows, pa.string()))
            ),
            "`kind` is not there in every row",
        ),
    ],
    ids=["no-footer", "empty", "spoilt", "newer", "foreign", "no-column", "wrong-type", "nulls"],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_left_out_by_name(
    folder: Path, change: Callable[[Path], object], said: str
) -> None:
    """The others of its dataset stay."""
    path = one_file(folder)
    change(path)
    found = survey(folder)
    assert len(found.complaints) == 1
    assert "\n" not in found.complaints[0]
    assert found.complaints[0].startswith(f"{path.relative_to(folder)} is left out: ")
    assert re.search(said, found.complaints[0])
    assert path not in found.files["frames"]
    assert len(found.files["frames"]) == 3
    assert (found.partial, found.missing) == (frozenset({"frames"}), frozenset())


def test_a_file_in_the_wrong_place_is_left_out(folder: Path) -> None:
    """Its node is in its path."""
    path = one_file(folder)
    path.rename(path.parents[1] / path.name)
    (complaint,) = survey(folder).complaints
    assert complaint.endswith("is left out: it does not lie below run=RUN/node=NODE")


def test_what_is_half_written_is_no_file_yet(folder: Path) -> None:
    """Its name is hidden."""
    (one_file(folder).parent / ".frames-2-9.parquet.new").touch()
    (one_file(folder).parent / ".frames-2-9.parquet").touch()
    assert survey(folder).complaints == ()


def test_a_dataset_that_is_not_there_is_missing(folder: Path) -> None:
    """Which is no complaint: a node in the field has no medium that records."""
    shutil.rmtree(folder / "air")
    found = survey(folder)
    assert (found.missing, found.complaints) == (frozenset({"air"}), ())


def change_runs(folder: Path, **values: Any) -> None:
    def changed(table: pa.Table) -> pa.Table:
        for name, value in values.items():
            at = table.schema.get_field_index(name)
            table = table.set_column(at, table.schema.field(at), pa.array([value], table.schema.field(at).type))
        return table

    rewrite(one_file(folder, "runs"), changed)


def test_a_run_under_a_schema_of_tomorrow_is_refused(folder: Path) -> None:
    change_runs(folder, schema_version=2)
    with pytest.raises(RecordedError, match="recorded under schema version 2, this audit reads 1"):
        survey(folder)


def test_settings_that_cannot_be_read_are_complained_of(folder: Path) -> None:
    """The other nodes still say what the run was."""
    change_runs(folder, settings="{")
    found = survey(folder)
    assert found.complaints == ("the settings of node 2 cannot be read: it is not among those of the run",)
    assert {start.node for start in found.starts} == {1, 3, 4}


def test_two_runs_under_one_name_are_noticed(folder: Path) -> None:
    """One was in the lab, or of another mode."""
    change_runs(folder, world="lab", settings=json.dumps({"mode": "tree"}))
    assert survey(folder).complaints == (
        "one run in several worlds, lab and sim: they are several",
        "one run in several modes, chapar and tree: they are several",
    )
