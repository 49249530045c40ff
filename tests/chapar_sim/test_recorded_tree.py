"""What a tree of brokers records is what its links carried."""

from __future__ import annotations

from collections import Counter
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pytest

from chapar_sim.cli import main
from chapar_sim.datasets import write
from chapar_sim.recorded_tree import RecordedTree
from chapar_sim.tree_shapes import m_ary
from chapar_sim.tree_traffic import Crowd, Rates, Source, Traffic
from chapard.core.overlay.router import Algorithm, RouterConfig

if TYPE_CHECKING:
    from pathlib import Path


def rows(folder: Path, dataset: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ds.dataset(folder / dataset, partitioning="hive").to_table().to_pylist()
    return found


def world(**how: Any) -> Traffic:
    shape = m_ary(2, 3)
    crowds = [Crowd(leaf, 0.5, 1.0, 2) for leaf in shape.leaves]
    config = RouterConfig(nodes=shape.nodes, algorithm=Algorithm.SIMPLE, refresh_period=1)
    return Traffic(shape, config, [Source(0, 2)], crowds, Random(4), **how)


def test_the_datasets_hold_what_crossed_each_link(tmp_path: Path) -> None:
    """Both ends of each message, each publication and delivery, who subscribed, and how brokers were configured."""
    made = world(make=partial(RecordedTree, run="small"))
    rates = made.run(50)
    assert rates == world().run(50), "recording changes nothing"
    assert isinstance(made.tree, RecordedTree)
    write(made.tree.trace, "small", tmp_path, has_medium=False)
    assert not (tmp_path / "air").exists()
    interests, frames = rows(tmp_path, "interests"), rows(tmp_path, "frames")
    sent = Counter(row["change"] for row in interests if row["direction"] == "tx" and row["ts_us"] > 0)
    sent["notification"] = sum(row["direction"] == "tx" and row["kind"] == "event" for row in frames)
    names = ("subscribe", "unsubscribe", "refresh", "notification", "advertise", "unadvertise")
    assert Rates(*(sent[name] / 50 for name in names)) == pytest.approx(rates)
    ends = Counter((row["node"], row["peer"], row["kind"]) for row in frames if row["direction"] == "tx")
    assert ends == Counter((row["peer"], row["node"], row["kind"]) for row in frames if row["direction"] == "rx")
    clients = {(row["node"], row["client"]) for row in interests if row["client"] is not None}
    assert len(clients) == 8, "members of a crowd come back under the same name"
    assert {row["origin"] for row in rows(tmp_path, "deliveries")} == {0}
    assert {row["hops"] for row in rows(tmp_path, "deliveries")} == {2}
    assert len(rows(tmp_path, "publishes")) > 50
    assert len(rows(tmp_path, "runs")) == 7


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the figures as without."""
    plain = ["traffic", "--tree", "2,2", "--lam", "1", "--mu", "1", "--omega", "1", "--r", "1", "--duration", "5"]
    assert main(plain) == main([*plain, "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out[: len(out) // 2] == out[len(out) // 2 :]
    assert {row["run"] for row in rows(tmp_path, "runs")} == {"tree-2-2-identity"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--tree", "2,3", "--static", "2"], "--out has no meaning with --static"),
        (["--tree", "2,13", "--lam", "1", "--mu", "1", "--omega", "1", "--r", "1"], "nodes must be between"),
    ],
)
def test_what_cannot_be_recorded_ends_with_2(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line."""
    assert main(["traffic", *arguments, "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert complaint in err
    assert err.count("\n") == 1
