"""Routes from a file that may change at any time."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from chapar_olsr.faults import Fault
from chapar_olsr.source import SourceError
from chapar_olsr.static_file import MAX_FILE_BYTES, StaticSource
from virtual_loop import run

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = "edges = [[1, 2], [2, 3]]"
PAIR = "edges = [[1, 2]]"


def source(file: Path) -> StaticSource:
    return StaticSource(file, index=1, nodes=256)


def test_a_change_is_read_and_what_did_not_change_is_given_again(tmp_path: Path) -> None:
    """Each look is a sign of life; the file is read only when it is another."""
    file = tmp_path / "routes.toml"
    file.write_text(CHAIN)
    seen = []

    async def work() -> None:
        async with aclosing(source(file).views()) as views:
            async for view in views:
                seen.append(view)
                if len(seen) == 3:
                    file.write_text(PAIR)
                if len(seen) == 5:
                    return

    run(work(), has_company=True)
    assert [set(view.routes) for view in seen] == [{2, 3}] * 3 + [{2}] * 2
    assert seen[0] is seen[1]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, Fault.UNREACHABLE),
        (b"\xff", Fault.SYNTAX),
        (b"neighbours = 3", Fault.SYNTAX),
        (b"#" * (MAX_FILE_BYTES + 1), Fault.TOO_LARGE),
    ],
)
def test_a_file_without_a_view_is_one_line_with_its_name(tmp_path: Path, content: bytes | None, fault: Fault) -> None:
    """Before the daemon starts, and while it runs."""
    file = tmp_path / "routes.toml"
    if content is not None:
        file.write_bytes(content)

    async def first() -> None:
        async with aclosing(source(file).views()) as views:
            await anext(views)

    for ask in (lambda: source(file).load(), lambda: asyncio.run(first())):
        with pytest.raises(SourceError, match=r"^[^\n]*routes\.toml: [^\n]+$") as refused:
            ask()
        assert refused.value.fault is fault


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """Reading from a directory fails, and from a pipe might never end."""
    with pytest.raises(SourceError, match="not a regular file"):
        source(tmp_path).load()
