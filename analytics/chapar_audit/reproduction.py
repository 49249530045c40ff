"""The command `chapar-audit reproduce`. What it needs is loaded when it is asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from chapar_audit.figures.figure import Drawing, Figure
    from chapar_audit.figures.workshop import Workshop
    from chapar_audit.verdict import Finding

ABOUT: Final = "draw the papers' figures again, from the models and from what our own broker does in the simulator"
EXAMPLES: Final = """\
examples:
  chapar-audit reproduce --list                    which figures there are
  chapar-audit reproduce 000:2.4                   model and measurement in one page, its path on standard output
  chapar-audit reproduce all --effort full         all of them, with the runs of the papers' length

What was measured is kept in the cache, and measured again when the simulator's code has changed.

exit codes: 0 every measured point fits its model, 1 one does not, or a figure could not be made, 2 wrong usage
"""
DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
PAGE: Final = "figures.html"
EFFORTS: Final = ("quick", "full")


def add(commands: Any) -> None:
    """Add the command to those of `chapar-audit`."""
    parser = commands.add_parser("reproduce", help=ABOUT, description=ABOUT.capitalize() + ".", epilog=EXAMPLES)
    parser.add_argument("figures", metavar="FIGURE", nargs="*", help="document and number, as 000:2.4; all for all")
    parser.add_argument("--list", action="store_true", help="list the figures")
    parser.add_argument("--effort", choices=EFFORTS, default=EFFORTS[0], help="how much to measure (%(default)s)")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("build/figures"), help="where (%(default)s)")
    parser.add_argument("--cache", metavar="DIR", type=Path, help="where measurements are kept (~/.cache/chapar-audit)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Carry out the command; returns its exit code."""
    try:
        from chapar_audit.figures.catalogue import ALL, UnknownFigureError, chosen  # noqa: PLC0415 - matplotlib: 0.5 s
    except ModuleNotFoundError as error:
        return _complain(f"drawing needs {error.name}: pip install 'chapar[analytics]'", USAGE)
    if args.list:
        sys.stdout.write("".join(f"{each.number:14}{each.title}\n" for each in chosen([ALL])))
        return DONE
    if not args.figures:
        return _complain("say which figure, as 000:2.4, or all (see chapar-audit reproduce --list)", USAGE)
    try:
        figures = chosen(args.figures)
    except UnknownFigureError as error:
        return _complain(str(error), USAGE)
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        return _reproduce(args, figures)
    except OSError as error:
        return _complain(f"--out {args.out}: cannot write there: {error.strerror}", USAGE)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)


def _reproduce(args: argparse.Namespace, figures: Sequence[Figure]) -> int:
    from chapar_audit.figures.album import album  # noqa: PLC0415 - see above
    from chapar_audit.figures.figure import Effort  # noqa: PLC0415
    from chapar_audit.figures.workshop import Workshop, cache_folder  # noqa: PLC0415

    effort, progress = Effort(args.effort), Progress(sys.stderr, len(figures))
    with Workshop(args.cache or cache_folder(), progress.tell) as workshop:
        made = [(figure, _made(figure, workshop, effort, progress)) for figure in figures]
    progress.clear()
    file = args.out / PAGE
    file.write_text(album(made, effort), encoding="utf-8")
    failed = [f"{figure.number}: {drawn}" for figure, drawn in made if isinstance(drawn, str)]
    for each in failed:
        _complain(each, FAILED)
    wrong = [finding for _, drawn in made if not isinstance(drawn, str) for finding in deviating(drawn)]
    for finding in wrong:
        said = f"measured {finding.measured:.6g}, expected {finding.expected:.6g}" if finding.expected else "deviates"
        _complain(f"{finding.job}: {finding.subject}: {said}: {finding.reason}", FAILED)
    sys.stdout.write(f"{file}\n")
    return FAILED if failed or wrong else DONE


def _made(figure: Figure, workshop: Workshop, effort: Any, progress: Progress) -> Drawing | str:
    """The drawing, or why there is none."""
    from chapar_audit.figures.workshop import WorkshopError  # noqa: PLC0415 - see above

    progress.next(f"{figure.number} {figure.title}")
    try:
        return figure.make(workshop, effort)
    except WorkshopError as error:
        return str(error)


def deviating(drawn: Drawing) -> list[Finding]:
    return [finding for finding in drawn.findings if finding.state == "deviates"]


class Progress:
    """Says what is under way: on a terminal in one line that changes, elsewhere a line for each figure."""

    def __init__(self, stream: TextIO, total: int) -> None:
        self._stream = stream
        self._total = total
        self._begun = 0
        self._name = ""
        self._is_terminal = stream.isatty()

    def next(self, name: str) -> None:
        self._begun += 1
        self._name = f"[{self._begun}/{self._total}] {name}"
        self._stream.write(f"\r\033[K{self._name}" if self._is_terminal else f"{self._name}\n")
        self._stream.flush()

    def tell(self, what: str) -> None:
        if self._is_terminal:
            self._stream.write(f"\r\033[K{self._name}: {what}")
            self._stream.flush()

    def clear(self) -> None:
        if self._is_terminal:
            self._stream.write("\r\033[K")
            self._stream.flush()


def _complain(text: str, code: int) -> int:
    sys.stderr.write(f"chapar-audit reproduce: {text}\n")
    return code
