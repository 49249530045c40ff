"""What the README says of a mesh is so: one setting on each node, and they are a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from e2e import netns
from e2e.netns import Mesh, wait_until
from e2e.olsr_watch import kernel_routes

if TYPE_CHECKING:
    from e2e.netns import Node

pytestmark = pytest.mark.lab

STARTING: Final = 30.0
"""Seconds for a daemon to get ready on a busy machine."""
FORMING: Final = 40.0
"""Seconds for three nodes with the usual intervals: a link takes a few HELLOs, a route one TC more; an idle machine
takes six, a busy one longer to ask than they to answer."""
ARRIVING: Final = 30.0
"""Seconds for filters to reach the brokers, and for events that were kept: some beacons, and a comparison of tables."""
LATE: Final = 4.0
"""Seconds by which processes on a busy machine may be late."""
BINARIES: Final = Path(sys.executable).parent


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names no daemon, and no file of settings."""
    for name in list(os.environ):
        if name.startswith("CHAPAR"):
            monkeypatch.delenv(name)


def chapard(node: Node) -> subprocess.Popen[bytes]:
    """Start a daemon with the README's one setting; its environment only says where it may write."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(node.folder), "STATE_DIRECTORY": str(node.folder / "state")}
    return node.popen([str(BINARIES / "chapard"), "--set", "routes.source=embedded"], env=environ)


def chapar(node: Node, *arguments: str) -> str:
    """What the command says."""
    done = node.run([str(BINARIES / "chapar"), *arguments])
    assert done.returncode == 0, done.stderr
    return done.stdout


def page(node: Node, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(chapar(node, name, "--json"))
    return found


def routes(node: Node) -> dict[int, tuple[int, int]]:
    """Next hop and hops to every other node, by a source that is well; none while it is not."""
    found = page(node, "routes")
    assert found["source"] == "embedded"
    if found["state"] != "ok":
        return {}
    return {each["destination"]: (each["next_hop"], each["hops"]) for each in found["routes"]}


def has_subscribed(node: Node) -> bool:
    """Whether the daemon knows of a client with a subscription."""
    return any(each["subscriptions"] for each in page(node, "clients")["clients"])


def homes_known(mesh: Mesh, index: int) -> set[int]:
    """The nodes whose filters the broker of a node has."""
    broker = page(mesh[index], "status")["role"]["broker"]
    return {each["home"] for each in page(mesh[broker], "fmt")["homes"]} if broker in {1, 2, 3} else set()


def test_one_setting_makes_a_network() -> None:
    """`chapard --set routes.source=embedded` on three nodes in a chain, and an event crosses it from end to end.

    One with a lifetime arrives too that was published when no node had had time to find another; each arrives once.
    All know the right routes, the kernel has them as long as the daemon runs, and no daemon makes a mistake.
    """
    netns.require()
    with Mesh(nodes=3, edges=[(1, 2), (2, 3)]) as mesh:
        daemons = [chapard(node) for node in mesh]
        for node in mesh:
            wait_until(lambda: "msg=ready" in node.logs(), STARTING, node.logs)  # noqa: B023 - at once
        listening = [str(BINARIES / "chapar"), "sub", "temp", "-n", "2", "--json"]
        subscriber = mesh[3].popen(listening, stdout=subprocess.PIPE, text=True)
        wait_until(lambda: has_subscribed(mesh[3]), STARTING, "the subscription is made")
        chapar(mesh[1], "pub", "temp", "-m", "early", "--lifetime", "60s")

        chain = {1: {2: (2, 1), 3: (2, 2)}, 2: {1: (1, 1), 3: (3, 1)}, 3: {1: (2, 2), 2: (2, 1)}}
        for index, expected in chain.items():
            wait_until(lambda: routes(mesh[index]) == expected, FORMING, f"node {index} knows {expected}")  # noqa: B023 - at once
        summary = page(mesh[1], "status")["routes"]
        assert (summary["state"], summary["destinations"], summary["neighbours"]) == ("ok", 2, 1)
        installed = {mesh[2].address: mesh[2].address, mesh[3].address: mesh[2].address}
        wait_until(lambda: kernel_routes(mesh[1]) == installed, LATE, "the kernel's routes")

        wait_until(lambda: 3 in homes_known(mesh, 1), ARRIVING, "the subscription is known where node 1 publishes")
        chapar(mesh[1], "pub", "temp", "-m", "now")
        said, _ = subscriber.communicate(timeout=ARRIVING)
        events = [json.loads(line) for line in said.splitlines()]
        assert {each["payload"]: (each["sender"], each["delivery"]) for each in events} == {
            "early": (1, "lifetime"),
            "now": (1, "realtime"),
        }

        for node, daemon in zip(mesh, daemons, strict=True):
            daemon.terminate()
            assert daemon.wait(netns.COMMAND_PATIENCE) == 0
            assert kernel_routes(node) == {}
            assert "level=error" not in node.logs()
