"""`chapar status` and its like, against an HTTP server that answers like a daemon, and like others."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from chapar.cli.arguments import PAGES
from chapar.cli.command import main
from chapar.cli.pages import page
from chapar_command import LIMIT, chapar, http_server

ROUTES = {"source": "static", "state": "ok", "version": 1, "routes": [], "neighbours": [2], "mprs": None}


def test_a_page_is_fetched_and_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """As the table that the page is."""
    with http_server({"/status/routes": (200, json.dumps(ROUTES).encode())}) as address:
        assert main(["routes", "--http", address]) == 0
    assert capfd.readouterr() == (page("routes", ROUTES), "")


def test_the_environment_names_the_daemon() -> None:
    """Unless an option does; from the process as a shell runs it."""
    with http_server({"/status/routes": (200, json.dumps(ROUTES).encode())}) as address:
        outcome = chapar("routes", env={"CHAPAR_HTTP": address})
    assert outcome == (0, page("routes", ROUTES).encode(), "")


@pytest.mark.parametrize("name", PAGES)
def test_json_is_passed_through(name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Byte for byte, from the path of the page."""
    path = "/status" if name == "status" else f"/status/{name}"
    body = b'{"one":  1.50}\n'
    with http_server({path: (200, body)}) as address:
        assert main([name, "--json", "--http", address]) == 0
    assert capfdbinary.readouterr() == (body, b"")


@pytest.mark.parametrize(
    ("code", "body", "complaint"),
    [
        (503, b"{}", "answers 503 Service Unavailable"),
        (200, b"<html>", "is no page of a chapard"),
        (200, b"[]", "is no page of a chapard"),
        (200, b"\xff", "is no page of a chapard"),
    ],
)
def test_an_answer_that_is_no_page_fails(
    code: int, body: bytes, complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """With one line and exit code 1, as JSON too."""
    with http_server({"/status": (code, body)}) as address:
        for more in ([], ["--json"]):
            assert main(["status", "--http", address, *more]) == 1
            out, err = capfd.readouterr()
            assert out == ""
            assert err.startswith("chapar status: http://127.0.0.1:")
            assert complaint in err
            assert err.count("\n") == 1


def test_who_does_not_speak_http_is_no_daemon_of_ours(capfd: pytest.CaptureFixture[str]) -> None:
    """Something else listens at that port."""

    def greet(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"220 mail.example ESMTP\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LIMIT)
        greeting = threading.Thread(target=greet, args=[server])
        greeting.start()
        assert main(["status", "--http", f"127.0.0.1:{server.getsockname()[1]}"]) == 1
        greeting.join()
    out, err = capfd.readouterr()
    assert out == ""
    assert "does not speak HTTP (BadStatusLine)" in err


def test_no_daemon_is_exit_code_3(capfd: pytest.CaptureFixture[str]) -> None:
    """And a line that says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    assert main(["peers", "--http", address]) == 3
    advice = "start chapard, or name its HTTP port with --http or CHAPAR_HTTP"
    line = f"chapar peers: no daemon at http://{address} (Connection refused): {advice}\n"
    assert capfd.readouterr() == ("", line)


def test_a_wrong_variable_is_wrong_usage() -> None:
    """Named, since nobody typed it."""
    outcome = chapar("met", env={"CHAPAR_HTTP": "nowhere:at:all"})
    assert (outcome.code, outcome.out) == (2, b"")
    assert outcome.err.startswith("chapar met: CHAPAR_HTTP: 'nowhere:at:all' is no address")
