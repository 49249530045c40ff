"""The command: what it prints, and with which code it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from chapar_olsr.cli import main

PATIENCE = 30


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])


def chapar_olsrd(*arguments: str, **environ: str) -> subprocess.Popen[str]:
    """The command on loopback, with ports that are free; it leaves the machine's routes alone."""
    quiet = ("-i", "lo", "--no-routes", "--port", str(free_port(socket.SOCK_DGRAM)), "--http", "")
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "chapar_olsr.cli", *quiet, *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environ},
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    return process.stderr.readline()


def ask(port: int, path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=PATIENCE) as answer:
        return json.load(answer)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--hello", "0"], "--hello"),
        (["--tc", "-1"], "--tc"),
        (["--willingness", "8"], "--willingness"),
        (["--tc-redundancy", "3"], "--tc-redundancy"),
        (["--port", "0"], "--port"),
        (["--port", "70000"], "--port"),
        (["--http", "9090"], "--http"),
        (["--http", "localhost:port"], "--http"),
        (["--http", "localhost:99999"], "--http"),
    ],
)
def test_a_value_that_cannot_work_is_2_and_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    """The line names the option that is wrong."""
    assert main(["-i", "lo", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"chapar-olsrd: {words}: want ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--interface"),
        (["-i", "lo", "--nonsense"], "--nonsense"),
        (["-i", "lo", "--hell", "2"], "--hell"),
        (["-i", "lo", "--hello", "soon"], "--hello"),
    ],
)
def test_wrong_usage_is_2_and_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    """No interface, an option that is not known, or no number where one belongs; the line says where help is."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("chapar-olsrd: ")
    assert words in err
    assert err.endswith("; see chapar-olsrd --help\n")
    assert err.count("\n") == 1


def test_help_teaches_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Examples, what nodes must agree on, signals and exit codes stand in the help."""
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    for word in ("examples:", "chapar-olsrd -i wlan0", "--link-quality", "jsoninfo", "SIGTERM", "exit codes"):
        assert word in out


def test_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """With the command's name."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("chapar-olsrd ")


def test_an_interface_that_is_not_there_is_1_and_one_line() -> None:
    """It names those that there are."""
    with chapar_olsrd("-i", "wlan99") as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, "")
    assert err.startswith("chapar-olsrd: there is no interface 'wlan99'; this machine has ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_runs_until_it_is_told_to_stop(number: signal.Signals) -> None:
    """It says as whom it speaks and where; the signal ends it with 0; nothing but log lines is printed."""
    with chapar_olsrd() as process:
        line = first_line(process)
        assert 'level=info msg="ready as 127.0.0.1 on lo"' in line
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert out == ""
    lines = [line, *err.splitlines()]
    assert all(each.startswith("time=20") for each in lines)
    assert lines[-1].endswith("level=info msg=stopped")


def test_tables_are_served_over_http() -> None:
    """A node alone has none, and says so."""
    http = free_port(socket.SOCK_STREAM)
    with chapar_olsrd("--http", f"127.0.0.1:{http}") as process:
        assert "ready" in first_line(process)
        assert ask(http, "/neighbors/routes") == {"neighbors": [], "routes": []}
        assert ask(http, "/")["version"]["version"].startswith("chapar-olsrd")
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_a_port_in_use_is_1_and_one_line() -> None:
    """Of HTTP here; what keeps it from starting is said, with what to do."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with chapar_olsrd("--http", place) as process:
            err = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 1
    assert err.startswith(f"chapar-olsrd: cannot listen on {place}: ")
    assert err.endswith("; choose another place with --http\n")
    assert err.count("\n") == 1


def test_a_second_daemon_is_1_and_one_line() -> None:
    """It is told that there is another, and what to do."""
    port = str(free_port(socket.SOCK_DGRAM))
    with chapar_olsrd("--port", port) as first:
        assert "ready" in first_line(first)
        with chapar_olsrd("--port", port) as second:
            err = second.communicate(timeout=PATIENCE)[1]
        first.terminate()
        first.communicate(timeout=PATIENCE)
    assert second.returncode == 1
    assert err == (
        f"chapar-olsrd: cannot speak OLSR on lo, UDP port {port}: Address already in use; another OLSR daemon runs "
        'here: stop it, or have chapard ask it (routes.source = "olsrd")\n'
    )


def test_the_service_manager_is_told() -> None:
    """That it is ready, who is near, and that it stops."""
    name = f"chapar-olsrd-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name)
        manager.settimeout(PATIENCE)
        with chapar_olsrd(NOTIFY_SOCKET=f"@{name}") as process:
            assert manager.recv(4096) == b"READY=1"
            assert manager.recv(4096) == b"STATUS=0 neighbours, 0 routes"
            process.terminate()
            assert manager.recv(4096) == b"STOPPING=1"
            process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
