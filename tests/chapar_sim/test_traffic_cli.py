"""`chapar-sim traffic`: what it measures is what the models say, and wrong options are named."""

from __future__ import annotations

import json

import pytest

from chapar_sim.cli import main

RATES = ["--lam", ".5", "--mu", "1", "--omega", "2", "--r", "1"]
KEYS = ["subscriptions", "unsubscriptions", "refreshes", "notifications", "total"]


def measured(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    assert main(["traffic", "--json", *arguments]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert isinstance(figures, dict)
    return figures


def test_a_run_on_an_m_ary_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """m = 2, k = 4, ω = 2, r = 1: within 5 % of the model, 31.09 messages in all."""
    figures = measured(capsys, "--tree", "2,4", *RATES, "--duration", "800", "--seed", "3")
    assert list(figures) == KEYS
    assert figures["total"] == pytest.approx(31.09466, rel=0.05)
    assert figures["total"] == pytest.approx(sum(figures[key] for key in KEYS[:4]))
    assert measured(capsys, "--tree", "2,4", *RATES, "--duration", "800", "--seed", "3") == figures


def test_a_population_at_each_end_broker(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight on/off sources at each: 6.33 links are used; ψ is another way to say λ."""
    rates = ("--mu", "1", "--omega", "2", "--r", "1", "--population", "8", "--duration", "800")
    figures = measured(capsys, "--tree", "2,4", "--lam", ".05", *rates)
    assert figures["refreshes"] == pytest.approx(6.3331, rel=0.05)
    assert measured(capsys, "--tree", "2,4", "--psi", "64/21", *rates) == pytest.approx(figures)


def test_a_wave_of_subscribers(capsys: pytest.CaptureFixture[str]) -> None:
    """λ(t) = 1 + sin A t: over the first half of one wave 1.64 arrivals on average, and over many waves 1."""
    wave = ("--tree", "1,2", "--lam", "1", "--mu", "1e3", "--omega", "0", "--r", "1e6", "--wave-amplitude", "1")
    slow = measured(capsys, *wave, "--wave-frequency", "0.0015707963", "--duration", "2000")
    assert slow["subscriptions"] == pytest.approx(1.6366, rel=0.1)
    fast = measured(capsys, *wave, "--wave-frequency", "1", "--duration", "2000")
    assert fast["subscriptions"] == pytest.approx(1, rel=0.1)


def test_the_battalion_flooded(capsys: pytest.CaptureFixture[str]) -> None:
    """124 links, ω = 6: nothing but notifications."""
    rates = ("--psi", "20", "--mu", "1", "--omega", "6", "--r", "1/6", "--duration", "100")
    figures = measured(capsys, "--battalion", "--algorithm", "flooding", *rates)
    assert figures["total"] == figures["notifications"] == pytest.approx(744, rel=0.15)


def test_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    """Three subscribers at random on the tree m = 2, k = 4 take 14.86 messages on average, half of them of control."""
    figures = measured(capsys, "--tree", "2,4", "--static", "3", "--placements", "400")
    assert list(figures) == [*KEYS, "deviation"]
    assert figures["total"] == pytest.approx(14.857, abs=0.3)
    assert figures["subscriptions"] == figures["notifications"] == figures["total"] / 2
    assert 0 < figures["deviation"] < 2


def test_rounds_placed_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight subscribers on the tree m = 3, k = 4 cost 24 messages close together and 38 far apart (2.2)."""
    for place, total in (("together", 24), ("apart", 38)):
        figures = measured(capsys, "--tree", "3,4", "--static", "8", "--place", place)
        assert (figures["total"], figures["deviation"]) == (total, 0)


def test_several_runs_are_averaged(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with other chance; the deviation of the total from run to run is said."""
    run = ("--tree", "2,4", *RATES, "--duration", "50")
    figures = measured(capsys, *run, "--runs", "8")
    assert list(figures) == [*KEYS, "deviation"]
    assert figures["total"] == pytest.approx(31.09466, rel=0.05)
    assert 0.2 < figures["deviation"] < 5
    assert measured(capsys, *run)["total"] == pytest.approx(figures["total"], abs=4 * figures["deviation"])


def test_regular_notifications(capsys: pytest.CaptureFixture[str]) -> None:
    """Every 1/ω: exactly 124 ω messages a minute when they are flooded, without chance in it."""
    rates = ("--psi", "20", "--mu", "1", "--omega", "6", "--r", "1/6", "--duration", "2", "--regular")
    for seed in ("1", "2"):
        assert measured(capsys, "--battalion", "--algorithm", "flooding", *rates, "--seed", seed)["total"] == 744


def test_local_interest_in_the_battalion(capsys: pytest.CaptureFixture[str]) -> None:
    """λ = 1, q = 1e9: only the publisher's platoon subscribes, and its four links carry nearly all notifications."""
    rates = ("--lam", "1", "--mu", ".1", "--omega", "6", "--r", "1e6", "--duration", "100", "--locality", "1e9")
    figures = measured(capsys, "--battalion", *rates)
    assert figures["notifications"] == pytest.approx(6 * 4, rel=0.15)


def test_clients_of_one_multicast_network(capsys: pytest.CaptureFixture[str]) -> None:
    """Three routers, four clients each: flooding notifications costs 8, subscriptions 6.64, of which 4.49 toggles."""
    rates = ("--lam", "1/60", "--mu", "1", "--omega", "1", "--gamma", "1/30", "--nu", "1/60", "--r", "2")
    run = ("--multicast", "3,4", *rates, "--duration", "300", "--runs", "4")
    figures = measured(capsys, *run)
    assert figures["total"] == pytest.approx(6.635, rel=0.05)
    assert figures["subscriptions"] + figures["unsubscriptions"] == pytest.approx(4.494, rel=0.05)
    assert measured(capsys, *run, "--algorithm", "flooding")["total"] == pytest.approx(8, rel=0.1)


def test_figures_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each, a round of a single subscriber: three links up, three down."""
    assert main(["traffic", "--tree", "2,4", "--static", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["subscriptions", "3.0000"]
    assert lines[4].split() == ["total", "6.0000"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--tree", "2,4"], "--mu, --omega, --r missing"),
        (["--tree", "2,4", "--mu", "1", "--omega", "1", "--r", "1"], "--lam, or the average number"),
        (["--tree", "2,4", "--psi", "1", *RATES], "give either"),
        (["--tree", "2,4", *RATES, "--placements", "3"], "go with --static"),
        (["--tree", "2,4", *RATES, "--place", "apart"], "go with --static"),
        (["--tree", "2,4", *RATES, "--runs", "0"], "average at least 1"),
        (["--tree", "2,4", *RATES, "--runs", "2", "--out", "runs"], "neither with --runs"),
        (["--tree", "2,4", *RATES, "--gamma", "1"], "--gamma goes with --multicast"),
        (["--tree", "2,4", *RATES, "--locality", "10"], "goes with --battalion"),
        (["--battalion", "--psi", "20", *RATES[2:], "--locality", "10"], "goes with --lam"),
        (["--battalion", *RATES, "--locality", "1e200"], "from 1 to 1e+09"),
        (["--multicast", "3,4", *RATES], "--gamma, --nu missing"),
        (["--multicast", "3,4", *RATES, "--psi", "1"], "--psi has no meaning"),
        (["--multicast", "3,4", *RATES, "--gamma", "0", "--nu", "1"], "nobody would ever publish"),
        (["--multicast", "3,4", *RATES, "--gamma", "1", "--nu", "1", "--out", "runs"], "nor with --multicast"),
        (["--tree", "2,4", "--psi", "64", "--population", "8", *RATES[2:]], "must be below 64"),
        (["--tree", "2,4", "--lam", "900", *RATES[2:]], "at most 500 subscribers"),
        (["--tree", "2,4", *RATES, "--wave-amplitude", ".1"], "go together"),
        (["--tree", "2,4", *RATES, "--wave-amplitude", "1", "--wave-frequency", "1"], "at most λ = 0.5"),
        (["--battalion", "--population", "8", *RATES], "has its own"),
        (["--battalion", "--psi", "920", *RATES[2:]], "must be below 920"),
        (["--battalion", "--static", "8"], "needs --tree"),
        (["--tree", "2,4", "--static", "9"], "there are 8 end-brokers"),
        (["--tree", "2,4", "--static", "3", "--placements", "0"], "average at least 1"),
        (["--tree", "2,4", "--static", "3", "--mu", "1"], "--mu has no meaning with --static"),
        (["--tree", "2,4", "--static", "3", "--regular"], "--regular has no meaning with --static"),
        (["--multicast", "3,4", *RATES, "--regular"], "--regular has no meaning with --multicast"),
        (["--tree", "2,4", "--static", "3", "--runs", "2"], "--runs has no meaning with --static"),
        (["--tree", "2,4", "--static", "3", "--place", "apart", "--placements", "2"], "there is one"),
    ],
)
def test_options_that_do_not_fit_end_with_2(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says what to write, and nothing on standard output."""
    assert main(["traffic", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("chapar-sim traffic: ")
    assert complaint in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        RATES,
        ["--tree", "2,4", "--battalion"],
        *(["--tree", shape, "--static", "1"] for shape in ("2", "2,x", "0,3", "2,1", "2,30", "9999999999,2")),
        *(["--tree", "2,4", *RATES, "--duration", time] for time in ("0", "-1", "nan", "1/0", "soon")),
        *(["--multicast", shape, *RATES, "--gamma", "1", "--nu", "1"] for shape in ("3", "1,4", "3,0", "3,400")),
        ["--tree", "2,4", *RATES, "--seed", "-1"],
        ["--tree", "2,4", *RATES, "--algorithm", "gossip"],
    ],
)
def test_wrong_values_end_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["traffic", *arguments])
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("chapar-sim traffic: ")
    assert err.count("\n") == 1
