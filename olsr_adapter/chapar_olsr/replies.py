"""What a routing daemon answers in JSON: an object with a list, of which nothing is believed yet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from chapar_olsr.faults import Fault
from chapar_olsr.source import SourceError

if TYPE_CHECKING:
    from chapar_olsr.faults import Faults

    Entry = dict[str, Any]

LONGEST_ADDRESS: Final = 64
"""Characters: the longest IPv6 address with the name of an interface. Whoever looks addresses up remembers them."""
LONGEST_QUOTE: Final = 60
"""Characters of a bad value that are repeated."""


def entries_untrusted(body: bytes, name: str, what: str, faults: Faults) -> list[Entry]:
    """The objects in the list `name` of an answer; what else is in it is counted. `what` it is, for a person.

    Raises SourceError, and nothing else.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:  # a text that is no UTF-8 is a ValueError too
        said = quoted(body[: 2 * LONGEST_QUOTE].decode("utf-8", "replace"))
        raise SourceError(f"{what} is no JSON ({error}): {said}", Fault.SYNTAX) from None
    listed = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        raise SourceError(f'{what} has no list "{name}"', Fault.MISSING)
    found = [each for each in listed if isinstance(each, dict)]
    for _ in range(len(listed) - len(found)):
        faults.add(Fault.BAD_VALUE, f"an entry of {name}")
    return found


def quoted(value: object) -> str:
    """A bad value in a line, shortened."""
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"
