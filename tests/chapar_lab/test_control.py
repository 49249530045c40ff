"""Questions to a run that is up, over a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import TYPE_CHECKING

import pytest

from boxed import boxed
from chapar_lab.control import Answer, ControlError, ask, listen, runs, serve
from chapar_lab.namespaces import inside, new_network

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

OURS = f"\0chapar-lab/{os.getuid()}/"


async def echo(question: list[str]) -> Answer:
    return Answer({"asked": question, "more": "x" * 200_000 if question == ["long"] else ""})


async def answered(by: Callable[[list[str]], Awaitable[Answer]], *question: str) -> Answer:
    """What a run answers."""
    with listen() as sock:
        serving = asyncio.create_task(serve(sock, by))
        try:
            return await asyncio.to_thread(ask, os.getpid(), *question)
        finally:
            serving.cancel()


def test_a_question_is_answered() -> None:
    """Word by word, also with more than one packet holds."""
    assert asyncio.run(answered(echo, "topology", "svg")).data == {"asked": ["topology", "svg"], "more": ""}
    assert len(asyncio.run(answered(echo, "long")).data["more"]) == 200_000


def test_descriptors_come_with_the_answer() -> None:
    """As new ones of the same files, which go to no program by accident."""
    reading, writing = os.pipe()

    async def give(_: list[str]) -> Answer:
        return Answer([1], (writing,))

    answer = asyncio.run(answered(give, "namespaces", "1"))
    (given,) = answer.descriptors
    assert (answer.data, given != writing) == ([1], True)
    os.write(given, b"through")
    assert os.read(reading, 100) == b"through"
    for each in (reading, writing, given):
        os.close(each)


def test_a_question_that_is_none_does_not_end_the_answering() -> None:
    """Nor does somebody who goes away. The next one is answered."""

    async def work() -> Answer:
        with listen() as sock:
            serving = asyncio.create_task(serve(sock, echo))
            for text in (b"", b"no json", b'["cut'):
                with socket.socket(socket.AF_UNIX) as rude:
                    rude.connect(f"{OURS}{os.getpid()}")
                    rude.sendall(text)
            try:
                return await asyncio.to_thread(ask, os.getpid(), "status")
            finally:
                serving.cancel()

    assert asyncio.run(work()).data["asked"] == ["status"]


def in_an_empty_network(work: Callable[[], object]) -> object:
    """Where no run of anybody else is up."""

    def there() -> object:
        with inside(new_network()):
            return work()

    return boxed(there)


def complaint(run: int | None) -> str:
    with pytest.raises(ControlError) as caught:
        ask(run, "status")
    return str(caught.value)


def test_without_a_run_there_is_nobody_to_ask() -> None:
    """What to do is said; a run that was asked for by name is named."""
    assert in_an_empty_network(lambda: [runs(), complaint(None), complaint(7)]) == [
        [],
        "no lab is up; start one with chapar-lab run SCENARIO.toml --hold",
        "no run 7 is up; there is none",
    ]


def test_runs_are_those_of_this_user() -> None:
    """Which are up, by their numbers; if there are several, one has to be chosen."""

    def work() -> object:
        names = [f"{OURS}12", f"{OURS}3", f"\0chapar-lab/{os.getuid() + 1}/4", "\0chapar-lab/x", f"{OURS}5/more"]
        sockets = [socket.socket(socket.AF_UNIX) for _ in names]
        for sock, name in zip(sockets, names, strict=True):
            sock.bind(name)
            sock.listen()
        return [runs(), complaint(None), complaint(4)]

    assert in_an_empty_network(work) == [
        [3, 12],
        "several labs are up; choose one with --run: 3, 12",
        "no run 4 is up; there are 3, 12",
    ]


def test_the_only_run_needs_no_name() -> None:
    """It is the one that is asked; when it hangs up, that is said."""

    def work() -> object:
        with listen() as sock:
            found = [runs() == [os.getpid()]]
            pid = os.fork()
            if pid == 0:
                sock.setblocking(True)  # noqa: FBT003 - its own name for it
                peer, _ = sock.accept()
                question = json.loads(peer.recv(100))
                peer.sendall(b"\n" + json.dumps(question).encode())
                peer.close()
                sock.accept()[0].close()
                os._exit(0)
            return [*found, ask(None, "status").data, complaint(None)]

    assert in_an_empty_network(work) == [
        True,
        ["status"],
        "the run 1 does not answer: it is ending, or busy; try again",
    ]


def test_a_run_has_no_file_and_goes_with_its_socket() -> None:
    """Nothing has to be cleaned up."""
    with listen():
        assert os.getpid() in runs()
    assert os.getpid() not in runs()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_other_users_are_not_answered() -> None:
    """Not even a byte."""

    async def work() -> int:
        with listen() as sock:
            pid = os.fork()
            if pid == 0:
                os.setuid(65534)
                with socket.socket(socket.AF_UNIX) as other:
                    other.settimeout(10)
                    other.connect(f"{OURS}{os.getppid()}")
                    other.sendall(b'["status"]')
                    try:
                        os._exit(len(other.recv(100)))
                    except ConnectionError:
                        os._exit(0)
            serving = asyncio.create_task(serve(sock, echo))
            status = (await asyncio.to_thread(os.waitpid, pid, 0))[1]
            serving.cancel()
            return os.waitstatus_to_exitcode(status)

    assert asyncio.run(work()) == 0
