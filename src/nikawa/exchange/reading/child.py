"""Read a task in a process of its own, with limits of time and memory: `python -m nikawa.exchange.reading.child`.

Task files and templates come from others. A loop without end, a huge text or a parser that overflows must not take this process with
it, so the process that reads them has limits. It gets a job as JSON on its standard input and writes its result to a file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import msgspec

import nikawa
from nikawa.errors import BadInput, missing_extra
from nikawa.exchange.reading.definition import Analysis, Definition, Item, ReadFault
from nikawa.io.remote import RemotePath

MAX_SECONDS = 20
"""Seconds of CPU for reading a task's file, and for the first rows."""
ROWS_PER_SECOND = 500
"""Rows for which one more second is allowed."""
MAX_MEMORY = 1 << 31
"""Bytes of address space."""
ROWS_ANALYSED = 20
EXTRA = "extra:"
"""The beginning of a cure that means an extra to install."""
T = TypeVar("T")


class Job(msgspec.Struct, kw_only=True):
    """What the process does: read a task's file, or apply a definition to rows."""

    file: str
    tool: str
    task: str = ""
    definition: Definition | None = None
    columns: tuple[str, ...] = ()
    rows: str = ""
    """The file of the rows, one JSON value per line."""
    filters: tuple[tuple[str, str, bool], ...] = ()
    out: str
    seconds: int
    memory: int


class Fault(msgspec.Struct):
    """A fault of a task's file."""

    what: str
    cure: str = ""
    file: str = ""
    line: int | None = None


def define_task(path: Path, tool: str, task: str = "") -> Definition:
    """The definition of a task, read in a process of its own; raises `BadInput`."""
    if isinstance(path, RemotePath):
        raise BadInput("is not on this machine", file=path, cure="copy the task here first")
    if not path.is_file():
        raise BadInput("no such file", file=path, cure="pass the file of a task")
    with TemporaryDirectory() as folder:
        out = Path(folder, "definition.json")
        job = Job(
            file=str(path),
            tool=tool,
            task=task,
            out=str(out),
            seconds=MAX_SECONDS,
            memory=MAX_MEMORY,
        )
        run_job(job, path)
        return read_result(out.read_bytes(), Definition, path)


def apply_definition(
    definition: Definition,
    columns: tuple[str, ...],
    rows: Iterable[dict[str, Any]],
    filters: tuple[tuple[str, str, bool], ...] = (),
) -> tuple[Analysis, list[Item]]:
    """The items of rows, computed in a process of its own; raises `BadInput`."""
    path = Path(definition.file)
    with TemporaryDirectory() as folder:
        source, out = Path(folder, "rows.jsonl"), Path(folder, "items.jsonl")
        count = 0
        with source.open("wb") as stream:
            for count, row in enumerate(rows, start=1):  # noqa: B007
                stream.write(msgspec.json.encode(row) + b"\n")
        job = Job(
            file=definition.file,
            tool=definition.tool,
            definition=definition,
            columns=columns,
            rows=str(source),
            filters=filters,
            out=str(out),
            seconds=MAX_SECONDS + count // ROWS_PER_SECOND,
            memory=MAX_MEMORY,
        )
        run_job(job, path)
        with out.open("rb") as stream:
            analysis = read_result(next(stream), Analysis, path)
            decoder = msgspec.json.Decoder(Item)
            return analysis, [decoder.decode(line) for line in stream]


def read_result(data: bytes, kind: type[T], path: Path) -> T:
    """A result, or the error that it stands for."""
    result = msgspec.json.decode(data, type=dict[str, Any])
    if "fault" not in result or "what" not in (result["fault"] or {}):
        return msgspec.convert(result, kind)
    fault = msgspec.convert(result["fault"], Fault)
    if fault.cure.startswith(EXTRA):
        raise missing_extra(fault.what.removesuffix(" is not installed"), fault.cure[len(EXTRA) :])
    raise BadInput(fault.what, file=fault.file or path, line=fault.line, cure=fault.cure)


def run_job(job: Job, path: Path) -> None:
    """Run a job in a new process; raises `BadInput` if it exceeds a limit."""
    code = Path(nikawa.__file__).parents[1]
    places = [str(code), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, "-P", "-m", "nikawa.exchange.reading.child"]
    try:
        done = subprocess.run(  # noqa: S603  # our own module
            command,
            input=msgspec.json.encode(job),
            capture_output=True,
            check=False,
            env=environment,
            timeout=3 * job.seconds + 10,
        )
        code_of_exit = done.returncode
    except subprocess.TimeoutExpired:
        code_of_exit = -1
    if code_of_exit:
        what = (
            f"takes more than {job.seconds} seconds or {job.memory >> 20:,} MiB of memory to read"
        )
        raise BadInput(what, file=path, cure="simplify the task, or import its data as a table")


def main() -> None:
    """Do the job on standard input."""
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    limit_process(job.seconds, job.memory)
    do_job(job)


def do_job(job: Job) -> None:
    """Write the result of a job, or the fault of the task, to its file."""
    path = Path(job.out)
    try:
        if job.definition is None:
            path.write_bytes(msgspec.json.encode(define(Path(job.file), job.tool, job.task)))
        else:
            with path.open("wb") as stream:
                for part in apply(job, job.definition):
                    stream.write(msgspec.json.encode(part) + b"\n")
    except ReadFault as fault:
        report = Fault(fault.what, fault.cure, fault.file, fault.line)
        path.write_bytes(msgspec.json.encode({"fault": report}) + b"\n")


def limit_process(seconds: int, memory: int) -> None:
    """Limit the time and memory of this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: the parent's timeout remains
        return
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def define(path: Path, tool: str, task: str) -> Definition:
    """The definition of a task; raises `ReadFault`."""
    from nikawa.exchange.reading import flexeval, inspect_task, lm_eval

    readers = {"lm-eval": lm_eval, "flexeval": flexeval, "inspect": inspect_task}
    return readers[tool].define(path, task)  # type: ignore[no-any-return]


def apply(job: Job, definition: Definition) -> Iterator[Analysis | Item]:
    """The analysis of a definition, then the item of each row; raises `ReadFault`."""
    from itertools import islice

    from nikawa.exchange.reading.items import SampleReader, keep_row, make_reader
    from nikawa.exchange.reading.jinja import compile_template, parse

    reader = make_reader(definition, job.columns)
    filters = [
        (compile_template(parse(source, "of a condition"), "of a condition"), value, keep)
        for source, value, keep in job.filters
    ]
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    with Path(job.rows).open("rb") as stream:
        if isinstance(reader, SampleReader):
            reader.look_at([decode(line) for line in islice(stream, ROWS_ANALYSED)])
            stream.seek(0)
        yield reader.analysis
        for line in stream:
            row = decode(line)
            try:
                is_kept = keep_row(filters, row)
            except ReadFault as fault:
                yield Item(fault=f"{fault.what}\n{fault.cure}")
                continue
            yield reader.read(row) if is_kept else Item(dropped=True)


if __name__ == "__main__":
    main()
