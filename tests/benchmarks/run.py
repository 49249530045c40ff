"""Run the benchmarks beside this file and print one table: `make bench`, or `run.py NAME…` for some of them.

A benchmark is a file `bench_NAME.py` with `measure() -> list[Figure]`. The exit code is 0 when every goal is met,
1 when one is missed, 2 for a name that is not there.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.figure import Figure

    Measure = Callable[[], list[Figure]]

FOLDER = Path(__file__).resolve().parent
HEADINGS = ("figure", "value", "unit", "goal", "met")
VERDICTS = {True: "yes", False: "NO", None: "–"}


class UsageError(Exception):
    """A benchmark that does not exist was asked for; the message is for the person who typed it."""


def discover(folder: Path) -> tuple[str, ...]:
    """The names of the benchmarks in `folder`, sorted."""
    return tuple(sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py")))


def choose(wanted: Sequence[str], present: Sequence[str]) -> tuple[str, ...]:
    """The benchmarks to run, in the order asked for; all of them when none is named."""
    chosen = tuple(dict.fromkeys(name.removesuffix(".py").removeprefix("bench_") for name in wanted)) or tuple(present)
    unknown = [name for name in chosen if name not in present]
    if unknown:
        raise UsageError(f"no benchmark named {', '.join(unknown)}; choose from: {', '.join(present) or '(none)'}")
    return chosen


def load(name: str) -> Measure:
    """The `measure` function of one benchmark."""
    measure: Measure = import_module(f"benchmarks.bench_{name}").measure
    return measure


def readable(value: float) -> str:
    """Three significant digits or all digits before the point, so that a column can be compared by eye."""
    size = abs(value)
    decimals = 0 if value == int(value) or size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{decimals}f}" if size >= 0.001 or value == 0 else f"{value:.2e}"


def table(figures: Sequence[Figure]) -> str:
    """The figures as aligned text: values to the right, words to the left."""
    rows = [HEADINGS, *((f.name, readable(f.value), f.unit, f.goal, VERDICTS[f.met]) for f in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = []
    for row in rows:
        name, value, *words = row
        cells = [name.ljust(widths[0]), value.rjust(widths[1])]
        cells += [word.ljust(width) for word, width in zip(words, widths[2:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def run(benchmarks: Mapping[str, Measure], out: TextIO, progress: TextIO) -> int:
    """Measure everything, print the table to `out`, and return the exit code."""
    figures: list[Figure] = []
    for number, (name, measure) in enumerate(benchmarks.items(), start=1):
        print(f"[{number}/{len(benchmarks)}] {name} ... ", end="", file=progress, flush=True)
        started = time.perf_counter()
        figures += measure()
        print(f"{time.perf_counter() - started:.1f} s", file=progress, flush=True)
    print(table(figures), file=out)
    missed = [figure.name for figure in figures if figure.met is False]
    if missed:
        print(f"{len(missed)} of {len(figures)} figures miss their goal: {'; '.join(missed)}", file=out)
    return 1 if missed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    present = discover(FOLDER)
    parser = argparse.ArgumentParser(
        prog="run.py",
        description="Measure the figures Chapar states for itself and compare them with their goals.",
        epilog=f"Benchmarks: {', '.join(present) or '(none)'}. Exit code 1: a goal is missed; 2: wrong usage.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark to run (all when none is named)")
    wanted = parser.parse_args(arguments).names
    try:
        chosen = choose(wanted, present)
    except UsageError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    if str(FOLDER.parent) not in sys.path:
        sys.path.insert(0, str(FOLDER.parent))  # benchmarks import `benchmarks.figure` and shared test code
    return run({name: load(name) for name in chosen}, sys.stdout, sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
