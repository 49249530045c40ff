"""The table that `make bench` prints, and its exit code, with figures made up for the purpose."""

from io import StringIO
from pathlib import Path

import pytest

from benchmarks.figure import Figure
from benchmarks.run import UsageError, choose, discover, main, readable, run, table

FAST = Figure("lookup, 100 000 filters", 2.5, "× lookup, 100 filters", "≤ 3", met=True)
SLOW = Figure("encode and decode", 3.25, "× msgpack", "≤ 2.5", met=False)
PLAIN = Figure("lookup", 12345.6, "ns", "", met=None)


def test_columns_are_aligned() -> None:
    """Every row puts its unit in the same column, whatever the length of names and values."""
    lines = table([FAST, SLOW, PLAIN]).splitlines()
    column = lines[0].index("unit")
    rows = dict(zip((FAST, SLOW, PLAIN), lines[2:], strict=True))
    assert all(row.index(figure.unit) == column for figure, row in rows.items())
    assert len({row[:column].rstrip()[-1].isdigit() for row in rows.values()}) == 1


def test_verdicts_are_words() -> None:
    """A goal met, missed or absent reads as yes, NO or a dash."""
    assert [line.split()[-1] for line in table([FAST, SLOW, PLAIN]).splitlines()[2:]] == ["yes", "NO", "–"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (3, "3"), (2.504, "2.50"), (45.67, "45.7"), (0.1234, "0.123"), (98765.4, "98,765"), (1e-6, "1.00e-06")],
)
def test_values_keep_three_digits(value: float, text: str) -> None:
    """Values are rounded to what can be compared by eye, small ones never to zero."""
    assert readable(value) == text


@pytest.mark.parametrize(("figures", "code"), [([FAST, PLAIN], 0), ([FAST, SLOW], 1), ([], 0)])
def test_exit_code_tells_whether_a_goal_is_missed(figures: list[Figure], code: int) -> None:
    """One goal missed is exit code 1; a figure without a goal cannot miss it."""
    assert run({"made up": lambda: figures}, StringIO(), StringIO()) == code


def test_progress_stays_out_of_the_table() -> None:
    """The table alone goes to the output, so that it can be kept in a file; progress goes beside it."""
    out, progress = StringIO(), StringIO()
    run({"first": lambda: [FAST], "second": lambda: [SLOW]}, out, progress)
    assert "[2/2] second" in progress.getvalue()
    assert "second" not in out.getvalue()
    assert "1 of 2 figures miss their goal: encode and decode" in out.getvalue()


def test_benchmarks_may_be_named_as_files() -> None:
    """`matcher`, `bench_matcher` and `bench_matcher.py` are one benchmark, run once; no name means all."""
    assert choose(["bench_b.py", "b", "a"], ["a", "b"]) == ("b", "a")
    assert choose([], ["a", "b"]) == ("a", "b")


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """The message names what was not found and what there is."""
    with pytest.raises(UsageError, match="no benchmark named c; choose from: a, b"):
        choose(["a", "c"], ["a", "b"])


def test_an_unknown_name_on_the_command_line_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage costs the user one line, and nothing is measured."""
    assert main(["no-such-benchmark"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_only_files_named_bench_are_benchmarks(tmp_path: Path) -> None:
    """Discovery takes `bench_*.py` and leaves the files beside them alone."""
    for name in ("bench_z.py", "bench_a.py", "figure.py", "run.py"):
        (tmp_path / name).touch()
    assert discover(tmp_path) == ("a", "z")
