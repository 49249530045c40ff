"""Each plot of a report: that it shows what its rows say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chapar_audit import drawing
from chapar_audit.report import plots

if TYPE_CHECKING:
    from chapar_audit.report.plots import Plot
    from chapar_audit.report.summaries import Rows


def drawn(plot: Plot | None) -> str:
    assert plot is not None
    return drawing.svg(plot.canvas, "plot")


def labels(plot: Plot | None) -> list[str]:
    assert plot is not None
    return plot.canvas.axes[0].get_legend_handles_labels()[1]


def line(plot: Plot | None, label: str) -> list[tuple[float, float]]:
    """The points of a curve."""
    assert plot is not None
    found: list[Any] = [each for each in plot.canvas.axes[0].lines if each.get_label() == label]
    return [(float(x), float(y)) for x, y in zip(found[0].get_xdata(), found[0].get_ydata(), strict=True)]


@pytest.mark.parametrize("kind", plots.PLOTS, ids=lambda kind: kind.title)
def test_a_plot_is_small_and_says_what_to_see(kind: plots.Kind, rows: dict[str, Rows]) -> None:
    """A sentence or two, and at most 40 kB."""
    plot = kind.draw(rows)
    assert plot is not None
    assert plot.caption.endswith(".")
    assert len(drawn(plot)) < 40_000


@pytest.mark.parametrize("kind", plots.PLOTS, ids=lambda kind: kind.title)
def test_where_nothing_happened_nothing_is_drawn(kind: plots.Kind, rows: dict[str, Rows]) -> None:
    """An empty plot would say that something was nought."""
    assert kind.draw({name: [] for name in rows}) is None


def test_traffic_over_time_is_stacked(rows: dict[str, Rows]) -> None:
    """Each class stands on those below; a span without traffic is a gap, not left out."""
    plot = plots.traffic_over_time(rows)
    assert plot is not None
    assert labels(plot) == ["data", "control", "sync", "routing"]
    tops = [patch.get_data() for patch in plot.canvas.axes[0].patches]  # type: ignore[attr-defined]  # of stairs
    assert list(tops[0].values) == pytest.approx([1 / 60, 2 / 60, 0, 4 / 60])
    assert list(tops[3].values) == pytest.approx([4 / 60, 8 / 60, 0, 16 / 60])
    assert list(tops[3].baseline) == pytest.approx(list(tops[2].values))
    assert "28.0 kB in all, of which data is 25 %" in plot.caption


def test_links_are_ordered_by_load_and_the_rest_is_counted(rows: dict[str, Rows]) -> None:
    """At most MOST_BARS of them are drawn."""
    rows["links"] = [
        {"a": node, "b": node + 1, "traffic_class": "data", "bytes": 1000 * node}
        for node in range(1, plots.MOST_BARS + 4)
    ]
    plot = plots.links(rows)
    assert plot is not None
    names = [text.get_text() for text in plot.canvas.axes[0].get_yticklabels()]
    assert names == [f"{node} – {node + 1}" for node in range(plots.MOST_BARS + 3, 3, -1)]
    assert "3 less busy links are not shown" in plot.caption


def test_costs_show_model_and_measurement(rows: dict[str, Rows]) -> None:
    """With one event there is no confidence, and no failure."""
    plot = plots.costs(rows)
    assert line(plot, "model: at most, along routes") == [(1, 2), (4, 5)]
    assert labels(plot) == ["each node served alone", "model: at most, along routes", "measured"]


def test_half_of_the_deliveries_are_there_at_the_median(rows: dict[str, Rows]) -> None:
    """The upper bound of the bucket that passes one half; a class of one is shown as well."""
    plot = plots.latencies(rows)
    assert plot is not None
    assert "realtime 2.38 ms" in plot.caption
    assert labels(plot) == ["lifetime (1)", "realtime (100)"]


def test_waiting_shows_theorem_2(rows: dict[str, Rows]) -> None:
    """13.67 s at λ = 1, D = 0.125, 20 s on and off; clients without an estimate are measured all the same."""
    plot = plots.waiting(rows)
    curve = line(plot, "Theorem 2, D = 0.125 s, 20 s on, 20 s off")
    assert min(curve, key=lambda point: abs(point[0] - 1))[1] == pytest.approx(13.67, abs=0.05)
    assert line(plot, "with each client's own times")[1] == pytest.approx((1.0, 13.6667), abs=1e-3)
    for name in ("d_s", "t_on_s", "t_off_s", "expected_s", "half_width_s"):
        for row in rows["waiting"]:
            row[name] = None
    assert labels(plots.waiting(rows))[-1] == "measured"


def test_the_network_shows_brokers_and_load(rows: dict[str, Rows]) -> None:
    """Squares are brokers, with their number; the busiest link is named."""
    plot = plots.topology(rows)
    assert plot is not None
    assert labels(plot) == ["broker (1)", "other node (8)"]
    assert "8 – 9 carried the most, 216.0 kB" in plot.caption
    assert all(f">{node}<" in drawn(plot) for node in range(1, 10))


def test_the_network_is_drawn_without_traffic(rows: dict[str, Rows]) -> None:
    """Where only broadcasts were sent, there is still a network."""
    plot = plots.topology({**rows, "links": []})
    assert plot is not None
    assert "carried" not in plot.caption


def test_the_cheapest_algorithm_is_named(rows: dict[str, Rows]) -> None:
    """For each class of filters."""
    plot = plots.alternatives(rows)
    assert plot is not None
    assert "cheapest is flooding for subject, flooding for type" in plot.caption
