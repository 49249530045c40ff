"""Our OLSR daemon among real ones: a chain in which every other node runs olsrd.

Where there is no olsrd on the path, or the loader does not find its jsoninfo plugin, these tests are skipped.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from e2e import netns
from e2e.netns import Mesh, wait_until
from e2e.olsr_watch import Watch, chain_hops, chapar_olsrd, kernel_routes

if TYPE_CHECKING:
    from e2e.netns import Node

pytestmark = pytest.mark.lab

CHAIN: Final = [(1, 2), (2, 3), (3, 4), (4, 5)]
FORMING: Final = 25.0
"""Seconds: olsrd waits for several HELLOs before it believes in a link."""
STIRS: Final = 3
LATE: Final = 5.0
LIBRARIES: Final = ("/usr/lib", "/usr/local/lib", "/usr/lib/olsrd", "/lib")
PLUGIN: Final = "olsrd_jsoninfo.so*"

CONFIGURATION: Final = """\
DebugLevel 0
IpVersion 4
LinkQualityLevel {level}
LockFile "{folder}/lock"
LoadPlugin "{plugin}" {{
    PlParam "accept" "127.0.0.1"
    PlParam "port" "9090"
    PlParam "UUIDFile" "{folder}/uuid"
}}
Interface "{interface}" {{
    HelloInterval 2.0
    HelloValidityTime 6.0
    TcInterval 5.0
    TcValidityTime 15.0
}}
"""


def plugin() -> Path | None:
    """The jsoninfo plugin, where the loader would find it."""
    folders = [*os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep), *LIBRARIES]
    found = (path for folder in folders if folder for path in sorted(Path(folder).glob(PLUGIN)))
    return next(found, None)


def olsrd(node: Node, library: Path, level: int) -> None:
    """Start a real one."""
    file = node.folder / "olsrd.conf"
    text = CONFIGURATION.format(level=level, folder=node.folder, plugin=library, interface=node.interface)
    file.write_text(text, encoding="utf-8")
    node.popen(["olsrd", "-f", str(file), "-nofork"])


def form(mesh: Mesh, watch: Watch) -> None:
    """Wait until all know the way to all.

    olsrd calculates routes once a second at most, and what changes in that second it looks at only after the next
    change (`olsr_calculate_routing_table`). So a chain that does not finish is given one: a link lost and found.
    """

    def is_formed() -> bool:
        return watch.hops() == chain_hops(1, 2, 3, 4, 5)

    for _ in range(STIRS):
        with suppress(AssertionError):
            wait_until(is_formed, FORMING, watch.told)
            return
        for a, b in ((1, 2), (4, 5)):
            mesh.cut(a, b)
            wait_until(lambda a=a, b=b: b not in watch[a].neighbours, FORMING, watch.told)  # type: ignore[misc]  # now
            mesh.heal(a, b)
    wait_until(is_formed, FORMING, watch.told)


@pytest.mark.parametrize("ours", [(2, 4), (1, 3, 5)], ids=["ours between", "ours at the ends"])
@pytest.mark.parametrize(
    ("level", "options"), [(0, []), (2, ["--link-quality"])], ids=["LinkQualityLevel 0", "LinkQualityLevel 2"]
)
def test_a_mixed_chain_finds_itself(level: int, options: list[str], ours: tuple[int, ...]) -> None:
    """Every other node runs olsrd: all know the way to all, relay for each other, and a ping crosses the chain."""
    netns.require("olsrd", "ping")
    library = plugin()
    if library is None:
        pytest.skip(f"no {PLUGIN} here: install olsrd's plugins, or name their folder in LD_LIBRARY_PATH")
    with Mesh(nodes=5, edges=CHAIN, ipv6=False) as mesh:
        watch = Watch(mesh)
        for node in mesh:
            if node.index in ours:
                chapar_olsrd(node, *options)
            else:
                olsrd(node, library, level)
        form(mesh, watch)
        relays = {1: {2}, 2: {3}, 3: {2, 4}, 4: {3}, 5: {4}}
        wait_until(lambda: {each: set(watch[each].mprs) for each in relays} == relays, FORMING, "relays")
        wait_until(lambda: all(len(kernel_routes(node)) == 4 for node in mesh), LATE, "the kernels' routes")
        done = mesh[1].run(["ping", "-c", "3", "-i", "0.2", "-W", "2", mesh[5].address])
        assert "3 received" in done.stdout, done.stdout
        assert "ttl=61" in done.stdout, "three nodes forwarded it"
