"""The power policy: what a node gives up as its battery runs down (report 2.2.4).

| level    | elections                        | beacon intervals | memorised events |
|----------|----------------------------------|------------------|------------------|
| full     | stands                           | as configured    | as configured    |
| low      | stands back if another can serve | half as long again | half as many   |
| critical | stands back if another can serve | twice as long    | a quarter        |

Longer than that an interval must not be: silent for `contact_periods`, a node counts as gone.

A node that others chose as their relay goes on as broker: without it the broker network would fall apart.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from chapar.wire import BeaconFlag

if TYPE_CHECKING:
    from chapard.core.config import Config


class Power(StrEnum):
    FULL = "full"
    LOW = "low"
    CRITICAL = "critical"


STRETCH: Final = MappingProxyType({Power.FULL: 1.0, Power.LOW: 1.5, Power.CRITICAL: 2.0})
"""By how much beacon intervals grow."""
SHRINK: Final = MappingProxyType({Power.FULL: 1, Power.LOW: 2, Power.CRITICAL: 4})
"""By how much the memorised event table shrinks."""
FLAG: Final = MappingProxyType(
    {Power.FULL: BeaconFlag(0), Power.LOW: BeaconFlag.LOW_POWER, Power.CRITICAL: BeaconFlag.CRITICAL_POWER}
)


def power_at(level: float, config: Config) -> Power:
    """The policy for a battery level between 0 and 1."""
    if level < config.power_critical:
        return Power.CRITICAL
    return Power.LOW if level < config.power_low else Power.FULL
