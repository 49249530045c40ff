"""Shell completion, generated from the parser: what a shell has to know to complete the command by itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from chapar.cli.arguments import FILE, actions_of, commands_of, helps_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping


class Option(NamedTuple):
    """One option: its names, and of which kind its value is."""

    flags: tuple[str, ...]
    help: str
    takes_value: bool
    is_file: bool
    repeats: bool


class Command(NamedTuple):
    """One command; `words` are what its positional argument can be, if that is known."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def commands(main: argparse.ArgumentParser) -> list[Command]:
    """The commands of the parser, itself first, with its commands as words."""
    inner = commands_of(main)
    helps = helps_of(main)
    whole = Command("", "", _options(main), tuple(inner))
    return [whole, *(Command(name, helps[name], _options(each), _words(each)) for name, each in inner.items())]


def script(shell: str, main: argparse.ArgumentParser) -> str:
    """What the shell has to read."""
    return _SCRIPTS[shell](commands(main))


def _options(some: argparse.ArgumentParser) -> tuple[Option, ...]:
    return tuple(
        Option(
            flags=tuple(action.option_strings),
            help=re.sub(r"\s+", " ", action.help or ""),
            takes_value=action.nargs != 0,
            is_file=action.metavar == FILE,
            repeats=isinstance(action.default, list),
        )
        for action in actions_of(some)
        if action.option_strings
    )


def _words(some: argparse.ArgumentParser) -> tuple[str, ...]:
    positional = [action for action in actions_of(some) if not action.option_strings]
    return tuple(word for action in positional for word in action.choices or ())


def _bash(all_commands: list[Command]) -> str:
    cases = []
    for command in all_commands:
        flags = " ".join(flag for option in command.options for flag in option.flags)
        words = " ".join(command.words)
        cases.append(f'    "{command.name}") options="{flags}" words="{words}" ;;\n')
    options = [option for command in all_commands for option in command.options]
    files = _alternatives(options, lambda option: option.is_file)
    valued = _alternatives(options, lambda option: option.takes_value and not option.is_file)
    names = "|".join(all_commands[0].words)
    return _BASH.format(cases="".join(cases), files=files, valued=valued, names=names)


def _alternatives(options: list[Option], chosen: Callable[[Option], bool]) -> str:
    return "|".join(dict.fromkeys(flag for option in options if chosen(option) for flag in option.flags))


_BASH: Final = """\
# bash completion for chapar; read it with: eval "$(chapar completion bash)"
_chapar() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" command="" options words place
  for ((place = 1; place < COMP_CWORD; place++)); do
    case "${{COMP_WORDS[place]}}" in
    {valued}|{files}) ((place++)) ;;
    {names}) command="${{COMP_WORDS[place]}}"; break ;;
    esac
  done
  COMPREPLY=()
  case "$previous" in
    {files}) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    {valued}) return ;;
  esac
  case "$command" in
{cases}  esac
  if [[ "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}}
complete -F _chapar chapar
"""


def _zsh(all_commands: list[Command]) -> str:
    whole, *inner = all_commands
    listed = "".join(f"    {_quoted(f'{_zsh_name(each.name)}:{each.help}')}\n" for each in inner)
    cases = "".join(
        f"    {each.name})\n      _arguments {_zsh_specs(each)}{_zsh_words(each)}\n      ;;\n" for each in inner
    )
    return _ZSH.format(options=_zsh_specs(whole), commands=listed, cases=cases)


def _zsh_specs(command: Command) -> str:
    return "".join(f"\\\n        {_zsh_spec(option, flag)} " for option in command.options for flag in option.flags)


def _zsh_spec(option: Option, flag: str) -> str:
    others = "*" if option.repeats else f"({' '.join(option.flags)})"
    text = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
    value = (":file:_files" if option.is_file else ":value: ") if option.takes_value else ""
    return _quoted(f"{others}{flag}[{text}]{value}")


def _zsh_words(command: Command) -> str:
    return "\\\n        " + _quoted(f"1:argument:({' '.join(command.words)})") if command.words else ""


def _zsh_name(name: str) -> str:
    return name.replace(":", r"\:")


def _quoted(text: str) -> str:
    """In single quotes, as every shell here reads them."""
    return "'" + text.replace("'", "'\\''") + "'"


_ZSH: Final = """\
#compdef chapar
# zsh completion for chapar
_chapar() {{
  local context state line
  local -a commands
  commands=(
{commands}  )
  _arguments -C {options}\\
        '1:command:->command' \\
        '*::argument:->argument'
  case $state in
  command)
    _describe command commands
    ;;
  argument)
    case $line[1] in
{cases}    esac
    ;;
  esac
}}
if [ "$funcstack[1]" = "_chapar" ]; then
  _chapar "$@"
else
  compdef _chapar chapar
fi
"""


def _fish(all_commands: list[Command]) -> str:
    whole, *inner = all_commands
    lines = ["# fish completion for chapar", "complete -c chapar -f"]
    nothing_yet = "-n __fish_use_subcommand"
    lines += [f"complete -c chapar {nothing_yet} {_fish_option(option)}" for option in whole.options]
    for command in inner:
        within = f"-n '__fish_seen_subcommand_from {command.name}'"
        lines.append(f"complete -c chapar {nothing_yet} -a {command.name} -d {_fish_quoted(command.help)}")
        lines += [f"complete -c chapar {within} {_fish_option(option)}" for option in command.options]
        if command.words:
            lines.append(f"complete -c chapar {within} -a {_fish_quoted(' '.join(command.words))}")
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    names = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
    value = (" -r -F" if option.is_file else " -x") if option.takes_value else ""
    return f"{' '.join(names)}{value} -d {_fish_quoted(option.help)}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: Final[Mapping[str, Callable[[list[Command]], str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
