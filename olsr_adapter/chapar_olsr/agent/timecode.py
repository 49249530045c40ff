"""Validity times and intervals in one byte (RFC 3626, 18.3).

A code has the mantissa a in its upper four bits and the exponent b in its lower four; it means C · (1 + a/16) · 2^b
seconds. Every code means another time, from `SHORTEST` to `LONGEST`, each at most a sixteenth longer than the one
before: what is rounded up to a code outlives what it was meant for by little.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

C: Final = 1 / 16
"""Seconds: RFC 3626's scaling factor, the same at all nodes."""


def seconds(code: int) -> float:
    """What a code means; exact, as all of them are multiples of 2^-8."""
    return C * (1 + (code >> 4) / 16) * (1 << (code & 0xF))


_CODES: Final = tuple(sorted(range(256), key=seconds))
_SECONDS: Final = tuple(map(seconds, _CODES))
SHORTEST: Final = _SECONDS[0]
LONGEST: Final = _SECONDS[-1]


def code_of(time: float) -> int:
    """The code of the shortest time that is at least `time`, or of the longest there is."""
    return _CODES[min(bisect_left(_SECONDS, time), len(_CODES) - 1)]
