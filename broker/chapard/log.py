"""Logs: one line per event of note, as key=value or as JSON, on standard error.

    time=2026-05-04T10:11:12.345Z level=info msg="client opened" client=rover-3 queue=0

The message is a constant, what varies stands in the fields. A message that comes too often is cut to a few lines a
minute, and the next one says how many were left out: a log never grows with the traffic.
"""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

FORMATS: Final = ("text", "json")
LINES_PER_MINUTE: Final = 30
"""Lines with one message in a minute; what comes beyond is counted."""
MESSAGES_KNOWN: Final = 256
"""Messages that are counted apart. There are fewer; a library that makes up its own ends the count early, no more."""
LONGEST_VALUE: Final = 4096
"""Characters of a value: a traceback fits, a foreign text does not fill the disk."""

_FIELDS: Final = "chapard_fields"
_PLAIN: Final = re.compile(r"[^\s\"=\\\x00-\x1f\x7f]+")


def event(logger: logging.Logger, level: int, message: str, /, **fields: object) -> None:
    """Log one event of note: a constant message and what is to be known about it."""
    logger.log(level, message, extra={_FIELDS: fields}, stacklevel=2)


def failure(logger: logging.Logger, message: str, error: BaseException, /, **fields: object) -> None:
    """Log an error of ours, with its traceback."""
    logger.error(message, exc_info=error, extra={_FIELDS: fields}, stacklevel=2)


def configure(stream: TextIO, level: str, style: str) -> logging.Handler:
    """Send everything that this process logs to `stream`; what was configured before is replaced."""
    logging.raiseExceptions = False  # a log that cannot be written must not end in a traceback on the same stream
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Formatter(as_json if style == "json" else as_text))
    handler.addFilter(Throttle())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    return handler


class Formatter(logging.Formatter):
    """Puts a record's message and fields into one line."""

    def __init__(self, render: Callable[[Mapping[str, object]], str]) -> None:
        super().__init__()
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        parts: dict[str, object] = {
            "time": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
            "level": record.levelname.lower(),
            "msg": record.getMessage(),
        }
        parts |= getattr(record, _FIELDS, {})
        left_out = getattr(record, "left_out", 0)
        if left_out:
            parts["left_out"] = left_out
        if record.exc_info and record.exc_info[0] is not None:
            parts["traceback"] = self.formatException(record.exc_info)
        return self._render(parts)


def as_text(parts: Mapping[str, object]) -> str:
    """key=value, values in quotes where they need them."""
    return " ".join(f"{key}={_text(value)}" for key, value in parts.items())


def as_json(parts: Mapping[str, object]) -> str:
    return json.dumps({key: _plain(value) for key, value in parts.items()}, ensure_ascii=False)


def _text(value: object) -> str:
    plain = _plain(value)
    if isinstance(plain, str):
        return plain if _PLAIN.fullmatch(plain) else json.dumps(plain, ensure_ascii=False)
    return json.dumps(plain)


def _plain(value: object) -> str | int | float | bool | None:
    """A value as JSON knows it; a text is cut to a length."""
    if value is None or type(value) in (bool, int, float):
        return value  # type: ignore[return-value]  # mypy does not narrow by type()
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


class Throttle(logging.Filter):
    """Lets a few lines of each message through in a minute."""

    def __init__(self, lines: int = LINES_PER_MINUTE) -> None:
        super().__init__()
        self._lines = lines
        self._counts: dict[str, tuple[float, int]] = {}
        """Of each message: when its minute began, and how often it has come since."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = str(record.msg)
        began, count = self._counts.get(message, (record.created, 0))
        if not 0 <= record.created - began < 60:
            record.left_out = max(0, count - self._lines)
            began, count = record.created, 0
        if message not in self._counts and len(self._counts) >= MESSAGES_KNOWN:
            self._counts.clear()
        self._counts[message] = (began, count + 1)
        return count < self._lines
