"""Times and sizes as a person reads them. Two significant parts are enough: nobody asks a day for its seconds."""

from __future__ import annotations

from typing import Final

_PARTS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_SIZES: Final = ("B", "kB", "MB", "GB")
_SIZE_STEP: Final = 1000


def seconds_text(seconds: float) -> str:
    """A length of time: `340 ms`, `12 s`, `5 min 3 s`, `3 h 12 min`, `2 d 4 h`."""
    if seconds < 0:
        return f"-{seconds_text(-seconds)}"
    if seconds < 1:
        return f"{round(seconds * 1000)} ms" if seconds else "0 s"
    left = round(seconds)
    place = next(place for place, (_, length) in enumerate(_PARTS) if left >= length)
    shown = []
    for unit, length in _PARTS[place : place + 2]:
        count, left = divmod(left, length)
        if count:
            shown.append(f"{count} {unit}")
    return " ".join(shown)


def bytes_text(size: float) -> str:
    """An amount of data, in powers of a thousand: `812 B`, `12.3 kB`, `4.0 MB`."""
    for unit in _SIZES:
        shown = f"{size:.0f}" if unit == "B" else f"{size:.1f}"
        if float(shown) < _SIZE_STEP or unit == _SIZES[-1]:
            break
        size /= _SIZE_STEP
    return f"{shown} {unit}"
