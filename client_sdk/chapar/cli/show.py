"""`chapar status` and its like: ask the daemon's HTTP port, show what it says."""

from __future__ import annotations

import http.client
import json
import os
import shutil
from typing import TYPE_CHECKING, Any, Final

from chapar.cli.exits import PATIENCE, Exit, Failure
from chapar.cli.pages import page

if TYPE_CHECKING:
    from chapar.endpoint import Endpoint

MAX_ANSWER: Final = 64 * 1024 * 1024
"""Bytes of the longest answer read: a daemon cuts its lists far below this."""


def show(name: str, daemon: Endpoint, *, as_json: bool) -> bytes:
    """The page `name` of the daemon, as it is to be printed. Raises Failure."""
    path = "/status" if name == "status" else f"/status/{name}"
    body = _fetched(daemon, path)
    try:
        data = json.loads(body)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise Failure(Exit.FAILED, f"http://{daemon}{path} is no page of a chapard: name its HTTP port with --http")
    return body.rstrip() + b"\n" if as_json else _text(name, data)


def _text(name: str, data: dict[str, Any]) -> bytes:
    width = shutil.get_terminal_size().columns if os.isatty(1) else None
    return page(name, data, width=width).encode()


def _fetched(daemon: Endpoint, path: str) -> bytes:
    connection = http.client.HTTPConnection(daemon.host, daemon.port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        body = answer.read(MAX_ANSWER + 1)
    except OSError as error:
        why = error.strerror or str(error) or "no answer"
        advice = "start chapard, or name its HTTP port with --http or CHAPAR_HTTP"
        raise Failure(Exit.NO_DAEMON, f"no daemon at http://{daemon} ({why}): {advice}") from None
    except http.client.HTTPException as error:
        why = type(error).__name__
        raise Failure(Exit.FAILED, f"http://{daemon} does not speak HTTP ({why}): name another --http") from None
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise Failure(Exit.FAILED, f"http://{daemon}{path} answers {answer.status} {answer.reason}: see chapard's log")
    if len(body) > MAX_ANSWER:
        raise Failure(Exit.FAILED, f"http://{daemon}{path} does not end after {MAX_ANSWER} bytes: name another --http")
    return body
