"""Sequence numbers of 16 bits that wrap around (RFC 3626, section 19)."""

from __future__ import annotations

from typing import Final

MODULUS: Final = 0x10000
_HALF: Final = MODULUS // 2


def is_newer(a: int, b: int) -> bool:
    """Whether `a` was given out after `b`: less than half the circle lies between them."""
    return 0 < (a - b) % MODULUS <= _HALF


def after(number: int) -> int:
    """The number that follows."""
    return (number + 1) % MODULUS


def gap(number: int, last: int) -> int:
    """How many numbers were left out between `last` and `number`; 0 if `number` is not newer."""
    return (number - last) % MODULUS - 1 if is_newer(number, last) else 0
