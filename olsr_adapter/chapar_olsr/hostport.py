"""Where something listens, as a person writes it: host:port, an IPv6 host in brackets."""

from __future__ import annotations

from typing import Final

MOST_DIGITS: Final = 5
"""Of a port; a longer number must not be made one at all."""


def host_and_port(text: str) -> tuple[str, int] | None:
    """Both, or None if the text is none such."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        return None
    is_port = port.isascii() and port.isdigit() and len(port) <= MOST_DIGITS and 0 < int(port) < 1 << 16
    return (host, int(port)) if host and is_port else None
