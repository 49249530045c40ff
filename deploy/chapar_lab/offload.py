"""Checksums of a virtual interface: computed by the sender, as real radios need it.

A veth leaves the checksum of what it sends to hardware that it has not got: between kernels nobody looks. A medium
that carries frames through user space would deliver them with sums that are wrong, and receivers throw them away.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from typing import Final

_SIOCETHTOOL: Final = 0x8946
_ETHTOOL_STXCSUM: Final = 0x17
_REQUEST: Final = struct.Struct("16sP16x")


def checksums_off(interface: str) -> None:
    """Have the kernel compute the checksums of what this interface of this namespace sends.

    With them goes the sending of oversized segments (TSO). Raises OSError where that is not allowed.
    """
    command = array.array("I", [_ETHTOOL_STXCSUM, 0])
    request = _REQUEST.pack(interface.encode(), command.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCETHTOOL, request)
