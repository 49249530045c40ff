"""The catalogue of figures."""

from __future__ import annotations

import re

import pytest

from chapar_audit.figures.catalogue import FIGURES, UnknownFigureError, chosen


def numbers(*names: str) -> list[str]:
    return [figure.number for figure in chosen(names)]


def test_every_number_names_a_document_and_a_figure() -> None:
    """Like 000:2.4 or 004:Table 3."""
    assert all(re.fullmatch(r"\d{3}:(\d+(\.\d+)?|Table \d+)", figure.number) for figure in FIGURES)
    assert all(figure.title for figure in FIGURES)


def test_figures_are_found_by_number() -> None:
    """With the document or, where it is clear, without; in the order of the papers, each once."""
    assert numbers("002:3.13") == numbers("3.13") == numbers(" 3.13", "002:3.13") == ["002:3.13"]
    assert numbers("3.14", "3.13") == ["002:3.13", "002:3.14"]
    assert numbers("all") == [figure.number for figure in FIGURES]


def test_an_unknown_figure_is_refused_with_the_list() -> None:
    """In one line."""
    with pytest.raises(UnknownFigureError, match=r"^9\.9: no such figure; there are .*002:3\.13, 002:3\.14"):
        chosen(["9.9"])
