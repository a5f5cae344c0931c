"""Build the `nikawa` command from the files of its folder and turn errors into one line and a
status.

Exit status: 0 done, 1 done but the check failed or not done, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from traceback import print_exc
from typing import Any, NoReturn

import typer
from typer.main import get_command

from nikawa.errors import BadInput, NikawaError, suggest
from nikawa.printable import printable_line, printable_streams
from nikawa.version import __version__

UsageProblem: type[Exception] = typer.BadParameter.__bases__[0]
"""What Typer raises for an unknown option or verb, a wrong value, a missing argument; it has no
public name."""


def explain_usage(problem: Exception, words: Sequence[str], root: Any) -> BadInput | None:
    """The one line for what Typer found wrong; None where it has shown the help instead.

    `root` is the whole command.
    """
    if type(problem).__name__ == "NoArgsIsHelpError":
        return None
    ctx = getattr(problem, "ctx", None)
    path, command = (ctx.command_path, ctx.command) if ctx else _find_reached_verb(words, root)
    if hasattr(problem, "possibilities") and hasattr(problem, "option_name"):
        name = str(problem.option_name)
        typed = next(
            (word for word in words if not name.startswith("--") and word.startswith(name)), name
        )
        known = [
            option for param in command.params for option in (*param.opts, *param.secondary_opts)
        ]
        near = _find_near_options(typed, {*known, "--help"})
        cure = f"did you mean {near}?" if near else _help(path)
        if not near and hasattr(command, "commands"):
            cure = f"the options of a verb stand after it; {cure}"
        return BadInput(f"there is no option {_quoted(typed)}", cure=cure)
    if hasattr(problem, "option_name"):
        return _explain_lone_option(problem, path, command)
    if hasattr(problem, "param_type"):
        return _explain_missing(problem, path, command)
    if getattr(problem, "param", None) is not None:
        return _explain_wrong_value(problem, path)
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


def _find_near_options(typed: str, known: Iterable[str]) -> str:
    """The known options nearest to what was typed.

    With a dash too few or too many that option alone.
    """
    folded = {option.casefold(): option for option in sorted(known)}
    bare = typed.lstrip("-").partition("=")[0].replace("_", "-").casefold()
    for same in (f"--{bare}", f"-{bare}"):
        if same in folded:
            return folded[same]
    near = get_close_matches(f"--{bare}", folded, n=3, cutoff=0.7)
    return " or ".join(folded[option] for option in near)


def _explain_lone_option(problem: Any, path: str, command: Any) -> BadInput:
    """The line for an option that lacks its value or takes none."""
    name = str(problem.option_name)
    what = _message(problem).replace(f"Option {name!r}", name)
    param = next((param for param in command.params if name in param.opts), None)
    return BadInput(what, cure=_meaning(param, path))


def _explain_missing(problem: Any, path: str, command: Any) -> BadInput:
    """The line for an argument or option that the verb cannot do without."""
    param = problem.param
    kind = str(problem.param_type or getattr(param, "param_type_name", "argument"))
    name = _name(param) if param else "one"
    return BadInput(f"the {kind} {name} is missing", cure=_example(path, command))


def _explain_wrong_value(problem: Any, path: str) -> BadInput:
    """The line for a value of the wrong kind or outside its range."""
    message = _message(problem, whole=False).partition(", unable to parse")[0]
    if hasattr(problem.__cause__, "errors"):  # what was typed stands in the cause alone
        typed = problem.__cause__.errors()[0].get("input", "")
        message = f"{_quoted(typed)} {message.removeprefix('Input ')}"
    return BadInput(f"{_name(problem.param)}: {message}", cure=_meaning(problem.param, path))


def _find_reached_verb(words: Sequence[str], root: Any) -> tuple[str, Any]:
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


FOLDER = Path(__file__).parents[1]
PACKAGE = "nikawa.cli"
PANELS = ("Data", "Build", "Probe", "Evaluate")
"""The order in which the help screen shows the verbs; each file beside this one names its own."""


def build(only: str | None = None) -> typer.Typer:
    """The application with every verb attached, or with that of one file alone, which starts
    sooner.
    """
    app = typer.Typer(
        name="nikawa",
        help="One toolkit for the whole life of a language-understanding benchmark, Japanese and Korean first.",
        epilog="Start with: nikawa demo",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode="rich",
    )
    app.callback(help=app.info.help)(_root)
    modules = [import_module(f"{PACKAGE}.{verb}") for verb in ([only] if only else _verb_files())]
    for module in sorted(modules, key=lambda module: PANELS.index(module.PANEL)):
        _attach_verb(module, app)
    return app


def _attach_verb(module: Any, app: typer.Typer) -> None:
    """Attach the verb of a file: the function that has the file's name, with the file's `PANEL` and `EXAMPLE`.

    A verb with parts of its own, such as `nikawa data list`, has a `register(app)` instead.
    """
    if hasattr(module, "register"):
        module.register(app)
        return
    verb = module.__name__.rpartition(".")[2]
    app.command(verb, rich_help_panel=module.PANEL, epilog=module.EXAMPLE)(getattr(module, verb))


def build_overview() -> typer.Typer:
    """The application for the list of verbs alone: commands without their options, which take most
    of the time.
    """
    app = build()
    for command in app.registered_commands:

        def overview() -> None: ...

        overview.__doc__ = getattr(command.callback, "__doc__", None)
        overview.__name__ = getattr(command.callback, "__name__", "verb")
        command.callback = overview
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance.registered_commands.clear()
            group.typer_instance.command("…")(_root)
    return app


def _verb_files() -> list[str]:
    """The verbs that have a file, by name."""
    return sorted(file.stem for file in FOLDER.glob("*.py") if file.stem != "__init__")


def find_requested_verb(words: Sequence[str]) -> str | None:
    """The verb that is asked for; None when all are needed: for help, completion, an unknown verb."""
    verb = words[0] if words and "_NIKAWA_COMPLETE" not in os.environ else None
    return verb if verb in _verb_files() else None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nikawa {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and stop.",
        is_eager=True,
        callback=_print_version,
    ),
) -> None:
    """Hold the options that belong to no verb."""


def main() -> None:
    """Run the command line; no traceback reaches the user for bad input.

    What is printed by anybody (verbs, warnings, logs, plug-ins, the traceback of a bug) passes printable streams.
    """
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (closed by the caller)
    sys.stderr = sys.stderr or sys.stdout
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if hasattr(
        signal, "SIGPIPE"
    ):  # end quietly in `nikawa … | head`; a server must take the signal back
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with printable_streams():
        _run_and_exit(sys.argv[1:])


def _run_and_exit(words: Sequence[str]) -> NoReturn:
    """Do what the words ask for and end with its status."""
    try:
        sys.exit(_run_words(words))
    except NikawaError as problem:
        _print_error(str(problem))
    except typer.Abort:  # a question was left without an answer
        _print_error("nothing was done; answer the question, or give the answer as an option")
        sys.exit(1)
    except BrokenPipeError:  # where the signal is held back, while processes help
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)  # as a shell tells of that signal
    except OSError as problem:
        cures = {
            errno.ENOSPC: "free some space and run the same command again",
            errno.EDQUOT: "free some space and run the same command again",
            errno.EFBIG: "allow larger files (ulimit -f) and run the same command again",
            errno.EACCES: "check the permissions",
            errno.EROFS: "choose a place that can be written",
            errno.ENAMETOOLONG: "choose a shorter name",
        }
        place = None if problem.filename is None else str(problem.filename)
        what, cure = problem.strerror or str(problem), cures.get(problem.errno or 0, "")
        _print_error(str(BadInput(what, file=place, cure=cure)))
    except MemoryError:
        _print_error("there is not enough memory for this; give it more, or smaller files")
        sys.exit(1)
    except Exception:  # a bug, or a plug-in's: shown here, where the streams still escape
        print_exc()
        sys.exit(1)
    sys.exit(2)


def _run_words(words: Sequence[str]) -> int:
    """Do what the words ask for; the exit status."""
    completes = "_NIKAWA_COMPLETE" in os.environ
    wants_overview = not completes and list(words) in ([], ["--help"], ["-h"])
    command = get_command(build_overview() if wants_overview else build(find_requested_verb(words)))
    try:
        status = command.main(prog_name="nikawa", standalone_mode=False)
    except UsageProblem as problem:
        if line := explain_usage(problem, words, command):
            raise line from None
        return 2
    return int(
        status or 0
    )  # a verb returns nothing; what typer.Exit carries comes back instead of being raised


def _print_error(line: str) -> None:
    """One line on stderr, as every error is printed."""
    print(f"nikawa: {printable_line(line)}", file=sys.stderr)  # noqa: T201  (the one place that speaks to stderr)
