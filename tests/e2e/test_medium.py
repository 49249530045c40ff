"""The lab's medium relays real frames between real kernels, as its scenario has it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from chapar_lab.frame import datagram_of
from chapar_lab.medium import PRIORITY, READY
from e2e import netns
from e2e.medium import PATIENCE, OnAir
from e2e.netns import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from chapar_lab.recording import Aired

PORT = 6666
HEARS = (
    "import socket, sys\n"
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 6666))\n"
    "print('ready', flush=True)\n"
    "while True:\n"
    "    datagram, (sender, _) = s.recvfrom(2000)\n"
    "    if sender != sys.argv[1]: print(datagram.decode(), flush=True)"
)
"""Prints what it hears of others: a broadcast is heard by its own node too."""
CALLS = (
    "import socket, sys, time\n"
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)\n"
    "for number in range(int(sys.argv[2])):\n"
    "    s.sendto(str(number).encode(), (sys.argv[1], 6666)); time.sleep(float(sys.argv[3]))"
)
"""Sends so many datagrams to an address, at so many seconds from each other."""
TO_ALL = "10.66.0.255"


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    netns.require("ping")


def listen(air: OnAir, *nodes: int) -> dict[int, Path]:
    """What these nodes hear, from when they do."""
    logs = {}
    for index in nodes:
        logs[index] = log = air.mesh[index].folder / "heard"
        with log.open("wb") as file:
            air.mesh[index].popen([sys.executable, "-c", HEARS, air.mesh[index].address], stdout=file)
    wait_until(lambda: all(log.read_text(encoding="ascii") for log in logs.values()), PATIENCE, "all listen")
    return logs


def call(air: OnAir, node: int, to: str = TO_ALL, count: int = 1, every: float = 0.0) -> None:
    done = air.mesh[node].run([sys.executable, "-c", CALLS, to, str(count), str(every)])
    assert done.returncode == 0, done.stderr


def numbers(log: Path) -> list[int]:
    return [int(line) for line in log.read_text(encoding="ascii").splitlines()[1:]]


def calls(record: list[Aired]) -> list[Aired]:
    """The datagrams of `call`, in a record that has whatever else kernels say."""
    datagrams = ((each, datagram_of(each.frame)) for each in record)
    return [each for each, datagram in datagrams if datagram is not None and datagram.port == PORT]


def round_trips(air: OnAir, a: int, b: int, count: int = 5) -> list[float]:
    """Milliseconds there and back, of the pings that were answered."""
    ping = ["ping", "-c", str(count), "-i", "0.05", "-W", "1", air.mesh[b].address]
    return [float(each) for each in re.findall(r"time=([\d.]+) ms", air.mesh[a].run(ping).stdout)]


def test_neighbours_find_each_other_and_talk() -> None:
    """ARP, ICMP and UDP, over IPv4 and IPv6; the ends of a chain do not hear each other."""
    with OnAir(3, [(1, 2), (2, 3)], ipv6=True) as air:
        logs = listen(air, 2, 3)
        assert len(round_trips(air, 1, 2)) == 5
        assert air.mesh[3].run(["ping", "-c", "1", "-W", "2", air.mesh[2].address6]).returncode == 0
        assert not round_trips(air, 1, 3, count=1)
        call(air, 1, air.mesh[2].address)
        call(air, 1)
        wait_until(lambda: numbers(logs[2]) == [0, 0], PATIENCE, "both are heard, with the right checksums")
        assert numbers(logs[3]) == []
        record = air.end()
    assert [(each.sender, each.heard, each.missed) for each in calls(record)] == [(1, (2,), ()), (1, (2,), ())]
    assert {each.frame[12:14].hex() for each in record} >= {"0806", "0800", "86dd"}


def test_a_stream_goes_through_in_frames_of_a_real_size() -> None:
    """Without hardware that computes sums, segments are cut before they are on the air."""
    serves = (
        "import socket\n"
        "with socket.create_server(('', 6666)) as server:\n"
        "    print('ready', flush=True); stream, _ = server.accept(); total = 0\n"
        "    while part := stream.recv(65536): total += len(part)\n"
        "    print(total, flush=True)"
    )
    calls = "import socket, sys; socket.create_connection((sys.argv[1], 6666)).sendall(bytes(1_000_000))"
    with OnAir(2, [(1, 2)]) as air:
        log = air.mesh[2].folder / "served"
        with log.open("wb") as file:
            air.mesh[2].popen([sys.executable, "-c", serves], stdout=file)
        wait_until(log.read_bytes, PATIENCE, "it serves")
        assert air.mesh[1].run([sys.executable, "-c", calls, air.mesh[2].address]).returncode == 0
        wait_until(lambda: log.read_bytes().split() == [b"ready", b"1000000"], PATIENCE, "all has arrived")
        assert max(len(each.frame) for each in air.end()) == 1514


def test_nobody_need_listen_to_what_the_medium_tells() -> None:
    """It relays, and ends, as ever when the pipe that it tells into is closed."""
    with OnAir(2, [(1, 2)]) as air:
        air.process.stdout.close()  # type: ignore[union-attr]  # it is a pipe
        time.sleep(1.2)
        assert round_trips(air, 1, 2, count=1)
        assert air.end()


def test_a_cut_link_carries_nothing_and_a_healed_one_does_again() -> None:
    """What was sent meanwhile is recorded as heard by nobody, or as missed."""
    with OnAir(2, [(1, 2)]) as air:
        assert round_trips(air, 1, 2, count=1)
        air.links()
        assert not round_trips(air, 1, 2, count=2)
        cut = time.monotonic() - air.start
        air.links((1, 2), (2, 1))
        wait_until(lambda: round_trips(air, 1, 2, count=1), PATIENCE, "they hear each other again")
        record = air.end()
    assert sum(each.missed == (2,) for each in record if each.t < cut) == 2
    assert not [each for each in record if each.missed and each.t > cut]


def test_a_link_can_be_of_one_way() -> None:
    """1 is heard by 2, and hears nothing."""
    with OnAir(2) as air:
        air.links((1, 2))
        logs = listen(air, 1, 2)
        call(air, 2)
        call(air, 1)
        wait_until(lambda: numbers(logs[2]) == [0], PATIENCE, "2 hears 1")
        assert numbers(logs[1]) == []


def test_each_receiver_loses_its_share() -> None:
    """Of 1000 frames a quarter is lost at each of two receivers, apart from each other; the record agrees with them."""
    count = 1000
    with OnAir(3, [(1, 2), (1, 3)], radio={"loss": 0.25}) as air:
        logs = listen(air, 2, 3)
        call(air, 1, count=count, every=0.0005)
        record = calls(air.end())
        assert len(record) == count
        for node in (2, 3):
            heard = [place for place, each in enumerate(record) if node in each.heard]
            assert 680 < len(heard) < 820  # five standard deviations
            assert numbers(logs[node]) == heard
    assert all(sorted(each.heard + each.missed) == [2, 3] for each in record)
    both = sum(len(each.missed) == 2 for each in record)
    assert 25 < both < 100


def test_frames_take_as_long_as_they_are_to() -> None:
    """A link of its own delay, there and back; without it there is next to none."""
    slow = [{"from": 1, "to": 3, "delay": 0.05}]
    with OnAir(3, [(1, 2), (1, 3)], radio={"delay": 0.01, "links": slow}) as air:
        assert 20 <= min(round_trips(air, 1, 2)) < 30
        assert 100 <= min(round_trips(air, 1, 3)) < 110
    with OnAir(2, [(1, 2)]) as air:
        assert min(round_trips(air, 1, 2)) < 5


def test_only_nodes_are_on_the_air() -> None:
    """What the hub itself sends into an interface is no frame of its node."""
    says = (
        "import socket\n"
        "s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0); s.bind(('n1', 0))\n"
        "s.send(bytes.fromhex('ffffffffffff 0266000000ff 88b5') + bytes(50))"
    )
    with OnAir(2, [(1, 2)]) as air:
        assert air.mesh.hub.run([sys.executable, "-c", says]).returncode == 0
        assert round_trips(air, 1, 2, count=1)
        assert "88b5" not in {each.frame[12:14].hex() for each in air.end()}


def test_nodes_that_compute_do_not_slow_down_the_air() -> None:
    """The medium goes before whatever the nodes run."""
    with OnAir(1) as air:
        assert os.getpriority(os.PRIO_PROCESS, air.process.pid) == PRIORITY


def test_frames_are_heard_twice_when_it_is_ordered() -> None:
    """As the fault of that name in a scenario."""
    with OnAir(2, [(1, 2)]) as air:
        logs = listen(air, 2)
        air.order("duplicate", 1)
        call(air, 1)
        wait_until(lambda: numbers(logs[2]) == [0, 0], PATIENCE, "twice")
        assert len(calls(air.end())) == 1


def test_the_rate_is_kept_and_a_queue_overflows() -> None:
    """At 1 Mbit/s 600 of 1042 bytes would take 5 s; the queue takes 100, the rest is lost at its sender at once."""
    with OnAir(2, [(1, 2)], radio={"rate": 1_000_000, "queue": 100}) as air:
        big = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        big += "s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)\n"
        big += f"for _ in range(200): s.sendto(bytes(1000), ({TO_ALL!r}, {PORT}))"
        assert air.mesh[1].run([sys.executable, "-c", big]).returncode == 0
        time.sleep(1.0)  # they are on the air for 0.84 s
        record = calls(air.end())
    sent = [each.t for each in record if each.heard]
    assert len(record) == 200
    assert 101 <= len(sent) <= 110
    assert sum(each.overflowed for each in record) == 200 - len(sent)
    assert min(b - a for a, b in pairwise(sent)) == pytest.approx(1042 * 8e-6, rel=0.01)


def test_the_record_accounts_for_every_frame() -> None:
    """As many frames and bytes as the nodes' interfaces have sent since the start, and as the medium tells."""

    def sent() -> list[int]:
        """Bytes and frames."""
        tables = [node.run(["cat", "/proc/net/dev"]).stdout for node in air.mesh]
        counters = [table.split("wlan0:")[1].split() for table in tables]
        return [sum(int(each[place]) for each in counters) for place in (8, 9)]

    with OnAir(4, [(1, 2), (2, 3), (3, 4)]) as air:
        for node in air.mesh:  # so that kernels have nothing to say of themselves
            assert node.run(["sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/wlan0/disable_ipv6"]).returncode == 0
        before = sent()
        air.order("start", time.monotonic())
        for each in range(1, 5):
            call(air, each, count=200)
        round_trips(air, 2, 3)
        after = sent()
        record = air.end()
        told = air.told()
    sizes = [len(each.frame) for each in record]
    since = [len(each.frame) for each in record if each.t >= 0]
    assert [sum(since), len(since)] == [b - a for a, b in zip(before, after, strict=True)]
    assert told[-1] == ["seen", len(sizes), sum(sizes)]
    assert [each.t for each in record] == sorted(each.t for each in record)


def test_a_node_whose_interface_is_down_disturbs_nobody() -> None:
    """It hears nothing; up again, it is a node like others."""
    with OnAir(3, [(1, 2), (1, 3)]) as air:
        assert air.mesh[2].run(["ip", "link", "set", "wlan0", "down"]).returncode == 0
        assert air.mesh.hub.run(["ip", "link", "set", "n2", "down"]).returncode == 0
        call(air, 1, count=20)
        assert round_trips(air, 1, 3, count=1)
        assert air.mesh.hub.run(["ip", "link", "set", "n2", "up"]).returncode == 0
        assert air.mesh[2].run(["ip", "link", "set", "wlan0", "up"]).returncode == 0
        wait_until(lambda: round_trips(air, 1, 2, count=1), PATIENCE, "2 is heard again")
        assert air.process.poll() is None


def test_an_order_that_is_none_ends_it_with_a_line() -> None:
    """Whoever gives orders must know what it does."""
    with OnAir(2) as air:
        air.order("jam", 1)
        assert air.process.wait(PATIENCE) == 2
        assert '"jam", 1' in air.mesh.hub.logs()


def test_killed_it_leaves_what_it_has_recorded() -> None:
    """All but the last second, to a record that may be torn; asked to end, it leaves all."""
    for kill in (True, False):
        with OnAir(2, [(1, 2)]) as air:
            call(air, 1, count=10)
            told = air.hear()
            while told == ["seen", 0, 0]:
                told = air.hear()
            (air.process.kill if kill else air.process.terminate)()
            assert air.process.wait(PATIENCE) == (-9 if kill else 0)
            assert len(calls(air.recorded())) == 10


def test_mac_retries_repeat_what_was_not_heard() -> None:
    """A ping over a link that loses half of the frames is answered all the same."""
    with OnAir(2, [(1, 2)], radio={"loss": 0.5, "mac_retries": 10}) as air:
        assert len(round_trips(air, 1, 2, count=20)) == 20
        record = air.end()
    assert sum(each.missed != () for each in record) > 10


def test_root_of_a_user_namespace_will_do(tmp_path: Path) -> None:
    """It may have smaller buffers; a file of orders is as good as a pipe, and ends it at once."""
    alone = [netns.command("unshare") or "unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:  # noqa: S603 - our own
        pytest.skip("no user namespaces for everybody here")
    scenario, orders = tmp_path / "scenario.toml", tmp_path / "orders"
    scenario.write_text('duration = 1\nnodes = 2\ntopology = { kind = "chain" }', encoding="ascii")
    orders.write_text('["links", [[1, 2]]]\n', encoding="ascii")
    link = f"{netns.command('ip')} link add"
    inside = f'{link} n1 type veth peer name a && {link} n2 type veth peer name b && exec "$@"'
    medium = [
        sys.executable,
        "-m",
        "chapar_lab.medium",
        str(scenario),
        "--seed",
        "1",
        "--record",
        str(tmp_path / "air"),
    ]
    with orders.open("rb") as file:
        done = subprocess.run(  # noqa: S603 - our own
            [*alone, "sh", "-c", inside, "sh", *medium], stdin=file, capture_output=True, timeout=PATIENCE, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.splitlines()[0]) == READY
