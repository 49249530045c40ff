"""All jobs over one recorded run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chapar_audit.recorded import Recorded
    from chapar_audit.verdict import Judgement

JOBS: Final[Mapping[str, Callable[[Recorded], Judgement]]] = {}
"""By the name that their findings carry, in the order in which they are shown."""


def audit(recorded: Recorded, tell: Callable[[str], None]) -> Sequence[tuple[str, Judgement]]:
    """Run every job; `tell` hears which is under way."""
    done = []
    for name, judge in JOBS.items():
        tell(name)
        done.append((name, judge(recorded)))
    return done
