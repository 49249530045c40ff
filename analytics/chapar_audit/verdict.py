"""What an audit says: a row for each thing that was checked, with the numbers, and the state of the whole.

A row holds, or deviates and says why that is likely, or is open: the data or the models do not decide it. An open row
is shown like the others, so that nothing passes in silence, and does not make the audit fail on its own.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame


class State(StrEnum):
    HOLDS = "holds"
    DEVIATES = "deviates"
    OPEN = "open"


class Finding(NamedTuple):
    """One row of the verdict."""

    job: str
    """Which job found it: traffic, delivery, timeliness, truth, break-even."""
    subject: str
    """What was checked, in a few words, like `events of identity routing over 5-9`."""
    state: State
    measured: float | None = None
    expected: float | None = None
    """What the model says."""
    unit: str = ""
    tolerance: str = ""
    """Which deviation is allowed, for a person: `exact`, `3 %`, `95 % confidence ±0.12`."""
    reason: str = ""
    """Of a deviation the most likely one; of an open row, why it is open; may be empty where it holds."""


class Judgement(NamedTuple):
    """What one job found, and the tables it worked out on the way, which are kept as Parquet and drawn."""

    findings: Sequence[Finding] = ()
    tables: Mapping[str, DataFrame] = {}


def state_of(findings: Sequence[Finding]) -> State:
    """Of the whole: one deviation is enough; with nothing decided, it is open."""
    states = {finding.state for finding in findings}
    if State.DEVIATES in states:
        return State.DEVIATES
    return State.HOLDS if State.HOLDS in states else State.OPEN


def as_json(run: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """`verdict.json`."""
    return {"run": run, "state": state_of(findings), "findings": [finding._asdict() for finding in findings]}


def compared(
    job: str, subject: str, measured: float, expected: float, *, within: float, unit: str = "", reason: str = ""
) -> Finding:
    """A row that holds if `measured` is within a share of what is expected; `reason` is for when it is not."""
    holds = abs(measured - expected) <= within * abs(expected)
    return Finding(
        job,
        subject,
        State.HOLDS if holds else State.DEVIATES,
        measured,
        expected,
        unit,
        f"{100 * within:g} %" if within else "exact",
        "" if holds else reason,
    )
