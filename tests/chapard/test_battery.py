"""The battery's level, from files as the kernel writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapard.battery import battery_level

if TYPE_CHECKING:
    from pathlib import Path


def supply(supplies: Path, name: str, capacity: str) -> None:
    (supplies / name).mkdir()
    (supplies / name / "capacity").write_text(capacity)


def test_a_machine_without_battery_has_no_level(tmp_path: Path) -> None:
    """Neither where nothing is listed, nor where only the mains are, nor where a battery does not know."""
    assert battery_level(tmp_path / "nothing") is None
    (tmp_path / "AC").mkdir()
    supply(tmp_path, "BAT9", "unknown\n")
    assert battery_level(tmp_path) is None


def test_the_level_is_the_mean_of_all_batteries(tmp_path: Path) -> None:
    """Between 0 and 1, whatever the firmware claims."""
    supply(tmp_path, "BAT0", "40\n")
    assert battery_level(tmp_path) == 0.4
    supply(tmp_path, "BAT1", "104\n")
    assert battery_level(tmp_path) == 0.7
