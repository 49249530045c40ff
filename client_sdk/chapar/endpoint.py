"""Where something listens: a host and a port, as people write them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Self

from chapar.errors import AddressError

_WRITTEN: Final = re.compile(
    r"(?: \[(?P<six> [0-9A-Fa-f:.]+ (?: %[\w.-]+ )? )\] | (?P<host> [A-Za-z0-9_.-]+ )) (?: :(?P<port> [0-9]{1,5} ) )?",
    re.ASCII | re.VERBOSE,
)
_MAX_PORT: Final = 65_535


class Endpoint(NamedTuple):
    """A host, by name or address, and a port: 0, where one listens, is a port that the system chooses."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, default_port: int | None = None) -> Self:
        """`host:port` or `[v6]:port`. Where one connects, the port has a default and is not 0. Raises AddressError."""
        match = _WRITTEN.fullmatch(text)
        port = default_port if match is None or match["port"] is None else int(match["port"])
        if match is None or port is None or not (0 if default_port is None else 1) <= port <= _MAX_PORT:
            example = default_port or 7700
            wanted = f"write host:port, as in 127.0.0.1:{example}, with IPv6 in brackets, as in [::1]:{example}"
            raise AddressError(f"{text!r} is no address: {wanted}")
        return cls(match["six"] or match["host"], port)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
