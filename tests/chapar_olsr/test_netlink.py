"""Netlink for a daemon on any event loop."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from typing import TYPE_CHECKING

import pytest
import uvloop

from chapar_olsr.netlink import Netlink, NetlinkError

if TYPE_CHECKING:
    from collections.abc import Callable

LOOPS = pytest.mark.parametrize("loop", [asyncio.SelectorEventLoop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])


@LOOPS
def test_the_kernel_answers_on_every_loop_and_nothing_is_left_behind(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """The thread is gone when it is closed, and closing it again does nothing."""

    async def work() -> None:
        netlink = Netlink()
        await netlink.open()

        async def loopback() -> int:
            return int((await netlink.socket.link_lookup(ifname="lo"))[0])

        assert await netlink.run(loopback()) > 0
        await netlink.close()
        await netlink.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(work())
    assert "netlink" not in {thread.name for thread in threading.enumerate()}


def test_a_refusal_of_the_kernel_has_its_number() -> None:
    """And one that was never opened holds nothing, and can be closed."""

    async def work() -> None:
        netlink = Netlink()
        await netlink.open()

        async def impossible() -> None:
            await netlink.socket.link("set", index=2**30, state="up")

        with pytest.raises(NetlinkError) as refused:
            await netlink.run(impossible())
        assert refused.value.code in (errno.ENODEV, errno.EPERM)
        await netlink.close()
        before = os.listdir("/proc/self/fd")
        never = Netlink()
        assert os.listdir("/proc/self/fd") == before
        await never.close()

    asyncio.run(work())
