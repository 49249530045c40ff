"""What a run came to: figures for a person to read and, the same, for a program."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from chapar.event import Delivery
from chapar_sim.traffic import CLASSES, GARBAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chapar.filter import Filter
    from chapar_sim.case import Violation
    from chapar_sim.scenario import Scenario
    from chapar_sim.trace import Accepted, Trace

Figures = dict[str, Any]
MAX_VIOLATIONS = 20
"""Violations shown to a person; a program gets all."""


def summarise(trace: Trace, scenario: Scenario, seed: int, violations: Sequence[Violation]) -> Figures:
    """All figures of a run, ready for JSON."""
    last = [each for each in trace.snapshots if each.t == trace.end]
    reached = Counter((row.client, row.event_id) for row in trace.delivered)
    traffic = trace.traffic
    total = {"transmissions": sum(traffic.transmissions.values()), "bytes": sum(traffic.bytes.values())}
    return {
        "scenario": scenario.name,
        "about": scenario.about,
        "seed": seed,
        "duration_s": scenario.duration,
        "nodes": len(scenario.nodes),
        "daemons": len(last),
        "brokers": sum(each.is_broker for each in last),
        "clients": len({row.client for row in trace.presence}),
        "events": _events(trace),
        "duplicates": sum(count - 1 for count in reached.values()),
        "losses": dict(sorted(_losses(trace).items())),
        "drops": dict(sorted(_drops(trace).items())),
        "air": {
            "by_class": {
                name: {"transmissions": traffic.transmissions[name], "bytes": traffic.bytes[name]}
                for name in CLASSES
                if name != GARBAGE or traffic.transmissions[name]
            },
            "by_kind": {
                name: {"frames": traffic.frames[name], "bytes": traffic.frame_bytes[name]}
                for name in sorted(traffic.frames)
            },
            "total": total,
            "per_delivery": {key: _ratio(value, len(trace.delivered)) for key, value in total.items()},
            "queue_overflows": traffic.overflows,
        },
        "merges": [merge._asdict() for merge in trace.merges],
        "violations": [each._asdict() for each in violations],
        "digest": trace.digest(),
    }


def _losses(trace: Trace) -> Counter[str]:
    """Losses the daemons recorded: one for each event and home."""
    counts: Counter[str] = Counter()
    for loss in trace.losses:
        counts[loss.reason] += len(loss.homes)
    return counts


def _drops(trace: Trace) -> Counter[str]:
    counts: Counter[str] = Counter()
    for (_, reason), count in trace.drops.items():
        counts[reason] += count
    return counts


# Events, class by class


def _events(trace: Trace) -> dict[str, Figures]:
    wishes = _wishes(trace)
    published = {row.event_id: row for row in trace.accepted}
    homes = {row.client: row.home for row in trace.presence}
    got = {(row.client, row.event_id): row.t for row in reversed(trace.delivered)}
    figures = {}
    for delivery in Delivery:
        rows = [row for row in trace.accepted if row.event.delivery is delivery]
        due = {
            (client, row.event_id)
            for row in rows
            for client in sorted(wishes)
            if (client, row.event_id) in got or _wants(wishes[client], row, homes[client], trace.end)
        }
        latencies = sorted(
            t - published[event_id].t for (_, event_id), t in got.items() if _is_of(published, event_id, delivery)
        )
        figures[delivery.label] = {
            "published": len(rows),
            "wanted": len(due),
            "delivered": len(latencies),
            "ratio": _ratio(len(due & got.keys()), len(due)),
            "latency_s": {
                "p50": _quantile(latencies, 0.5),
                "p95": _quantile(latencies, 0.95),
                "max": _quantile(latencies, 1.0),
            },
        }
    return figures


def _is_of(published: Mapping[Any, Accepted], event_id: object, delivery: Delivery) -> bool:
    return event_id in published and published[event_id].event.delivery is delivery


Wish = tuple[float, float, "Filter"]


def _wishes(trace: Trace) -> dict[str, list[Wish]]:
    """Client → from when to when it was subscribed to what."""
    began = {}
    wishes: dict[str, list[Wish]] = {row.client: [] for row in trace.presence}
    for row in trace.interests:
        key = (row.client, row.number)
        if row.active:
            began[key] = row
        else:
            begin = began.pop(key)
            wishes.setdefault(row.client, []).append((begin.t, row.t, begin.filter))
    for begin in began.values():
        wishes.setdefault(begin.client, []).append((begin.t, trace.end, begin.filter))
    return wishes


def _wants(wishes: Iterable[Wish], row: Accepted, home: int, end: float) -> bool:
    """Whether a client was subscribed to an event when it was published or, if it is kept, still was in the end."""
    if row.event.to and home not in row.event.to:
        return False
    kept = {Delivery.REALTIME: row.t, Delivery.LIFETIME: row.t + row.event.lifetime_ms / 1000, Delivery.PERSISTENT: end}
    last = min(kept[row.event.delivery], end)
    event = row.event.accepted(id=row.event_id)
    return any(begin <= last <= until and filter_.matches(event) for begin, until, filter_ in wishes)


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 6) if ordered else None


# For a person


def as_text(figures: Figures) -> str:
    """The figures as a page of text."""
    head = f"{figures['scenario']}: {figures['about']}" if figures["about"] else str(figures["scenario"])
    up = f"{figures['daemons']} daemons up, {figures['brokers']} of them brokers"
    size = f"{figures['nodes']} nodes, {up}, {figures['clients']} clients"
    lines = [
        f"duplicates: {figures['duplicates']}",
        f"losses recorded: {_counts(figures['losses'])}",
        f"dropped: {_counts(figures['drops'])}",
    ]
    parts = [
        f"{head}\nseed {figures['seed']}, {figures['duration_s']:g} s, {size}",
        _event_table(figures),
        "\n".join(lines),
        _air_table(figures["air"]),
        *_merge_lines(figures["merges"]),
        _verdict(figures["violations"]),
    ]
    return "\n\n".join(parts)


def _event_table(figures: Figures) -> str:
    rows = [("events", "published", "wanted", "delivered", "ratio", "p50", "p95", "max")]
    for name, event in figures["events"].items():
        latency = event["latency_s"]
        times = tuple(_seconds(latency[key]) for key in ("p50", "p95", "max"))
        ratio = "–" if event["ratio"] is None else f"{100 * event['ratio']:.1f} %"
        rows.append((name, str(event["published"]), str(event["wanted"]), str(event["delivered"]), ratio, *times))
    return (
        _table(rows)
        + "\n(wanted: a client got it, or was subscribed when it was published or, if it is kept, in the end; "
        + "times: from publisher to subscriber)"
    )


def _air_table(air: Figures) -> str:
    rows = [("on the air", "transmissions", "bytes")]
    rows += [(name, str(each["transmissions"]), str(each["bytes"])) for name, each in air["by_class"].items()]
    rows.append(("all", str(air["total"]["transmissions"]), str(air["total"]["bytes"])))
    per = air["per_delivery"]
    if per["bytes"] is not None:
        rows.append(("per delivery", f"{per['transmissions']:.1f}", f"{per['bytes']:.0f}"))
    largest = sorted(air["by_kind"].items(), key=lambda item: (-item[1]["bytes"], item[0]))
    kinds = [("frame", "frames", "bytes"), *((name, str(each["frames"]), str(each["bytes"])) for name, each in largest)]
    lines = [_table(rows), "", _table(kinds)]
    if air["queue_overflows"]:
        lines.append(f"lost in full transmit queues: {air['queue_overflows']}")
    return "\n".join(lines)


def _merge_lines(merges: Sequence[Figures]) -> list[str]:
    lines = [
        f"merge at {each['t']:g} s: {each['sync_bytes']} bytes of table exchange, "
        f"{each['all_bytes']} bytes in all, in the {each['window']:g} s after it"
        for each in merges
    ]
    return ["\n".join(lines)] if lines else []


def _verdict(violations: Sequence[Figures]) -> str:
    if not violations:
        return "every promise kept"
    shown = [f"  {each['t']:.3f} s  {each['rule']}: {each['what']}" for each in violations[:MAX_VIOLATIONS]]
    more = [f"  … and {len(violations) - MAX_VIOLATIONS} more"] if len(violations) > MAX_VIOLATIONS else []
    return "\n".join([f"PROMISES BROKEN: {len(violations)}", *shown, *more])


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{1000 * value:.0f} ms" if value < 1 else f"{value:.1f} s"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)
