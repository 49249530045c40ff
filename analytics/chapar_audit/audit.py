"""All jobs over one recorded run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from chapar_audit.jobs import breakeven, delivery, timeliness, traffic, truth
from chapar_audit.jobs import input as recording
from chapar_audit.verdict import Finding, Judgement, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from chapar_audit.recorded import Recorded

JOBS: Final[Mapping[str, Callable[[Recorded], Judgement]]] = {
    "input": recording.judge,
    "truth": truth.judge,
    "delivery": delivery.judge,
    "traffic": traffic.judge,
    "timeliness": timeliness.judge,
    "break-even": breakeven.judge,
}
"""By the name that their findings carry, in the order in which they are shown."""
FAILURES: Final = (Py4JJavaError, PySparkException)
"""What Spark raises when its work fails."""
_MOST: Final = 200
"""Letters of what Spark says went wrong."""


def audit(recorded: Recorded, tell: Callable[[str], None]) -> Iterator[tuple[str, Judgement]]:
    """Run every job; `tell` hears which is under way. One that fails is a row that deviates, and the others go on."""
    for name, judge in JOBS.items():
        tell(name)
        try:
            judged = judge(recorded)
        except FAILURES as error:
            judged = Judgement([failed(name, "the job itself", error)])
        yield name, judged


def failed(job: str, what: str, error: Exception) -> Finding:
    """What could not be worked out does not hold."""
    return Finding(job, what, State.DEVIATES, reason=f"it failed: {said(error)}")


def said(error: Exception) -> str:
    """What went wrong in Spark, in a line."""
    words = str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
    first = next((line for line in words.splitlines() if line.strip()), type(error).__name__)
    return re.sub(r"^([a-z]\w*\.)+(\w+): ", r"\2: ", first.strip())[:_MOST]
