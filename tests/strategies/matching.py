"""Seeded filters and events over a small vocabulary, so that many filters share names and values, and many match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapar.constraint import Constraint, Op
from chapar.event import Event
from chapar.filter import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from chapar.value import Value

WORDS = ("", "a", "ab", "abc", "b", "ba", "\ud7ff", "\ue000", "\U0010ffff")
ATTRIBUTES = ("speed", "height", "cell", "state")


def random_value(rng: Random) -> Value:
    """Often equal to another one, and of all kinds, among them 1, 1.0 and True."""
    choices: tuple[Value, ...] = (rng.randrange(-2, 40), float(rng.randrange(3)), 40 * rng.random(), rng.choice(WORDS))
    return rng.choice((*choices, rng.random() < 0.5))


def random_constraint(rng: Random, names: Sequence[str]) -> Constraint:
    name, op, value = rng.choice(names), rng.choice(tuple(Op)), random_value(rng)
    if op is Op.EXISTS:
        return Constraint(name, op)
    if op is Op.IN:
        return Constraint(name, op, tuple(random_value(rng) for _ in range(rng.randint(1, 6))))
    if op is Op.PREFIX:
        return Constraint(name, op, rng.choice(WORDS))
    if isinstance(value, bool) and op not in (Op.EQ, Op.NE):
        return Constraint(name, Op.NE, value)
    return Constraint(name, op, value)


def random_filter(rng: Random, names: Sequence[str] = (*ATTRIBUTES, "subject", "sender")) -> Filter:
    return Filter.of(random_constraint(rng, names) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))))


def random_event(rng: Random, names: Sequence[str] = ATTRIBUTES) -> Event:
    return Event(
        subject=rng.choice((None, *WORDS)),
        sender=rng.choice((None, 0, 1, 2, 3)),
        attributes={name: random_value(rng) for name in names if rng.random() < 0.8},
    )
