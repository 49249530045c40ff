"""How a run says how far it is. Whole runs are tested in the lab's own tests, and end to end."""

from __future__ import annotations

import io
import os

import pytest

from boxed import boxed
from chapar_lab.lab import Progress
from chapar_lab.run import TELL_EVERY, Teller, is_in_user_namespace, line_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (Progress(), "wiring"),
        (Progress("starting", nodes=5, nodes_up=2), "starting: 2 of 5 nodes up"),
        (Progress("forming", nodes=5), "forming: 0 of 5 nodes have their routes and roles"),
        (
            Progress("forming", nodes=5, nodes_formed=3, lacking="node 2 has no route to 4"),
            "forming: 3 of 5 nodes have their routes and roles (node 2 has no route to 4)",
        ),
        (
            Progress("running", t=12.4, duration=60.0, published=7, delivered=21),
            "running: 12 of 60 s, 7 events accepted, 21 deliveries",
        ),
        (Progress("stopping"), "stopping"),
    ],
)
def test_each_phase_in_one_line(progress: Progress, line: str) -> None:
    """What it has, and of what."""
    assert line_of(progress) == line


def told(stream: io.StringIO, *progress: Progress) -> str:
    teller = Teller(stream)
    for each in progress:
        teller.tell(each)
    teller.end()
    teller.tell(Progress("stopping"))
    return stream.getvalue()


def test_a_terminal_has_one_line_that_is_written_over() -> None:
    """Wholly: a shorter one leaves nothing of a longer one. In the end the next line begins, and no more is told."""
    text = told(Terminal(), Progress("starting", nodes=5), Progress("wiring"), Progress("starting", nodes=5))
    first, second, third = text.removesuffix("\n").removeprefix("\r").split("\r")
    assert (first, second.rstrip(), third) == ("starting: 0 of 5 nodes up", "wiring", first)
    assert len(second) == len(first)
    assert text.count("\n") == 1


def test_a_line_does_not_go_over_the_edge_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or what is on the next line would stay."""
    monkeypatch.setenv("COLUMNS", "40")
    forming = Progress("forming", nodes=5, lacking="node 12 has a route of 4 hops to 14, 3 away")
    shown = told(Terminal(), forming).strip()
    assert line_of(forming).startswith(shown)
    assert len(shown) == 39


def test_elsewhere_a_line_is_written_now_and_then() -> None:
    """For each phase, and while it runs every so many seconds of it."""
    running = [Progress("running", t=t, duration=60.0) for t in (0.0, 1.0, TELL_EVERY, TELL_EVERY + 1, 2 * TELL_EVERY)]
    lines = told(io.StringIO(), Progress("wiring"), Progress("wiring"), *running, Progress("stopping")).splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "wiring",
        "running: 0 of 60 s",
        "running: 10 of 60 s",
        "running: 20 of 60 s",
        "stopping",
    ]


def test_whether_this_is_a_namespace_of_users() -> None:
    """A box has one of its own where it needs one; then who visits it must enter that too."""
    here = os.readlink("/proc/self/ns/user")
    found, there = boxed(lambda: (is_in_user_namespace(), os.readlink("/proc/self/ns/user")))
    assert found == (is_in_user_namespace() or there != here)
