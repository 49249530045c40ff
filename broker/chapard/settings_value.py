"""What one value of the settings must look like: readers that take what TOML gave and say what is wanted instead."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from chapar.endpoint import Endpoint
from chapar.errors import AddressError as EndpointError
from chapard.addresses import AddressError, read_address, read_prefix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from enum import StrEnum

Reader = Callable[[object], Any]
"""Takes what TOML gave; returns the value or raises ValueFault."""

SHOWN: Final = 60
"""Characters of a wrong value that are repeated to the operator."""
LARGEST: Final = 2**62
"""What a number may be at most: it stays exact in the counters and times it meets."""
_BARE_KEY: Final = re.compile("[A-Za-z0-9_-]{1,60}")
_HOST_NAME: Final = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_INTERFACE: Final = re.compile(r"[^\s/:]{1,15}")


class ValueFault(ValueError):  # noqa: N818 - not an error of the program; `SettingsError` is what callers see
    """Why a value does not do, without the name of its key."""


def shown(given: object) -> str:
    """A value as the operator wrote it, on one line and not too long."""
    try:
        text = json.dumps(given, ensure_ascii=False, default=str)
    except ValueError:  # Python refuses to print a number of thousands of digits
        text = "a number that is far too long"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def key_shown(key: str) -> str:
    """The name of a key as TOML writes it."""
    return key if _BARE_KEY.fullmatch(key) else shown(key)


def text(given: object) -> str:
    if not isinstance(given, str) or not given:
        raise _fault("text in quotes", given)
    return given


def flag(given: object) -> bool:
    if not isinstance(given, bool):
        raise _fault("true or false", given)
    return given


def whole(given: object, low: int = 0, high: int = LARGEST) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
        raise _fault(f"a whole number from {low} to {high}" if high < LARGEST else f"a whole number from {low}", given)
    return given


def number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= LARGEST:
        raise _fault("a number from 0", given)
    return float(given)


def choice(given: object, options: Sequence[str]) -> str:
    if not isinstance(given, str) or given not in options:
        raise _fault(" or ".join(f'"{option}"' for option in options), given)
    return given


def member(given: object, kind: type[StrEnum]) -> StrEnum:
    return kind(choice(given, [each.value for each in kind]))


def items(given: object, read: Reader, what: str) -> tuple[Any, ...]:
    """A list without repetitions."""
    if not isinstance(given, list):
        raise _fault(f"a list of {what} in square brackets", given)
    values = tuple(read(each) for each in given)
    if len(set(values)) < len(values):
        raise _fault(f"each of the {what} once", given)
    return values


def pair(given: object, read: Reader, what: str) -> tuple[Any, Any]:
    if not isinstance(given, list) or len(given) != 2:
        raise _fault(f"a pair of {what} such as [1, 2]", given)
    return read(given[0]), read(given[1])


def path(given: object) -> Path:
    if not isinstance(given, str) or not given or "\0" in given:
        raise _fault("the name of a file or directory in quotes", given)
    return Path(os.path.expanduser(given))


def address(given: object) -> str:
    try:
        return str(read_address(text(given)))
    except AddressError:
        raise _fault("an IPv4 or IPv6 address in quotes", given) from None


def prefix(given: object) -> str:
    try:
        return str(read_prefix(text(given)))
    except AddressError:
        raise _fault('a prefix such as "10.66.0.0/24" or "fd66::/120"', given) from None


def by_address(given: object, read: Reader) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise _fault('a table of "address" = index', given)
    values = {address(key): read(each) for key, each in given.items()}
    if len(values) < len(given):
        raise _fault("each address once", given)
    return MappingProxyType(values)


def interface(given: object) -> str:
    if not isinstance(given, str) or not _INTERFACE.fullmatch(given):
        raise _fault('the name of an interface such as "wlan0"', given)
    return given


def endpoint(given: object) -> Endpoint:
    """Host and port; an IPv6 host is in brackets."""
    wanted = '"host:port"'
    if not isinstance(given, str):
        raise _fault(wanted, given)
    try:
        endpoint_ = Endpoint.parse(given)
    except EndpointError:
        if given.count(":") > 1:
            wanted = '"[host]:port" with an IPv6 host in brackets'
        raise _fault(wanted, given) from None
    if not _is_host(endpoint_.host):
        raise _fault(wanted, given)
    return endpoint_


def optional_endpoint(given: object) -> Endpoint | None:
    if given == "":
        return None
    if not isinstance(given, str):
        raise _fault('"host:port", or "" for none', given)
    return endpoint(given)


def server(given: object) -> str:
    """Where a daemon is asked: an endpoint, the path of a socket, or nothing for its usual place."""
    if not isinstance(given, str):
        raise _fault('"host:port", or the path of a socket, or ""', given)
    if given == "" or (given.startswith("/") and "\0" not in given):
        return given
    return str(endpoint(given))


def _is_host(host: str) -> bool:
    try:
        read_address(host)
    except AddressError:
        return _HOST_NAME.fullmatch(host) is not None
    return True


def _fault(wanted: str, given: object) -> ValueFault:
    return ValueFault(f"want {wanted}, got {shown(given)}")
