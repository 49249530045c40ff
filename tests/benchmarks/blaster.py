"""A sender for the benchmark of the medium: frames of 100 bytes to node 2, as fast as they go or at a rate.

`python -m benchmarks.blaster SECONDS RATE`; rate 0 knows no limit. It prints how many it has sent.
"""

from __future__ import annotations

import socket
import sys
import time

FRAME = bytes.fromhex("02660000000202660000000188b5") + bytes(86)
"""Of an EtherType for experiments: the receiving kernel counts it and has no work with it."""
BURST = 20


def main(seconds: float, rate: float) -> int:
    """Send, and return how many frames went out."""
    sent = 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as interface:
        interface.bind(("wlan0", 0))
        begin = time.monotonic()
        while (now := time.monotonic()) < begin + seconds:
            if rate and sent > (now - begin) * rate:
                time.sleep(BURST / rate)
            for _ in range(BURST):
                interface.send(FRAME)
            sent += BURST
    return sent


if __name__ == "__main__":
    print(main(float(sys.argv[1]), float(sys.argv[2])))
