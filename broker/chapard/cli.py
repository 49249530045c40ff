"""The `chapard` command: reads the settings, runs the daemon, and says in one line why it cannot."""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chapard import log
from chapard.core.config import Mode
from chapard.daemon import VERSION, Daemon
from chapard.disk import DiskError
from chapard.place import unused
from chapard.routes import RoutesError, source_of
from chapard.settings import LIVE_SOURCES, SettingsError
from chapard.settings_file import load
from chapard.transport import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chapard.settings import Settings

EXAMPLES: Final = """\
examples:
  chapard                                    one node alone, for trying things out; no file is needed
  chapard --config my.toml                   with the settings of a file
  chapard --config my.toml --check           is the file good? what would be used?
  chapard --set log.level=debug              one setting on top of the file; again for more
  chapard --set routes.source=embedded       one node of a mesh: finds its radios and speaks OLSR to its neighbours
  chapard --set routes.source=olsrd --set 'mesh.interfaces=["wlan0"]'
                                             the same with the routes of the olsrd that runs here

Without --config, the file that CHAPARD_CONFIG names is read, else /etc/chapar/chapard.toml if there is one.
SIGHUP reads the file again and applies log.*, routes.* and olsr.*; SIGTERM stops in good order.

exit codes: 0 stopped as asked, 1 could not start or go on, 2 wrong usage or configuration
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    path = Path(options.config) if options.config is not None else None
    read = partial(load, path, tuple(options.set))
    try:
        settings = read()
        if options.check:
            return _check(settings)
        log.configure(sys.stderr, settings.log.level, settings.log.format)
        return _run(settings, read)
    except (SettingsError, RoutesError) as error:
        return _complain(error, 2)
    except (StartError, DiskError) as error:
        return _complain(error, 1)
    except KeyboardInterrupt:  # before the daemon listens to signals
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chapard",
        description="The Chapar daemon: carries events between the applications of this node and the other nodes.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", metavar="FILE", help="read the settings from this TOML file")
    parser.add_argument("--check", action="store_true", help="check the settings, print what matters and exit")
    parser.add_argument(
        "--set", metavar="SECTION.KEY=VALUE", action="append", default=[], help="change one setting; may be repeated"
    )
    parser.add_argument("--version", action="version", version=f"chapard {VERSION}")
    return parser


def _check(settings: Settings) -> int:
    """Print what would be used. A routes file is read too: a daemon would not start without it."""
    source_of(settings)
    values = {
        "node.index": settings.index,
        "node.address": settings.node.address,
        "node.prefixes": ", ".join(settings.node.prefixes) or "none",
        "node.state_dir": settings.node.state_dir if settings.node.durable else "none (node.durable is false)",
        "mesh.port": settings.mesh.port,
        "mesh.interfaces": _interfaces(settings),
        "clients.listen": settings.clients.listen,
        "http.listen": settings.http.listen or "off",
        "routes.source": settings.routes.source,
        "routing.mode": _routing(settings),
        "log.level": settings.log.level,
    }
    lines = [f"  {key:<16} {value}" for key, value in values.items()]
    sys.stdout.write("\n".join(["configuration ok", *lines, ""]))
    return 0


def _routing(settings: Settings) -> str:
    routing, overlay = settings.protocol.routing, settings.protocol.overlay
    if routing.mode is not Mode.TREE:
        return str(routing.mode)
    neighbours = overlay.neighbours(settings.index)
    named = f"neighbours {', '.join(map(str, neighbours))}" if neighbours else "none: overlay.links do not name it"
    return f"{routing.mode}, {routing.algorithm}; {len(overlay.links)} links; this node has {named}"


def _interfaces(settings: Settings) -> str:
    named = ", ".join(settings.mesh.interfaces) or "none (broadcasts go to each neighbour in turn)"
    others = unused(settings.mesh.interfaces) if settings.routes.source in LIVE_SOURCES else []
    return f"{named}; not used: {', '.join(others)}" if others else named


def _run(settings: Settings, read: Callable[[], Settings]) -> int:
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(settings, read))


async def _serve(settings: Settings, read: Callable[[], Settings]) -> int:
    daemon = Daemon(settings, read)
    daemon.heed_signals()
    await daemon.start()
    gc.collect()
    gc.freeze()  # what is there now stays: the collector need not look at it again
    return await daemon.run()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - an optional dependency
    except ImportError:
        return None
    return uvloop.new_event_loop


def _complain(error: Exception, code: int) -> int:
    sys.stderr.write(f"chapard: {error}\n")
    return code
