"""Reading a TOML table strictly: every key is asked for by name and checked, and what nobody asked for is an error."""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ScenarioError(ValueError):
    """A scenario that cannot be run: one line that names the file, the key and what to write instead."""


class Table:
    """One table of a scenario. Ask for each key it may have, then `finish`; wrong values raise `ScenarioError`."""

    def __init__(self, data: Mapping[str, object], where: str, path: str = "") -> None:
        self._data = data
        self._where = where
        self._path = path
        self._asked: dict[str, None] = {}

    def fail(self, key: str, message: str) -> NoReturn:
        path = f"{self._path}.{key}" if self._path and key else self._path or key
        raise ScenarioError(f"{self._where}: {path}: {message}" if path else f"{self._where}: {message}")

    def has(self, key: str) -> bool:
        """Whether the key is there. Asking makes it a known key."""
        self._asked[key] = None
        return key in self._data

    def raw(self, key: str) -> object:
        self._asked[key] = None
        return self._data.get(key)

    def finish(self) -> None:
        """Complain about the first key that nobody asked for."""
        for key in self._data:
            if key not in self._asked:
                close = difflib.get_close_matches(key, self._asked, n=1)
                hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(sorted(self._asked))}"
                self.fail(key, f"unknown key; {hint}")

    def number(
        self,
        key: str,
        default: float | None = None,
        *,
        low: float = -math.inf,
        high: float = math.inf,
        above: float = -math.inf,
    ) -> float:
        """A number in [low, high] and > above. Without a default the key must be there."""
        return self._number(key, self._given(key, default, "a number"), low=low, high=high, above=above)

    def integer(self, key: str, default: int | None = None, *, low: int, high: int) -> int:
        value = self._given(key, default, f"a whole number from {low} to {high}")
        return self._integer(key, value, low, high)

    def flag(self, key: str, *, default: bool) -> bool:
        value = self._given(key, default, "true or false")
        if not isinstance(value, bool):
            self.fail(key, f"{value!r} is not a truth value; write true or false")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self._given(key, default, "a text in quotes")
        if not isinstance(value, str):
            self.fail(key, f"{value!r} is not a text; write it in quotes")
        return value

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if self.has(key) else None

    def choice(self, key: str, options: Iterable[str], default: str | None = None) -> str:
        known = list(options)
        value = self._given(key, default, f"one of {', '.join(known)}")
        if value not in known:
            close = difflib.get_close_matches(str(value), known, n=1)
            advice = f"did you mean {close[0]!r}?" if close else f"write one of {', '.join(known)}"
            self.fail(key, f"{value!r} is not known; {advice}")
        return str(value)

    def span(
        self, key: str, default: tuple[float, float], *, low: float = 0.0, high: float = math.inf
    ) -> tuple[float, float]:
        """A number, or a pair [least, most]."""
        value = self._given(key, None, "a number or a pair [least, most]") if self.has(key) else list(default)
        ends = value if isinstance(value, (list, tuple)) else [value, value]
        if len(ends) != 2:
            self.fail(key, "write a number or a pair [least, most]")
        least, most = (self._number(key, end, low=low, high=high) for end in ends)
        if least > most:
            self.fail(key, f"{least} is above {most}; write [least, most]")
        return least, most

    def items(self, key: str) -> list[object]:
        """A list of anything; empty if the key is not there."""
        value = self.raw(key) if self.has(key) else []
        if not isinstance(value, (list, tuple)):
            self.fail(key, "write a list in square brackets")
        return list(value)

    def integers(self, key: str, *, low: int, high: int) -> tuple[int, ...]:
        return tuple(self._integer(f"{key}[{place}]", item, low, high) for place, item in enumerate(self.items(key)))

    def pair(self, key: str, value: object, *, low: float = -math.inf) -> tuple[float, float]:
        """`value`, found under `key`, as two numbers."""
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            self.fail(key, f"{value!r} is not a pair of numbers; write [a, b]")
        return self._number(key, value[0], low=low), self._number(key, value[1], low=low)

    def table(self, key: str) -> Table:
        """The table under `key`; an empty one if there is none."""
        value = self.raw(key) if self.has(key) else {}
        return self._sub(value, key, f"write a table: [{self._name(key)}]")

    def tables(self, key: str) -> list[Table]:
        """The tables of the array `key`; none if there is none."""
        value = self.raw(key) if self.has(key) else []
        if not isinstance(value, (list, tuple)):
            self.fail(key, f"write an array of tables: [[{self._name(key)}]]")
        return [self._sub(item, f"{key}[{place}]", f"write [[{self._name(key)}]]") for place, item in enumerate(value)]

    def names(self) -> list[str]:
        """All keys, which the caller hereby knows."""
        self._asked.update(dict.fromkeys(self._data))
        return list(self._data)

    def _name(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def _sub(self, value: object, key: str, advice: str) -> Table:
        if not isinstance(value, dict):
            self.fail(key, f"{value!r} is not a table; {advice}")
        return Table(value, self._where, self._name(key))

    def _given(self, key: str, default: object, what: str) -> object:
        if not self.has(key):
            if default is None:
                self.fail(key, f"missing; write {what}")
            return default
        return self._data[key]

    def _number(
        self, key: str, value: object, *, low: float = -math.inf, high: float = math.inf, above: float = -math.inf
    ) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            self.fail(key, f"{value!r} is not a number")
        if not low <= value <= high or value <= above:
            self.fail(key, f"{value} is out of range; write {_range(low, high, above)}")
        return float(value)

    def _integer(self, key: str, value: object, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(key, f"{value!r} is not a whole number")
        if not low <= value <= high:
            self.fail(key, f"{value} is out of range; write {low} to {high}")
        return value


def _range(low: float, high: float, above: float) -> str:
    floor = f"a number above {above:g}" if above > low else f"a number from {low:g}"
    if math.isinf(low) and math.isinf(above):
        return f"at most {high:g}"
    return floor if math.isinf(high) else f"{floor} to {high:g}"
