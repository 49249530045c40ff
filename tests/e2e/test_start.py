"""What a daemon says that cannot start: one line that says what to do, and the exit code that scripts rely on."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from e2e.daemons import Daemon, alone, free_ports, prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CANNOT_START, WRONG_USE = 1, 2
PATIENCE = 30.0


def outcome(*arguments: str, before: Sequence[str] = ()) -> tuple[int, list[str]]:
    """Exit code and lines of a chapard that ends by itself."""
    command = [*before, sys.executable, "-m", "chapard", *arguments]
    environ = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, text=True, check=False, env=environ)  # noqa: S603
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def settings_of(daemon: Daemon) -> list[str]:
    return [part for setting in daemon.settings for part in ("--set", setting)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "protocol.becon_min=1"], ["becon_min", "beacon_min"]),
        (["--set", "protocol.beacon_min=99"], ["beacon_min", "refresh_period"]),
        (["--set", "clients.listen=nowhere"], ["clients.listen"]),
        (["--set", "routes.source=static", "--set", "routes.file=/nowhere/routes.toml"], ["/nowhere/routes.toml"]),
        (["--config", "/nowhere/chapard.toml"], ["/nowhere/chapard.toml"]),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else None,
)
def test_wrong_configuration(arguments: list[str], words: list[str]) -> None:
    """Exit code 2, and one line that names what is wrong."""
    code, lines = outcome(*arguments)
    assert (code, len(lines)) == (WRONG_USE, 1), lines
    assert [word for word in words if word not in lines[0]] == []


def test_a_wrong_file(tmp_path: Path) -> None:
    """A configuration file with a mistake is named, with its key."""
    file = tmp_path / "chapard.toml"
    file.write_text("[mesh]\nports = 1\n", encoding="utf-8")
    code, lines = outcome("--config", str(file))
    assert (code, len(lines)) == (WRONG_USE, 1), lines
    assert "mesh.ports" in lines[0]


@pytest.mark.parametrize("taken", ["mesh", "clients", "http"])
def test_a_port_in_use(taken: str, tmp_path: Path) -> None:
    """Exit code 1, and one line with the address, the setting and what to do."""
    with alone(tmp_path) as daemon:
        port = getattr(daemon.ports, taken)
        kind = socket.SOCK_STREAM if taken == "http" else socket.SOCK_DGRAM
        with socket.socket(socket.AF_INET, kind) as other:
            other.bind((daemon.host, port))
            if taken == "http":
                other.listen()
            code, lines = outcome(*settings_of(daemon))
        assert (code, len(lines)) == (CANNOT_START, 1), lines
        assert f"{daemon.host}:{port}" in lines[0]
        assert f"{taken}." in lines[0]
        assert "in use" in lines[0]


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    """An address that no interface has cannot be listened on."""
    arguments = ["--set", "node.address=192.0.2.7", "--set", 'node.prefixes=["192.0.2.0/24"]']
    code, lines = outcome(*arguments, "--set", f"node.state_dir={tmp_path / 'state'}")
    assert (code, len(lines)) == (CANNOT_START, 1), lines
    assert "ip address" in lines[0]


def test_a_missing_interface(tmp_path: Path) -> None:
    """An interface that is not there is named."""
    with alone(tmp_path, 'mesh.interfaces=["nosuch0"]') as daemon:
        code, lines = outcome(*settings_of(daemon))
    assert (code, len(lines)) == (CANNOT_START, 1), lines
    assert "nosuch0" in lines[0]


def in_an_empty_network() -> list[str]:
    """A command prefix that runs a command where there is no interface but loopback."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare (util-linux) is not here to make a network without interfaces")
    before = [unshare, "--map-root-user", "--net"]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:  # noqa: S603 - a fixed command
        pytest.skip("this machine allows no network namespaces")
    return before


@pytest.mark.parametrize("source", ["olsrd", "embedded"])
def test_a_machine_without_a_place_in_a_mesh(source: str) -> None:
    """Who is to find its place, and has no interface for it, says so; it is no misuse, as a radio may come later."""
    code, lines = outcome("--set", f"routes.source={source}", before=in_an_empty_network())
    assert (code, len(lines)) == (CANNOT_START, 1), lines
    assert "mesh.interfaces" in lines[0]
    assert "ip address" in lines[0]


def test_a_state_directory_in_use(tmp_path: Path) -> None:
    """Two daemons cannot share a state directory: the second says who has it."""

    async def play(daemon: Daemon) -> tuple[int, list[str]]:
        await daemon.run()
        host = f"{prefix()}.2"
        with Daemon(tmp_path / "second", host=host, ports=free_ports([host])) as second:
            code, lines = outcome(*settings_of(second), "--set", f"node.state_dir={daemon.state}")
        assert await daemon.stop() == 0
        return code, lines

    with alone(tmp_path) as daemon:
        code, lines = asyncio.run(play(daemon))
        assert (code, len(lines)) == (CANNOT_START, 1), lines
        assert daemon.process is not None
        assert str(daemon.process.pid) in lines[0]
        assert str(daemon.state) in lines[0]


def spoil_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE meta SET value = 99 WHERE name = 'format'")


def spoil_bytes(file: Path) -> None:
    file.write_bytes(b"not a database at all" * 1000)


@pytest.mark.parametrize(("spoil", "word"), [(spoil_version, "format 99"), (spoil_bytes, "chapard.db")])
def test_a_state_directory_of_another_kind(spoil: Callable[[Path], None], word: str, tmp_path: Path) -> None:
    """State of another version, or none at all, is left alone, and the line says what to do with it."""

    async def play(daemon: Daemon) -> None:
        await daemon.run()
        assert await daemon.stop() == 0

    with alone(tmp_path) as daemon:
        asyncio.run(play(daemon))
        file = daemon.state / "chapard.db"
        spoil(file)
        before = file.read_bytes()
        code, lines = outcome(*settings_of(daemon))
        assert (code, len(lines)) == (CANNOT_START, 1), lines
        assert word in lines[0]
        assert "move" in lines[0]
        assert file.read_bytes() == before


def without(*capabilities: str) -> list[str]:
    """A command prefix that runs a command without these capabilities, though it belongs to root."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root has every permission, and setpriv (util-linux) is not here to take some away")
    dropped = ",".join(f"-{each}" for each in capabilities)
    return [setpriv, f"--inh-caps={dropped}", f"--bounding-set={dropped}"]


def test_no_permission_for_the_state_directory(tmp_path: Path) -> None:
    """A state directory that cannot be written to is named, with what to do."""
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    with alone(tmp_path) as daemon:
        arguments = [*settings_of(daemon), "--set", f"node.state_dir={locked / 'state'}"]
        code, lines = outcome(*arguments, before=without("dac_override", "dac_read_search"))
    assert (code, len(lines)) == (CANNOT_START, 1), lines
    assert str(locked) in lines[0]
    assert "node.state_dir" in lines[0]


def test_no_permission_for_a_port(tmp_path: Path) -> None:
    """A port below 1024 needs a capability, and the line says which."""
    free_from = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text(encoding="ascii"))
    if free_from <= 7:
        pytest.skip("on this machine everyone may listen on every port")
    with alone(tmp_path) as daemon:
        arguments = [*settings_of(daemon), "--set", f"clients.listen={daemon.host}:7"]
        code, lines = outcome(*arguments, before=without("net_bind_service"))
    assert (code, len(lines)) == (CANNOT_START, 1), lines
    assert "CAP_NET_BIND_SERVICE" in lines[0]
