"""`chapar-audit DIR`: the verdict on a recorded run, on the terminal and in files."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError

from chapar_audit import session
from chapar_audit.audit import FAILURES, JOBS, audit, failed, said
from chapar_audit.planning.options import USAGE
from chapar_audit.recorded import RecordedError, read
from chapar_audit.survey import survey
from chapar_audit.terminal import Progress, text_of, width_of
from chapar_audit.verdict import State, as_json, state_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from chapar_audit.survey import Survey
    from chapar_audit.verdict import Finding

HOLDS, DOES_NOT, INTERRUPTED = 0, 1, 130
RESULTS: Final = "audit"
VERDICT: Final = "verdict.json"
REPORT: Final = "report.html"


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
    except (Py4JError, *FAILURES) as error:
        sys.stderr.write(f"chapar-audit: Spark has failed, and there is no verdict: {said(error)}\n")
        return USAGE
    except KeyboardInterrupt:
        sys.stderr.write("\nchapar-audit: interrupted; there is no verdict\n")
        return INTERRUPTED


def _audit(args: argparse.Namespace) -> int:
    folder, out = args.folder, args.out or args.folder / RESULTS
    found = survey(folder, args.name)
    report = None if args.html is None else Path(args.html) if args.html else out / REPORT
    results = [out / VERDICT] if report is None else [out / VERDICT, report]
    for each in results:
        _make_way(each)
    with Progress(sys.stderr) as progress:
        findings = _judge(args, found, out, report, progress)
    verdict = json.dumps(as_json(found.run, findings), indent=2, ensure_ascii=False, default=float)
    (out / VERDICT).write_text(verdict + "\n", encoding="utf-8")
    if args.json:
        _print(verdict)
    else:
        shown = text_of(_title(found), findings, width_of(sys.stdout))
        _print(shown if report is None else f"{shown}\nreport: {report}")
    return HOLDS if state_of(findings) is State.HOLDS else DOES_NOT


def _make_way(path: Path) -> None:
    """No result of an earlier audit stays. Raises OSError where there cannot be one, before any work is done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    path.unlink()


def _judge(
    args: argparse.Namespace, found: Survey, out: Path, report: Path | None, progress: Progress
) -> list[Finding]:
    """What all jobs find; what they worked out on the way is written as Parquet, and drawn from there."""
    progress.tell("starting Spark")
    with session.opened(args.master, found.rows) as spark:
        progress.steps = len(JOBS) + (1 if report is None else 2)
        progress.tell("reading")
        recorded = read(spark, args.folder, found)
        findings: list[Finding] = []
        tables: dict[str, DataFrame] = {}
        for name, judgement in audit(recorded, progress.tell):
            findings += judgement.findings
            try:
                tables |= _kept(out / name, judgement.tables)
            except FAILURES as error:
                findings.append(failed(name, "its tables", error))
        if report is not None:
            from chapar_audit.report import writing  # noqa: PLC0415 - plots take a second to load

            progress.tell("drawing")
            writing.write(report, recorded, findings, tables)
    return findings


def _kept(place: Path, tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Tables as they are in files now, by the name that reports have for them, like `traffic.by_class`."""
    kept = {}
    for name, table in tables.items():
        path = str((place / name).absolute())
        table.coalesce(1).write.mode("overwrite").parquet(path)
        kept[f"{place.name}.{name}"] = table.sparkSession.read.schema(table.schema).parquet(path)
    return kept


def _title(found: Survey) -> str:
    first = found.starts[0]
    nodes = len({start.node for start in found.starts})
    where = {"sim": "simulator", "daemon": "field"}.get(first.world, first.world)
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
