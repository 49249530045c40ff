"""The command `chapar`, from its arguments to its exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from chapar.cli import publish, subscribe
from chapar.cli.arguments import PAGES, parsed, parser
from chapar.cli.completion import script
from chapar.cli.exits import Exit, Failure
from chapar.cli.notation import HTTP, NotationError, http_endpoint
from chapar.cli.show import show
from chapar.errors import AddressError, ChaparError, EventError, FilterError, NoDaemonError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from chapar.endpoint import Endpoint


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code. Help and wrong usage raise SystemExit, as argparse does."""
    try:
        args = parsed(sys.argv[1:] if arguments is None else arguments)
    except SystemExit:
        _flush()
        raise
    code, line = _outcome(args)
    if line:
        name = f"chapar {args.command}" if args.command else "chapar"
        sys.stderr.write(f"{name}: {line}\n")
    return int(code)


def _outcome(args: argparse.Namespace) -> tuple[Exit, str]:
    """How the command ended, and the one line to say about it, if any."""
    try:
        return _run(args, os.environ), ""
    except Failure as failure:
        return failure.code, failure.line
    except (AddressError, EventError, FilterError) as error:
        return Exit.USAGE, str(error)
    except NoDaemonError as error:
        advice = "start chapard there, or name another with --address or CHAPAR_DAEMON"
        return Exit.NO_DAEMON, f"no daemon answers at {error.address}: {advice}"
    except ChaparError as error:
        return Exit.FAILED, str(error)
    except BrokenPipeError:
        # Whoever reads our output has had enough.
        return Exit.DONE, ""
    except OSError as error:
        return Exit.FAILED, f"cannot read or write any more: {error.strerror}"
    except KeyboardInterrupt:
        return Exit.INTERRUPTED, ""


def _run(args: argparse.Namespace, environment: Mapping[str, str]) -> Exit:
    if args.version:
        _write(f"chapar {_version()}\n".encode())
    elif args.command == "completion":
        _write(script(args.shell, parser()).encode())
    elif args.command in PAGES:
        _write(show(args.command, args.http or _http(environment), as_json=args.json))
    else:
        return publish.run(args) if args.command == "pub" else subscribe.run(args)
    return Exit.DONE


def _http(environment: Mapping[str, str]) -> Endpoint:
    text = environment.get("CHAPAR_HTTP")
    try:
        return http_endpoint(text) if text else HTTP
    except NotationError as error:
        raise Failure(Exit.USAGE, f"CHAPAR_HTTP: {error}") from None


def _version() -> str:
    # Imported here because it takes longer than all other start-up, and is hardly ever asked for.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - see above

    try:
        return version("chapar")
    except PackageNotFoundError:
        raise Failure(Exit.FAILED, "not installed, so no version is known: pip install chapar") from None


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def _flush() -> None:
    """Empty argparse's output now: at exit, a reader who has gone would be a traceback."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
