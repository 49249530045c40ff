"""A process with a disk of its own, for tests that kill it, limit it or fill its file system.

    python disk_child.py numbered|limited|abandoned|filled DIRECTORY

`numbered` never ends; the others print what they saw as one JSON object.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chapard.disk import FILE, WAITING, Disk, DiskError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARTS = 5
"""Keys of one numbered batch."""
KEPT = 20
"""Numbered batches that stand; older ones are deleted."""
UNDER_WAY = 40
PATIENCE = 10.0


def until(condition: Callable[[], object]) -> bool:
    """Wait for a condition that nobody announces."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if condition():
            return True
        pause.wait(0.01)
    return False


def flush(disk: Disk, saves: list[tuple[str, bytes | None]]) -> bool:
    """Write, and wait until it is on the disk."""
    done = threading.Event()
    disk.write(saves, done.set)
    return done.wait(PATIENCE)


def batch(number: int) -> list[tuple[str, bytes | None]]:
    """All keys of one number, the deletion of an old one's, and the number itself."""
    puts = [(f"batch/{number}/{part}", f"{number}".encode() * (part + 1)) for part in range(PARTS)]
    deletes = [(f"batch/{number - KEPT}/{part}", None) for part in range(PARTS)]
    return [*puts, *deletes, ("last", f"{number}".encode())]


def numbered(directory: Path) -> None:
    """Write batch after batch, and say the number of each as soon as it is on the disk."""
    disk = Disk.open(directory)
    number = int(disk.load().get("last", b"0"))
    room = threading.Semaphore(UNDER_WAY)
    while True:
        number += 1
        room.acquire()
        disk.write(batch(number), partial(said, number, room))


def said(number: int, room: threading.Semaphore) -> None:
    os.write(sys.stdout.fileno(), f"{number}\n".encode())
    room.release()


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def strained(disk: Disk, done: list[str]) -> dict[str, object]:
    """Write to a disk that takes nothing, and go on as if it did."""
    disk.write([(f"large/{number}", b"x" * 1000) for number in range(300)], lambda: done.append("large"))
    facts: dict[str, object] = {"has_fault": until(disk.fault), "fault": disk.fault()}
    for number in range(2000):
        disk.write([(f"brief/{number}", b"x")], None)
        disk.write([(f"brief/{number}", None), ("kept", None)], None)
    disk.write([("later", b"2")], lambda: done.append("later"))
    facts["is_bounded"] = until(lambda: disk.pending() == 302)
    facts["done_meanwhile"] = list(done)
    return facts


def relieved(disk: Disk, done: list[str]) -> dict[str, object]:
    return {
        "recovered": until(lambda: len(done) == 2),
        "done": list(done),
        "fault_after": disk.fault(),
        "pending_after": disk.pending(),
        "keys": len(disk.load()),
        "later": disk.load().get("later", b"").decode(),
        "closed": disk.close(PATIENCE),
    }


def opened_with_something(directory: Path) -> Disk:
    disk = Disk.open(directory)
    flush(disk, [("kept", b"1")])
    return disk


def limited(directory: Path) -> dict[str, object]:
    """A disk on which no file grows for a while."""
    disk, done, told = opened_with_something(directory), list[str](), list[int]()
    with file_limit(64 * 1024):
        facts = strained(disk, done)
        for number in range(3 * WAITING):
            disk.write([], partial(told.append, number))
            if number % WAITING == WAITING - 1:
                attempted(directory)
    facts |= relieved(disk, done)
    return facts | {"told": len(told), "told_last": told[-1], "told_in_order": told == sorted(told)}


def attempted(directory: Path) -> bool:
    """Wait until the writer has tried again: it leaves a trace in the log."""
    log = directory / f"{FILE}-wal"
    before = log.stat().st_mtime_ns
    return until(lambda: log.stat().st_mtime_ns != before)


def abandoned(directory: Path) -> dict[str, object]:
    """Closing while the disk takes nothing."""
    disk, done = opened_with_something(directory), list[str]()
    with file_limit(64 * 1024):
        facts = strained(disk, done)
        facts["closed"] = [disk.close(0.1), disk.close(0.1)]
    again = Disk.open(directory)
    facts["kept"] = {key: value.decode() for key, value in again.load().items()}
    again.close(PATIENCE)
    return facts | {"done": done}


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as stream:
        try:
            while stream.write(b"x" * 4096):
                pass
        except OSError:
            pass


def makes_room(state: Path, filler: Path) -> bool:
    """On a full disk, write what has room in the file, but not in the log as long as that is."""
    disk = Disk.open(state)
    flush(disk, [("room", b"x" * 1_000_000)])
    flush(disk, [("room", None)])
    disk.close(PATIENCE)
    disk = Disk.open(state)
    for number in range(30):
        flush(disk, [("large", bytes([number]) * 100_000)])
    fill(filler)
    is_done = flush(disk, [("larger", b"x" * 200_000)])
    disk.close(PATIENCE)
    return is_done


def filled(mount: Path) -> dict[str, object]:
    """A small file system that is full for a while, then again at a start, and at last read-only."""
    state, filler = mount / "state", mount / "filler"
    disk, done = opened_with_something(state), list[str]()
    fill(filler)
    facts = strained(disk, done)
    filler.unlink()
    facts |= relieved(disk, done)
    fill(filler)
    disk = Disk.open(state)
    disk.write([("large", b"x" * 100_000)], lambda: done.append("at the start"))
    facts["fault_at_start"] = until(disk.fault) and disk.fault()
    filler.unlink()
    facts["recovered_at_start"] = until(lambda: len(done) == 3)
    disk.close(PATIENCE)
    facts["made_room"] = makes_room(state, filler)
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,ro", mount], check=True)  # noqa: S603, S607 - wherever mount is
    try:
        Disk.open(state)
    except DiskError as error:
        facts["read_only"] = str(error)
    return facts


def main() -> None:
    mode, directory = sys.argv[1], Path(sys.argv[2])
    if mode == "numbered":
        numbered(directory)
    print(json.dumps({"limited": limited, "abandoned": abandoned, "filled": filled}[mode](directory)))


if __name__ == "__main__":
    main()
