"""The kernel's routing table, kept as an agent wants it, in a namespace of our own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chapar_olsr.route_table import PROTOCOL
from e2e import netlink_work, netns
from e2e.netns import Mesh

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from e2e.netns import Node


class Table:
    """A route table in a process inside the namespace."""

    def __init__(self, node: Node) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._node = node
        self._process: Any = node.popen([sys.executable, str(Path(netlink_work.__file__)), "table"], **pipes)
        assert self._heard() == "open"

    def update(self, wanted: Mapping[str, tuple[str, str, int]]) -> None:
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        assert self._heard() == "done"

    def close(self) -> None:
        self._process.stdin.close()
        assert self._process.wait(10) == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(10)

    def _heard(self) -> str:
        return str(json.loads(self._process.stdout.readline()))


@pytest.fixture
def node() -> Iterator[Node]:
    netns.require()
    with Mesh(nodes=1) as mesh:
        yield mesh[1]


def ours(node: Node) -> set[tuple[str, str, int]]:
    """Our routes in the kernel: destination, gateway and metric."""
    found = set()
    for version in ("-4", "-6"):
        shown = json.loads(node.run(["ip", "-j", version, "route", "show", "proto", str(PROTOCOL)]).stdout or "[]")
        found |= {(each["dst"], each.get("gateway", ""), each["metric"]) for each in shown}
    return found


def others(node: Node) -> list[str]:
    lines = (node.run(["ip", version, "route"]).stdout.splitlines() for version in ("-4", "-6"))
    return [line for each in lines for line in each if f"proto {PROTOCOL}" not in line]


def test_the_kernel_has_what_is_wanted_and_nothing_else(node: Node) -> None:
    """Added, changed and removed as it is wanted, for both families; what is not ours stays; at the end all is gone."""
    before = others(node)
    table = Table(node)
    table.update(
        {
            "10.66.0.2": ("10.66.0.2", "wlan0", 1),
            "10.66.0.3": ("10.66.0.2", "wlan0", 2),
            "fd66::2": ("fd66::2", "wlan0", 1),
            "fd66::3": ("fd66::2", "wlan0", 2),
        }
    )
    assert ours(node) == {
        ("10.66.0.2", "", 1), ("10.66.0.3", "10.66.0.2", 2), ("fd66::2", "", 1), ("fd66::3", "fd66::2", 2),
    }  # fmt: skip
    table.update({"10.66.0.2": ("10.66.0.2", "wlan0", 1), "10.66.0.3": ("10.66.0.4", "wlan0", 3)})
    assert ours(node) == {("10.66.0.2", "", 1), ("10.66.0.3", "10.66.0.4", 3)}
    table.close()
    assert ours(node) == set()
    assert others(node) == before


def test_what_an_earlier_life_left_behind_is_removed_at_the_start(node: Node) -> None:
    """It was killed, and could not clean up."""
    earlier = Table(node)
    earlier.update({"10.66.0.2": ("10.66.0.2", "wlan0", 1), "10.66.0.3": ("10.66.0.2", "wlan0", 2)})
    earlier.kill()
    assert len(ours(node)) == 2
    table = Table(node)
    assert ours(node) == set()
    table.close()


def test_what_an_interface_takes_along_is_put_in_again(node: Node) -> None:
    """One that goes down and comes up again has lost its routes, though nobody said so."""
    wanted = {"10.66.0.2": ("10.66.0.2", "wlan0", 1), "10.66.0.3": ("10.66.0.2", "wlan0", 2)}
    table = Table(node)
    table.update(wanted)
    for state in ("down", "up"):
        node.run(["ip", "link", "set", "wlan0", state])
    assert ours(node) == set()
    table.update(wanted)
    assert ours(node) == {("10.66.0.2", "", 1), ("10.66.0.3", "10.66.0.2", 2)}
    table.close()
