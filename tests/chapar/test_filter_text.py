"""The filter language: canonical text parses back, and every mistake is one line with its column."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapar.constraint import Constraint, Op, encode
from chapar.errors import FilterError
from chapar.filter import Filter
from chapar.filter_text import parse, to_text, value_text
from strategies.values import filters

HEAD = 'subject = "position" and '
READABLE = HEAD + 'battery exists and lat > 52 and mode in ("a", "b") and name starts with "ro" and speed > 2'


@given(filters)
@settings(max_examples=300)
def test_canonical_text_parses_back(asked: Filter) -> None:
    """For every filter, its text is one line that means the same filter."""
    text = str(asked)
    assert Filter.parse(text) == asked
    assert text.isprintable()


def test_the_language_reads_like_this() -> None:
    """The example of the documentation, with its constraints in canonical order."""
    written = HEAD + 'speed > 2 and lat > 52 and mode in ("a", "b") and name starts with "ro" and battery exists'
    assert str(Filter.parse(written)) == READABLE
    assert encode(parse(READABLE)) == encode(Filter.parse(written).constraints)


@pytest.mark.parametrize(
    ("text", "constraint"),
    [
        ("a=1", ("a", Op.EQ, 1)),
        ("a !=-1", ("a", Op.NE, -1)),
        ("a<+1.5", ("a", Op.LT, 1.5)),
        ("a <= .5", ("a", Op.LE, 0.5)),
        ("a > 5.", ("a", Op.GT, 5)),
        ("a >= 1e3", ("a", Op.GE, 1000)),
        ("a = -1.5E-3", ("a", Op.EQ, -0.0015)),
        ("a = 9223372036854775807", ("a", Op.EQ, 2**63 - 1)),
        ("a = -9223372036854775808", ("a", Op.EQ, -(2**63))),
        ("a = 000000000000000000000000000001", ("a", Op.EQ, 1)),
        ("a = 'it''s'", None),
        ("a = 'say \"x\"'", ("a", Op.EQ, 'say "x"')),
        (r"a = 'it\'s'", ("a", Op.EQ, "it's")),
        (r'a = "\\ \" \n \t \r \u00e9 \U0001F600"', ("a", Op.EQ, '\\ " \n \t \r é 😀')),
        ('a = "two\nlines"', ("a", Op.EQ, "two\nlines")),
        ("a = TRUE", ("a", Op.EQ, True)),
        ("a = False", ("a", Op.EQ, False)),
        ("a IN (1)", ("a", Op.EQ, 1)),
        ("a in(1,'x' , true)", ("a", Op.IN, (1, "x", True))),
        ("a Starts With 'x'", ("a", Op.PREFIX, "x")),
        ("a EXISTS", ("a", Op.EXISTS, None)),
        ("\n a\texists ", ("a", Op.EXISTS, None)),
        ("x.y-z exists", ("x.y-z", Op.EXISTS, None)),
        ("Subject exists", ("Subject", Op.EXISTS, None)),
    ],
)
def test_one_constraint(text: str, constraint: tuple[str, Op, object] | None) -> None:
    """Spaces are free, words have no case, names do, strings stand in either quote."""
    if constraint is None:
        with pytest.raises(FilterError):
            parse(text)
    else:
        assert encode(parse(text)) == encode([Constraint(*constraint)])  # type: ignore[arg-type]  # any value, as a table


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ("", 1, "write *"),
        ("  ", 3, "write *"),
        ("* and a exists", 3, "stands alone"),
        ("a", 2, "expected an operator, not the end of the text"),
        ("a >", 4, "expected a value, not the end of the text"),
        ("a == 1", 4, "write a single ="),
        ("a <> 1", 4, "write !="),
        ("a => 1", 4, "write >="),
        ("a =< 1", 4, "write <="),
        ("a ! 1", 3, "write !="),
        ("a = b", 5, 'strings stand in quotes, "b"'),
        ("a = nan", 5, "numbers are finite"),
        ("a = Infinity", 5, "numbers are finite"),
        ("a = -inf", 5, "a finite number"),
        ("a = 1e999", 5, "numbers are finite"),
        ("a = 9223372036854775808", 5, "write it as a float"),
        ("a = " + "9" * 5000, 5, "write it as a float"),
        ("a = 0x10", 5, "is no number"),
        ("a = 1.2.3", 5, "is no number"),
        ("a = 2and b = 3", 5, "leave a space"),
        ('a = "x', 5, "no closing quote"),
        ("a = 'x\\'", 5, "no closing quote"),
        ("a = “x”", 5, "straight quotes"),
        (r'a = "\q"', 6, r"\q is no escape"),
        (r'a = "x\u12"', 7, "is no escape"),
        (r'a = "\ud83d\ude00"', 6, r"use \UXXXXXXXX"),
        (r'a = "\U00110000"', 6, "is no character"),
        ("a > true", 1, "booleans have no order"),
        ("b = 1 and a starts with 3", 11, "only strings have a start"),
        ("a starts 3", 10, "write starts with"),
        ("a starts with", 14, "expected a value"),
        ("a in 3", 6, "write in (1, 2)"),
        ("a in [3]", 6, "write in (…)"),
        ("a in ()", 7, "expected a value"),
        ("a in (1,)", 9, "expected a value"),
        ("a in (1 2)", 9, "expected , or )"),
        ("a in (1", 8, "expected , or )"),
        ("a in 'x'", 6, "write in (1, 2)"),
        ("a exists or b exists", 10, "there is no or"),
        ("a exists || b exists", 10, "there is no or"),
        ("a exists && b exists", 10, "write and"),
        ("a exists b exists", 10, "joined by and"),
        ("a exists and", 13, "expected an attribute name"),
        ("a exists, b exists", 9, "joined by and"),
        ("not a exists", 5, "there is no not"),
        ("a like 'x'", 3, "use starts with"),
        ("a between 1 and 2", 3, "use >= and <="),
        ("a is 1", 3, "use = or exists"),
        ("1 = a", 1, "expected an attribute name"),
        ("(a = 1)", 1, "expected an attribute name"),
        ("and = 1", 1, "a word of the filter language"),
        ("é = 1", 1, "strings stand in quotes"),
        ("a = 1 \x00", 7, "means nothing"),
        ("x" * 65 + " exists", 1, "longer than 64"),
    ],
)
def test_a_mistake_is_one_line_with_column_and_hint(text: str, column: int, hint: str) -> None:
    """It says where, and what to write instead."""
    with pytest.raises(FilterError) as refused:
        parse(text)
    message = str(refused.value)
    assert message.startswith(f"filter, column {column}: ")
    assert hint in message
    assert message.isprintable()
    assert len(message) < 200


@given(st.text("ab1.-+eE\"'\\ u()=<>!,*andinexistswth\n\ud7ff\x00", max_size=40))
@settings(max_examples=500)
def test_any_text_is_a_filter_or_a_filter_error(text: str) -> None:
    """No text whatever raises anything else, and what parses prints and parses again."""
    try:
        asked = Filter.parse(text)
    except FilterError as error:
        assert "\n" not in str(error)  # noqa: PT017 - the text may also be a filter
    else:
        assert Filter.parse(str(asked)) == asked


@given(st.data())
def test_any_spelling_of_a_filter_is_the_filter(data: st.DataObject) -> None:
    """Case of words and amount of space do not matter."""
    asked = data.draw(filters)
    text = to_text(asked.constraints)
    if not any(quote in text for quote in ('"', "\\")):
        words = ("and", "in", "exists", "true", "false")
        spelled = " ".join(word.upper() if word in words else word for word in text.split(" "))
        assert Filter.parse(spelled.replace(" ", data.draw(st.sampled_from((" ", "  ", "\n", "\t"))))) == asked


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (1, "1"),
        (1e300, "1e+300"),
        (0.1, "0.1"),
        ('a"\\', r'"a\"\\"'),
        ("\n\t\r\0\x7f\u2028é\U000e0001", r'"\n\t\r\u0000\u007f\u2028é\U000e0001"'),
    ],
)
def test_values_print_in_one_way(value: bool | float | str, text: str) -> None:  # noqa: FBT001 - one of many values
    """Printable characters stand for themselves, all others are escaped."""
    assert value_text(value) == text
