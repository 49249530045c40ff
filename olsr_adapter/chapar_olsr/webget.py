"""One question to a daemon on this machine, over HTTP or a plain line: connect, ask at once, read to the end, close.

olsrd answers one at a time and waits for who is connected, so nothing may come between connecting and asking. What
comes back is bounded in size and time, and everything that can go wrong is one `SourceError`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from chapar_olsr.faults import Fault
from chapar_olsr.source import SourceError

PATIENCE: Final = 3.0
"""Seconds for a whole answer: olsrd on a slow router takes a good part of one."""
MAX_ANSWER: Final = 4 * 1024 * 1024
"""Bytes: the routes of 4096 nodes, five times over."""
JSON_TYPES: Final = ("application/json", "text/json", "text/plain")
"""Content types under which routing daemons send JSON, beside all that end in +json (olsrd says
application/vnd.api+json); without a type, it is read as well."""


async def get(host: str, port: int, path: str, *, patience: float = PATIENCE) -> bytes:
    """The body of the answer to a GET. Raises SourceError."""
    request = f"GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    return body_of_untrusted(await ask(host, port, request.encode(), patience=patience), f"{host}:{port}{path}")


async def ask(host: str, port: int, question: bytes, *, patience: float = PATIENCE) -> bytes:
    """All that comes back before the other end closes. Raises SourceError."""
    where = f"{host}:{port}"
    try:
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_connection(host, port, limit=MAX_ANSWER)
            try:
                writer.write(question)
                return await _read(reader, where)
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
    except TimeoutError:
        raise SourceError(f"{where}: no answer within {patience:g} s") from None
    except OSError as error:
        raise SourceError(f"{where}: {error.strerror or error}; does the routing daemon run?") from None


async def _read(reader: asyncio.StreamReader, where: str) -> bytes:
    parts, size = [], 0
    while part := await reader.read(65_536):
        parts.append(part)
        size += len(part)
        if size > MAX_ANSWER:
            raise SourceError(f"{where}: an answer of more than {MAX_ANSWER} bytes", Fault.TOO_LARGE)
    return b"".join(parts)


def body_of_untrusted(answer: bytes, where: str) -> bytes:
    """The body of an HTTP answer that is complete and says that it is JSON. Raises SourceError.

    Before 0.9.5 olsrd sends the body alone, unless its plugin is told otherwise (`httpheaders`).
    """
    if not answer:
        raise SourceError(f"{where}: closed without an answer", Fault.TRUNCATED)
    if answer.startswith(b"{"):
        return answer
    head, separator, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = lines[0].split(" ")
    if not status[0].startswith("HTTP/") or len(status) < 2:
        raise SourceError(f"{where}: this is not HTTP", Fault.NOT_HTTP)
    if status[1] != "200":
        raise SourceError(f"{where}: {' '.join(status[1:])[:60]}", Fault.NOT_HTTP)
    if not separator:
        raise SourceError(f"{where}: an answer without an end of its head", Fault.TRUNCATED)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and kind not in JSON_TYPES and not kind.endswith("+json"):
        raise SourceError(f"{where}: {kind[:60]} instead of JSON", Fault.CONTENT_TYPE)
    length = headers.get("content-length", "")
    if length.isdecimal() and len(length) < 12 and int(length) > len(body):
        raise SourceError(f"{where}: {len(body)} bytes of {length}", Fault.TRUNCATED)
    return body
