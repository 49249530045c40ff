"""How full this machine's batteries are."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

SUPPLIES: Final = Path("/sys/class/power_supply")


def battery_level(supplies: Path = SUPPLIES) -> float | None:
    """Between 0 and 1, the mean of all batteries; None where there is none. Firmware may take its time to answer."""
    levels = []
    for file in sorted(supplies.glob("BAT*/capacity")):
        with suppress(OSError, ValueError):  # a battery that was taken out, or does not know
            levels.append(min(max(int(file.read_text()), 0), 100))
    return sum(levels) / len(levels) / 100 if levels else None
