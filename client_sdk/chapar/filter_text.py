"""The filter language: `subject = "position" and speed > 2 and mode in ("a", "b") and battery exists`.

    filter      ::= "*" | constraint ("and" constraint)*
    constraint  ::= name comparison value | name "in" "(" value ("," value)* ")"
                  | name "starts" "with" string | name "exists"
    comparison  ::= "=" | "!=" | "<" | "<=" | ">" | ">="
    value       ::= number | string | "true" | "false"

Words of the language may be written in any case. Strings stand in double or single quotes, with the escapes
`\\\\ \\" \\' \\n \\t \\r \\uXXXX \\UXXXXXXXX`; a bare word is never a string. Every mistake is told in one line
that names its column.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from chapar.constraint import Constraint, Op, checked_constraint
from chapar.errors import FilterError
from chapar.limits import INT64_MAX, INT64_MIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chapar.value import Value

EVERYTHING: Final = "*"
"""The filter without constraints."""

_TOKEN: Final = re.compile(
    r"""
    (?P<number> [+-]? (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? )
  | (?P<string> " (?: [^"\\] | \\. )*+ " | ' (?: [^'\\] | \\. )*+ ' )
  | (?P<word>   [A-Za-z_][A-Za-z0-9_.-]* )
  | (?P<sign>   <= | >= | != | [=<>(),*] )
    """,
    re.VERBOSE | re.DOTALL,
)
_SPACE: Final = re.compile(r"\s*")
_GLUED: Final = re.compile(r"[\w.]")
"""What cannot stand right behind a number."""
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED: Final = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "t": "\t", "r": "\r"}
_COMPARISONS: Final = {op.text: op for op in (Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE)}
_INT64_DIGITS: Final = 19

_STRAY: Final = {
    "&": "write and",
    "|": "there is no or: make one filter per alternative",
    "!": "write !=",
    "+": "a finite number stands right behind its sign",
    "-": "a finite number stands right behind its sign",
    '"': "the string has no closing quote",
    "'": "the string has no closing quote",
    "“": 'use straight quotes, "',
    "”": 'use straight quotes, "',
    "[": "write in (…)",
    "{": "write in (…)",
}
_UNKNOWN_WORDS: Final = {
    "or": "there is no or: make one filter per alternative",
    "not": "there is no not: use !=",
    "like": "use starts with",
    "contains": "use =, in or starts with",
    "between": "use >= and <=",
    "is": "use = or exists",
}


class Token(NamedTuple):
    """A piece of filter text: group of the token pattern it is of ("end" at the end), text, and column from 1."""

    group: str
    text: str
    column: int

    @property
    def word(self) -> str:
        """The word in lower case; empty if it is something else."""
        return self.text.lower() if self.group == "word" else ""

    @property
    def shown(self) -> str:
        """The token as an error message shows it."""
        if self.group == "end":
            return "the end of the text"
        head = self.text[:24] + ("…" if len(self.text) > 24 else "")
        return head if head.isprintable() else ascii(head)


def parse(text: str) -> list[Constraint]:
    """The constraints that `text` asks for, as written. Raises FilterError."""
    if not isinstance(text, str):
        raise FilterError(f"a filter is text, not {type(text).__name__}")
    return _Parser(_tokens(text)).filter()


def _fail(token: Token, problem: str) -> NoReturn:
    raise FilterError(f"filter, column {token.column}: {problem}")


def _tokens(text: str) -> list[Token]:
    tokens = []
    place = _SPACE.match(text).end()  # type: ignore[union-attr]  # matches everywhere, if only nothing
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            stray = Token("stray", text[place], place + 1)
            _fail(stray, f"{stray.shown} means nothing: {_STRAY.get(stray.text, 'strings stand in quotes')}")
        token = Token(match.lastgroup or "", match[0], place + 1)
        place = match.end()
        if token.group == "number" and _GLUED.match(text, place):
            _fail(token, f"{token.shown}{text[place]} is no number: leave a space behind it, or quote the string")
        tokens.append(token)
        place = _SPACE.match(text, place).end()  # type: ignore[union-attr]  # as above
    tokens.append(Token("end", "", len(text) + 1))
    return tokens


class _Parser:
    """Recursive descent over the tokens; `_next` is the one not yet taken."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._next
        if token.group != "end":
            self._place += 1
        return token

    def filter(self) -> list[Constraint]:
        if self._next.text == EVERYTHING:
            self._take()
            if self._next.group != "end":
                _fail(self._next, "* stands alone: drop it, or what follows it")
            return []
        if self._next.group == "end":
            _fail(self._next, "the filter is empty: write * to ask for every event")
        constraints = [self._constraint()]
        while self._next.word == "and":
            self._take()
            constraints.append(self._constraint())
        if self._next.group != "end":
            hint = _UNKNOWN_WORDS.get(self._next.word, "constraints are joined by and")
            _fail(self._next, f"expected and, not {self._next.shown}: {hint}")
        return constraints

    def _constraint(self) -> Constraint:
        name = self._take()
        if name.group != "word":
            _fail(name, f"expected an attribute name, not {name.shown}: a constraint reads like speed > 2")
        op, value = self._condition(name)
        try:
            return checked_constraint(name.text, op, value)
        except FilterError as error:
            _fail(name, str(error))

    def _condition(self, name: Token) -> tuple[Op, Value | tuple[Value, ...] | None]:
        token = self._take()
        if token.group == "sign" and token.text in _COMPARISONS:
            return _COMPARISONS[token.text], self._value(token)
        if token.word == "exists":
            return Op.EXISTS, None
        if token.word == "in":
            return Op.IN, self._members()
        if token.word == "starts":
            with_ = self._take()
            if with_.word != "with":
                _fail(with_, f"expected with, not {with_.shown}: write starts with")
            return Op.PREFIX, self._value(with_)
        hint = _UNKNOWN_WORDS.get(token.word) or _UNKNOWN_WORDS.get(name.word)
        hint = hint or "use = != < <= > >= in, starts with, or exists"
        _fail(token, f"expected an operator, not {token.shown}: {hint}")

    def _members(self) -> tuple[Value, ...]:
        opening = self._take()
        if opening.text != "(":
            _fail(opening, f"expected (, not {opening.shown}: write in (1, 2)")
        values = [self._value(opening)]
        while (token := self._take()).text == ",":
            values.append(self._value(token))
        if token.text != ")":
            _fail(token, f"expected , or ), not {token.shown}: write in (1, 2)")
        return tuple(values)

    def _value(self, before: Token) -> Value:
        token = self._take()
        if token.group == "number":
            return _number(token)
        if token.group == "string":
            return _string(token)
        if token.word in ("true", "false"):
            return token.word == "true"
        if token.word in ("nan", "inf", "infinity"):
            _fail(token, f"expected a value, not {token.shown}: numbers are finite")
        if token.word:
            _fail(token, f'expected a value, not {token.shown}: strings stand in quotes, "{token.shown}"')
        signs = before.text + token.text
        hint = {"==": "write a single =", "<>": "write !=", "=<": "write <=", "=>": "write >="}.get(signs)
        _fail(token, f"expected a value, not {token.shown}: {hint or 'use a number, a quoted string, true or false'}")


def _number(token: Token) -> int | float:
    if token.text.lstrip("+-").isdecimal():
        digits = token.text.lstrip("+-").lstrip("0")
        if len(digits) > _INT64_DIGITS or not INT64_MIN <= (whole := int(token.text)) <= INT64_MAX:
            _fail(token, f"{token.shown} does not fit into 64 bits: write it as a float, 1e20")
        return whole
    number = float(token.text)
    if not isfinite(number):
        _fail(token, f"{token.shown} is beyond every double: numbers are finite")
    return number


def _string(token: Token) -> str:
    def unescaped(match: re.Match[str]) -> str:
        place = Token("string", match[0], token.column + 1 + match.start())
        short, long, other = match.groups()
        if other is not None:
            if other not in _ESCAPED:
                _fail(place, f"{place.shown} is no escape: use \\\\ for a backslash")
            return _ESCAPED[other]
        code = int(short or long, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            _fail(place, f"{match[0]} is no character: use \\UXXXXXXXX for those beyond \\uFFFF")
        return chr(code)

    return _ESCAPE.sub(unescaped, token.text[1:-1])


def to_text(constraints: Iterable[Constraint]) -> str:
    """The text of canonical constraints; parsing it gives them back."""
    return " and ".join(_constraint_text(*constraint) for constraint in constraints) or EVERYTHING


def _constraint_text(name: str, op: Op, value: Value | tuple[Value, ...] | None) -> str:
    if value is None:
        return f"{name} {op.text}"
    if isinstance(value, tuple):
        return f"{name} {op.text} ({', '.join(map(value_text, value))})"
    return f"{name} {op.text} {value_text(value)}"


def value_text(value: Value) -> str:
    """A value as the filter language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{"".join(map(_character_text, value))}"' if isinstance(value, str) else repr(value)


def _character_text(character: str) -> str:
    if character in '\\"':
        return "\\" + character
    if character.isprintable():
        return character
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    return named or (f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}")
