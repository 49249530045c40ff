"""Runs on a tree side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chapar_sim.cli import main
from chapar_sim.compare import as_text, delivered, different
from chapar_sim.summary import MESSAGES

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCENARIO = """
duration = 12
settle = 4
nodes = 3
[topology]
kind = "chain"
[routing]
mode = "tree"
refresh_period = 3
[overlay]
links = [[1, 2], [2, 3]]
[[client]]
name = "p"
node = 1
publish = [{ subject = "a", every = 1, start = 2 }]
[[client]]
name = "s"
nodes = [2, 3]
subscribe = [{ filter = 'subject = "a"' }]
"""


def result(algorithm: str, got: dict[str, list[str]], **messages: int) -> dict[str, Any]:
    """The result of a run in which a publisher's events, in this order, reached these clients."""
    counts = {kind: messages.get(kind, 0) for kind in MESSAGES}
    return {
        "routing": {"algorithm": algorithm, "advertisements": False, "messages": counts},
        "per_event": [{"id": each, "publisher": "p", "got": dict.fromkeys(who, 0.1)} for each, who in got.items()],
        "air": {"total": {"bytes": 1000}},
    }


def test_ids_do_not_matter_but_who_got_what() -> None:
    """The same event has another id in each run; its place among its publisher's is the same."""
    first = result("simple", {"1.7.1": ["s", "t"], "1.7.2": ["s"]})
    second = result("identity", {"1.9.5": ["s", "t"], "1.9.8": ["s"]})
    assert delivered(first) == {("p", 1, "s"), ("p", 1, "t"), ("p", 2, "s")}
    assert different([first, second]) == []


def test_differences_are_named() -> None:
    """What one did not deliver, and what it delivered besides."""
    first = result("simple", {"1.7.1": ["s"], "1.7.2": ["s"]})
    second = result("identity", {"1.9.5": ["s", "t"], "1.9.8": []})
    found = different([first, second])
    assert found == ["identity: s did not get event 2 of p", "identity: t got event 1 of p"]
    assert as_text([first, second], found).endswith("\n\n" + "\n".join(found))


def test_the_table_has_a_column_for_each_run() -> None:
    """A row for each kind of message, then sums."""
    runs = [result("simple", {}, subscribe=7, refresh=9), result("identity", {}, subscribe=3)]
    lines = as_text(runs, []).splitlines()
    assert lines[0].split() == ["messages", "on", "the", "tree", "simple", "identity"]
    assert ["subscribe", "7", "3"] in [line.split() for line in lines]
    assert ["all", "16", "3"] in [line.split() for line in lines]
    assert lines[-1] == "all delivered the same events to the same clients"


def test_two_algorithms_deliver_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way: two runs by the command line, and what it says of both."""
    file = tmp_path / "tree.toml"
    file.write_text(SCENARIO)
    for algorithm in ("flooding", "covering"):
        assert main(["run", str(file), "--algorithm", algorithm, "--out", str(tmp_path / algorithm)]) == 0
    capsys.readouterr()
    folders = [str(tmp_path / algorithm) for algorithm in ("flooding", "covering")]
    assert main(["compare", *folders]) == 0
    assert "all delivered the same events" in capsys.readouterr().out
    assert main(["compare", *folders, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["differences"] == []
    flooding, covering = (run["messages"] for run in said["runs"])
    assert (flooding["subscribe"], flooding["refresh"]) == (0, 0)
    assert covering["subscribe"] >= 3
    assert covering["notification"] == flooding["notification"] > 0


def test_what_is_no_result_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder without a result, or with that of another kind of run."""
    assert main(["compare", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"chapar-sim: {tmp_path}/result.json: cannot read it: No such file or directory; name what --out of a run was\n"
    )
    (tmp_path / "result.json").write_text('{"per_event": []}')
    assert main(["compare", str(tmp_path)]) == 2
    assert "not a run on a tree of brokers" in capsys.readouterr().err
