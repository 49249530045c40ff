"""What a run of the lab came to; the run is one of the simulator."""

from __future__ import annotations

import functools
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from chapar_lab.drawing import Picture
from chapar_lab.lab import Progress
from chapar_lab.report import copy_logs, figures_of, text_of, write
from chapar_sim.scenario import Scenario
from chapar_sim.world import World
from chapard.core.spool import Spool

if TYPE_CHECKING:
    from pathlib import Path

    from chapar_lab.report import Figures
    from chapar_sim.trace import Trace

DATA = {
    "name": "two",
    "duration": 40,
    "settle": 20,
    "nodes": 2,
    "topology": {"kind": "chain"},
    "client": [
        {"name": "pub", "node": 1, "publish": [{"subject": "a", "at": [10, 11], "lifetime": 60}]},
        {"name": "sub", "node": 2, "subscribe": [{"filter": 'subject = "a"'}]},
    ],
}
PICTURE = Picture(title="two", places={1: (0.0, 0.0), 2: (1.0, 0.0)}, links=frozenset(), roles={})


@functools.cache
def played() -> Trace:
    return World(Scenario.from_dict(DATA), 7).run()


def lab(folder: Path | None = None, trace: Trace | None = None, **progress: Any) -> Any:
    scenario = Scenario.from_dict(DATA)
    return SimpleNamespace(
        scenario=scenario,
        seed=7,
        trace=trace or played(),
        progress=Progress(**progress),
        folder=folder,
        recorded=folder / "recorded" if folder is not None else None,
        epoch=1_700_000_000.0,
    )


def figures(**progress: Any) -> Figures:
    return figures_of(lab(**progress))


def test_figures_are_those_of_the_simulator_and_more() -> None:
    """Which world it was, how long it took to form, and each event; no digest, as no two runs are the same."""
    found = figures(formed_after=1.23456)
    assert (found["world"], found["scenario"], found["seed"]) == ("lab", "two", 7)
    assert found["events"]["lifetime"]["delivered"] == 2
    assert found["formed_after_s"] == 1.235
    assert found["violations"] == []
    assert "digest" not in found
    assert len(found["per_event"]) == 2
    assert json.loads(json.dumps(found)) == found


def test_a_broken_promise_is_found() -> None:
    """By the simulator's own checkers: here an event is delivered twice."""
    trace = World(Scenario.from_dict(DATA), 7).run()
    trace.delivered.append(trace.delivered[-1])
    found = figures_of(lab(trace=trace))
    assert {each["rule"] for each in found["violations"]} == {"once"}


def test_the_text_says_where_it_comes_from() -> None:
    """And how the network formed, or what it still lacked when the run began."""
    assert "every promise kept" in text_of(figures(formed_after=1.26))
    assert text_of(figures(formed_after=1.26)).endswith("real daemons and clients; the network formed in 1.3 s)")
    assert text_of(figures(lacking="node 2 is no broker")).endswith("began without: node 2 is no broker)")
    assert text_of(figures()).endswith("began without: waiting)")


def test_everything_is_written(tmp_path: Path) -> None:
    """The result, the drawing, the datasets with times from the start of the run, and the logs of all programs."""
    run, out = tmp_path / "run", tmp_path / "out"
    out.mkdir()
    for name in ("medium.log", "1/chapard.log", "2/chapard.log", "2/state/journal"):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(name, encoding="utf-8")
    found = lab(run)
    found.recorded.mkdir()
    buffer = bytearray(4096)
    Spool("roles", "two", 1, buffer, lambda _: None).append((1_700_000_000_000_007, "broker", "alone"))
    (found.recorded / "1-roles.spool").write_bytes(buffer)
    write(found, figures_of(found), PICTURE, out)
    assert json.loads((out / "result.json").read_text(encoding="utf-8")) == figures_of(found)
    assert (out / "topology.svg").read_text(encoding="utf-8").startswith("<svg ")
    logs = {str(each.relative_to(out / "logs")): each.read_text(encoding="utf-8") for each in out.rglob("*.log")}
    assert logs == {name: name for name in ("medium.log", "1/chapard.log", "2/chapard.log")}
    assert {each.name for each in out.iterdir()} == {"result.json", "topology.svg", "logs", "air", "roles"}
    air = pq.read_table(out / "air")["ts_us"].to_pylist()
    assert air == [row.ts_us for row in found.trace.air]
    here = {"run": "two", "node": 1}
    assert pq.read_table(out / "roles").to_pylist() == [{"ts_us": 7, "role": "broker", "reason": "alone", **here}]


def test_logs_of_a_run_that_never_began_are_none(tmp_path: Path) -> None:
    """That is no error."""
    copy_logs(lab(tmp_path / "nothing"), tmp_path)
    assert list(tmp_path.iterdir()) == []
