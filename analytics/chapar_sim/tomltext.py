"""Scenarios as TOML text: the standard library reads it but does not write it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def dumps(data: Mapping[str, object]) -> str:
    """`data` as TOML: its plain values first, then its tables and lists of tables, each under its heading."""
    return "\n".join(_lines(data, ())).strip() + "\n"


def _lines(data: Mapping[str, object], path: tuple[str, ...]) -> Iterable[str]:
    for key, value in data.items():
        if not isinstance(value, dict) and not _is_tables(value):
            yield f"{key} = {_value(value)}"
    for key, value in data.items():
        here = (*path, key)
        if isinstance(value, dict):
            yield from ("", f"[{'.'.join(here)}]")
            yield from _lines(value, here)
        elif isinstance(value, list) and _is_tables(value):
            for item in value:
                yield from ("", f"[[{'.'.join(here)}]]")
                yield from _lines(item, here)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    assert isinstance(value, (bool, int, float, str)), f"TOML has no {value!r}"
    # Of plain values JSON writes what TOML reads, but for this one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
