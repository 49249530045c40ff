"""The disk: group commits, what survives kill -9, what happens when it is full, and who may use it."""

from __future__ import annotations

import json
import shutil
import signal
import stat
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import disk_child
from chapard.disk import FILE, WAITING, Disk, DiskError
from disk_child import KEPT, PARTS, batch, flush, until

if TYPE_CHECKING:
    from collections.abc import Iterator

Saves = list[tuple[str, bytes | None]]
PATIENCE = 10.0
CHILD = Path(disk_child.__file__)
LOG = f"{FILE}-wal"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    opened = Disk.open(tmp_path)
    yield opened
    opened.close(PATIENCE)


def written(disk: Disk, saves: Saves) -> None:
    assert flush(disk, saves)


def reopened(disk: Disk, directory: Path) -> dict[str, bytes]:
    """What somebody finds who opens the directory after this disk was closed."""
    assert disk.close(PATIENCE)
    again = Disk.open(directory)
    try:
        return again.load()
    finally:
        again.close(PATIENCE)


def test_what_was_written_is_there_after_a_restart(disk: Disk, tmp_path: Path) -> None:
    """Put, replaced and deleted keys are as they were left; values are bytes of any kind."""
    assert disk.load() == {}
    written(disk, [("a", b"1"), ("b", b"\0\xff"), ("c", b"3")])
    written(disk, [("a", b"4"), ("c", None), ("d/é", b"")])
    assert disk.load() == {"a": b"4", "b": b"\0\xff", "d/é": b""}
    assert reopened(disk, tmp_path) == {"a": b"4", "b": b"\0\xff", "d/é": b""}


def test_done_comes_from_the_writer_in_order(disk: Disk) -> None:
    """Callbacks run in the disk's own thread, each after those of earlier writes, with everything on the disk."""
    seen: list[tuple[int, str, int]] = []
    last = threading.Event()
    for number in range(50):
        disk.write(
            [("a", b"%d" % number)],
            lambda number=number: seen.append(  # type: ignore[misc] # binds this number
                (number, threading.current_thread().name, int(disk.load()["a"]))
            ),
        )
    disk.write([], last.set)
    assert last.wait(PATIENCE)
    assert [number for number, _, _ in seen] == list(range(50))
    assert {thread for _, thread, _ in seen} == {"chapard-disk"}
    assert all(stored >= number for number, _, stored in seen)


def test_what_nobody_waits_for_is_written_too(disk: Disk) -> None:
    """Saves without a callback reach the disk by themselves."""
    disk.write([("a", b"1")])
    assert disk.pending() == 1
    assert until(lambda: disk.pending() == 0)
    assert disk.load() == {"a": b"1"}


def test_a_put_that_was_deleted_before_its_commit_costs_nothing(disk: Disk, tmp_path: Path) -> None:
    """The pair is never written: the log does not grow."""
    written(disk, [("old", b"1")])
    before = (tmp_path / LOG).stat()
    written(disk, [("new", b"x" * 100), ("new", None)])
    written(disk, [("never there", None)])
    after = (tmp_path / LOG).stat()
    assert (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    written(disk, [("old", b"2"), ("old", None)])
    assert (tmp_path / LOG).stat().st_mtime_ns != before.st_mtime_ns
    assert disk.load() == {}


def test_what_came_and_went_is_forgotten(disk: Disk) -> None:
    """Keys that were written and deleted leave nothing in memory."""
    tracemalloc.start()
    sizes = []
    for turn in range(8):
        keys = [f"{turn}/{number:0100}" for number in range(1000)]
        written(disk, [(key, b"x") for key in keys])
        written(disk, [(key, None) for key in keys])
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[-1] < sizes[1] + 200_000


@settings(max_examples=25)
@given(
    writes=st.lists(
        st.tuples(
            st.lists(st.tuples(st.sampled_from("abcde"), st.none() | st.binary(max_size=3)), max_size=6),
            st.sampled_from(["leave", "wait", "reopen"]),
        ),
        max_size=12,
    )
)
def test_it_holds_what_a_dictionary_would(writes: list[tuple[Saves, str]]) -> None:
    """Whatever is written, deleted and coalesced, over restarts too, the end is that of one write after the other."""
    model: dict[str, bytes] = {}
    with TemporaryDirectory() as name:
        disk = Disk.open(Path(name))
        for saves, then in writes:
            for key, value in saves:
                if value is None:
                    model.pop(key, None)
                else:
                    model[key] = value
            if then == "wait":
                written(disk, saves)
                assert disk.load() == model
            else:
                disk.write(saves, None)
            if then == "reopen":
                assert disk.close(PATIENCE)
                disk = Disk.open(Path(name))
        assert disk.close(PATIENCE)
        again = Disk.open(Path(name))
        assert again.load() == model
        again.close(PATIENCE)


def test_a_batch_larger_than_a_statement_is_written_whole(disk: Disk) -> None:
    """A thousand puts and deletes in one write."""
    written(disk, [(f"{number}", b"x") for number in range(1000)])
    written(disk, [(f"{number}", None) for number in range(0, 1000, 2)])
    assert disk.load().keys() == {f"{number}" for number in range(1, 1000, 2)}


def test_the_log_stays_small(disk: Disk, tmp_path: Path) -> None:
    """Writing the same keys over and over, 40 MB in all, leaves a log of a few."""
    for number in range(50):
        written(disk, [(f"{key}", bytes([number]) * 4000) for key in range(200)])
    assert (tmp_path / LOG).stat().st_size < 10_000_000
    assert (tmp_path / FILE).stat().st_size < 3_000_000


def test_space_comes_back_after_deletion(disk: Disk, tmp_path: Path) -> None:
    """A file from which 20 MB were deleted gives most of it back with the next commits, in a later life too."""
    written(disk, [(f"{key}", b"x" * 3000) for key in range(5000)])
    written(disk, [(f"{key}", None) for key in range(5000)])
    sizes = []
    for _ in range(3):
        disk.close(PATIENCE)
        sizes.append((tmp_path / FILE).stat().st_size)
        disk = Disk.open(tmp_path)
        written(disk, [("a", b"1")])
    disk.close(PATIENCE)
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[2] < 6_000_000


def test_closing_writes_what_is_left(disk: Disk, tmp_path: Path) -> None:
    """Nothing is lost at a clean stop, the log is gone, and closing twice is closing once."""
    disk.write([(f"{number}", b"x") for number in range(100)])
    assert [disk.close(PATIENCE), disk.close(PATIENCE)] == [True, True]
    assert {each.name for each in tmp_path.iterdir()} == {FILE, "lock"}
    assert len(reopened(disk, tmp_path)) == 100
    assert (disk.fault(), disk.pending()) == (None, 0)
    with pytest.raises(DiskError, match="closed"):
        disk.write([("a", b"1")], None)


def test_a_writer_that_died_is_reported(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback that raises is a mistake of the program; it does not pass for a healthy disk."""
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    disk.write([("a", b"1")], lambda: 1 // 0)  # type: ignore[arg-type] # on purpose
    assert until(disk.fault)
    assert disk.fault() == "the thread that writes has ended: restart chapard"


# Who may use it


def test_the_directory_is_made_for_this_user_alone(tmp_path: Path) -> None:
    """Events of others are kept there."""
    directory = tmp_path / "state" / "chapar"
    Disk.open(directory).close(PATIENCE)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_two_daemons_do_not_share_a_directory(disk: Disk, tmp_path: Path) -> None:
    """The second is told who has it and what to do; the first goes on, and after it the directory is free."""
    in_use = rf"^{tmp_path} is in use by another chapard \(process \d+\): stop that one, or set node.state_dir to"
    with pytest.raises(DiskError, match=in_use):
        Disk.open(tmp_path)
    written(disk, [("a", b"1")])
    assert reopened(disk, tmp_path) == {"a": b"1"}


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """One line with the reason and three ways out."""
    (tmp_path / "file").touch()
    with pytest.raises(DiskError) as caught:
        Disk.open(tmp_path / "file" / "state")
    assert str(caught.value) == (
        f"cannot write to the state directory {tmp_path}/file/state: Not a directory; make it writable for this user, "
        f"set node.state_dir to another, or set node.durable = false to keep nothing"
    )


def test_a_refused_database_leaves_the_directory_free(tmp_path: Path) -> None:
    """Once the damaged file was moved away, the same process can start."""
    (tmp_path / FILE).write_bytes(b"not a database " * 1000)
    for _ in range(2):
        with pytest.raises(DiskError, match="is damaged"):
            Disk.open(tmp_path)
    (tmp_path / FILE).rename(tmp_path / "bad.db")
    Disk.open(tmp_path).close(PATIENCE)


# Kill and full


def child(mode: str, directory: Path, *before: str) -> dict[str, Any]:
    command = [*before, sys.executable, str(CHILD), mode, str(directory)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own
    assert run.returncode == 0, run.stderr
    facts: dict[str, Any] = json.loads(run.stdout)
    return facts


def killed_after(lines: int, directory: Path) -> int:
    """Start the writer of numbered batches, kill it after so many, and give the last number it said was on the disk."""
    command = [sys.executable, str(CHILD), "numbered", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        said += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    return int(said[-1])


def test_kill_9_loses_nothing_that_was_done(tmp_path: Path) -> None:
    """Whenever the process is killed: all that was called done is there, and every batch is whole or not there."""
    rng = Random(66)
    for _ in range(30):
        said = killed_after(rng.randint(1, 300), tmp_path)
        disk = Disk.open(tmp_path)
        kept = disk.load()
        disk.close(PATIENCE)
        last = int(kept.pop("last"))
        assert last >= said
        expected = dict(save for number in range(max(last - KEPT, 0) + 1, last + 1) for save in batch(number)[:PARTS])
        assert kept == expected


def check_strain(facts: dict[str, Any]) -> None:
    assert facts["has_fault"]
    assert "\n" not in facts["fault"]
    assert facts["is_bounded"], "what was put and deleted meanwhile must not pile up"
    assert facts["done_meanwhile"] == []


def check_relief(facts: dict[str, Any]) -> None:
    assert facts["recovered"]
    assert facts["done"] == ["large", "later"]
    assert (facts["fault_after"], facts["pending_after"], facts["closed"]) == (None, 0, True)
    assert (facts["keys"], facts["later"]) == (301, "2")


def test_a_disk_that_takes_nothing_is_reported_and_recovers(tmp_path: Path) -> None:
    """While files cannot grow, writes are kept, in bounds; when they can again, all is written and told in order."""
    facts = child("limited", tmp_path)
    check_strain(facts)
    check_relief(facts)
    assert (facts["told"] <= 2 * WAITING, facts["told_last"], facts["told_in_order"]) == (True, 3 * WAITING - 1, True)


def test_closing_in_a_fault_gives_up_in_time(tmp_path: Path) -> None:
    """Close says that not all is on the disk, nobody is told it were, and what was there before is there whole."""
    facts = child("abandoned", tmp_path)
    check_strain(facts)
    assert facts["closed"] == [False, False]
    assert facts["done"] == []
    assert facts["kept"] == {"kept": "1"}


def test_a_full_and_a_read_only_file_system(tmp_path: Path) -> None:
    """A real one that is full: reported, started on, helped by the log's own space or by ours; read-only: refused."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("needs unshare (util-linux) to mount a file system of its own")
    script = 'mount -t tmpfs -o size=8m none "$1" && shift && exec "$@"'
    private = [unshare, "-rm", "sh", "-c", script, "sh", str(tmp_path)]
    if subprocess.run([*private, "true"], capture_output=True, check=False).returncode:  # noqa: S603 - our own
        pytest.skip("this machine lets nobody mount a file system in a user namespace")
    facts = child("filled", tmp_path, *private)
    check_strain(facts)
    assert facts["fault"] == f"the disk of {tmp_path}/state is full: free some space there"
    check_relief(facts)
    assert facts["fault_at_start"] == facts["fault"]
    assert facts["recovered_at_start"]
    assert facts["made_room"]
    assert facts["read_only"].startswith(f"cannot write to the state directory {tmp_path}/state: Read-only file")
