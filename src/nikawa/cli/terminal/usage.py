"""Words of a command that cannot be used, told in one line with the cure, as all other bad input is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import typer

from nikawa.errors import BadInput, suggest

WRONG: type[Exception] = typer.BadParameter.__bases__[0]
"""What Typer raises for an unknown option or verb, a wrong value, a missing argument; it has no public name."""


def explain_usage(problem: Exception, words: Sequence[str], root: Any) -> BadInput | None:
    """The one line for what Typer found wrong; None where it has shown the help instead. `root` is the whole command."""
    if type(problem).__name__ == "NoArgsIsHelpError":
        return None
    ctx = getattr(problem, "ctx", None)
    path, command = (ctx.command_path, ctx.command) if ctx else _reached(words, root)
    if hasattr(problem, "possibilities") and hasattr(problem, "option_name"):
        name = str(problem.option_name)
        typed = next(
            (word for word in words if not name.startswith("--") and word.startswith(name)), name
        )
        known = [
            option for param in command.params for option in (*param.opts, *param.secondary_opts)
        ]
        near = _near(typed, {*known, "--help"})
        cure = f"did you mean {near}?" if near else _help(path)
        if not near and hasattr(command, "commands"):
            cure = f"the options of a verb stand after it; {cure}"
        return BadInput(f"there is no option {_quoted(typed)}", cure=cure)
    if hasattr(problem, "option_name"):
        return _option_alone(problem, path, command)
    if hasattr(problem, "param_type"):
        return _missing(problem, path, command)
    if getattr(problem, "param", None) is not None:
        return _wrong_value(problem, path)
    message = _message(problem)
    if match := re.match(r"No such command (['\"])(.*?)\1", message):
        verb = f"{path} {match[2]}".removeprefix("nikawa ")
        return BadInput(
            f"there is no verb {_quoted(verb)}", cure=suggest(match[2], command.commands)
        )
    if match := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)$", message):
        return BadInput(
            f"{_quoted(match[1])} is more than {path} takes", cure=_example(path, command)
        )
    return BadInput(message, cure=_help(path))


def _near(typed: str, known: Iterable[str]) -> str:
    """The known options nearest to what was typed; with a dash too few or too many that option alone."""
    folded = {option.casefold(): option for option in sorted(known)}
    bare = typed.lstrip("-").partition("=")[0].replace("_", "-").casefold()
    for same in (f"--{bare}", f"-{bare}"):
        if same in folded:
            return folded[same]
    near = get_close_matches(f"--{bare}", folded, n=3, cutoff=0.7)
    return " or ".join(folded[option] for option in near)


def _option_alone(problem: Any, path: str, command: Any) -> BadInput:
    name = str(problem.option_name)
    what = _message(problem).replace(f"Option {name!r}", name)
    param = next((param for param in command.params if name in param.opts), None)
    return BadInput(what, cure=_meaning(param, path))


def _missing(problem: Any, path: str, command: Any) -> BadInput:
    param = problem.param
    kind = str(problem.param_type or getattr(param, "param_type_name", "argument"))
    name = _name(param) if param else "one"
    return BadInput(f"the {kind} {name} is missing", cure=_example(path, command))


def _wrong_value(problem: Any, path: str) -> BadInput:
    message = _message(problem, whole=False).partition(", unable to parse")[0]
    if hasattr(problem.__cause__, "errors"):  # what was typed stands in the cause alone
        typed = problem.__cause__.errors()[0].get("input", "")
        message = f"{_quoted(typed)} {message.removeprefix('Input ')}"
    return BadInput(f"{_name(problem.param)}: {message}", cure=_meaning(problem.param, path))


def _reached(words: Sequence[str], root: Any) -> tuple[str, Any]:
    """The verb that the words lead to, for errors that do not tell."""
    path, command = "nikawa", root
    for word in words:
        if word not in getattr(command, "commands", {}):
            break
        path, command = f"{path} {word}", command.commands[word]
    return path, command


def _message(problem: Any, whole: bool = True) -> str:
    return str(problem.format_message() if whole else problem.message).rstrip(". ")


def _name(param: Any) -> str:
    options = [option for option in param.opts if option.startswith("-")]
    return max(options, key=len) if options else str(param.name).upper()


def _meaning(param: Any, path: str) -> str:
    meaning = " ".join(str(getattr(param, "help", None) or "").split()).rstrip(".")
    return f"it stands for: {meaning} ({path} --help tells more)" if meaning else _help(path)


def _example(path: str, command: Any) -> str:
    epilog = str(getattr(command, "epilog", None) or "")
    example = epilog.partition("Example: ")[2]
    return f"for example: {example}" if example else _help(path)


def _help(path: str) -> str:
    return f"see {path} --help"


def _quoted(word: object) -> str:
    return repr(str(word))
