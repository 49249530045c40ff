"""The command chapar-audit: what each model answers, for people and for programs, and what is refused in one line."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chapar_audit.cli import main

TREE = "tree --edges 1-2,2-3,2-4,4-5 --publisher 1 --lam .3,.1,.5,.05,.2 --mu 1,.7,1.2,.5,1 --population 2,3,1,4,2"
M_ARY = "tree --m 2 --k 4 --lam .05 --mu 1 --population 8 --omega 2 --r 1"
COVERING = "covering --lam-g .8 --mu-g 1 --lam-f .3 --mu-f .6 --omega 2 --z-g .2 --z-h .3 --r .5"
ADVERTISED = "advertisements --m 2 --k 4 --lam .05 --mu 1 --population 8 --gamma .2 --nu .1 --omega 2 --r 1 --ra 5"
TRANSIENT = "transient --m 3 --k 5 --a 1 --b 5 --c 5 --mu 5 --omega 1 --r 1 --time 25"
RADIO = "radio --omega 6 --mu 1 --r 1/6"
CAFES = "cafes --routers 5 --clients 5 --omega 1 --r 2 --lam 1/60 --mu 1 --gamma 1/30 --nu 1/30"
PATH = "path --lam 2 --d .0625 --publisher 1,1 --subscriber 1.5,1.5 --brokers 2"
MODELS = (
    "static", "tree", "advertisements", "covering", "transient", "radio", "cafes", "onoff", "path", "fmt", "bloom",
    "false-match",
)  # fmt: skip


def about(value: float, error: float = 1e-7) -> object:
    """A number that follows from a numerical method."""
    return pytest.approx(value, rel=error)


def asked(capsys: pytest.CaptureFixture[str], command: str) -> dict[str, Any]:
    """The answer as JSON."""
    assert main(["model", *command.split(), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    answer: dict[str, Any] = json.loads(out)
    return answer


def shown(capsys: pytest.CaptureFixture[str], command: str) -> list[str]:
    """The answer's lines."""
    assert main(["model", *command.split()]) == 0
    return str(capsys.readouterr().out).splitlines()


def complaint(capsys: pytest.CaptureFixture[str], command: str) -> str:
    """What is said, in one line, on the way out with exit code 2."""
    try:
        code: object = main(command.split())
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("chapar-audit")
    return str(err)


@pytest.mark.parametrize(
    ("command", "values"),
    [
        ("static --m 3 --k 4 --subscribers 9", {"best": 26, "worst": 42, "flooding": 39}),
        ("static --m 3 --k 4 --subscribers 12", {"homogeneous": 45.193592677345535}),
        (M_ARY, {"x": 6.333106682642352, "d": 1.9869072723113366, "A_t": 8.606829123848726, "A_f": 28}),
        (f"{M_ARY} --form printed", {"A_t": 1.0758536404810908}),
        ("tree --m 2 --k 4 --lam .5 --mu 1 --omega 2 --r 1", {"t_r": 0.6065306597126334, "A_sdt": 22.216699173419812}),
        ("tree --m 2 --k 4 --lam .5 --mu 1 --omega 2 --r 1", {"p0": 0.6065306597126334, "A_ibr": 31.09466224638532}),
        (f"{TREE} --publisher 4", {"x": 1.728143007696175}),
        (ADVERTISED, {"present": 2 / 3, "resubscribing": 0.2 / 3 * 6.333106682642352}),
        (f"{ADVERTISED} --withdraw", {"resubscribing": 0.4 / 3 * 6.333106682642352}),
        (f"{ADVERTISED} --form printed", {"resubscribing": 0, "A_t": 1.0758536404810908 * 2 / 3 + 28 * 0.2 / 3}),
        (COVERING, {"A_sdt": 1.9820053008907896, "A_t": 1.0003685846891728}),
        (f"{COVERING} --form printed", {"A_t": 0.7999692646820002, "A_cbr": 1.9820053008907896 + 0.7999692646820002}),
        (f"{COVERING} --implicit", {"A_t": (0.7999692646820002 + 1.0003685846891728) / 2}),
        (f"{TRANSIENT} --form printed", {"difference": about(-2663.965830), "A_f": 3000}),
        (TRANSIENT, {"difference": about(-2650.652568), "A_ibr_constant": 12903.066053288687}),
        (TRANSIENT, {"rho": 0.6821227764707041}),
        (f"{RADIO} --form printed --psi 110", {"break_even": 107.3523234889323, "x": 62.229385556538226, "A_f": 744}),
        (f"{RADIO} --psi 110", {"x": 89.46457620346887, "A_ibr": about(1150.401016), "psi": 110}),
        ("radio --omega 6 --mu 1 --r 1/6 --q 100", {"break_even": 188.84490801335153}),
        (f"{CAFES} --form printed", {"A_SF": 12.312586763273742, "difference": 0.18741323672625754}),
        (CAFES, {"A_NF": 12.5, "A_SF": about(27.65719576)}),
        ("onoff --lam 1 --d .125 --on 20 --off 20", {"response_time": 13 + 2 / 3, "utilisation": 0.25}),
        ("onoff --lam 1 --d .125 --on 20 --off 20", {"queue_length": 13 + 2 / 3, "lambda_max": 4}),
        (PATH, {"response_time": 2.2857142857142856}),
        (f"{PATH} --tandem", {"response_time": 2.2857142857142856, "tandem_response_time": about(2.500503, 1e-3)}),
        ("fmt --filters 100 --nodes 40 --elements 5 --bits 16", {"bytes": 1500, "bits": 12000}),
        ("fmt --filters 1 --nodes 1 --elements 1 --bits 16", {"bytes": 3, "bits": 17}),
        ("false-match --bits 16", {"false_match": 0.00999207841232419, "specified": 0.009992383353337297}),
        ("false-match --bits 16 --elements 5", {"specified": 9.961974735823011e-11, "equality": 1.52587890625e-05}),
        ("bloom --ratio 8 --k 5", {"false_positive": 0.021679217053751712, "best_k": 5.545177444479562}),
        ("bloom --ratio 8", {"k": 6}),
    ],
)  # fmt: skip
def test_a_model_answers_programs(capsys: pytest.CaptureFixture[str], command: str, values: dict[str, object]) -> None:
    """Each number under the symbol that the papers give it."""
    answer = asked(capsys, command)
    for name, value in values.items():
        assert answer[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, (int, float)) else value)


def test_break_evens_of_all_placements(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 27 subscribers; null where flooding is never cheaper."""
    points = asked(capsys, "static --m 3 --k 4 --subscribers 8")["break_even"]
    assert points == pytest.approx({"best": 12.75, "worst": 8.25, "homogeneous": 9.726551184040616})
    assert asked(capsys, "radio --omega 6 --mu 1e-9 --r inf") == {"break_even": None, "share": None}


def test_a_tree_of_different_brokers_answers_with_lists(capsys: pytest.CaptureFixture[str]) -> None:
    """One value for each broker, in ascending order; without --omega and --r there is no state dependent traffic."""
    answer = asked(capsys, TREE)
    assert answer["brokers"] == [1, 2, 3, 4, 5]
    assert answer["d"][0] == 0
    assert answer["d"][1::2] == pytest.approx([0.334810517335819, 1.0228375204248368])
    assert answer["A_t"] == pytest.approx(math.fsum(d * t for d, t in zip(answer["d"], answer["t_r"], strict=True)))
    assert "A_sdt" not in answer
    one = asked(capsys, "tree --m 2 --k 3 --lam .1,.2,.3,.4 --mu 1")
    assert one["brokers"] == [4, 5, 6, 7]


def test_the_lowest_broker_publishes_where_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """As an operator would expect of a tree that is written from its root."""
    assert asked(capsys, TREE.replace(" --publisher 1", "")) == asked(capsys, TREE)


def test_a_path_names_its_stops(capsys: pytest.CaptureFixture[str]) -> None:
    """In their order, and the sum of their times is the whole."""
    answer = asked(capsys, f"{PATH} --others 3")
    assert [stop["stop"] for stop in answer["stops"]][::3] == ["publisher", "broker 2 in"]
    assert math.fsum(stop["response_time"] for stop in answer["stops"]) == pytest.approx(answer["response_time"])
    assert answer["response_time"] > asked(capsys, PATH)["response_time"]


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("static --m 3 --k 4 --subscribers 8", ["placement      A_ibr  break-even S", "flooding          39"]),
        (M_ARY, ["x       6.33311  of 14 links in use, on average", "A_f          28  flooding"]),
        (f"{TREE}", ["broker        p0       t_r         d", "4       0.683013  0.273205   1.02284"]),
        (f"{TREE} --omega 1 --r 2", ["broker        p0", "flooding is cheaper: 4 instead of "]),
        (ADVERTISED, ["resubscribing  0.422207  subscriptions into standing interest, when it comes"]),
        (COVERING, ["A_t    1.00037  subscriptions and unsubscriptions"]),
        (TRANSIENT, ["messages in a time of 25", "A_f                 3000  flooding"]),
        (RADIO, ["flooding is cheaper from 44.8169 active subscribers, 4.9% of 920"]),
        ("radio --omega 6 --mu 1e-9 --r inf", ["flooding is never cheaper"]),
        (f"{RADIO} --psi 10", ["identity-based routing is cheaper: "]),
        (CAFES, ["A_NF            12.5  flooding notifications"]),
        ("onoff --lam 1 --d .125 --on 20 --off 20", ["utilisation       0.25  of the time that the subscriber"]),
        (PATH, ["stop             seconds", "in all           2.28571"]),
        (f"{PATH} --tandem", ["stop           algorithm 1    tandem", "events come in bursts, "]),
        ("fmt --filters 100 --nodes 40 --elements 5 --bits 16", ["1500 bytes (12000 bits)"]),
        ("false-match --bits 16", ["false_match   0.00999208  of an element, which may be unspecified or equal"]),
        ("bloom --ratio 8 --k 5", ["2.1679% false positives with k = 5; best is k = 5.545"]),
    ],
)  # fmt: skip
def test_a_model_answers_people(capsys: pytest.CaptureFixture[str], command: str, lines: list[str]) -> None:
    """In tables, and with the conclusion."""
    said = shown(capsys, command)
    for line in lines:
        assert any(each.startswith(line) for each in said), said
    assert max(map(len, said)) <= 110


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("model static --m 3 --k 4 --subscribers 28", "S = 28: must be from 0 to the N = 27 end-brokers"),
        ("model static --m 2 --k 1000000000 --subscribers 1", "more than"),
        ("model tree --m 2 --k 4 --lam -1 --mu 1", "lambda = -1: must be a number from 0"),
        ("model tree --m 2 --k 4 --lam 1 --mu 0", "mu = 0: must be above 0"),
        ("model tree --m 2 --k 4 --lam 1,2 --mu 1", "lam: 2 values for 8 brokers"),
        ("model tree --m 2 --k 4 --lam 1 --mu 1 --omega 2", "--omega and --r go together"),
        ("model tree --m 2 --k 4 --lam 1 --mu 1 --omega 2 --r 0", "r = 0: must be above 0"),
        ("model tree --m 2 --k 4 --lam 1 --mu 1 --publisher 3", "at its root; use --edges"),
        ("model tree --m 2 --lam 1 --mu 1", "needs both --m and --k"),
        ("model tree --lam 1 --mu 1", "either as --m and --k or as --edges"),
        ("model tree --m 2 --k 2 --edges 1-2 --lam 1 --mu 1", "either as --m and --k or as --edges"),
        ("model tree --edges 1-2,2-3,3-1 --lam 1 --mu 1", "the edges make a cycle"),
        ("model tree --edges 1-2,3-4 --lam 1 --mu 1", "not connected"),
        ("model tree --edges 1:2 --lam 1 --mu 1", "edge '1:2': write two broker numbers"),
        ("model tree --edges 1-2 --lam 1 --mu 1 --population 1.5", "'1.5' is not a whole number"),
        ("model tree --m 2 --k 4 --lam 1 --mu 1 --omega 1e308 --r 1 --json", "too large"),
        (f"model {COVERING} --z-h .9", "at most 1 in all"),
        (f"model {TRANSIENT} --b 6", "b must be from 0 to c"),
        (f"model {RADIO} --psi 920", "psi = 920: must be from 0 and below 920"),
        (f"model {CAFES} --clients 0", "clients = 0"),
        ("model onoff --lam 5 --d .125 --on 20 --off 20", "= 1.25 must be below 1, so lambda below 4"),
        ("model onoff --lam nan --d .125 --on 20 --off 20", "'nan' is not a number"),
        ("model onoff --lam inf --d .125 --on 20 --off 20", "lambda = inf"),
        (f"model {PATH} --publisher 20", "--publisher: write ON,OFF"),
        (f"model {PATH} --brokers 0", "at least 1 broker"),
        ("model fmt --filters -1 --nodes 40 --elements 5 --bits 16", "filters = -1"),
        ("model false-match --bits 0", "bits = 0"),
        ("model bloom --ratio 1/0", "'1/0' is not a number; write 0.5, 1/6 or 1e-3"),
        ("model bloom --k 3", "--ratio"),
        ("model blom", "invalid choice: 'blom'"),
        ("model", "NAME"),
        ("", "the following arguments are required: DIR"),
        ("nowhere", "nowhere: there is no such folder; name the one that a run was recorded in"),
        ("modl static", "unrecognized arguments: static"),
    ],
)
def test_the_impossible_is_refused_in_one_line(capsys: pytest.CaptureFixture[str], command: str, said: str) -> None:
    """With the condition, on standard error, and exit code 2."""
    assert said in complaint(capsys, command)


@pytest.mark.parametrize("name", MODELS)
def test_help_teaches_by_examples_that_work(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Each example of a model's help is a command that can be copied."""
    with pytest.raises(SystemExit) as end:
        main(["model", name, "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    examples = text.split("examples:\n")[1].replace("\\\n", " ").splitlines()
    assert examples
    for example in examples:
        command = example.split()
        assert command[:3] == ["chapar-audit", "model", name]
        assert main(command[1:]) == 0
        assert capsys.readouterr().out


def test_the_readme_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command in it, with its output."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    blocks = text.split("```\n$ chapar-audit ")[1:]
    assert len(blocks) == 2
    for block in blocks:
        command, _, output = block.partition("```")[0].partition("\n")
        assert main(command.split()) == 0
        assert capsys.readouterr().out == output


def test_without_numpy_the_tandem_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything else works without it."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, "chapar_audit.models.tandem", raising=False)
    assert "pip install 'chapar[analytics]'" in complaint(capsys, f"model {PATH} --tandem")
    assert asked(capsys, PATH)["response_time"] > 0


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """As in `chapar-audit model … | head -1`."""
    command = [str(Path(sys.executable).parent / "chapar-audit"), "model", *f"{TREE}".split()]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=60, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, b"")
