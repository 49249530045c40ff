"""What an attribute may be called and what it may hold: the ground that events and filters share.

Values are of three kinds: numbers (64-bit integers and finite doubles, compared exactly with each other), strings (any
Unicode text without lone surrogates, ordered by code point) and booleans (which are not numbers here, whatever Python
says). The four header elements are typed: `type`, `subject` and `group` hold strings, `sender` a node's index.
"""

from __future__ import annotations

import re
from enum import IntEnum
from math import isfinite
from typing import Final

from chapar.limits import INT64_MAX, INT64_MIN, MAX_NAME, MAX_STRING

Value = int | float | str | bool

HEADER: Final = ("subject", "type", "sender", "group")
"""Header elements, in the order in which canonical filters name them."""
STRING_HEADER: Final = ("subject", "type", "group")
WORDS: Final = frozenset({"and", "in", "exists", "starts", "with", "true", "false"})
"""Words of the filter language, in any case: no attribute may be called so."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class Kind(IntEnum):
    """Kinds of values. Values of different kinds are never equal and never compare."""

    NUMBER = 1
    STRING = 2
    BOOLEAN = 3


KIND_OF_TYPE: Final[dict[type, Kind]] = {int: Kind.NUMBER, float: Kind.NUMBER, str: Kind.STRING, bool: Kind.BOOLEAN}


def kind_of(value: Value) -> Kind:
    """The kind of a value that `plain_value` has passed."""
    return KIND_OF_TYPE[type(value)]


class NameFaults(dict[str, str | None]):
    """Why no attribute can be called so, by name; None if one can. Never holds more than `limit` names.

    Names repeat from event to event, and this is the cheapest way to know them again. It starts afresh when a hostile
    peer has filled it; names too long to be one are not remembered.
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __missing__(self, name: str) -> str | None:
        fault = _name_fault(name)
        if len(name) <= MAX_NAME:
            if len(self) >= self._limit:
                self.clear()
            self[name] = fault
        return fault


def _name_fault(name: str) -> str | None:
    if len(name) > MAX_NAME:
        return f"attribute name {name[:16]!r}… is longer than {MAX_NAME} characters"
    if not _NAME.fullmatch(name):
        return f"{name!r} is no attribute name: use a letter or _ first, then letters, digits, and _ . -"
    if name in HEADER:
        return f"{name!r} is a header element, not an attribute"
    if name.lower() in WORDS:
        return f"{name!r} is a word of the filter language: use another attribute name"
    return None


name_fault: Final = NameFaults(limit=1024).__getitem__
"""Why no attribute can be called `name`, or None if one can."""


def value_fault(value: object) -> str | None:
    """Why `value`, of exactly one of the value types, cannot be carried, or None if it can."""
    if type(value) is str:
        return string_fault(value)
    if type(value) is int:
        if not INT64_MIN <= value <= INT64_MAX:
            return "integer does not fit into 64 bits: use a float"
    elif type(value) is float:
        if not isfinite(value):
            return f"{value} is not a value: numbers are finite"
    elif type(value) is not bool:
        return f"{type(value).__name__} is not a value: use an integer, a float, a string or a boolean"
    return None


def string_fault(text: str) -> str | None:
    """Why `text` cannot be a string value, or None if it can."""
    if len(text) > MAX_STRING:
        return f"string of {len(text)} characters is longer than {MAX_STRING}"
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return "string holds a lone surrogate, which is no character"
    return None


def plain(value: object) -> object:
    """`value` as exactly bool, int, float or str if it is of a subclass (an enumeration's member, a numpy float)."""
    if type(value) not in KIND_OF_TYPE:
        for type_ in (int, float, str):
            if isinstance(value, type_):
                return type_(value)
    return value
