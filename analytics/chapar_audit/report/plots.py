"""The plots of a report: rows in, a drawing and a sentence that says what to see out; None where nothing happened."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matplotlib.ticker import MaxNLocator

from chapar_audit import drawing
from chapar_audit.models.conditions import ImpossibleInputError
from chapar_audit.models.onoff import OnOff
from chapar_audit.report.layout import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from chapar_audit.report.summaries import Rows

CLASSES: Final = ("data", "control", "sync", "routing", "garbage", "other")
"""In this order from the ground up; others that are met follow."""
MOST_BARS: Final = 24
MOST_NAMED: Final = 60
"""Nodes that are drawn with their number."""
AREAS: Final = ("#0b3c6f", "#d9662b", "#8fbf7a", "#d3c9ec", "#8c6d1f", "#d7dce2")
"""From dark to light and back, so that neighbours differ without colour, too."""
BROKER: Final = "broker"


class Plot(NamedTuple):
    canvas: Canvas
    caption: str


class Kind(NamedTuple):
    """One of the plots of a report."""

    title: str
    needs: str
    """The table of the audit that it is drawn from."""
    draw: Callable[[Mapping[str, Rows]], Plot | None]


def _classes(rows: Rows) -> list[str]:
    met = {row["traffic_class"] for row in rows}
    return [*(each for each in CLASSES if each in met), *sorted(met.difference(CLASSES))]


def _look(place: int) -> dict[str, Any]:
    """Of an area or a bar."""
    return {"facecolor": AREAS[place % len(AREAS)], "edgecolor": "#ffffff", "linewidth": 0.5}


def _class_look(name: str, classes: Sequence[str]) -> dict[str, Any]:
    known = (*CLASSES, *classes)
    return _look(known.index(name))


def traffic_over_time(rows: Mapping[str, Rows]) -> Plot | None:
    spans = rows["over_time"]
    if not spans:
        return None
    canvas, axes = drawing.plane("seconds since the first", "kB/s")
    classes, width = _classes(spans), max(row["width_s"] for row in spans)
    edges = sorted({row["start_s"] for row in spans})
    steps = [place * width for place in range(round(edges[-1] / width) + 1)]
    ground = [0.0] * len(steps)
    for name in classes:
        sums = dict.fromkeys(range(len(steps)), 0.0)
        for row in spans:
            if row["traffic_class"] == name:
                sums[round(row["start_s"] / width)] += row["bytes"] / width / 1000
        top = [low + sums[place] for place, low in enumerate(ground)]
        axes.stairs(top, [*steps, steps[-1] + width], baseline=ground, fill=True, label=name,
                    **_class_look(name, classes))  # fmt: skip
        ground = top
    axes.set_xlim(0, steps[-1] + width)
    axes.set_ylim(bottom=0)
    drawing.legend(axes, ncols=len(classes))
    total = sum(row["bytes"] for row in spans)
    most = max(classes, key=lambda name: sum(row["bytes"] for row in spans if row["traffic_class"] == name))
    share = sum(row["bytes"] for row in spans if row["traffic_class"] == most) / total if total else 0
    caption = (
        f"What daemons transmitted, by class, one on top of the other, in spans of {width:g} s: {_size(total)} in "
        f"all, of which {most} is {100 * share:.0f} %. Bumps of data on flat ground are events in a network at rest."
    )
    return Plot(canvas, caption)


def frame_kinds(rows: Mapping[str, Rows]) -> Plot | None:
    found = sorted(rows["kinds"], key=lambda row: (-row["bytes"], row["kind"]))[:MOST_BARS]
    if not found:
        return None
    canvas, (axes,) = drawing.canvas(height=0.9 + 0.24 * len(found))
    classes = _classes(found)
    for name in classes:
        places = [place for place, row in enumerate(found) if row["traffic_class"] == name]
        axes.barh(places, [found[place]["bytes"] / 1000 for place in places], label=name, **_class_look(name, classes))
    for place, row in enumerate(found):
        axes.annotate(f"{row['messages']:,} frames".replace(",", "\u2009"), (row["bytes"] / 1000, place), xytext=(4, 0),
                      textcoords="offset points", va="center", fontsize=8)  # fmt: skip
    _named(axes, [row["kind"] for row in found], "kB")
    drawing.legend(axes, ncols=len(classes))
    first = found[0]
    caption = (
        f"What the frames were, the most bytes first: {first['kind']} leads, at "
        f"{first['bytes'] / first['messages']:.0f} bytes a frame."
    )
    return Plot(canvas, caption)


def _named(axes: Axes, names: Sequence[str], unit: str) -> None:
    """Bars from the top down, with their names."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.14, y=0.02)
    axes.set_xlim(left=0)
    axes.set_xlabel(unit)


def links(rows: Mapping[str, Rows]) -> Plot | None:
    totals: dict[tuple[int, int], dict[str, float]] = {}
    for row in rows["links"]:
        of = totals.setdefault((row["a"], row["b"]), {})
        of[row["traffic_class"]] = of.get(row["traffic_class"], 0) + row["bytes"]
    if not totals:
        return None
    busiest = sorted(totals, key=lambda pair: (-sum(totals[pair].values()), pair))
    shown, rest = busiest[:MOST_BARS], busiest[MOST_BARS:]
    canvas, (axes,) = drawing.canvas(height=0.9 + 0.24 * len(shown))
    classes, left = _classes(rows["links"]), [0.0] * len(shown)
    for name in classes:
        widths = [totals[pair].get(name, 0) / 1000 for pair in shown]
        axes.barh(range(len(shown)), widths, left=left, label=name, **_class_look(name, classes))
        left = [start + width for start, width in zip(left, widths, strict=True)]
    _named(axes, [f"{a} – {b}" for a, b in shown], "kB, both directions")
    drawing.legend(axes, ncols=len(classes))
    total = sum(sum(each.values()) for each in totals.values())
    top = sum(totals[busiest[0]].values()) / total if total else 0
    more = f"; {len(rest)} less busy links are not shown" if rest else ""
    caption = (
        f"What was sent to one neighbour in particular, link by link, the busiest first: {busiest[0][0]} – "
        f"{busiest[0][1]} carried {100 * top:.0f} % of it{more}. Frames for all neighbours at once are not in here."
    )
    return Plot(canvas, caption)


def costs(rows: Mapping[str, Rows]) -> Plot | None:
    found = sorted(rows["costs"], key=lambda row: row["subscribers"])
    if not found:
        return None
    canvas, axes = drawing.plane("nodes that the event was for", "transmissions for one event")
    x = [row["subscribers"] for row in found]
    widths = [1.96 * (row["deviation"] or 0) / math.sqrt(row["events"]) for row in found]
    alone = [row["alone"] for row in found]
    drawing.printed_line(axes, x, alone, "each node served alone", marker="_")
    drawing.model_line(axes, x, [row["expected"] for row in found], "model: at most, along routes", marker=".")
    drawing.measured_points(axes, x, [row["measured"] for row in found], "measured", widths)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    drawing.legend(axes)
    last = found[-1]
    caption = (
        "What an event cost on average, by the number of nodes it was for: with "
        f"{last['subscribers']} nodes {last['measured']:.1f} transmissions were measured, the recorded routes demand "
        f"{last['expected']:.1f} at most, and {last['alone']:.1f} it would be on the same ways without sharing them. "
        "The first way may lead to a broker. Bars are 95 % confidence over "
        "the events."
    )
    return Plot(canvas, caption)


def latencies(rows: Mapping[str, Rows]) -> Plot | None:
    found = [row for row in rows["latency_histogram"] if row["count"]]
    if not found:
        return None
    canvas, axes = drawing.plane("milliseconds from publisher to subscriber", "% delivered by then")
    axes.set_xscale("log")
    says = []
    for place, delivery in enumerate(sorted({row["delivery"] for row in found})):
        buckets = sorted((row["bucket_us"], row["count"]) for row in found if row["delivery"] == delivery)
        total, done, x, y = sum(count for _, count in buckets), 0, [max(buckets[0][0], 1) / 1000], [0.0]
        for bucket, count in buckets:
            done += count
            x.append(max(bucket, 1) / 1000 * 2**0.25)  # the upper bound of a bucket, of which four double
            y.append(100 * done / total)
        look: dict[str, Any] = {
            "color": drawing.SERIES[place],
            "linestyle": drawing.DASHES[place % len(drawing.DASHES)],
        }
        axes.step(x, y, where="post", label=f"{delivery} ({total:,})".replace(",", "\u2009"), **look)
        half = next(at for at, share in zip(x, y, strict=True) if share >= 50)
        says.append(f"{delivery} {_milliseconds(half)}")
    axes.set_ylim(0, 102)
    drawing.legend(axes)
    caption = (
        f"How long deliveries took: half of them came within {', '.join(says)}. A curve that climbs late shows "
        "events that waited, for a client that was away or a network in pieces."
    )
    return Plot(canvas, caption)


def waiting(rows: Mapping[str, Rows]) -> Plot | None:
    found = [row for row in rows["waiting"] if row["measured_s"] is not None]
    if not found:
        return None
    canvas, axes = drawing.plane("λ, events per second", "seconds in the queue of a client")
    x = [row["lam"] for row in found]
    known = [row for row in found if None not in (row["d_s"], row["t_on_s"], row["t_off_s"])]
    if known:
        usual = [median(row[name] for row in known) for name in ("d_s", "t_on_s", "t_off_s")]
        curve = _theorem(usual, 1.25 * max(x))
        label = "Theorem 2, D = {:.3g} s, {:.3g} s on, {:.3g} s off".format(*usual)
        drawing.model_line(axes, [lam for lam, _ in curve], [time for _, time in curve], label)
    right = [(row["lam"], row["expected_s"]) for row in found if row["expected_s"] is not None]
    dash: dict[str, Any] = {"linestyle": "", "marker": "_", "markersize": 14, "color": drawing.MODEL}
    axes.plot([lam for lam, _ in right], [time for _, time in right], label="with each client's own times", **dash)
    widths = [row["half_width_s"] or 0 for row in found]
    drawing.measured_points(axes, x, [row["measured_s"] for row in found], "measured", widths)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    drawing.legend(axes, ncols=2)
    caption = (
        f"How long events waited in the queues of {len(found)} clients that come and go, against how often they came. "
        "The curve is Theorem 2 with the median of the times that were estimated from the data, a dash the same with a "
        "client's own; bars are 95 % confidence."
    )
    return Plot(canvas, caption)


def _theorem(times: Sequence[float], most: float) -> list[tuple[float, float]]:
    """Points of Theorem 2 up to an arrival rate, or to where the queue is hardly stable."""
    points = []
    try:
        queue = OnOff(*times)
        for place in range(101):
            lam = most * place / 100
            if queue.utilisation(lam) > 0.95:
                break
            points.append((lam, queue.response_time(lam)))
    except ImpossibleInputError:
        return []
    return points


def alternatives(rows: Mapping[str, Rows]) -> Plot | None:
    found = rows["alternatives"]
    if not found:
        return None
    names = sorted({row["filter_class"] for row in found})
    algorithms = list(dict.fromkeys(row["algorithm"] for row in found))
    canvas, (axes,) = drawing.canvas(height=1.1 + 0.26 * len(names) * len(algorithms))
    for place, algorithm in enumerate(algorithms):
        rates = {row["filter_class"]: row["rate"] for row in found if row["algorithm"] == algorithm}
        at = [place + index * (len(algorithms) + 1) for index, name in enumerate(names) if name in rates]
        axes.barh(at, [rates[name] for name in names if name in rates], label=algorithm, **_look(place))
    middle = (len(algorithms) - 1) / 2
    axes.set_yticks([index * (len(algorithms) + 1) + middle for index in range(len(names))], names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("messages per second on all links")
    drawing.legend(axes, ncols=4)
    best: dict[str, dict[str, Any]] = {}
    for row in found:
        if row["filter_class"] not in best or row["rate"] < best[row["filter_class"]]["rate"]:
            best[row["filter_class"]] = row
    choice = ", ".join(f"{best[name]['algorithm']} for {name}" for name in names[:3])
    caption = f"What each routing algorithm would have cost with the rates that were measured; cheapest is {choice}."
    return Plot(canvas, caption)


def topology(rows: Mapping[str, Rows]) -> Plot | None:
    load: dict[tuple[int, int], float] = {}
    for row in rows["links"]:
        load[row["a"], row["b"]] = load.get((row["a"], row["b"]), 0) + row["bytes"]
    near = {(row["a"], row["b"]) for row in rows["neighbours"]} or set(load)
    role = {row["node"]: row["role"] for row in rows["brokers"]}
    nodes = sorted({*role, *(node for pair in near for node in pair)})
    if len(nodes) < 2:
        return None
    places = layout(nodes, near)
    canvas, (axes,) = drawing.canvas(height=4.8)
    most = max((load.get(pair, 0) for pair in near), default=0) or 1
    for a, b in sorted(near, key=lambda pair: load.get(pair, 0)):
        share = load.get((a, b), 0) / most
        (ax, ay), (bx, by) = places[a], places[b]
        colour = drawing.FAINT if share else drawing.GRID
        axes.plot([ax, bx], [ay, by], color=colour, linewidth=0.8 + 8 * share, solid_capstyle="round", zorder=1)
    is_small = len(nodes) <= MOST_NAMED
    for label, members, marker, colour in (
        ("broker", [node for node in nodes if role.get(node) == BROKER], "s", drawing.MODEL),
        ("other node", [node for node in nodes if role.get(node) != BROKER], "o", "#ffffff"),
    ):
        at = [places[node] for node in members]
        axes.scatter([x for x, _ in at], [y for _, y in at], s=230 if is_small else 40, marker=marker, color=colour,
                     edgecolors=drawing.INK, linewidths=1, zorder=2, label=f"{label} ({len(members)})")  # fmt: skip
        for node in members if is_small else ():
            ink = "#ffffff" if colour == drawing.MODEL else drawing.INK
            axes.annotate(str(node), places[node], ha="center", va="center", fontsize=8, color=ink, zorder=3)
    axes.set_aspect("equal")
    axes.axis("off")
    axes.margins(0.08)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, borderaxespad=0)
    busiest = max(near, key=lambda pair: load.get(pair, 0))
    carried = f" {busiest[0]} – {busiest[1]} carried the most, {_size(load[busiest])}." if busiest in load else ""
    caption = (
        f"The network as its {len(nodes)} nodes knew it: lines join nodes that were ever one hop apart, and the "
        f"thicker a line, the more was sent over it to one neighbour in particular.{carried} Squares were brokers in "
        "the end."
    )
    return Plot(canvas, caption)


def _size(count: float) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1000:.1f} kB"


def _milliseconds(value: float) -> str:
    return f"{value:.3g} ms" if value < 1000 else f"{value / 1000:.3g} s"


PLOTS: Final = (
    Kind("Traffic over time", "traffic.by_class", traffic_over_time),
    Kind("Traffic by kind of frame", "traffic.by_class", frame_kinds),
    Kind("Traffic by link", "traffic.by_link", links),
    Kind("The network and its load", "traffic.by_link", topology),
    Kind("Cost of an event against its subscribers", "traffic.event_cost", costs),
    Kind("Latency", "delivery.latency_histogram", latencies),
    Kind("Waiting for clients that come and go", "timeliness.waiting", waiting),
    Kind("What other routing would have cost", "break-even.alternatives", alternatives),
)
"""In the order of the report."""
