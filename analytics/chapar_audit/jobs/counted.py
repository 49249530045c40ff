"""The verdict, link by link, on what the brokers of a tree sent against what clients did: message by message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from chapar_audit.verdict import Finding, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chapar_audit.jobs.overlay import Way

JOB: Final = "traffic"
SHOWN: Final = 5
"""Links that deviate and get a row of their own; the rest are one row."""


class Count(NamedTuple):
    """One kind of message on one way."""

    sent: int
    heard: int
    """The same at the other end."""
    due: int
    """What clients' interest makes it."""
    fewer: int = 0
    """How many of these may not have been sent, as something else happened while they were under way."""
    more: int = 0
    """How many may have been sent besides."""
    begun: int = 0
    """How often the link was begun anew."""
    repeated: int = 0
    """How many were sent again: the other end may have heard these twice."""

    @property
    def holds(self) -> bool:
        """Both ends agree with clients' interest; a message may be sent within the time and heard after it."""
        slack = self.fewer + self.more
        is_heard = self.sent - slack <= self.heard <= self.sent + self.repeated + slack
        return self.is_due(self.sent) and is_heard

    def is_due(self, number: int, repeated: int = 0) -> bool:
        return self.due - self.fewer <= number <= self.due + self.more + repeated


def judged(what: str, counts: Mapping[Way, Count], *, removed: int = 0) -> list[Finding]:
    """One row for all links that agree, and one for each that does not. `removed` rows the recorders gave up."""
    wrong = {way: each for way, each in counts.items() if not each.holds}
    right = [each for way, each in counts.items() if way not in wrong]
    rows = []
    if right or not wrong:
        rows.append(_agreement(what, right))
    worst = sorted(
        wrong, key=lambda way: -abs(wrong[way].sent - wrong[way].due) - abs(wrong[way].heard - wrong[way].due)
    )
    rows += [_deviation(what, way, wrong[way], removed) for way in worst[:SHOWN]]
    if len(worst) > SHOWN:
        rest = [wrong[way] for way in worst[SHOWN:]]
        rows.append(
            Finding(
                JOB, f"{what} over {len(rest)} more directions of links", State.DEVIATES, _sum(e.sent for e in rest),
                _sum(e.due for e in rest), "messages", "exact", "as on those named",
            )
        )  # fmt: skip
    return rows


def _agreement(what: str, counts: list[Count]) -> Finding:
    slack = sum(each.fewer + each.more for each in counts)
    tolerance = "exact" if not slack else f"exact on each, but for {slack} that were under way"
    where = f"over each of {len(counts)} directions of links"
    sent, due = _sum(each.sent for each in counts), _sum(each.due for each in counts)
    return Finding(JOB, f"{what} {where}", State.HOLDS, sent, due, "messages", tolerance)


def _deviation(what: str, way: Way, count: Count, removed: int) -> Finding:
    slack = count.fewer + count.more
    tolerance = f"exact, but for {slack}" if slack else "exact"
    reason = _reason(way, count, removed)
    subject = f"{what} from {way[0]} to {way[1]}"
    return Finding(
        JOB, subject, State.DEVIATES, float(count.sent), float(count.due), "messages", tolerance, reason
    )  # fmt: skip


def _reason(way: Way, count: Count, removed: int) -> str:
    sender, receiver = way
    if removed:
        return f"recorders removed {removed} rows to keep to their budget; these may be among them"
    if count.is_due(count.heard, count.repeated):
        what = "there that were never sent" if count.sent > count.heard else "missing"
        return f"{receiver} received {count.heard}, as it should: rows of {sender} are {what}"
    if count.begun:
        return f"the link was begun anew {count.begun} times, and all was said again"
    if count.is_due(count.sent):
        what = (
            "has received more than was sent" if count.heard > count.sent else "lacks what was sent: lost, or its rows"
        )
        return f"{receiver} recorded {count.heard}: it {what}"
    if count.sent == count.heard:
        if count.due and count.sent == 2 * count.due:
            return "both ends say so: each message was sent twice"
        if count.sent > count.due:
            return "both ends say so: more was told than clients' interest changed; stale tables, or clients' rows lack"
        return "both ends say so: less was told than clients' interest changed; a link that was down, or rows that lack"
    return f"{receiver} recorded {count.heard}: neither end agrees with what clients did, nor with the other"


def _sum(values: Iterable[int]) -> float:
    return float(sum(values))
