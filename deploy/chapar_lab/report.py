"""What a run of the lab came to: the simulator's own figures and verdict, of what real daemons and clients did."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from chapar_lab.drawing import as_svg
from chapar_lab.ways import as_judged
from chapar_sim.checkers import check
from chapar_sim.datasets import FOLDER, compact, write_air
from chapar_sim.outcome import outcomes
from chapar_sim.summary import as_text, summarise

if TYPE_CHECKING:
    from pathlib import Path

    from chapar_lab.drawing import Picture
    from chapar_lab.lab import Lab

Figures = dict[str, Any]


def figures_of(lab: Lab) -> Figures:
    """Everything, ready for JSON: the summary, then what became of each event."""
    judged = as_judged(lab.scenario)
    found = summarise(lab.trace, lab.scenario, lab.seed, check(lab.trace, judged))
    del found["digest"]  # no two runs of real processes are the same
    return {
        "world": "lab",
        **found,
        "formed_after_s": None if lab.progress.formed_after is None else round(lab.progress.formed_after, 3),
        "lacking": lab.progress.lacking,
        "per_event": [each.to_json() for each in outcomes(lab.trace)],
    }


def text_of(figures: Figures) -> str:
    """The figures as a page of text."""
    after = figures["formed_after_s"]
    formed = f"formed in {after:.1f} s" if after is not None else f"began without: {figures['lacking'] or 'waiting'}"
    return f"{as_text(figures)}\n(in network namespaces, with real daemons and clients; the network {formed})"


def write(lab: Lab, figures: Figures, picture: Picture, folder: Path) -> None:
    """`result.json`, the datasets, a drawing, and the logs of all programs. Raises OSError, DatasetsError."""
    (folder / "result.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    (folder / "topology.svg").write_text(as_svg(picture), encoding="utf-8")
    copy_logs(lab, folder)
    shutil.copytree(lab.recorded, folder / FOLDER, dirs_exist_ok=True)
    write_air(lab.trace, lab.scenario.name, folder, lab.epoch)
    compact(folder, lab.epoch)


def copy_logs(lab: Lab, folder: Path) -> None:
    """The logs of all programs, by node."""
    for log in sorted(lab.folder.rglob("*.log")):
        target = folder / "logs" / log.relative_to(lab.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, target)
