"""What the README says first is so: three terminals, no configuration, and the event is printed."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from e2e.daemons import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

README: Final = Path(__file__).resolve().parents[2] / "README.md"
PATIENCE: Final = 30.0


def terminals() -> list[list[str]]:
    """The three commands, as the README has them: daemon, subscriber, publisher."""
    lines = README.read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("chapard ") and "terminal 1" in line)
    commands = [shlex.split(line, comments=True) for line in lines[start : start + 3]]
    assert [command[:2] for command in commands] == [["chapard"], ["chapar", "sub"], ["chapar", "pub"]]
    return commands


class Place:
    """Where the terminals are: a network of their own if that can be had, else free ports of this machine's.

    In a network of their own the commands run exactly as they are written, on the ports that they choose.
    """

    def __init__(self, folder: Path) -> None:
        binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environ = {"PATH": binaries, "HOME": str(folder), "STATE_DIRECTORY": str(folder / "state")}
        self.first: list[str] = []
        """What comes before the daemon's command."""
        self.others: list[str] = []
        """What comes before the others'."""
        self.settings: list[str] = []
        unshare, nsenter, ip = (shutil.which(name) for name in ("unshare", "nsenter", "ip"))
        if unshare and nsenter and ip and not subprocess.run([unshare, "--net", "true"], check=False).returncode:  # noqa: S603 - the system's own
            self.first = [unshare, "--net", "sh", "-c", f'{ip} link set lo up && exec "$@"', "sh"]
            self._nsenter = nsenter
            return
        ports = free_ports(["127.0.0.1"])
        for setting in (
            f"mesh.port={ports.mesh}",
            f"clients.listen=127.0.0.1:{ports.clients}",
            f"http.listen=127.0.0.1:{ports.http}",
        ):
            self.settings += ["--set", setting]
        self.environ["CHAPAR_DAEMON"] = f"127.0.0.1:{ports.clients}"
        self.environ["CHAPAR_HTTP"] = f"127.0.0.1:{ports.http}"

    def follow(self, daemon: subprocess.Popen[str]) -> None:
        """The others go where the daemon is."""
        if self.first:
            self.others = [self._nsenter, f"--net=/proc/{daemon.pid}/ns/net"]


@contextmanager
def running(command: Sequence[str], environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended, by its pid, when the block is left."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True) as process:  # noqa: S603 - our own
        try:
            yield process
        finally:
            process.kill()


def wait_for(stream: object, process: subprocess.Popen[str]) -> str:
    """The next line of a process, which must not take long."""
    assert process.stdout is not None
    assert process.stderr is not None
    file = process.stdout if stream == "stdout" else process.stderr
    ready, _, _ = select.select([file], [], [], PATIENCE)
    assert ready, f"{process.args!r} said nothing within {PATIENCE} s"
    return file.readline()


def has_subscribed(place: Place) -> bool:
    """Whether the daemon knows of a client with a subscription."""
    done = subprocess.run(  # noqa: S603 - our own
        [*place.others, "chapar", "clients", "--json"],
        env=place.environ, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return any(client["subscriptions"] for client in json.loads(done.stdout)["clients"])


def test_three_terminals(tmp_path: Path) -> None:
    """The README's daemon, subscriber and publisher print the event, and only what the filter asks for."""
    daemon_command, subscribe, publish = terminals()
    place = Place(tmp_path)
    with ExitStack() as stack:
        daemon = stack.enter_context(running([*place.first, *daemon_command, *place.settings], place.environ))
        line = wait_for("stderr", daemon)
        while "msg=ready" not in line:
            assert daemon.poll() is None, line
            line = wait_for("stderr", daemon)
        place.follow(daemon)
        subscriber = stack.enter_context(running([*place.others, *subscribe], place.environ))
        deadline = time.monotonic() + PATIENCE
        while not has_subscribed(place):
            assert subscriber.poll() is None, subscriber.communicate()
            assert time.monotonic() < deadline
        cold = ["celsius=19.5" if word == "celsius=21.5" else word for word in publish]
        assert cold != publish
        for command in (cold, publish):
            subprocess.run([*place.others, *command], env=place.environ, check=True, timeout=PATIENCE)  # noqa: S603 - our own
        assert wait_for("stdout", subscriber) == "temp\tcelsius=21.5\thello\n"
        daemon.terminate()
        assert daemon.wait(PATIENCE) == 0
