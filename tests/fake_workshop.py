"""A workshop that asks no simulator: its brokers do what a model says."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chapar_audit.figures.workshop import Workshop


class FakeWorkshop:
    def __init__(self, answer: Callable[[Mapping[str, str]], float]) -> None:
        self.answer = answer
        """The messages of a run with these options: by name, without dashes."""
        self.asked: list[dict[str, str]] = []

    @property
    def workshop(self) -> Workshop:
        return cast("Workshop", self)

    def traffic(self, options: Sequence[str]) -> list[dict[str, Any]]:
        asked = [named(shlex.split(each)) for each in options]
        self.asked += asked
        return [{"total": self.answer(each), "deviation": 0.0} for each in asked]


def named(words: Sequence[str]) -> dict[str, str]:
    """Options with their values; of one without a value it is empty."""
    following = [*words[1:], "--"]
    return {
        word[2:]: "" if value.startswith("--") else value
        for word, value in zip(words, following, strict=True)
        if word.startswith("--")
    }
