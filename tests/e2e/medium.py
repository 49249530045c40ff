"""The lab's medium over a mesh of namespaces: started, ordered about, ended, and what it has recorded."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from contextlib import suppress
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Final, Self, cast

from chapar_lab.medium import READY
from chapar_lab.recording import read
from chapar_sim.tomltext import dumps
from e2e.netns import INTERFACE, Mesh

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from chapar_lab.recording import Aired

PATIENCE: Final = 20.0


class OnAir:
    """A mesh whose nodes hear each other through the medium, with its nodes' checksums in the frames."""

    def __init__(
        self,
        nodes: int,
        links: Iterable[tuple[int, int]] = (),
        *,
        ipv6: bool = False,
        radio: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """`links` are used both ways. `radio` is that table of the scenario; there is no delay unless it says so."""
        self.mesh = Mesh(nodes, bridged=False, ipv6=ipv6)
        self._links = [pair for a, b in links for pair in ((a, b), (b, a))]
        self._scenario = {
            "duration": 1,
            "nodes": nodes,
            "topology": {"kind": "full"},
            "radio": {"delay": 0, "jitter": 0, **radio},
        }

    def __enter__(self) -> Self:
        self.mesh.__enter__()
        try:
            self._start()
        except BaseException:
            self.mesh.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.mesh.__exit__(kind, error, trace)

    def _start(self) -> None:
        off = f"from chapar_lab.offload import checksums_off; checksums_off({INTERFACE!r})"
        for node in self.mesh:
            done = node.run([sys.executable, "-c", off])
            assert done.returncode == 0, done.stderr
        folder = self.mesh.hub.folder
        scenario, self._record = folder / "scenario.toml", folder / "air"
        scenario.write_text(dumps(self._scenario), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "chapar_lab.medium",
            str(scenario),
            "--seed",
            "1",
            "--record",
            str(self._record),
        ]
        self.process = self.mesh.hub.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.hear() == READY, self.mesh.hub.logs()
        self.start = time.monotonic()
        self.order("start", self.start)
        if self._links:
            self.links(*self._links)

    def order(self, *words: object) -> None:
        orders = cast("IO[bytes]", self.process.stdin)
        orders.write(json.dumps(words).encode() + b"\n")
        orders.flush()

    def links(self, *pairs: tuple[int, int]) -> None:
        """From now on these are used, one way each."""
        self.order("links", pairs)

    def hear(self) -> object:
        """The next line that the medium tells."""
        told = cast("IO[bytes]", self.process.stdout)
        assert select.select([told], [], [], PATIENCE)[0], f"silence; {self.mesh.hub.logs()}"
        return json.loads(told.readline())

    def told(self) -> list[object]:
        """All lines until its end."""
        return [json.loads(line) for line in cast("IO[bytes]", self.process.stdout)]

    def end(self) -> list[Aired]:
        """Have it end in good order; what it has recorded."""
        with suppress(BrokenPipeError):
            cast("IO[bytes]", self.process.stdin).close()
        assert self.process.wait(PATIENCE) == 0, self.mesh.hub.logs()
        return self.recorded()

    def recorded(self) -> list[Aired]:
        with self._record.open("rb") as file:
            return list(read(file))
