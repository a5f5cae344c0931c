"""Build the `nikawa` command from the files of its folder, and turn errors into one line and an exit status.

Exit status: 0 success, 1 a check or a run failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from traceback import print_exc
from typing import Any, NoReturn

import typer
from typer.main import get_command

from nikawa.errors import BadInput, NikawaError, suggest
from nikawa.io.remote import to_path
from nikawa.printable import printable_line, printable_streams
from nikawa.version import __version__

UsageProblem: type[Exception] = typer.BadParameter.__bases__[0]
"""The error that Typer raises for an unknown option or command, a wrong value or a missing argument; it has no
public name."""


def explain_usage(problem: Exception, words: Sequence[str], root: Any) -> BadInput | None:
    """Return one line about a usage error of Typer, or None if Typer has printed the help.

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
            cure = f"write the options of a command after it; {cure}"
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
            f"there is no command {_quoted(verb)}", cure=suggest(match[2], command.commands)
        )
    if match := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)$", message):
        return BadInput(
            f"{path} does not take the argument {_quoted(match[1])}", cure=_example(path, command)
        )
    return BadInput(message, cure=_help(path))


def _find_near_options(typed: str, known: Iterable[str]) -> str:
    """Return the known options nearest to the typed one.

    If only the number of dashes is wrong, return just that option.
    """
    folded = {option.casefold(): option for option in sorted(known)}
    bare = typed.lstrip("-").partition("=")[0].replace("_", "-").casefold()
    for same in (f"--{bare}", f"-{bare}"):
        if same in folded:
            return folded[same]
    near = get_close_matches(f"--{bare}", folded, n=3, cutoff=0.7)
    return " or ".join(folded[option] for option in near)


def _explain_lone_option(problem: Any, path: str, command: Any) -> BadInput:
    """Return the line for an option that lacks its value or takes none."""
    name = str(problem.option_name)
    what = _message(problem).replace(f"Option {name!r}", name)
    param = next((param for param in command.params if name in param.opts), None)
    return BadInput(what, cure=_meaning(param, path))


def _explain_missing(problem: Any, path: str, command: Any) -> BadInput:
    """Return the line for a missing required argument or option."""
    param = problem.param
    kind = str(problem.param_type or getattr(param, "param_type_name", "argument"))
    name = _name(param) if param else "one"
    return BadInput(f"the {kind} {name} is missing", cure=_example(path, command))


def _explain_wrong_value(problem: Any, path: str) -> BadInput:
    """Return the line for a value of the wrong type or outside its range."""
    message = _message(problem, whole=False).partition(", unable to parse")[0]
    if hasattr(problem.__cause__, "errors"):  # only the cause has the typed value
        typed = problem.__cause__.errors()[0].get("input", "")
        message = f"{_quoted(typed)} {message.removeprefix('Input ')}"
    return BadInput(f"{_name(problem.param)}: {message}", cure=_meaning(problem.param, path))


def _find_reached_verb(words: Sequence[str], root: Any) -> tuple[str, Any]:
    """Return the command that the words name, for errors that do not have it."""
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
    return f"it is: {meaning} (see {path} --help)" if meaning else _help(path)


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
"""The order of the panels on the help screen; each command file names its panel."""


def build(only: str | None = None) -> typer.Typer:
    """Return the application with every command, or with the command of one file, which starts faster."""
    app = typer.Typer(
        name="nikawa",
        help="Build language-understanding benchmarks, score models on them and analyse the results, with a focus on Japanese and Korean.",
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
    _let_paths_be_addresses(app)
    return app


def _let_paths_be_addresses(app: typer.Typer) -> None:
    """Let each command get the paths that `to_path` makes of its arguments."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _convert_paths(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _let_paths_be_addresses(group.typer_instance)
    callback = app.registered_callback
    if callback is not None and callback.callback is not None:
        callback.callback = _convert_paths(callback.callback)


@cache
def _convert_paths(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a command, which gets a `RemotePath` where the user wrote an address."""

    def convert(value: Any) -> Any:
        if isinstance(value, Path):
            return to_path(value)
        return [convert(each) for each in value] if isinstance(value, list) else value

    @wraps(function)
    def call(**arguments: Any) -> Any:
        return function(**{name: convert(value) for name, value in arguments.items()})

    return call


def _attach_verb(module: Any, app: typer.Typer) -> None:
    """Attach the command of a file: the function with the file's name, and the file's `PANEL` and `EXAMPLE`.

    A file with subcommands, such as `nikawa data list`, has a `register(app)` instead.
    """
    if hasattr(module, "register"):
        module.register(app)
        return
    verb = module.__name__.rpartition(".")[2]
    app.command(verb, rich_help_panel=module.PANEL, epilog=module.EXAMPLE)(getattr(module, verb))


def build_overview() -> typer.Typer:
    """Return the application for the list of commands: without their options, which take most of the time."""
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
    """List the commands that have a file."""
    return sorted(file.stem for file in FOLDER.glob("*.py") if file.stem != "__init__")


def find_requested_verb(words: Sequence[str]) -> str | None:
    """Return the requested command, or None if all are needed: for help, completion, an unknown command."""
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
        help="Print the version and exit.",
        is_eager=True,
        callback=_print_version,
    ),
) -> None:
    """Declare the options that belong to no command."""


ENDING_SECONDS = 5.0
"""How long a command that was interrupted may take to end before another Ctrl-C ends it at once."""


def make_interrupt_handler() -> Callable[[int, object], None]:
    """Return what a command does on Ctrl-C: the first one raises KeyboardInterrupt.

    While the command ends, it is not interrupted again: the processes that it started would stay. If it takes longer than
    `ENDING_SECONDS`, the next Ctrl-C ends this process, and its children end with it.
    """
    first: list[float] = []

    def handle(_number: int, _frame: object) -> None:
        now = time.monotonic()
        if not first:
            first.append(now)
            raise KeyboardInterrupt
        if now > first[0] + ENDING_SECONDS:
            os._exit(130)

    return handle


def main() -> None:
    """Run the command line; bad input never prints a traceback.

    All output (commands, warnings, logs, plug-ins, the traceback of a bug) passes through printable streams.
    """
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (closed by the caller)
    sys.stderr = sys.stderr or sys.stdout
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if hasattr(
        signal, "SIGPIPE"
    ):  # exit quietly in `nikawa … | head`; a server must restore the signal handler
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it is ignored
        signal.signal(signal.SIGINT, make_interrupt_handler())
    with printable_streams():
        _run_and_exit(sys.argv[1:])


def _run_and_exit(words: Sequence[str]) -> NoReturn:
    """Run the command and exit with its status."""
    try:
        sys.exit(_run_words(words))
    except NikawaError as problem:
        _print_error(str(problem))
    except typer.Abort:  # a question was not answered
        _print_error("nothing was done; answer the question, or pass the answer as an option")
        sys.exit(1)
    except BrokenPipeError:  # raised later, while worker processes run
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)  # as shells report this signal
    except OSError as problem:
        cures = {
            errno.ENOSPC: "free some space and run the same command again",
            errno.EDQUOT: "free some space and run the same command again",
            errno.EFBIG: "allow larger files (ulimit -f) and run the same command again",
            errno.EACCES: "check the permissions",
            errno.EROFS: "choose a writable place",
            errno.ENAMETOOLONG: "choose a shorter name",
        }
        place = None if problem.filename is None else str(problem.filename)
        what, cure = problem.strerror or str(problem), cures.get(problem.errno or 0, "")
        _print_error(str(BadInput(what, file=place, cure=cure)))
    except MemoryError:
        _print_error("out of memory; use more memory or smaller files")
        sys.exit(1)
    except Exception:  # a bug, perhaps in a plug-in: print it while the streams still escape
        print_exc()
        sys.exit(1)
    sys.exit(2)


def _run_words(words: Sequence[str]) -> int:
    """Run the command and return its exit status."""
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
    )  # a command returns None; the code of typer.Exit is returned instead of raised


def _print_error(line: str) -> None:
    """Print one line on stderr, as for every error."""
    print(f"nikawa: {printable_line(line)}", file=sys.stderr)  # noqa: T201  (the one place that speaks to stderr)
