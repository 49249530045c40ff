"""Real babelds in a chain: what the sources `babeld` and `kernel` make of them, side by side on every node."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

import pytest

from e2e import netns
from e2e.netns import Mesh, wait_until
from e2e.olsr_watch import chain_hops
from e2e.route_watch import Watcher, told

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

    from e2e.netns import Node

pytestmark = pytest.mark.lab

CHAIN: Final = [(1, 2), (2, 3), (3, 4), (4, 5)]
FORMING: Final = 20.0
"""Seconds for all routes."""
HELLO: Final = 0.5
UPDATE: Final = 1.0
"""Seconds between messages."""
NEIGHBOUR_HOLD: Final = 3 * HELLO
"""A link needs two of the last three Hellos (RFC 8966, A.2.1)."""
ROUTE_HOLD: Final = 3.5 * UPDATE
"""RFC 8966, appendix B."""
LATE: Final = 4.0
"""Seconds by which processes on a busy machine may be late, and watchers behind them."""
MAX_AGE: Final = 6.0
"""Seconds: the least that `routes.max_age` may be."""
LAST_RETRY: Final = 8.0
"""Seconds after which a source that failed is asked again at the latest."""
SERVER: Final = "[::1]:33123"
"""Where chapard looks for babeld unless told otherwise."""

CONFIGURATION: Final = """\
local-port 33123
random-id true
state-file {folder}/babel-state
interface {interface} type wireless link-quality false rxcost 96 hello-interval {hello} update-interval {update}
redistribute local
"""

Routes = dict[int, dict[int, tuple[int, int]]]
"""Of each node, to each destination: next hop and hops."""


def babeld(node: Node) -> subprocess.Popen[bytes]:
    """Start a real one. All links cost the same, so that hops follow from metrics.

    Each has an id of its own, for with the id that it had before, one that starts again may be ignored for minutes.
    """
    file = node.folder / "babeld.conf"
    text = CONFIGURATION.format(folder=node.folder, interface=node.interface, hello=HELLO, update=UPDATE)
    file.write_text(text, encoding="utf-8")
    return node.popen(["babeld", "-I", "", "-c", str(file)])


def chain(*nodes: int) -> Routes:
    """From every node of a chain to every other."""
    places = {node: place for place, node in enumerate(nodes)}

    def toward(a: int, b: int) -> int:
        return nodes[places[a] + (1 if places[b] > places[a] else -1)]

    return {a: {b: (toward(a, b), hops) for b, hops in row.items()} for a, row in chain_hops(*nodes).items()}


def as_kernel(routes: Routes) -> Routes:
    """The same as the kernel knows it: babeld writes no hop counts there, so 2 stands for "two or more"."""
    return {a: {b: (way, min(hops, 2)) for b, (way, hops) in row.items()} for a, row in routes.items()}


def seen(watchers: Mapping[int, Watcher]) -> Routes:
    return {index: dict(watcher.seen().routes) for index, watcher in watchers.items()}


def wait_for(watchers: Mapping[int, Watcher], routes: Routes, timeout: float) -> None:
    wait_until(lambda: seen(watchers) == routes, timeout, told(watchers))


def wait_for_loss(watchers: Mapping[int, Watcher], a: int, b: int, timeout: float) -> None:
    """Wait until two nodes know that they are neighbours no more."""
    wait_until(lambda: b not in watchers[a].seen().neighbours, timeout, f"node {a} misses node {b}")
    wait_until(lambda: a not in watchers[b].seen().neighbours, LATE, f"node {b} misses node {a}")


def is_down(watcher: Watcher) -> bool:
    """Whether a source counts as gone, and nothing that it said stands."""
    now = watcher.seen()
    return now.state.startswith("down: ") and not now.routes and not now.neighbours


def ping(mesh: Mesh, a: int, b: int) -> subprocess.CompletedProcess[str]:
    return mesh[a].run(["ping", "-c", "3", "-i", "0.2", "-W", "2", mesh[b].address])


@pytest.fixture(autouse=True)
def _babeld() -> None:
    netns.require("babeld", "ping")


def test_a_chain_finds_itself_and_sees_a_cut() -> None:
    """From both sources: all routes are there within 20 s, and a link that is cut or healed is seen within hold times.

    Next hops are right, and so are hop counts as far as they can be known; nobody claims to know relays. A ping crosses
    four hops while all links stand.
    """
    with Mesh(nodes=5, edges=CHAIN) as mesh:
        by_babeld = {node.index: Watcher(node, "babeld", server=SERVER) for node in mesh}
        by_kernel = {node.index: Watcher(node, "kernel") for node in mesh}
        for node in mesh:
            babeld(node)
        whole, halves = chain(1, 2, 3, 4, 5), chain(1, 2) | chain(3, 4, 5)
        wait_for(by_babeld, whole, FORMING)
        wait_for(by_kernel, as_kernel(whole), LATE)
        for watcher in (*by_babeld.values(), *by_kernel.values()):
            assert watcher.seen().state == "ok"
            assert not watcher.seen().knows_relays
        done = ping(mesh, 1, 5)
        assert "3 received" in done.stdout, done.stdout
        assert "ttl=61" in done.stdout, "three nodes forwarded it"
        mesh.cut(2, 3)
        wait_for_loss(by_babeld, 2, 3, NEIGHBOUR_HOLD + LATE)
        wait_for_loss(by_kernel, 2, 3, LATE)
        wait_for(by_babeld, halves, ROUTE_HOLD + LATE)
        wait_for(by_kernel, as_kernel(halves), LATE)
        assert ping(mesh, 1, 5).returncode != 0
        mesh.heal(2, 3)
        wait_for(by_babeld, whole, NEIGHBOUR_HOLD + ROUTE_HOLD + LATE)
        wait_for(by_kernel, as_kernel(whole), LATE)
        assert "3 received" in ping(mesh, 1, 5).stdout


def test_a_babeld_that_ends_or_hangs_is_noticed() -> None:
    """The source is stale first, and down when its last view is too old: then this node is alone, until babeld is back.

    The neighbours know after Babel's own hold times. The kernel keeps the routes of a babeld that was killed, and loses
    those of one that ends in good order.
    """
    with Mesh(nodes=3, edges=CHAIN[:2]) as mesh:
        by_babeld = {node.index: Watcher(node, "babeld", server=SERVER, max_age=MAX_AGE) for node in mesh}
        by_kernel = {node.index: Watcher(node, "kernel", max_age=MAX_AGE) for node in mesh if node.index < 3}
        daemons = {node.index: babeld(node) for node in mesh}
        whole = chain(1, 2, 3)
        known = {index: row for index, row in as_kernel(whole).items() if index in by_kernel}
        wait_for(by_babeld, whole, FORMING)
        wait_for(by_kernel, known, LATE)

        daemons[1].kill()
        daemons[1].wait()
        daemons[3].send_signal(signal.SIGSTOP)
        wait_for({2: by_babeld[2]}, {2: {}}, ROUTE_HOLD + LATE)
        wait_for({2: by_kernel[2]}, {2: {}}, LATE)
        wait_until(lambda: is_down(by_babeld[1]), MAX_AGE + LATE, told(by_babeld))
        stale = [each for each in by_babeld[1].history() if each.state.startswith("stale: babeld")]
        assert [each.routes for each in stale] == [whole[1]]
        wait_until(lambda: is_down(by_babeld[3]), MAX_AGE + LATE, told(by_babeld))
        assert by_babeld[2].seen().state == "ok", "a babeld without neighbours is none that has failed"
        assert seen(by_kernel)[1] == known[1]

        daemons[1] = babeld(mesh[1])
        daemons[3].send_signal(signal.SIGCONT)
        wait_for(by_babeld, whole, LAST_RETRY + FORMING)
        wait_for(by_kernel, known, LATE)
        assert {watcher.seen().state for watcher in by_babeld.values()} == {"ok"}

        daemons[2].terminate()
        wait_until(lambda: seen(by_kernel)[2] == {}, LATE, told(by_kernel))
