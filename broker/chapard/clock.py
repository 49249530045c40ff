"""The daemon's clock: it shows the time of day when it is made, and from then on only runs forward, at its own pace.

What the core compares and stores are points of one time line; a step of the system's clock (GPS has found the time)
must neither expire what is kept nor make the past return.
"""

from __future__ import annotations

import time


class Clock:
    """Seconds since the epoch as it was believed at the start."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> float:
        return self._offset + time.monotonic()
