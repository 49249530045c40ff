"""The `chapar-olsrd` command: the OLSR agent on its own, for a node whose routes are wanted without a broker."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import re
import signal
import socket
import sys
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NoReturn

from chapar_olsr.agent.config import IPV4_BYTES, IPV6_BYTES, AgentConfig, ConfigError
from chapar_olsr.agent.messages import PORT
from chapar_olsr.embedded import AgentDriver
from chapar_olsr.hostport import host_and_port
from chapar_olsr.interfaces import InterfaceError, OlsrInterface, find
from chapar_olsr.jsoninfo_server import PORT as HTTP_PORT
from chapar_olsr.jsoninfo_server import AgentTables, JsoninfoServer
from chapar_olsr.source import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXAMPLES: Final = """\
examples:
  chapar-olsrd -i wlan0                      speak OLSR on wlan0, and keep the kernel's routes
  chapar-olsrd -i wlan0 -i eth1              on two interfaces; the address of the first is the node's main address
  chapar-olsrd -i wlan0 --no-routes          only show the routes: curl http://127.0.0.1:9090/routes
  chapar-olsrd -i wlan0 --link-quality       in a network of olsrd with its own defaults (LinkQualityLevel 2)
  chapar-olsrd -i wlan0 --port 6980 --no-routes
                                             without any privilege, in a network of its own

All nodes of a network agree on --port and --link-quality. The tables neighbors, links, routes, mid, 2hop, hna
(networks behind others, to which it keeps no routes) and version are served over HTTP as olsrd's jsoninfo plugin
serves them. SIGTERM and SIGINT stop it, and take its routes out of the kernel.

exit codes: 0 stopped as asked, 1 could not start or go on, 2 wrong usage
"""
LEVELS: Final = ("debug", "info", "warning", "error")
_OPTIONS: Final = MappingProxyType(
    {
        "hello_interval": "--hello",
        "tc_interval": "--tc",
        "willingness": "--willingness",
        "tc_redundancy": "--tc-redundancy",
    }
)
"""By the parameter of the agent that each sets."""

_PLAIN: Final = re.compile(r"[^\s\"=\\\x00-\x1f\x7f]+")
_log = logging.getLogger(__name__)


class UsageError(Exception):
    """An argument that cannot work; the message is one line that names it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        config = _config(options)
        where = _http_place(options.http)
    except UsageError as error:
        return _complain(error, 2)
    _configure_log(options.log_level)
    try:
        interfaces = [find(name, ipv6=options.ipv6) for name in dict.fromkeys(options.interface)]
        driver = AgentDriver(config, interfaces, port=options.port, install_routes=options.routes)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(driver, interfaces, where))
    except (InterfaceError, SourceError) as error:
        return _complain(error, 1)
    except KeyboardInterrupt:  # before we listen to signals
        return 1
    except Exception as error:  # noqa: BLE001 - the service manager starts us again; the log says why
        _log.error("a mistake in the agent: please report this", exc_info=error)
        return 1
    return 0


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    defaults = AgentConfig()
    parser = _Parser(
        prog="chapar-olsrd",
        description="An OLSR daemon (RFC 3626): finds routes to all nodes of a mobile ad hoc network.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-i", "--interface", metavar="IFACE", action="append", required=True, help="speak here; may be repeated")
    add("--hello", metavar="S", type=float, default=defaults.hello_interval, help="seconds between HELLOs (2)")
    add("--tc", metavar="S", type=float, default=defaults.tc_interval, help="seconds between TCs (5)")
    add("--willingness", metavar="0…7", type=int, default=defaults.willingness, help="to relay for others (3)")
    add("--tc-redundancy", metavar="0…2", type=int, default=defaults.tc_redundancy, help="how much a TC tells (1)")
    add("--hysteresis", action="store_true", help="have links prove themselves, give up bad ones (RFC 3626, 14)")
    add("--link-quality", action="store_true", help="speak olsrd's LQ messages, and avoid links that lose much")
    add("--ipv6", action="store_true", help="use the interfaces' IPv6 addresses")
    add("--port", metavar="N", type=int, default=PORT, help=f"UDP port ({PORT})")
    add("--routes", action=argparse.BooleanOptionalAction, default=True, help="keep the kernel's routes (yes)")
    add("--http", metavar="HOST:PORT", default=f"127.0.0.1:{HTTP_PORT}", help="where to show tables; '' for nowhere")
    add("--log-level", choices=LEVELS, default="info", help="what is logged (info)")
    add("--version", action="version", version=f"chapar-olsrd {_version()}")
    return parser


def _config(options: argparse.Namespace) -> AgentConfig:
    if not 1 <= options.port <= 65_535:
        raise UsageError(f"--port: want 1 to 65535, got {options.port}")
    try:
        return AgentConfig(
            address_bytes=IPV6_BYTES if options.ipv6 else IPV4_BYTES,
            hello_interval=options.hello,
            tc_interval=options.tc,
            mid_interval=options.tc,
            willingness=options.willingness,
            tc_redundancy=options.tc_redundancy,
            hysteresis=options.hysteresis,
            link_quality=options.link_quality,
        )
    except ConfigError as error:
        parameter, _, wish = str(error).partition(": ")
        raise UsageError(f"{_OPTIONS[parameter]}: {wish}") from None


def _http_place(text: str) -> tuple[str, int] | None:
    """Where to listen; None: nowhere."""
    place = host_and_port(text) if text else None
    if text and place is None:
        raise UsageError(f"--http: want HOST:PORT such as 127.0.0.1:{HTTP_PORT}, or '' for nowhere, got {text!r}")
    return place


async def _serve(driver: AgentDriver, interfaces: Sequence[OlsrInterface], where: tuple[str, int] | None) -> None:
    """Speak OLSR until a signal comes."""
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    speaking = loop.create_task(_speak(driver, interfaces, where))
    stopping = loop.create_task(over.wait())
    try:
        await asyncio.wait((speaking, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not speaking.done():
            _notify("STOPPING=1")
            speaking.cancel()
        with suppress(asyncio.CancelledError):
            await speaking  # it may have failed: then this raises why
        _log.info("stopped")
    finally:
        stopping.cancel()


async def _speak(driver: AgentDriver, interfaces: Sequence[OlsrInterface], where: tuple[str, int] | None) -> None:
    server: JsoninfoServer | None = None
    neighbours = -1
    try:
        async with aclosing(driver.run()) as running:
            async for agent in running:
                if neighbours < 0:
                    tables = AgentTables(
                        agent, text=driver.text, interface_name=driver.interface_name, version=_version()
                    )
                    server = await _listen(tables, where)
                    _log.info("ready as %s on %s", interfaces[0].address, ", ".join(each.name for each in interfaces))
                    _notify("READY=1")
                _tell_faults(driver)
                found = sum(each.is_symmetric for each in agent.neighbours())
                if found != neighbours:
                    _log.debug("%d neighbours", found)
                    _notify(f"STATUS={found} neighbours, {len(agent.routes())} routes")
                    neighbours = found
    finally:
        if server is not None:
            await server.close()


async def _listen(tables: AgentTables, where: tuple[str, int] | None) -> JsoninfoServer | None:
    if where is None:
        return None
    server = JsoninfoServer(tables.by_name())
    try:
        await server.start(*where)
    except OSError as error:
        reason = error.strerror or str(error)
        place = f"{where[0]}:{where[1]}"
        raise SourceError(f"cannot listen on {place}: {reason}; choose another place with --http") from None
    return server


def _tell_faults(driver: AgentDriver) -> None:
    for fault, count, detail in driver.faults.news(asyncio.get_running_loop().time()):
        _log.warning("%s (%d so far): %s", fault, count, detail)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - an optional dependency
    except ImportError:
        return None
    return uvloop.new_event_loop


def _version() -> str:
    try:
        return version_of("chapar")
    except PackageNotFoundError:  # run from its sources
        return "of no release"


def _complain(error: Exception, code: int) -> int:
    sys.stderr.write(f"chapar-olsrd: {error}\n")
    return code


def _notify(line: str) -> None:
    """Tell systemd, if it listens."""
    name = os.environ.get("NOTIFY_SOCKET", "")
    if name:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as manager:
            manager.sendto(line.encode(), "\0" + name[1:] if name.startswith("@") else name)


def _configure_log(level: str) -> None:
    logging.raiseExceptions = False  # a log that cannot be written must not end in a traceback on the same stream
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


class Formatter(logging.Formatter):
    """One line for a record: time=… level=… msg="…"."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        parts = {
            "time": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
            "level": record.levelname.lower(),
            "msg": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            parts["traceback"] = self.formatException(record.exc_info)
        return " ".join(f"{key}={_quoted(value)}" for key, value in parts.items())


def _quoted(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
