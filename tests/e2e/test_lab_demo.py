"""The demonstration shows what it says it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from e2e import labs

pytestmark = pytest.mark.lab

DEMO: Final = Path(__file__).resolve().parents[2] / "deploy" / "scenarios" / "demo.toml"


def test_the_demonstration(tmp_path: Path) -> None:
    """Events over four hops, deliveries within both parts while they are apart, and every kept event once after it."""
    done = labs.kept(tmp_path, DEMO)
    far = [each for each in done.events if each["publisher"] == "rover" and "control" in each["got"]]
    assert len(far) > 10, "positions of the rover reach the far corner, four hops away"
    (apart,) = done.figures["apart"]
    during = [each for each in done.events if apart["start"] + 1 < each["t"] < apart["end"] - 1]
    west = [each for each in during if "team-4" in each["got"] and each["publisher"] == "scout-1"]
    east = [each for each in during if "team-3" in each["got"] and each["publisher"] == "scout-9"]
    assert west
    assert east
    assert min(each["got"]["team-4"] for each in west) < 1
    assert min(each["got"]["team-3"] for each in east) < 1
    reports = done.figures["events"]["lifetime"]
    assert reports["delivered"] == reports["wanted"] > 200
    assert apart["waited"] > 0
    assert (tmp_path / "out" / "topology.svg").read_text(encoding="utf-8").startswith("<svg")
    assert len(labs.recorded(tmp_path, "air")) > 1000
