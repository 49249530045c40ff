"""A disk that is full: reported, real-time events go on, and all is well by itself once there is room."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest

import chapar
from e2e.daemons import alone

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

    from e2e.daemons import Daemon

pytestmark = pytest.mark.lab

KEPT: Final = 60
"""Events that are published while the disk is full."""
PATIENCE: Final = 30.0


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system with room for four megabytes."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("only root can mount the small disk that this needs")
    folder.mkdir()
    command = [mount, "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    mounting = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - the system's own command
    if mounting.returncode:
        pytest.skip(f"cannot mount a small disk here: {mounting.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run([umount, str(folder)], check=True)  # noqa: S603 - the system's own command


def fill(ballast: Path) -> None:
    """Leave no room at all."""
    with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        file.writelines(itertools.repeat(b"x" * 1024))


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again, for a bounded time."""
    async with asyncio.timeout(PATIENCE):
        while not await holds():
            await asyncio.sleep(0.05)


def test_a_full_disk(tmp_path: Path) -> None:
    """While the disk is full, health, status and log say so, real-time events flow and kept ones get no receipt; with
    room again the receipts come by themselves, and what they promise survives a kill."""
    with small_disk(tmp_path / "disk") as disk, alone(tmp_path / "node", f"node.state_dir={disk / 'state'}") as daemon:
        asyncio.run(play(daemon, disk / "ballast"))


async def play(daemon: Daemon, ballast: Path) -> None:
    await daemon.run()
    async with chapar.connect(daemon.address, client_id="away") as away, away.subscribe(subject="kept", keep=True):
        pass
    async with (
        chapar.connect(daemon.address, client_id="publisher") as publisher,
        chapar.connect(daemon.address, client_id="live") as live,
        live.subscribe(subject="now") as events,
    ):
        fill(ballast)
        receipts = [
            await publisher.publish(subject="kept", payload=bytes(1000) + bytes([number]), persistent=True)
            for number in range(KEPT)
        ]
        await until(lambda: is_degraded(daemon))
        status = await daemon.status()
        assert status["disk"]["state"].startswith("fault: ")
        assert status["disk"]["pending"] > 0
        assert not any(receipt.is_accepted for receipt in receipts)
        for number in range(100):
            receipt = await publisher.publish(subject="now", payload=bytes([number]))
            await receipt.accepted(timeout=PATIENCE)
            assert (await asyncio.wait_for(anext(events), PATIENCE)).payload == bytes([number])
        await until(lambda: has_logged(daemon, "the disk takes no writes"))
        ballast.unlink()
        for receipt in receipts:
            await receipt.accepted(timeout=PATIENCE)
        assert await daemon.page("/healthz") == (200, "ok\n")
        assert (await daemon.status())["disk"]["state"] == "ok"
        daemon.kill()
        await daemon.run()
        async with (
            chapar.connect(daemon.address, client_id="away") as away,
            away.subscribe(subject="kept", keep=True) as kept,
        ):
            got = [(await asyncio.wait_for(anext(kept), PATIENCE)).payload[-1] for _ in range(KEPT)]
        assert got == list(range(KEPT))
    assert await daemon.stop() == 0


async def is_degraded(daemon: Daemon) -> bool:
    code, body = await daemon.page("/healthz")
    assert code == 200
    return body.startswith("degraded: disk ")


async def has_logged(daemon: Daemon, words: str) -> bool:
    return any(words in line for line in daemon.lines())
