"""What a run came to: figures for a person to read and, the same, for a program."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Any

from chapar.event import Delivery
from chapar_sim.apart import times_apart
from chapar_sim.cost import cost_of
from chapar_sim.outcome import outcomes
from chapar_sim.traffic import CLASSES, OURS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chapar_sim.case import Violation
    from chapar_sim.outcome import Outcome
    from chapar_sim.scenario import Scenario
    from chapar_sim.trace import Trace

Figures = dict[str, Any]
MESSAGES = ("notification", "subscribe", "unsubscribe", "refresh", "advertise", "unadvertise")
"""What goes over the links of a tree of brokers, by what it says."""
MAX_VIOLATIONS = 20
"""Violations shown to a person; a program gets all."""


def summarise(trace: Trace, scenario: Scenario, seed: int, violations: Sequence[Violation]) -> Figures:
    """All figures of a run, ready for JSON."""
    last = [each for each in trace.snapshots if each.t == trace.end]
    found = outcomes(trace)
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
        "events": _events(found),
        "duplicates": sum(each.again for each in found),
        "losses": dict(sorted(_losses(trace).items())),
        "drops": dict(sorted(_drops(trace).items())),
        "air": {
            "by_class": {
                name: {"transmissions": traffic.transmissions[name], "bytes": traffic.bytes[name]}
                for name in CLASSES
                if name in OURS or traffic.transmissions[name]
            },
            "by_kind": {
                name: {"frames": traffic.frames[name], "bytes": traffic.frame_bytes[name]}
                for name in sorted(traffic.frames)
            },
            "total": total,
            "per_delivery": {key: _ratio(value, len(trace.delivered)) for key, value in total.items()},
            "queue_overflows": traffic.overflows,
        },
        **({"routing": _routing(trace, scenario)} if scenario.is_tree else {}),
        "cost": {name: _rounded(value) for name, value in cost_of(trace, scenario, found)._asdict().items()},
        "apart": [each._asdict() for each in times_apart(trace, found)],
        "merges": [merge._asdict() for merge in trace.merges],
        "violations": [each._asdict() for each in violations],
        "digest": trace.digest(),
    }


def _routing(trace: Trace, scenario: Scenario) -> Figures:
    """How the tree was run, and what went over its links, by what it said."""
    routing, overlay = scenario.routing, scenario.overlay
    return {
        "algorithm": str(routing.algorithm),
        "advertisements": routing.advertisements,
        "brokers": len(overlay.nodes),
        "links": len(overlay.links),
        "messages": {kind: trace.messages[kind] for kind in MESSAGES},
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


def _events(found: Sequence[Outcome]) -> dict[str, Figures]:
    figures = {}
    for delivery in Delivery:
        of_class = [each for each in found if each.delivery is delivery]
        latencies = sorted(latency for each in of_class for latency in each.latencies())
        wanted = sum(len(each.wanted) for each in of_class)
        figures[delivery.label] = {
            "published": len(of_class),
            "wanted": wanted,
            "delivered": len(latencies),
            "ratio": _ratio(len(latencies), wanted),
            "latency_s": {
                "mean": round(fmean(latencies), 6) if latencies else None,
                "p50": _quantile(latencies, 0.5),
                "p95": _quantile(latencies, 0.95),
                "max": _quantile(latencies, 1.0),
            },
        }
    return figures


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _rounded(value: float | None) -> float | None:
    return round(value, 3) if isinstance(value, float) else value


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
        *_routing_lines(figures),
        _air_table(figures["air"]),
        *_cost_lines(figures["cost"]),
        *_merge_lines(figures["apart"], figures["merges"]),
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
        table_text(rows)
        + "\n(wanted: a client got it, or was subscribed when it was published or, if it is kept, in the end; "
        + "times: from publisher to subscriber)"
    )


def _routing_lines(figures: Figures) -> list[str]:
    routing = figures.get("routing")
    if routing is None:
        return []
    how = f"{routing['algorithm']} routing{' with advertisements' if routing['advertisements'] else ''}"
    head = (f"on the {routing['links']} links of the tree", "messages")
    rows = [head, *((kind, str(count)) for kind, count in routing["messages"].items())]
    return [f"{how}\n\n{table_text([*rows, ('all', str(sum(routing['messages'].values())))])}"]


def _air_table(air: Figures) -> str:
    rows = [("on the air", "transmissions", "bytes")]
    rows += [(name, str(each["transmissions"]), str(each["bytes"])) for name, each in air["by_class"].items()]
    rows.append(("all", str(air["total"]["transmissions"]), str(air["total"]["bytes"])))
    per = air["per_delivery"]
    if per["bytes"] is not None:
        rows.append(("per delivery", f"{per['transmissions']:.1f}", f"{per['bytes']:.0f}"))
    largest = sorted(air["by_kind"].items(), key=lambda item: (-item[1]["bytes"], item[0]))
    kinds = [("frame", "frames", "bytes"), *((name, str(each["frames"]), str(each["bytes"])) for name, each in largest)]
    lines = [table_text(rows), "", table_text(kinds)]
    if air["queue_overflows"]:
        lines.append(f"lost in full transmit queues: {air['queue_overflows']}")
    return "\n".join(lines)


def _cost_lines(cost: Figures) -> list[str]:
    lines = []
    if cost["transmissions"] is not None:
        least = ""
        if cost["fewest_unicast"] is not None:
            at_least = "" if cost["is_exact"] else "at least "
            least = f"; {at_least}{cost['fewest_unicast']:.2f} are needed ({cost['fewest_broadcast']:.2f} by broadcast)"
        lines.append(f"per published event: {cost['transmissions']:.2f} transmissions of data{least}")
        lines.append(f"                     {cost['bytes']:.0f} bytes of chapard's in all")
    if cost["idle_bytes"] is not None:
        lines.append(f"idle: {cost['idle_bytes']:.0f} bytes/s of chapard's, {cost['idle_olsr_bytes']:.0f} of OLSR")
    return ["\n".join(lines)] if lines else []


def _merge_lines(apart: Sequence[Figures], merges: Sequence[Figures]) -> list[str]:
    lines = []
    for away, merge in zip(apart, merges, strict=True):
        within = f"{away['published']} events published, {away['delivered']} deliveries within the parts"
        lines.append(f"apart from {away['start']:.3g} to {away['end']:.3g} s: {within}")
        if away["waited"]:
            lines.append(f"merge: {away['waited']} deliveries had waited; all came within {away['caught_up']:.2f} s")
        cost = f"{merge['sync_bytes']} bytes of table exchange, {merge['all_bytes']} bytes in all"
        lines.append(f"merge at {merge['t']:.3g} s: {cost}, in the {merge['window']:.3g} s after it")
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


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as lines, the first column to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)
