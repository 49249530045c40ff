"""From a publisher to a subscriber who both come and go (the paper on timeliness): table 3."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_audit.figures import queues
from chapar_audit.figures.figure import Drawing, Effort, Figure, Grid
from chapar_audit.models import path as way
from chapar_audit.models.onoff import OnOff
from chapar_audit.verdict import compared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_audit.figures.workshop import Workshop

FIGURE: Final = "figure 004:Table 3"
D: Final = 0.0625
"""Seconds that an event takes at each stop."""
BROKERS: Final = 2
"""With their queues, and the subscriber's own, the four M/M/1 queues that the paper's values follow from."""
BEGIN, END, PARTS = 0.05, 0.97, 6
"""What is published in this share of a run counts: queues are empty at first, and all are there at the end."""
SHARE: Final = 0.05
"""The tandem takes M/M/1 queues for smooth; messages take a millisecond at each stop."""
MINUTE: Final = 60.0


class Case(NamedTuple):
    """A row of the table."""

    name: str
    publisher: tuple[float, float]
    subscriber: tuple[float, float]
    lam: float
    simulated: float
    analytical: float
    """Seconds, as the paper has them."""
    seconds: tuple[float, float]
    """Of a run, quick and full; 0: none."""
    within: float | None
    """How far from the paper's value algorithm 1 is for what the paper says of the row; None: far."""

    def path(self, brokers: int = BROKERS) -> Sequence[way.Stop]:
        return way.stops(OnOff(D, *self.publisher), OnOff(D, *self.subscriber), brokers, D)


CASES: Final = (
    Case("metro, morning", (109, 121.5), (146.3, 96), 1, 118.7, 116.76, (0, 24_000), 1e-3),
    Case("metro, evening", (292.1, 78.7), (155.8, 72.1), 1, 45.3, 43.7, (0, 24_000), 1e-3),
    Case("voluntary, both", (60, 600), (30, 900), 0.5, 27.82 * MINUTE, 28.31 * MINUTE, (0, 0), None),
    Case("voluntary, subscriber", (60, 0), (30, 900), 0.5, 17.61 * MINUTE, 18.03 * MINUTE, (0, 0), None),
    Case("degraded network", (1, 1), (1.5, 1.5), 2, 2.41, 2.26, (400, 12_000), 0.02),
)
CHAINS: Final = 3
"""Paths side by side in a run."""
HEAD: Final = (
    "case", "printed: simulated", "printed: analytical", "algorithm 1, 4 M/M/1", "algorithm 1, 6 M/M/1", "tandem",
    "our broker",
)  # fmt: skip


def _seconds(case: Case, effort: Effort) -> float:
    return case.seconds[effort is Effort.FULL]


def _measured(workshop: Workshop, effort: Effort) -> dict[str, queues.Waited]:
    cases = [case for case in CASES if _seconds(case, effort)]
    runs = workshop.record(
        [queues.chains(case.name, _seconds(case, effort), queues.poisson(case.lam), case.path(), CHAINS)
         for case in cases]
    )  # fmt: skip
    return {
        case.name: queues.passed(run, BEGIN * _seconds(case, effort), END * _seconds(case, effort), PARTS)
        for case, run in zip(cases, runs, strict=True)
    }


def _tandem(case: Case) -> float:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for small matrices, more threads wait for each other
    from chapar_audit.models.tandem import response_times  # noqa: PLC0415 - numpy, after its threads are set

    return math.fsum(response_times(case.path(), case.lam))


def table(workshop: Workshop, effort: Effort) -> Drawing:
    """Make table 3."""
    found = _measured(workshop, effort)
    rows, findings = [], []
    for case in CASES:
        four, six = (way.response_time(case.path(brokers), case.lam) for brokers in (BROKERS, BROKERS + 1))
        tandem = _tandem(case) if effort is Effort.FULL or case.name in found else None
        measured = found.get(case.name)
        cells = [case.simulated, case.analytical, four, six, tandem]
        rows.append([case.name, *(_time(each) for each in cells), _measurement(measured)])
        if case.within is not None:
            findings.append(
                compared(FIGURE, f"{case.name}: the paper's value by algorithm 1", four, case.analytical,
                         within=case.within, unit="s", reason="algorithm 1 over four M/M/1 queues is something else")
            )  # fmt: skip
        if measured is not None and tandem is not None:
            findings.append(
                queues.agrees(FIGURE, f"{case.name}: our broker's queues in a row", measured, tandem, SHARE,
                              "what leaves a queue waits longer or shorter at the next than the tandem says")
            )  # fmt: skip
    return Drawing(Grid(HEAD, rows), CAPTION, findings)


CAPTION: Final = (
    "Mean time from publication until the subscriber is done with an event; D = 0.0625 s at each stop. Algorithm 1 "
    "adds up the queues as if events came to each as a Poisson stream. What leaves an ON/OFF queue comes in bursts, "
    "so that events take longer at the next: the tandem is the numerical solution of the chain of queues, and our "
    "broker's clients, each of which hands what it has taken on to the next, measure it (± 95 % confidence). The "
    "paper's values of the metro follow with four M/M/1 queues, though its figure 6 has six; those of the voluntary "
    "rows do not follow from what it says of them: with λ = 0.5, D = 0.0625 the subscriber's queue is busy for 97 % "
    "of the time that he is there, and both rows come to nearly 8 hours. To measure these takes months of virtual "
    "time, and is left out."
)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds / MINUTE:.1f} min" if seconds > 5 * MINUTE else f"{seconds:.2f} s"


def _measurement(measured: queues.Waited | None) -> str:
    if measured is None:
        return "–"
    return f"{measured.mean:.2f} ± {queues.SIGMAS * measured.error:.2f} s"


FIGURES: Final = (
    Figure(
        number="004:Table 3",
        title="Response times from end to end",
        make=table,
        error="algorithm 1 neglects that events leave an ON/OFF queue in bursts, and rows 3 and 4 do not follow from "
        "the inputs that the paper states.",
    ),
)
