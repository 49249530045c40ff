"""A log line is one line, says what varies as fields, and does not come more often than it should."""

from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING

import pytest

from chapard import log

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGGER = logging.getLogger("chapard.test_log")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where the log goes meanwhile; the process's own logging is put back afterwards."""
    root = logging.getLogger()
    handlers, level, raises = root.handlers[:], root.level, logging.raiseExceptions
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.raiseExceptions = raises


def test_text_is_one_line_of_keys_and_values(stream: io.StringIO) -> None:
    """Plain values stand as they are, others in quotes; what would end the line early is escaped."""
    log.configure(stream, "info", "text")
    log.event(LOGGER, logging.INFO, "client on", client="a b", resumed=True, queue=3, why='say "x"\nand go', none=None)
    line = stream.getvalue()
    assert line.count("\n") == 1
    assert line.startswith("time=20")
    assert line.rstrip().endswith(
        'level=info msg="client on" client="a b" resumed=true queue=3 why="say \\"x\\"\\nand go" none=null'
    )


def test_json_is_one_object_a_line(stream: io.StringIO) -> None:
    """Every line parses, numbers are numbers, and other things are their text."""
    log.configure(stream, "info", "json")
    log.event(LOGGER, logging.WARNING, "small buffer", bytes=3, detail=ValueError("ü"))
    LOGGER.info("plain %s", "record")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["level"], first["msg"], first["bytes"], first["detail"]) == ("warning", "small buffer", 3, "ü")
    assert second["msg"] == "plain record"


def test_a_traceback_stays_in_its_line(stream: io.StringIO) -> None:
    """An error of ours is one line that holds the whole traceback."""
    log.configure(stream, "info", "text")
    try:
        raise KeyError("missing")
    except KeyError as error:
        log.failure(LOGGER, "a mistake", error, node=7)
    line = stream.getvalue()
    assert line.count("\n") == 1
    assert "node=7" in line
    assert "test_a_traceback_stays_in_its_line" in line
    assert "KeyError: 'missing'" in line


def test_the_level_decides_and_configuring_again_replaces(stream: io.StringIO) -> None:
    """Lines below the level are not written; after a second call the first stream hears nothing more."""
    log.configure(stream, "warning", "text")
    log.event(LOGGER, logging.INFO, "quiet")
    second = io.StringIO()
    log.configure(second, "debug", "text")
    log.event(LOGGER, logging.DEBUG, "loud")
    assert stream.getvalue() == ""
    assert "msg=loud" in second.getvalue()


def test_a_long_value_is_cut(stream: io.StringIO) -> None:
    """A foreign text cannot fill the disk with one line."""
    log.configure(stream, "info", "text")
    log.event(LOGGER, logging.INFO, "note", text="x" * 100_000)
    assert len(stream.getvalue()) < log.LONGEST_VALUE + 200


def record(message: str, at: float) -> logging.LogRecord:
    made = logging.LogRecord("chapard", logging.INFO, "file", 1, message, (), None)
    made.created = at
    return made


def test_a_message_that_comes_too_often_is_thinned_and_counted() -> None:
    """So many lines a minute pass; the first of a later minute says how many did not; other messages are unaffected."""
    throttle = log.Throttle(lines=3)
    passed = [throttle.filter(record("client on", 1000 + second)) for second in range(10)]
    assert passed == [True] * 3 + [False] * 7
    assert throttle.filter(record("client off", 1009))
    later = record("client on", 1061)
    assert throttle.filter(later)
    assert vars(later)["left_out"] == 7


def test_what_was_left_out_stands_in_the_line() -> None:
    """The count of lines left out is a field like any other."""
    made = record("client on", 1000)
    made.left_out = 7
    assert log.Formatter(log.as_text).format(made).endswith('msg="client on" left_out=7')


def test_the_throttle_is_bounded_and_survives_a_clock_that_jumps() -> None:
    """Messages without end do not fill its memory, and a clock set back does not silence a message."""
    throttle = log.Throttle(lines=1)
    for number in range(10 * log.MESSAGES_KNOWN):
        assert throttle.filter(record(f"made up {number}", 1000))
    assert throttle.filter(record("again", 5000))
    assert throttle.filter(record("again", 10))
