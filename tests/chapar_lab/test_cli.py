"""The command chapar-lab: what it refuses, in one line and with the right exit code."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from boxed import boxed, require_box
from chapar_lab.cli import main
from chapar_lab.namespaces import inside, new_network
from chapar_lab.program import LabError
from chapar_lab.run import DONE, FAILED, USAGE
from chapar_lab.ways import check_programs
from chapar_sim.terrain import RouteSpec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCENARIO = 'duration = 1\nnodes = 2\ntopology = { kind = "chain" }\n'


def complaint(capsys: pytest.CaptureFixture[str], arguments: Sequence[object], code: int) -> str:
    """What the command says as it ends with this code: one line on standard error, nothing else."""
    assert main([str(each) for each in arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("chapar-lab: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    return str(err.removeprefix("chapar-lab: ").strip())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[[fault]]\nkind = "flood"\nat = 1\n', "flood"),
        ("[nodess]\n", "nodess"),
        ('[[fault]]\nkind = "skew"\nat = 1\nnodes = [1]\nby = 5\n', "only the simulator has skew; use chapar-sim run"),
        ("[[", "not TOML"),
        ('[mobility]\nkind = "waypoint"\n', "mobility"),
        ('[routing]\nmode = "tree"\n[overlay]\nlinks = [[1, 2], [2, 1]]\n', "overlay.links: names [2, 1] twice"),
    ],
    ids=["fault", "key", "simulated", "syntax", "mobility", "tree"],
)
def test_a_scenario_that_cannot_be_run_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str, said: str
) -> None:
    """The file is named, and what is wrong with it."""
    file = tmp_path / "wrong.toml"
    file.write_text(SCENARIO + more, encoding="utf-8")
    text = complaint(capsys, ["run", file], USAGE)
    assert text.startswith(f"{file}: ")
    assert said in text


def test_another_algorithm_is_for_a_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario of replicated tables has none; and what is no result cannot be compared."""
    file = tmp_path / "plain.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    assert "--algorithm is for a tree" in complaint(capsys, ["run", file, "--algorithm", "simple"], USAGE)
    assert "name what --out of a run was" in complaint(capsys, ["compare", tmp_path], USAGE)


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its name is said."""
    file = tmp_path / "none.toml"
    assert complaint(capsys, ["run", file], USAGE) == f"{file}: cannot read the scenario: No such file or directory"


def test_a_routing_program_that_is_not_there_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is started."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    file = tmp_path / "some.toml"
    file.write_text(f'{SCENARIO}routes = {{ source = "olsrd" }}\n', encoding="utf-8")
    try:
        check_programs(RouteSpec(source="olsrd"))
    except LabError:
        assert "install" in complaint(capsys, ["run", file], USAGE)
    else:
        pytest.skip("olsrd is installed here")


def test_a_place_that_cannot_be_written_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which is found out before the run."""
    file, out = tmp_path / "some.toml", tmp_path / "some.toml" / "out"
    file.write_text(SCENARIO, encoding="utf-8")
    text = complaint(capsys, ["run", file, "--out", out], USAGE)
    assert text == f"--out {out}: cannot make this directory: Not a directory"


def test_a_folder_that_takes_no_files_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As are those of the kernel, whoever asks."""
    file = tmp_path / "some.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    text = complaint(capsys, ["run", file, "--out", "/proc/self"], USAGE)
    assert text.startswith("--out /proc/self: cannot write there: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "some.toml", "--seed", "-1"], "'-1' is not a seed"),
        (["run", "some.toml", "--seed", "1.5"], "'1.5' is not a seed"),
        (["run", "some.toml", "--seed", "²"], "'²' is not a seed"),
        (["run"], "SCENARIO.toml"),
        ([], "COMMAND"),
        (["run", "some.toml", "--ou", "x"], "--ou"),
        (["shell", "one"], "'one'"),
    ],
)
def test_arguments_that_are_none_are_wrong_usage(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    """Options are written out; one line says which one it is, and where help is."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == USAGE
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert err.endswith(" --help\n")


@pytest.mark.parametrize("arguments", [["status"], ["topology"], ["shell", "1"], ["status", "--run", "4"]])
def test_without_a_lab_there_is_nothing_to_see(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """That is a failure, and what to do is said."""

    def work() -> int:
        with inside(new_network()):
            return main(arguments)

    assert boxed(work) == FAILED
    out, err = capfd.readouterr()
    wanted = "no run 4 is up; there is none" if "--run" in arguments else "no lab is up; start one with chapar-lab run"
    assert (out, err.count("\n"), err.startswith(f"chapar-lab: {wanted}")) == ("", 1, True)


def test_a_lab_that_does_not_answer_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """It hangs up: it may be ending."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(f"\0chapar-lab/{os.getuid()}/{os.getpid()}")
        text = complaint(capsys, ["status", "--run", os.getpid()], FAILED)
    assert text == f"the run {os.getpid()} does not answer: it is ending, or busy; try again"


def test_whether_this_machine_can_run_a_lab_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """In a line."""
    require_box()
    assert main(["check"]) == DONE
    assert capsys.readouterr().out == "chapar-lab: this machine can run a lab\n"
