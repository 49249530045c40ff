"""Where the routes of a lab come from."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from chapar_lab.program import LabError
from chapar_lab.ways import (
    BABEL_CONVERGENCE,
    JSONINFO,
    LATE,
    OLSRD_LIBRARIES,
    as_judged,
    check_programs,
    command,
    daemon_settings,
    knows_hops,
    needs_ipv6,
    routing_command,
)
from chapar_sim.scenario import Scenario
from chapar_sim.terrain import RadioSpec, RouteSpec

FOLDER = Path("/run/lab/3")
SLOW = RouteSpec(source="olsr", hello_interval=0.25, tc_interval=0.5)


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the path; programs can be put there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(folder: Path, name: str) -> str:
    file = folder / name
    file.write_text("#!/bin/sh\n", encoding="ascii")
    file.chmod(0o755)
    return str(file)


def test_programs_are_our_own_before_those_on_the_path(bin_folder: Path) -> None:
    """chapard is the one of this environment, whatever else is installed; others are found on the path."""
    install(bin_folder, "chapard")
    assert command("chapard") == os.path.join(os.path.dirname(sys.executable), "chapard")
    assert install(bin_folder, "example") == command("example")


def test_a_program_that_is_not_installed_is_an_error_that_says_what_to_do() -> None:
    """By its name."""
    with pytest.raises(LabError, match="no chapar-nothing here: install it, or take another source of routes"):
        command("chapar-nothing")


def routed(routes: RouteSpec) -> Scenario:
    """Two nodes, with these routes."""
    return replace(scenario(), routes=routes)


def scenario(**routes: object) -> Scenario:
    data = {"duration": 10, "nodes": 2, "topology": {"kind": "chain"}, "routes": routes, "radio": {"delay": 0.5}}
    return Scenario.from_dict(data)


def test_what_is_ideal_in_the_simulator_is_judged_as_agents_are() -> None:
    """They find out for themselves, with the intervals they have."""
    judged = as_judged(scenario(source="ideal", convergence=[0, 1])).routes
    assert (judged.source, judged.hello_interval, judged.tc_interval) == ("olsr", 2.0, 5.0)
    assert as_judged(scenario(source="olsr", hello_interval=0.5)).routes.hello_interval == 0.5


def test_babel_is_judged_by_its_own_times() -> None:
    """Not by what the scenario has told the simulator."""
    judged = as_judged(scenario(source="babel", convergence=[0, 1])).routes
    assert judged.source == "babel"
    assert judged.convergence == judged.neighbour_delay == BABEL_CONVERGENCE


def test_real_processes_may_be_late() -> None:
    """By a little, on the way of every datagram."""
    assert as_judged(scenario()).radio.delay == 0.5 + LATE


@pytest.mark.parametrize(("source", "wanted"), [("ideal", False), ("olsr", False), ("olsrd", False), ("babel", True)])
def test_babel_alone_needs_ipv6(source: str, wanted: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Its messages go from link-local addresses."""
    assert needs_ipv6(RouteSpec(source=source)) is wanted


@pytest.mark.parametrize(
    ("routes", "settings"),
    [
        (RouteSpec(source="babel"), ["routes.source=babeld", "routes.server=/run/lab/3/babel.sock"]),
        (RouteSpec(source="olsrd"), ["routes.source=olsrd"]),
        (
            SLOW,
            ["routes.source=embedded", "olsr.link_quality=false", "olsr.hello_interval=0.25", "olsr.tc_interval=0.5"],
        ),
        (
            RouteSpec(source="ideal", link_quality=True),
            ["routes.source=embedded", "olsr.link_quality=true", "olsr.hello_interval=2", "olsr.tc_interval=5"],
        ),
    ],
    ids=["babel", "olsrd", "olsr", "ideal"],
)
def test_chapard_is_told_of_its_routes(routes: RouteSpec, settings: list[str]) -> None:
    """Which source, and an agent of its own with which intervals."""
    assert daemon_settings(routes, FOLDER) == settings


def test_an_agent_runs_alone_where_chapard_does_not() -> None:
    """With the same intervals on the same radio; beside chapard none, as that has its own."""
    assert routing_command(routed(SLOW), FOLDER, chapard=True) is None
    alone = routing_command(routed(SLOW), FOLDER, chapard=False)
    assert alone is not None
    assert alone[1:] == ["-i", "wlan0", "--hello", "0.25", "--tc", "0.5"]
    assert os.path.basename(alone[0]) == "chapar-olsrd"
    measuring = routing_command(routed(RouteSpec(source="ideal", link_quality=True)), FOLDER, chapard=False)
    assert measuring is not None
    assert measuring[-1] == "--link-quality"


@pytest.mark.parametrize(("loss", "quality"), [(0.0, "false"), (0.1, "true")])
@pytest.mark.parametrize("chapard", [True, False])
def test_babeld_runs_on_every_node(
    tmp_path: Path,
    bin_folder: Path,
    chapard: bool,  # noqa: FBT001 - as above
    loss: float,
    quality: str,
) -> None:
    """Its socket is the one that chapard is told of. All links have one cost, unless there is loss to be measured."""
    babeld = install(bin_folder, "babeld")
    file = tmp_path / "babeld.conf"
    scenario = replace(routed(RouteSpec(source="babel")), radio=RadioSpec(loss=loss))
    assert routing_command(scenario, tmp_path, chapard=chapard) == [babeld, "-I", "", "-c", str(file)]
    assert knows_hops(scenario) is (loss == 0)
    lines = file.read_text(encoding="utf-8").splitlines()
    (socket,) = (line.split()[1] for line in lines if line.startswith("local-path "))
    assert f"routes.server={socket}" in daemon_settings(RouteSpec(source="babel"), tmp_path)
    (interface,) = (line for line in lines if line.startswith("interface "))
    assert interface.startswith(f"interface wlan0 type wireless link-quality {quality} rxcost 96 ")


@pytest.mark.parametrize(("quality", "level"), [(False, 0), (True, 2)])
def test_olsrd_has_the_intervals_of_the_scenario(
    tmp_path: Path,
    bin_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    quality: bool,  # noqa: FBT001 - as above
    level: int,
) -> None:
    """And the plugin that chapard asks, where it is installed."""
    olsrd = install(bin_folder, "olsrd")
    plugin = install(tmp_path, "olsrd_jsoninfo.so.1.1")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    routes = RouteSpec(source="olsrd", hello_interval=0.5, tc_interval=1.0, link_quality=quality)
    check_programs(routes)
    file = tmp_path / "olsrd.conf"
    assert routing_command(routed(routes), tmp_path, chapard=True) == [olsrd, "-f", str(file), "-nofork"]
    text = file.read_text(encoding="utf-8")
    for part in (
        f'LoadPlugin "{plugin}"',
        f"LinkQualityLevel {level}\n",
        'Interface "wlan0"',
        "HelloInterval 0.5\n",
        "HelloValidityTime 1.5\n",
        "TcInterval 1.0\n",
        "TcValidityTime 3.0\n",
    ):
        assert part in text


def test_a_source_of_routes_without_its_programs_is_refused(bin_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started; olsrd's plugin is one of them. Agents of our own need nothing."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    check_programs(RouteSpec(source="olsr"))
    check_programs(RouteSpec(source="ideal"))
    install(bin_folder, "babeld")
    check_programs(RouteSpec(source="babel"))
    if any(plugin for folder in OLSRD_LIBRARIES for plugin in Path(folder).glob(JSONINFO)):
        pytest.skip("olsrd is installed here")
    install(bin_folder, "olsrd")
    with pytest.raises(LabError, match=r"^no olsrd_jsoninfo.so\* in .*: install olsrd with its jsoninfo plugin$"):
        check_programs(RouteSpec(source="olsrd"))
