"""inspect's logs: `.eval` archives with a file a sample, and the same as one JSON document.

Members of an archive may be packed by Zstandard, which Python's zipfile reads by itself only from
3.14.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import zstandard

from nikawa.errors import BadInput
from nikawa.io.answers.base import (
    AnswerForm,
    RawAnswer,
    Rows,
    Target,
    UnfitAnswer,
    id_text,
)
from nikawa.io.answers.logs import ExampleMatcher, LogVariant
from nikawa.io.answers.parse import Parser, make_parser
from nikawa.io.json import decode_json, read_json
from nikawa.io.limits import read_limits, write_size
from nikawa.io.lines import ZstdReader, open_bytes, open_packed, opening
from nikawa.records import Example

NAME = "inspect"
SHORT_KINDS = ("text", "inference", "relation", "choice", "similarity")
"""Kinds of task whose answer may stand inside a longer completion, from which a scorer took it."""
ZSTD_METHOD = 93
_PART_BYTES = 1 << 20
MAX_MEMBERS = 500_000
"""Members of an archive; the library holds what is known of each."""
LOCAL_HEADER_BYTES = 30
"""Bytes of a member's local header before its name."""
END_BYTES, MAX_END_BYTES = 22, 22 + (1 << 16) + 100
"""Bytes of the end of an archive: without its comment, and with all that may belong to it."""
MIN_ENTRY_BYTES = 46
"""Bytes of a member in the directory of an archive, without its name."""


def is_log(document: Mapping[str, Any]) -> bool:
    """Whether a JSON document looks like a log of inspect."""
    has_samples = isinstance(document.get("samples"), list)
    return has_samples and ("eval" in document or "status" in document)


def parse_log(path: Path) -> Rows:
    """(Place, sample) of an archive or of a JSON document."""
    is_archive = opening(path, 2) == b"PK"
    if is_archive:
        for place, (name, content) in enumerate(read_members(path, "samples/"), start=1):
            yield place, decode_json(content, object, path / name)
        return
    document = read_json(path, cast("type[dict[str, Any]]", dict))
    if not isinstance(document.get("samples"), list):
        what = "is no log of inspect: it has no samples"
        raise BadInput(what, file=path, cure="name another form")
    yield from enumerate(document["samples"], start=1)


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open a zip archive, unless its directory is too long to be held.

    Raises what zipfile raises for a file that is none.
    """
    with open_packed(path) as stream:
        stream.seek(max(0, stream.seek(0, 2) - MAX_END_BYTES))
        end = stream.read(MAX_END_BYTES)
    at = end.rfind(b"PK\x05\x06")
    if at >= 0 and len(end) >= at + END_BYTES:
        (size,) = struct.unpack("<I", end[at + 12 : at + 16])
        if size == 0xFFFFFFFF and (at64 := end.rfind(b"PK\x06\x06", 0, at)) >= 0:
            (size,) = struct.unpack("<Q", end[at64 + 40 : at64 + 48].ljust(8, b"\0"))
        if size > MAX_MEMBERS * MIN_ENTRY_BYTES:
            what = f"is an archive of more than {MAX_MEMBERS:,} files"
            raise BadInput(what, file=path, cure="write a log a run")
    return zipfile.ZipFile(path)


def read_members(path: Path, folder: str) -> Iterator[tuple[str, bytes]]:
    """(Name, content) of the JSON files in `folder` of the archive, in the archive's order."""
    try:
        with open_archive(path) as archive:
            for info in archive.infolist():
                if info.filename.startswith(folder) and info.filename.endswith(".json"):
                    yield info.filename, unpack_member(archive, info, path)
    except (
        zipfile.BadZipFile,
        zstandard.ZstdError,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        OSError,
        ValueError,
        struct.error,
    ) as problem:
        what = f"is a damaged archive ({problem})"
        raise BadInput(what, file=path, cure="copy or write the log again") from None


def unpack_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    """The bytes of one member, by zipfile where it knows the method, else by Zstandard.

    It is unpacked in parts, and refused where it gives too much, whatever the archive says of it.
    """
    if info.compress_type != ZSTD_METHOD:
        try:
            with archive.open(info) as member:
                return read_parts(member, info, path)
        except (NotImplementedError, RuntimeError):  # a method it lacks; a password
            what = f"{info.filename} is packed in a way that is not known here"
            cure = "write the log as JSON, with inspect log convert"
            raise BadInput(what, file=path, cure=cure) from None
    with open_bytes(path) as stream:
        stream.seek(info.header_offset)
        header = stream.read(LOCAL_HEADER_BYTES)
        if len(header) < LOCAL_HEADER_BYTES:
            raise EOFError("a member is missing")
        name, extra = struct.unpack("<HH", header[26:30])
        stream.seek(name + extra, 1)
        packed = stream.read(min(info.compress_size, path.stat().st_size))
    return read_parts(ZstdReader(BytesIO(packed)), info, path)


def read_parts(stream: Any, info: zipfile.ZipInfo, path: Path) -> bytes:
    """All that an unpacked member gives, up to the limit of a document."""
    limits = read_limits()
    parts, size = [], 0
    while part := stream.read(_PART_BYTES):
        parts.append(part)
        size += len(part)
        if size > limits.document:
            what = f"{info.filename} unpacks to more than {write_size(limits.document)}"
            raise BadInput(what, file=path, cure=limits.cure("document"))
    return b"".join(parts)


def read_log(rows: Rows, target: Target, path: Path) -> Iterator[RawAnswer]:
    """The answers of a log; of several epochs one is taken."""
    reader = SampleReader(target)
    variant = LogVariant(path, NAME, "epoch", target.option)
    place = 0
    for place, sample in rows:
        if not isinstance(sample, dict):
            raise UnfitAnswer("is not an object", "write the log again").at(path, "sample", place)
        if not variant.takes(str(sample.get("epoch", 1))):
            continue
        try:
            yield reader.read(sample, place)
        except UnfitAnswer as problem:
            raise problem.at(path, "sample", place) from None
    if not place:
        cure = "is it a log of inspect, and did the run finish?"
        raise BadInput("holds no samples", file=path, cure=cure)
    variant.check()


class SampleReader:
    """Reads samples of one log."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._matcher = ExampleMatcher(target)
        is_short = target.task.kind in SHORT_KINDS
        self._parse: Parser | None = make_parser(target.task) if is_short else None

    def read(self, sample: Mapping[str, Any], place: int) -> RawAnswer:
        """The answer of one sample."""
        example = self._find_example(sample)
        name = id_text(sample.get("id"))
        if example is None and name is None:
            raise UnfitAnswer("has no id", "is this a log of inspect?")
        own = example.id if example else f"sample {name}"
        output = sample.get("output")
        completion = find_completion(output)
        stopped = _first_choice(output).get("stop_reason") == "stop"
        if completion is None or (not completion and not stopped):
            error = sample.get("error")
            message = error.get("message") if isinstance(error, Mapping) else None
            why = f"the run failed: {message}" if message else "the log holds no output"
            return RawAnswer(place, own, None, why=why)
        answer = self._choose_text(completion, sample, example)
        return RawAnswer(place, own, answer, raw=completion)

    def _choose_text(
        self, completion: str, sample: Mapping[str, Any], example: Example | None
    ) -> str:
        """The completion, or what the log's scorers took from it where it cannot be read whole."""
        if self._parse is None or example is None:
            return completion
        texts = [completion]
        scores = sample.get("scores")
        for score in scores.values() if isinstance(scores, Mapping) else ():
            answer = score.get("answer") if isinstance(score, Mapping) else None
            if isinstance(answer, str):
                texts.append(answer)
        return next((text for text in texts if self._parse(text, example)[1] is None), completion)

    def _find_example(self, sample: Mapping[str, Any]) -> Example | None:
        """By an id in the metadata; by the sample's own id, or its number from 1, whichever's texts
        the input holds.
        """
        by_metadata = self._matcher.find(sample.get("metadata"))
        if by_metadata is not None:
            return self._target.by_id[by_metadata]
        own, examples = sample.get("id"), self._target.examples
        by_id = self._target.by_id.get(id_text(own) or "")
        number = own - 1 if type(own) is int else -1
        by_number = examples[number] if 0 <= number < len(examples) else None
        prompt = join_prompt(sample)
        best, best_match = None, (0, False)
        for example in (by_id, by_number):
            if (
                example is not None
                and (match := count_texts_in_prompt(example, prompt)) > best_match
            ):
                best, best_match = example, match
        if best_match[0]:
            return best
        return by_id if isinstance(own, str) else None


def count_texts_in_prompt(example: Example, prompt: str) -> tuple[int, bool]:
    """How many of the example's texts the prompt holds, and whether in their order: a pair may
    occur both ways round.
    """
    texts = [value.strip() for value in example.inputs.values() if isinstance(value, str)]
    places = [prompt.rfind(text) for text in texts if text and text in prompt]
    return len(places), places == sorted(places)


def join_prompt(sample: Mapping[str, Any]) -> str:
    """The text a model was asked with, messages of a chat joined by line ends."""
    prompt = sample.get("input")
    if isinstance(prompt, str):
        return prompt
    messages = prompt if isinstance(prompt, list) else []
    contents = [message.get("content") for message in messages if isinstance(message, Mapping)]
    return "\n".join(map(_message_text, contents))


def _message_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def find_completion(output: Any) -> str | None:
    """What the model wrote; None where the log holds no output."""
    if not isinstance(output, Mapping):
        return None
    if isinstance(output.get("completion"), str):
        return cast("str", output["completion"])
    message = _first_choice(output).get("message")
    return _message_text(message.get("content")) if isinstance(message, Mapping) else None


def _first_choice(output: Any) -> Mapping[str, Any]:
    choices = output.get("choices") if isinstance(output, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, Mapping) else {}


FORM = AnswerForm(NAME, parse_log, read_log, "sample", log=True)
