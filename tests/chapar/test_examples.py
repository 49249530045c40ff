"""The examples of the SDK run, and print what they promise."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from fake_daemon import FakeDaemon

EXAMPLES = Path(__file__).resolve().parents[2] / "client_sdk" / "examples"
LAST_LINE = {
    "publish_subscribe": "23.0 degrees in the hall, node 7",
    "lifetime_and_receipts": "the rover is back, and goes to 52.1, 5.2",
    "blocking_script": "then: 7",
    "point_to_point": "node 7 says: TWO COFFEES",
}


async def run(name: str, address: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "dev", str(EXAMPLES / f"{name}.py")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "CHAPAR_DAEMON": address},
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 30)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("name", LAST_LINE)
def test_an_example_does_what_it_says(name: str) -> None:
    """It ends by itself, without a warning."""

    async def scene() -> None:
        async with FakeDaemon() as daemon:
            code, out, err = await run(name, daemon.address)
        assert (code, err) == (0, "")
        assert out.splitlines()[-1] == LAST_LINE[name]

    asyncio.run(scene())


def test_every_example_is_tried() -> None:
    """None is forgotten here."""
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(LAST_LINE)
