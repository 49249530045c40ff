"""What people type, read: attributes, lengths of time, addresses. Every mistake is one line that says what to write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from chapar.endpoint import Endpoint
from chapar.errors import AddressError, FilterError
from chapar.filter_text import parse
from chapar.limits import INT64_MAX
from chapar.value import name_fault, value_fault

if TYPE_CHECKING:
    from chapar.value import Value

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BOOLEANS: Final = {"true": True, "false": False}
_INT64_DIGITS: Final = 19
_QUOTED: Final = re.compile(r"(?s:\".*\"|'.*')")
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+) ?(ms|s|m|min|h|d|)", re.ASCII)
_SECONDS: Final = {"ms": 0.001, "": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


class NotationError(ValueError):
    """This text stands for nothing; the message says what to write instead."""


HTTP: Final = Endpoint("127.0.0.1", 7780)
"""Where a daemon serves its pages unless told otherwise."""


def attribute(text: str) -> tuple[str, Value]:
    """The name and value of `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise NotationError(f"{text!r} has no value: write NAME=VALUE, like celsius=21.5")
    if fault := name_fault(name):
        raise NotationError(fault)
    return name, attribute_value(value)


def attribute_value(text: str) -> Value:
    """A number, true or false if it reads like one, what stands in quotes if it is quoted, else the text as it is.

    Numbers and quoted strings are those of the filter language, so that a value can be copied from one to the other.
    """
    value: Value = text
    if _NUMBER.fullmatch(text):
        value = _number(text)
    elif text.lower() in _BOOLEANS:
        value = _BOOLEANS[text.lower()]
    elif _QUOTED.fullmatch(text):
        value = _string(text)
    if fault := value_fault(value):
        raise NotationError(fault if value is text else f"{text}: {fault}")
    return value


def _number(text: str) -> int | float:
    if not text.lstrip("+-").isdecimal():
        return float(text)
    # Python refuses to read what is thousands of digits long; it is too large in any case.
    return int(text) if len(text.lstrip("+-0")) <= _INT64_DIGITS else INT64_MAX + 1


def _string(text: str) -> str:
    try:
        constraints = parse(f"x = {text}")
    except FilterError as error:
        problem = re.sub(r"filter, column [0-9]+: ", "", str(error))
        raise NotationError(f"{text}: {problem}") from None
    if len(constraints) > 1:
        raise NotationError(f'{text}: write \\" for a quote within quotes')
    return str(constraints[0].value)


def duration(text: str) -> float:
    """Seconds: `500ms`, `60s`, `5m`, `2h`, `1d`, or a plain number."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise NotationError(f"{text!r} is no length of time: write 500ms, 60s, 5m, 2h or 1d")
    return float(match[1]) * _SECONDS[match[2]]


def http_endpoint(text: str) -> Endpoint:
    """`HOST:PORT`, or `HOST` alone with the default port; an IPv6 address stands in square brackets."""
    try:
        return Endpoint.parse(text, HTTP.port)
    except AddressError as error:
        raise NotationError(str(error)) from None
