"""`chapar-audit DIR`: the verdict on a recorded run, on the terminal and in files."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from chapar_audit import session
from chapar_audit.planning.options import USAGE
from chapar_audit.recorded import RecordedError, read
from chapar_audit.survey import survey
from chapar_audit.terminal import Progress, text_of, width_of
from chapar_audit.verdict import State, as_json, state_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame

    from chapar_audit.survey import Survey
    from chapar_audit.verdict import Finding

HOLDS, DOES_NOT, INTERRUPTED = 0, 1, 130
RESULTS: Final = "audit"
VERDICT: Final = "verdict.json"


def run(args: argparse.Namespace) -> int:
    """Audit a run; returns the exit code."""
    try:
        return _audit(args)
    except (RecordedError, session.NoSparkError) as error:
        sys.stderr.write(f"chapar-audit: {error}\n")
        return USAGE
    except OSError as error:
        sys.stderr.write(f"chapar-audit: {error.filename or args.folder}: {error.strerror or error}\n")
        return USAGE
    except KeyboardInterrupt:
        sys.stderr.write("\nchapar-audit: interrupted; there is no verdict\n")
        return INTERRUPTED


def _audit(args: argparse.Namespace) -> int:
    folder, out = args.folder, args.out or args.folder / RESULTS
    found = survey(folder, args.name)
    out.mkdir(parents=True, exist_ok=True)
    (out / VERDICT).unlink(missing_ok=True)
    with Progress(sys.stderr) as progress:
        findings = _judge(args, found, out, progress)
    verdict = json.dumps(as_json(found.run, findings), indent=2, ensure_ascii=False, default=float)
    (out / VERDICT).write_text(verdict + "\n", encoding="utf-8")
    _print(verdict if args.json else text_of(_title(found), findings, width_of(sys.stdout)))
    return HOLDS if state_of(findings) is State.HOLDS else DOES_NOT


def _judge(args: argparse.Namespace, found: Survey, out: Path, progress: Progress) -> list[Finding]:
    """What all jobs find; what they worked out on the way is written as Parquet."""
    progress.tell("starting Spark")
    with session.opened(args.master) as spark:
        from chapar_audit.audit import JOBS, audit  # noqa: PLC0415 - Java may be missing

        progress.steps = 1 + len(JOBS)
        progress.tell("reading")
        recorded = read(spark, args.folder, found)
        findings: list[Finding] = []
        for name, judgement in audit(recorded, progress.tell):
            findings += judgement.findings
            _keep(out / name, judgement.tables)
    return findings


def _keep(place: Path, tables: Mapping[str, DataFrame]) -> None:
    for name, table in tables.items():
        table.coalesce(1).write.mode("overwrite").parquet(str((place / name).absolute()))


def _title(found: Survey) -> str:
    first = found.starts[0]
    nodes = len({start.node for start in found.starts})
    where = {"sim": "simulator", "lab": "lab", "field": "field"}.get(first.world, first.world)
    times = [time for span in found.spans.values() for time in span]
    lasting = f", {(max(times) - min(times)) / 1e6:,.0f} s" if times else ""
    some = "1 node" if nodes == 1 else f"{nodes} nodes"
    return f"{found.run}: {where}, {first.settings['mode']} routing, {some}{lasting}, {found.rows:,} rows"


def _print(text: str) -> None:
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read us has seen enough
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
