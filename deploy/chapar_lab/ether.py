"""The ether of the lab: frames of real interfaces under the rules of the simulator's radio, recorded, and its orders.

Orders are lines of JSON:

    ["start", 12.5]                 this time counts as 0 of the run
    ["links", [[1, 2], [2, 1]]]     from now on exactly these can be heard: node 1 by node 2, and 2 by 1
    ["duplicate", 0.1]              from now on a receiver hears a frame twice with this probability
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from chapar_lab.frame import destination
from chapar_sim.links import hearers
from chapar_sim.radio import Radio

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from chapar_lab.recording import Recorder
    from chapar_sim.clock import Clock
    from chapar_sim.terrain import RadioSpec


class OrderError(ValueError):
    """A line that is no order."""


class Ether:
    """Carries frames between nodes. `deliver(node, frame)` is called when a node hears one."""

    def __init__(
        self, spec: RadioSpec, clock: Clock, rng: Random, recorder: Recorder, deliver: Callable[[int, bytes], None]
    ) -> None:
        self._clock = clock
        self._recorder = recorder
        self._heard_by: dict[int, tuple[int, ...]] = {}
        self._radio: Radio[bytes] = Radio(spec, clock, self, rng, self)
        self.heard = deliver
        self.frames = self.bytes = 0
        """That nodes sent so far."""

    def send(self, sender: int, frame: bytes) -> None:
        """A node sends a frame now."""
        self.frames += 1
        self.bytes += len(frame)
        self._radio.transmit(sender, destination(frame), frame, len(frame))

    # What the radio asks and tells

    def is_on(self, _: int) -> bool:
        """A node that is switched off has no links, and says nothing."""
        return True

    def heard_by(self, sender: int) -> tuple[int, ...]:
        return self._heard_by.get(sender, ())

    def transmitted(self, sender: int, frame: bytes, heard: tuple[int, ...], missed: tuple[int, ...]) -> None:
        self._recorder.record(self._clock.now, sender, heard, missed, frame)

    def overflowed(self, sender: int, frame: bytes, missed: tuple[int, ...]) -> None:
        self._recorder.record(self._clock.now, sender, (), missed, frame, overflowed=True)

    # Orders

    def obey(self, line: str | bytes) -> None:
        """Do what a line says. Raises OrderError if it says nothing that can be done."""
        try:
            order, value = json.loads(line)
            self._obey(order, value)
        except (ValueError, TypeError) as error:
            raise OrderError(f"{line!r} is no order: {error}") from None

    def _obey(self, order: str, value: Any) -> None:
        match order:
            case "start":
                self._recorder.start(_number(value, -math.inf, math.inf))
            case "links":
                self._heard_by = hearers(frozenset((_index(a), _index(b)) for a, b in value))
            case "duplicate":
                self._radio.duplicate = _number(value, 0.0, 1.0)
            case _:
                raise OrderError("start, links and duplicate are known")


def _number(value: Any, least: float, most: float) -> float:
    number = float(value)
    if not math.isfinite(number) or not least <= number <= most:
        raise OrderError(f"{value} is no number from {least:g} to {most:g}")
    return number


def _index(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 0xFFFF:
        raise OrderError(f"{value} is no node")
    return value
