"""What daemons say of themselves against what the medium saw: frames and bytes, by node and kind, sent and received.

They agree to the byte but for frames that routes led back to their sender, that found no route, that the link layer
repeated, or that were under way when a daemon ended. Where a count is not exact, these are counted: it may be off by no
more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import types as sql

from chapar_audit.jobs import sightings
from chapar_audit.verdict import Finding, Judgement, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Row

    from chapar_audit.recorded import Recorded

JOB: Final = "truth"
SHOWN: Final = 5
"""Nodes that deviate and get a row of their own; the rest are one row."""
NAMED: Final = 4
"""Kinds of frames that a reason names."""
SIDES: Final = 0.5
"""Part of what the medium says too much or too little that others must say as well to be believed against it."""
USUAL_PERIOD: Final = 16.0
"""Seconds between beacons of a daemon that says nothing else in its settings."""
SENT, RECEIVED = "sent", "received"
MUST: Final = {"frames": "record.frames", "air": "only the simulator and the lab have a medium that records"}
TOLD_AND_SEEN: Final = sql.StructType(
    [
        sql.StructField("node", sql.IntegerType(), nullable=False),
        sql.StructField("kind", sql.StringType(), nullable=False),
        *(
            sql.StructField(name, sql.LongType(), nullable=False)
            for name in ("told_frames", "told_bytes", "seen_frames", "seen_bytes")
        ),
    ]
)


class Amount(NamedTuple):
    frames: int = 0
    bytes: int = 0

    def plus(self, other: Amount) -> Amount:
        return Amount(self.frames + other.frames, self.bytes + other.bytes)

    def minus(self, other: Amount) -> Amount:
        return Amount(self.frames - other.frames, self.bytes - other.bytes)


class Key(NamedTuple):
    """Whose word it is about which frames."""

    node: int
    kind: str
    source: int | None = None
    """Of what was received."""


Tally = dict[Key, Amount]


@dataclass(frozen=True, slots=True)
class Slack:
    """For what reason how much may be more or less, by key."""

    less: dict[str, Tally] = field(default_factory=dict)
    """Told less than seen."""
    more: dict[str, Tally] = field(default_factory=dict)


class Count(NamedTuple):
    """What was told and seen of one kind of frames, and how far they may be apart."""

    told: Amount
    seen: Amount
    less: Amount = Amount()
    more: Amount = Amount()

    @property
    def is_exact(self) -> bool:
        return self.told == self.seen

    @property
    def lacking(self) -> Amount:
        """What is told too little, beyond what may be."""
        return Amount(*(max(0, a - b - c) for a, b, c in zip(self.seen, self.told, self.less, strict=True)))

    @property
    def excess(self) -> Amount:
        return Amount(*(max(0, b - a - c) for a, b, c in zip(self.seen, self.told, self.more, strict=True)))

    @property
    def holds(self) -> bool:
        return not any((*self.lacking, *self.excess))


Counts = dict[Key, Count]


class Evidence(NamedTuple):
    """What tells why something is wrong."""

    told: Mapping[str, Counts]
    doubled: Counter[tuple[int, bool, str]]
    """Rows that are there twice: by node, whether they are of what it sent, and kind."""
    removed: Counter[int]
    """Rows that the recorder of a node gave up."""


def judge(recorded: Recorded) -> Judgement:
    """Four rows where all agrees, and one for each node that does not."""
    for dataset, why in MUST.items():
        if dataset in recorded.missing:
            reason = f"`{dataset}` was not recorded ({why}): nothing to hold against each other"
            return Judgement([Finding(JOB, "what daemons say and the medium saw", State.OPEN, reason=reason)])
    said = sightings.told(recorded.tables["frames"]).collect()
    seen = sightings.aired(recorded.tables["air"]).cache()
    on_air, heard = sightings.sent(seen).collect(), sightings.heard(seen).collect()
    seen.unpersist()
    known = recorded.settings.keys() | {row.node for row in said}
    ours = [row for row in on_air if row.kind != sightings.GARBAGE]
    theirs = [row for row in heard if row.kind != sightings.GARBAGE and row.node in known]
    sent = _paired(
        _tally((row for row in said if row.direction == "tx"), by_source=False),
        _tally((row for row in ours if row.node == row.source), by_source=False),
    )
    passed = _tally(row for row in ours if row.node != row.source)
    arrived = _tally(row for row in theirs if row.node != row.source)
    received = _paired(_tally(row for row in said if row.direction == "rx"), _less(arrived, passed))
    returned = _tally((row for row in theirs if row.node == row.source), by_source=False)
    findings = list(_verdict(recorded, sent, received, passed, returned))
    findings += _strangers(on_air)
    rows = [(key.node, key.kind, *each.told, *each.seen) for key, each in sorted(sent.items())]
    return Judgement(findings, {"told_and_seen": seen.sparkSession.createDataFrame(rows, TOLD_AND_SEEN)})


def _verdict(recorded: Recorded, sent: Counts, received: Counts, passed: Tally, returned: Tally) -> Iterator[Finding]:
    """Slack is only counted where something is not exact."""
    slacks = {SENT: Slack(), RECEIVED: Slack()}
    if not all(each.is_exact for each in (*sent.values(), *received.values())):
        slacks = _slacks(recorded, sent, received, passed, returned)
    told = {SENT: _within(sent, slacks[SENT]), RECEIVED: _within(received, slacks[RECEIVED])}
    wrong = {
        word: sorted({key.node for key, each in counts.items() if not each.holds}) for word, counts in told.items()
    }
    evidence = Evidence(told, Counter(), Counter())
    if wrong[SENT] or wrong[RECEIVED]:
        evidence = _evidence(recorded, told)
    for word, counts in told.items():
        yield from _agreement(
            word, {key: each for key, each in counts.items() if key.node not in wrong[word]}, slacks[word]
        )
        rest = wrong[word][SHOWN:]
        for node in wrong[word][:SHOWN]:
            mine = {key: each for key, each in counts.items() if key.node == node}
            yield _deviation(word, f"node {node}", mine, _reason(node, mine, evidence))
        if rest:
            others = {key: each for key, each in counts.items() if key.node in rest}
            yield _deviation(word, f"{len(rest)} more nodes", others, "as of those named")


def _evidence(recorded: Recorded, told: Mapping[str, Counts]) -> Evidence:
    doubled, removed = Counter[tuple[int, bool, str]](), Counter[int]()
    for row in sightings.doubled(recorded.tables["frames"]).collect():
        doubled[row.node, row.direction == "tx", row.kind] += row.frames
    for row in recorded.tables["removals"].where("dataset = 'frames'").select("node", "rows").collect():
        removed[row.node] += row.rows
    return Evidence(told, doubled, removed)


# Counts


def _tally(rows: Iterator[Row], *, by_source: bool = True) -> Tally:
    found: Tally = {}
    for row in rows:
        key = Key(row.node, row.kind, row.source if by_source else None)
        found[key] = found.get(key, Amount()).plus(Amount(row.frames, row.bytes))
    return found


def _less(one: Tally, other: Tally) -> Tally:
    """What of one is not the other's: below zero where the link layer repeated what was passed on."""
    return {key: one.get(key, Amount()).minus(other.get(key, Amount())) for key in one.keys() | other.keys()}


def _paired(told: Tally, seen: Tally) -> Counts:
    keys = told.keys() | seen.keys()
    return {key: Count(told.get(key, Amount()), seen.get(key, Amount())) for key in keys}


def _within(counts: Counts, slack: Slack) -> Counts:
    return {key: each._replace(less=_all(slack.less, key), more=_all(slack.more, key)) for key, each in counts.items()}


def _all(tallies: Mapping[str, Tally], key: Key) -> Amount:
    total = Amount()
    for each in tallies.values():
        total = total.plus(each.get(key, Amount()))
    return total


def _slacks(recorded: Recorded, sent: Counts, received: Counts, passed: Tally, returned: Tally) -> dict[str, Slack]:
    """What is known from the counts already, and the rest only as far as these leave something to explain."""
    frames, air = recorded.tables["frames"], recorded.tables["air"]
    of_sent = Slack(less={"that came back to their sender": returned})
    of_received = Slack(less={"passed on, or without a route onwards": passed})
    off_sent, off_received = _off(_within(sent, of_sent)), _off(_within(received, of_received))
    if off_sent.less or off_received.more:
        again = sightings.repeated(air).collect()
        of_sent.less["that the link layer may have repeated"] = _tally(
            (row for row in again if row.node == row.source), by_source=False
        )
        of_received.more["that the link layer may have repeated when they were passed on"] = _tally(
            row for row in again if row.node != row.source
        )
    if off_sent.more or off_received.less:
        periods = {node: _period(each) for node, each in recorded.settings.items()}
        silent = sightings.silences(frames, recorded.starts, periods).cache()
        edge = f"sent within {sightings.EDGE_US / 1000:g} ms before a daemon ended"
        of_sent.more[edge] = _of_nodes(sightings.cut_off(frames, silent).collect())
        missed = sightings.unheard(air, silent).collect()
        of_received.less["while their receiver was down or hung"] = _tally(
            row for row in missed if row.node != row.source
        )
        silent.unpersist()
    if off_sent.more:
        unrouted = sightings.unrouted(frames, recorded.tables["routes"]).collect()
        of_sent.more["sent without a route"] = _of_nodes(unrouted)
    return {SENT: of_sent, RECEIVED: of_received}


def _period(settings: Mapping[str, Any]) -> float:
    protocol = settings.get("protocol")
    said = protocol.get("refresh_period") if isinstance(protocol, dict) else None
    return float(said) if isinstance(said, int | float) else USUAL_PERIOD


class _Off(NamedTuple):
    less: bool
    more: bool


def _off(counts: Counts) -> _Off:
    """Whether something is told too little, and whether something is told too much."""
    return _Off(any(any(e.lacking) for e in counts.values()), any(any(e.excess) for e in counts.values()))


def _of_nodes(rows: list[Row]) -> Tally:
    return {Key(row.node, row.kind): Amount(row.frames, row.bytes) for row in rows}


# Rows


def _agreement(word: str, counts: Counts, slack: Slack) -> Iterator[Finding]:
    if not counts:
        return
    tolerance = "exact for each node and kind"
    if vague := [key for key, each in counts.items() if not each.is_exact]:
        known = {why: tally for tallies in (slack.less, slack.more) for why, tally in tallies.items()}
        numbers = {why: sum(tally.get(key, Amount()).frames for key in vague) for why, tally in known.items()}
        within = ", ".join(f"{number} {why}" for why, number in numbers.items() if number)
        tolerance = f"exact for {len(counts) - len(vague)} of {len(counts)} counts, the others within {within}"
    for place, unit in enumerate(Amount._fields):
        told, seen = sum(e.told[place] for e in counts.values()), sum(e.seen[place] for e in counts.values())
        subject = f"{unit} {word}, as daemons say and the medium saw"
        yield Finding(JOB, subject, State.HOLDS, told, seen, unit, tolerance)


def _deviation(word: str, who: str, counts: Counts, reason: str) -> Finding:
    """In frames; or in bytes if only these are wrong."""
    wrong = [each for each in counts.values() if not each.holds]
    unit = "frames" if any(each.lacking.frames or each.excess.frames for each in wrong) else "bytes"
    place = Amount._fields.index(unit)
    told, seen = sum(each.told[place] for each in wrong), sum(each.seen[place] for each in wrong)
    allowed = sum(each.less[place] + each.more[place] for each in wrong)
    tolerance = f"exact, but for {allowed}" if allowed else "exact"
    return Finding(JOB, f"{unit} that {who} {word}", State.DEVIATES, told, seen, unit, tolerance, reason)


# Reasons


def _reason(node: int, counts: Counts, evidence: Evidence) -> str:
    is_sent = all(key.source is None for key in counts)
    lacking, excess = Counter[str](), Counter[str]()
    for key, each in counts.items():
        lacking[key.kind] += each.lacking.frames
        excess[key.kind] += each.excess.frames
    lacking, excess = +lacking, +excess
    said = []
    if lacking:
        said.append(f"{_why_lacking(node, counts, evidence, is_sent=is_sent)}: {_kinds(lacking)}")
    if excess:
        is_same = all(evidence.doubled[node, is_sent, kind] >= number for kind, number in excess.items())
        why = f"rows of node {node} are duplicated" if is_same else _why_excess(node, counts, evidence, is_sent=is_sent)
        said.append(f"{why}: {_kinds(excess)}")
    return "; ".join(said) or f"sizes that node {node} recorded are not those on the air: {_kinds(_sizes(counts))}"


def _why_lacking(node: int, counts: Counts, evidence: Evidence, *, is_sent: bool) -> str:
    sources = sorted({_source(key) for key, each in counts.items() if each.lacking.frames})
    if all(_is_doubted(each, evidence, "lacking") for each in sources):
        return f"rows of `air` of sender {_list(sources)} are duplicated, for those at the other ends agree"
    if evidence.removed[node]:
        return f"the recorder of node {node} removed {evidence.removed[node]} rows to keep to its disk budget"
    late = "" if is_sent else ", or it read its datagrams too late and its kernel threw some away"
    return f"rows of node {node} are missing{late}"


def _why_excess(node: int, counts: Counts, evidence: Evidence, *, is_sent: bool) -> str:
    sources = sorted({_source(key) for key, each in counts.items() if each.excess.frames})
    if all(_is_doubted(each, evidence, "excess") for each in sources):
        return f"rows of `air` of sender {_list(sources)} are missing, for those at the other ends agree"
    said = "sent what nobody heard on the air" if is_sent else "received what was not on the air for it"
    return f"node {node} says it {said}"


def _source(key: Key) -> int:
    return key.node if key.source is None else key.source


def _is_doubted(source: int, evidence: Evidence, way: str) -> bool:
    """Whether both the sender and those who received from it say less than the medium (or more, but not twice)."""
    parts = []
    for word, counts in evidence.told.items():
        mine = [
            each
            for key, each in counts.items()
            if _source(key) == source and not evidence.doubled[key.node, word == SENT, key.kind]
        ]
        off = sum((each.lacking if way == "lacking" else each.excess).frames for each in mine)
        parts.append(off / max(1, sum(each.told.frames for each in mine)))
    return min(parts) > 0 and min(parts) >= SIDES * max(parts)


def _sizes(counts: Counts) -> Counter[str]:
    """Bytes that are wrong, by kind."""
    found: Counter[str] = Counter()
    for key, each in counts.items():
        found[key.kind] += each.lacking.bytes + each.excess.bytes
    return +found


def _kinds(numbers: Counter[str]) -> str:
    shown = numbers.most_common(NAMED)
    return ", ".join(f"{number} {kind}" for kind, number in shown) + (", …" if len(numbers) > len(shown) else "")


def _list(nodes: list[int]) -> str:
    return " and ".join(map(str, nodes))


def _strangers(on_air: list[Row]) -> Iterator[Finding]:
    """Datagrams that nobody of ours can have sent."""
    number = sum(row.frames for row in on_air if row.kind == sightings.GARBAGE)
    if number:
        why = "somebody else sent on chapard's port, or somebody spoils datagrams: they are not compared"
        yield Finding(JOB, "datagrams that are no frames of chapard's", State.OPEN, number, 0, reason=why)
