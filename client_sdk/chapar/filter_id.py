"""Filter ids (report 3.1), and the two ways to look events up by them.

A FID is five 32-bit hashes: of the subject, the content, the sender, the type and the group a filter asks for, with 0
for an element it does not ask for. The content element stands for every constraint that is not plain equality of one
header element; only evaluating it decides whether an event satisfies it.

Different filters can share a FID (a hash is 32 bits wide); filters are compared by their constraints.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import mmh3

from chapar.constraint import Constraint, Op, encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar.event import Event

FID_BYTES: Final = 20
_CONTENT: Final = 1
_ELEMENTS: Final = ("subject", None, "sender", "type", "group")
_FID = struct.Struct(">5I")


def element(data: bytes) -> int:
    """The hash of one element. 0 means "not asked for", so a real hash of 0 becomes 1."""
    return mmh3.hash(data, signed=False) or 1


def filter_id(constraints: Sequence[Constraint]) -> bytes:
    """The FID of canonical constraints."""
    return _FID.pack(*filter_elements(constraints))


def filter_elements(constraints: Sequence[Constraint]) -> tuple[int, ...]:
    """The five elements of a FID."""
    elements = [0] * len(_ELEMENTS)
    content = list(constraints)
    for place, name in enumerate(_ELEMENTS):
        equalities = [each for each in constraints if each.name == name and each.op is Op.EQ]
        # Two equalities on one element are no lookup but a contradiction, and part of the content like any other.
        if len(equalities) == 1 and (data := _element_bytes(equalities[0].value, name)) is not None:
            elements[place] = element(data)
            content.remove(equalities[0])
    if content:
        elements[_CONTENT] = element(encode(content))
    return tuple(elements)


def event_elements(event: Event) -> tuple[int, ...]:
    """The EID of an event (report 3.2). Its content element is 0: no hash can answer constraints."""
    values = (None if name is None else event.value(name) for name in _ELEMENTS)
    encoded = (_element_bytes(value, name) for value, name in zip(values, _ELEMENTS, strict=True))
    return tuple(0 if data is None else element(data) for data in encoded)


def _element_bytes(value: object, name: str | None) -> bytes | None:
    """What is hashed for a header element, or None for a value the element cannot hold."""
    if name == "sender":
        return value.to_bytes(2, "big") if type(value) is int and 0 <= value < 2**16 else None
    return value.encode() if type(value) is str else None


def exact_match(fid_elements: Sequence[int], eid_elements: Sequence[int]) -> bool:
    """Whether an event has the elements a filter asks for, content aside: each asked-for element is equal."""
    return all(
        asked in (0, held)
        for place, (asked, held) in enumerate(zip(fid_elements, eid_elements, strict=True))
        if place != _CONTENT
    )


def and_match(fid_elements: Sequence[int], eid_elements: Sequence[int]) -> bool:
    """The report's own rule (3.7), `FID & EID == FID`, element by element: the documented alternative, not used.

    It also accepts every event whose hash has the filter's bits among its own: for uniform n-bit elements with
    probability (3^n - 2^(n+1) + 1) / 4^n per element, about 0.01 at 16 bits (appendix B).
    """
    return all(asked & held == asked for asked, held in zip(fid_elements, eid_elements, strict=True))
