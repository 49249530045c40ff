"""Where the routes of a scenario come from in the lab: which programs run on a node, and what chapard is told of it.

In the lab there is no truth to be told, as in the simulator: "ideal" routes are found by OLSR agents as well.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chapar_lab.program import LabError
from chapar_lab.wiring import RADIO
from chapar_sim.terrain import BABEL, IDEAL, OLSR, OLSRD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chapar_sim.scenario import Scenario
    from chapar_sim.terrain import RadioSpec, RouteSpec

SBIN: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Routing daemons are not on everybody's path."""
BABEL_HELLO: Final = 1.0
BABEL_UPDATE: Final = 4.0
"""Seconds between Babel's messages."""
BABEL_CONVERGENCE: Final = (BABEL_HELLO, 8 * BABEL_UPDATE)
"""Seconds until babeld has followed a change: lost updates are said again with the next ones."""
OLSRD_LIBRARIES: Final = ("/usr/lib", "/usr/local/lib", "/usr/lib/olsrd", "/lib")
JSONINFO: Final = "olsrd_jsoninfo.so*"
LATE: Final = 0.05
"""Seconds by which a real process may be late with a datagram; the simulator's processes never are."""


def command(name: str) -> str:
    """The path of an installed program. Raises LabError, with what to do, if there is none."""
    ours = os.path.dirname(sys.executable)
    found = shutil.which(name, path=os.pathsep.join((ours, os.environ.get("PATH", ""), *SBIN)))
    if found is None:
        raise LabError(f"no {name} here: install it, or take another source of routes")
    return found


def as_judged(scenario: Scenario) -> Scenario:
    """The scenario with the times that its promises have in the lab."""
    routes = scenario.routes
    if routes.source == IDEAL:
        routes = replace(routes, source=OLSR)
    elif routes.source == BABEL:
        routes = replace(routes, convergence=BABEL_CONVERGENCE, neighbour_delay=BABEL_CONVERGENCE)
    return replace(scenario, routes=routes, radio=replace(scenario.radio, delay=scenario.radio.delay + LATE))


def needs_ipv6(routes: RouteSpec) -> bool:
    """Whether the routing daemons talk to each other over IPv6."""
    return routes.source == BABEL


def daemon_settings(routes: RouteSpec, folder: Path) -> list[str]:
    """What chapard is told of its routes, SECTION.KEY=VALUE each."""
    match routes.source:
        case "babel":
            return ["routes.source=babeld", f"routes.server={_babel_socket(folder)}"]
        case "olsrd":
            return ["routes.source=olsrd"]
        case _:
            agent = ("hello_interval", routes.hello_interval), ("tc_interval", routes.tc_interval)
            quality = f"olsr.link_quality={str(routes.link_quality).lower()}"
            return ["routes.source=embedded", quality, *(f"olsr.{key}={value:g}" for key, value in agent)]


def routing_command(scenario: Scenario, folder: Path, *, chapard: bool) -> Sequence[str] | None:
    """The routing program that runs beside chapard, or alone on a node without it; None if chapard does that itself."""
    routes = scenario.routes
    match routes.source:
        case "babel":
            return _babeld(scenario.radio, folder)
        case "olsrd":
            return _olsrd(routes, folder)
        case _ if chapard:
            return None
        case _:
            quality = ["--link-quality"] if routes.link_quality else []
            times = ["--hello", f"{routes.hello_interval:g}", "--tc", f"{routes.tc_interval:g}"]
            return [command("chapar-olsrd"), "-i", RADIO, *times, *quality]


def check_programs(routes: RouteSpec) -> None:
    """Raises LabError if a program that this source of routes needs is not installed."""
    if routes.source == BABEL:
        command("babeld")
    elif routes.source == OLSRD:
        command("olsrd")
        _jsoninfo()


def _babel_socket(folder: Path) -> Path:
    return folder / "babel.sock"


def is_lossy(radio: RadioSpec) -> bool:
    """Whether the medium loses frames."""
    return radio.loss > 0 or any(0 < link.loss < 1 for link in radio.links)


def knows_hops(scenario: Scenario) -> bool:
    """Whether its routing daemons tell exactly how far everybody is. Babel weighs lossy links, and tells the weight."""
    return not (scenario.routes.source == BABEL and is_lossy(scenario.radio))


def _babeld(radio: RadioSpec, folder: Path) -> list[str]:
    # Where nothing is lost, all links cost the same, so that hops follow from metrics; else babeld measures links, for
    # those that it does not measure it gives up when two Hellos of three are lost. Each start has an id of its own, for
    # with the id that it had before, one that starts again may be ignored for minutes.
    file = folder / "babeld.conf"
    quality = str(is_lossy(radio)).lower()
    times = f"hello-interval {BABEL_HELLO:g} update-interval {BABEL_UPDATE:g}"
    file.write_text(
        f"local-path {_babel_socket(folder)}\nrandom-id true\nstate-file {folder}/babel-state\n"
        f"interface {RADIO} type wireless link-quality {quality} rxcost 96 {times}\nredistribute local\n",
        encoding="utf-8",
    )
    return [command("babeld"), "-I", "", "-c", str(file)]


def _olsrd(routes: RouteSpec, folder: Path) -> list[str]:
    file = folder / "olsrd.conf"
    level = 2 if routes.link_quality else 0
    file.write_text(
        f'DebugLevel 0\nIpVersion 4\nLinkQualityLevel {level}\nLockFile "{folder}/olsrd.lock"\n'
        f'LoadPlugin "{_jsoninfo()}" {{\n  PlParam "accept" "127.0.0.1"\n  PlParam "port" "9090"\n'
        f'  PlParam "UUIDFile" "{folder}/olsrd.uuid"\n}}\n'
        f'Interface "{RADIO}" {{\n  HelloInterval {routes.hello_interval:.1f}\n'
        f"  HelloValidityTime {3 * routes.hello_interval:.1f}\n  TcInterval {routes.tc_interval:.1f}\n"
        f"  TcValidityTime {3 * routes.tc_interval:.1f}\n}}\n",
        encoding="utf-8",
    )
    return [command("olsrd"), "-f", str(file), "-nofork"]


def _jsoninfo() -> Path:
    """olsrd's jsoninfo plugin, where the loader would find it."""
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep), *OLSRD_LIBRARIES]
    for folder in filter(None, folders):
        for path in sorted(Path(folder).glob(JSONINFO)):
            return path
    raise LabError(f"no {JSONINFO} in {', '.join(OLSRD_LIBRARIES)}: install olsrd with its jsoninfo plugin")
