"""The command: what it prints, and with which code it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from chapard.cli import main

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 30
EMBEDDED = ["--set", "routes.source=embedded", "--set", 'mesh.interfaces=["lo"]']


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No file of the machine that runs the tests is read."""
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    monkeypatch.setenv("CHAPARD_CONFIG", str(empty))


def on_free_ports(tmp_path: Path) -> list[str]:
    settings = {
        "node.state_dir": tmp_path / "state",
        "mesh.port": 0,
        "clients.listen": "127.0.0.1:0",
        "http.listen": "127.0.0.1:0",
        "mesh.receive_buffer": 65_536,
        "mesh.send_buffer": 65_536,
        "clients.receive_buffer": 65_536,
        "clients.send_buffer": 65_536,
    }
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


def test_check_prints_what_would_be_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Good settings are 0, "configuration ok" and the values that matter, overrides included."""
    file = tmp_path / "my.toml"
    file.write_text('[node]\naddress = "127.0.0.9"\n')
    assert main(["--config", str(file), "--check", "--set", "mesh.port=4711"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "configuration ok"
    assert ["node.index", "9"] in [line.split() for line in out]
    assert ["mesh.port", "4711"] in [line.split() for line in out]


def test_check_shows_the_place_that_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    """Address and networks of the interfaces, though nobody wrote them."""
    assert main(["--check", "--set", "routes.source=olsrd", "--set", 'mesh.interfaces=["lo"]']) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["node.address", "127.0.0.1"] in lines
    assert ["node.prefixes", "127.0.0.0/8"] in lines
    assert ["routes.source", "olsrd"] in lines


@pytest.mark.parametrize(
    ("links", "shown"), [("[[1, 3], [1, 2]]", "neighbours 2, 3"), ("[[2, 3]]", "none: overlay.links do not name it")]
)
def test_check_shows_the_place_in_the_tree(capsys: pytest.CaptureFixture[str], links: str, shown: str) -> None:
    """Mode, algorithm, and who this node's neighbours are."""
    assert main(["--check", "--set", "routing.mode=tree", "--set", f"overlay.links={links}"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if "routing.mode" in line]
    assert line.split(maxsplit=1)[1].startswith("tree, identity; ")
    assert line.endswith(shown)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "node.adress=127.0.0.1"], "did you mean address"),
        (["--set", "mesh.port=seven"], "mesh.port"),
        (["--config", "/nowhere/at/all.toml"], "/nowhere/at/all.toml"),
        (["--set", "routes.source=static", "--set", "routes.file=/nowhere/routes.toml"], "/nowhere/routes.toml"),
        ([*EMBEDDED, "--set", "olsr.hello_interval=0.01"], "olsr.hello_interval"),
        ([*EMBEDDED, "--set", "routes.max_age=5"], "routes.max_age"),
    ],
)
@pytest.mark.parametrize("mode", [["--check"], []])
def test_wrong_configuration_is_2_and_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, mode: list[str], arguments: list[str], words: str
) -> None:
    """Checked or started, it is the same line, and it names what is wrong."""
    assert main([*on_free_ports(tmp_path), *mode, *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("chapard: ")
    assert words in err
    assert err.count("\n") == 1


def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    """An option that is not known ends as argparse ends it."""
    with pytest.raises(SystemExit) as ended:
        main(["--nonsense"])
    assert ended.value.code == 2
    assert "--nonsense" in capsys.readouterr().err


def test_help_teaches_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    """Examples, the files that are read, signals and exit codes stand in the help."""
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    words = ("examples:", "chapard --config my.toml --check", "routes.source=embedded", "CHAPARD_CONFIG", "SIGHUP")
    for word in (*words, "exit codes"):
        assert word in out


def chapard(arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "chapard", *arguments], stderr=subprocess.PIPE, text=True, env={**os.environ}
    )


def test_it_runs_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """It says when it is ready and where; SIGHUP reloads, SIGTERM ends it with 0; nothing but log lines is printed."""
    with chapard(on_free_ports(tmp_path)) as process:
        assert process.stderr is not None
        lines = [process.stderr.readline()]
        assert "msg=ready" in lines[0]
        assert "clients=127.0.0.1:" in lines[0]
        process.send_signal(signal.SIGHUP)
        while "msg=reloaded" not in lines[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1]
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 0
    lines += rest.splitlines(keepends=True)
    assert "msg=stopped everything_saved=true" in lines[-1]
    assert all(line.startswith("time=") for line in lines)


def test_a_port_in_use_is_1_and_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What keeps it from starting is said, with what to do."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with chapard([*on_free_ports(tmp_path), "--set", f"clients.listen=127.0.0.1:{port}"]) as process:
            err = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 1
    assert err == (
        f"chapard: cannot listen on UDP 127.0.0.1:{port} (clients.listen): it is in use: stop the other chapard, "
        "or choose another port\n"
    )
    assert capsys.readouterr().out == ""
