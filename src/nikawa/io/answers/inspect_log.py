"""inspect's logs: `.eval` archives with a file a sample, and the same as one JSON document.

Members of an archive may be packed by Zstandard, which Python's zipfile reads by itself only from
3.14.
"""

from __future__ import annotations

import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, cast

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
from nikawa.io.answers.content import (
    LogSample,
    SampleMatcher,
    find_own_id,
    list_fields,
    list_texts,
)
from nikawa.io.answers.logs import LogVariant, find_choices, find_offer
from nikawa.io.answers.parse import Parser, make_parser
from nikawa.io.json import decode_json, read_json
from nikawa.io.limits import read_limits, write_size
from nikawa.io.lines import ZstdReader, open_bytes, open_packed, opening
from nikawa.records import Example

NAME = "inspect"
SHORT_KINDS = ("text", "inference", "relation", "choice", "similarity")
"""Kinds of task whose answer may be part of a longer completion, from which a scorer extracted it."""
ATTACHMENT = "attachment://"
"""How a text begins that is among the attachments of its sample."""
ANSWER_LINE = re.compile(
    r"ANSWER\s*:\s*([A-Z]|[0-9]{1,2})[ \t]*\.?[ \t]*$", re.IGNORECASE | re.MULTILINE
)
"""What `multiple_choice()` asks a model to write."""
LETTERS = 26
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
    if isinstance(document.get("samples"), list):
        return "eval" in document or "status" in document
    return {"version", "status", "eval"} <= document.keys()  # written without samples


def parse_log(path: Path) -> Rows:
    """(Place, sample) of an archive or of a JSON document."""
    is_archive = opening(path, 2) == b"PK"
    if is_archive:
        for place, (name, content) in enumerate(read_members(path, "samples/"), start=1):
            yield place, decode_json(content, object, path / name)
        return
    document = read_json(path, cast("type[dict[str, Any]]", dict))
    samples = document.get("samples")
    if not isinstance(samples, list) and not is_log(document):
        what = "is not a log of inspect: it has no samples"
        raise BadInput(what, file=path, cure="pass another form")
    yield from enumerate(samples if isinstance(samples, list) else [], start=1)


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open a zip archive, unless its directory is too long to be held.

    Raises the error of zipfile for a file that is not an archive.
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
            raise BadInput(what, file=path, cure="write one log per run")
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
            what = f"{info.filename} has an unknown compression method"
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
    variant = LogVariant(path, NAME, "epoch", target.option)
    count = 0

    def list_samples() -> Iterator[LogSample]:
        nonlocal count
        for place, row in rows:
            count += 1
            if not isinstance(row, dict):
                problem = UnfitAnswer("is not an object", "write the log again")
                raise problem.at(path, "sample", place)
            try:
                if variant.takes(str(row.get("epoch", 1))):
                    yield make_sample(row, place, target)
            except UnfitAnswer as unfit:
                raise unfit.at(path, "sample", place) from None

    reader = ReplyReader(target)
    for match in SampleMatcher(target, by_order=False).match(list_samples()):
        reply: Reply = match.sample.payload
        if match.sample.offer is None:
            answer, why = reader.read(reply, match.example)
        else:  # an exported task: the reply is read as the prompt asks for it
            answer, why = reply.completion, reply.why
        name = f"sample {match.sample.number or match.sample.own_id}"
        yield match.make_answer(answer, id=name, raw=reply.completion, why=why)
    if not count:
        cure = "check that it is a log of inspect, that the run finished, and that it kept its samples (no --no-log-samples)"
        raise BadInput("holds no samples", file=path, cure=cure)
    variant.check()


class Reply(NamedTuple):
    """What the answer of a sample is read from."""

    completion: str | None
    """What the model wrote; None where the run failed or ended without an output."""
    why: str | None
    """Why there is no output."""
    scored: tuple[str, ...]
    """What the log's scorers took for the answer."""
    choices: tuple[str, ...]
    """The choices of the sample, in the order in which letters name them."""


def make_sample(row: Mapping[str, Any], place: int, target: Target) -> LogSample:
    """What a sample tells about its example, and what it answers."""
    metadata, own = row.get("metadata"), row.get("id")
    fields = metadata if isinstance(metadata, Mapping) else {}
    own_id = id_text(own)
    if own_id is None and not row.get("input"):
        raise UnfitAnswer("has no id", "is this a log of inspect?")
    is_number = type(own) is int  # inspect counts samples that have no id from 1
    by_metadata = find_own_id(fields, target)
    reply = read_reply(row)
    texts = [*list_fields(fields), *list_messages(row), *reply.choices]
    return LogSample(
        place,
        tuple(texts),
        fields,
        by_metadata or (None if is_number else own_id),
        own_id if is_number else None,
        own - 1 if isinstance(own, int) and is_number else None,
        reply,
        offer=find_offer(fields),
    )


def list_messages(row: Mapping[str, Any]) -> list[str]:
    """The texts that a sample's input and target are, long ones from the attachments."""
    prompt, target, attachments = row.get("input"), row.get("target"), row.get("attachments")
    texts = [prompt] if isinstance(prompt, str) else []
    for message in prompt if isinstance(prompt, list) else ():
        texts.append(_message_text(message.get("content")) if isinstance(message, Mapping) else "")
    texts += list_texts(target)
    stored = attachments if isinstance(attachments, Mapping) else {}
    return [str(stored.get(text.removeprefix(ATTACHMENT), text)) for text in texts]


def read_reply(row: Mapping[str, Any]) -> Reply:
    """What the answer of a sample is read from."""
    output, error, scores = row.get("output"), row.get("error"), row.get("scores")
    completion, why = find_completion(output), None
    if completion is None or (
        not completion and _first_choice(output).get("stop_reason") != "stop"
    ):
        message = error.get("message") if isinstance(error, Mapping) else None
        why = f"the run failed: {message}" if message else "the log holds no output"
        completion = None
    scored = []
    for score in scores.values() if isinstance(scores, Mapping) else ():
        answer = score.get("answer") if isinstance(score, Mapping) else None
        scored += [answer] if isinstance(answer, str) else []
    choices = row.get("choices")
    texts = choices if isinstance(choices, list) else []
    return Reply(completion, why, tuple(scored), tuple(map(str, texts)))


class ReplyReader:
    """Reads the answers of the samples of one log."""

    def __init__(self, target: Target) -> None:
        self._kind = target.task.kind
        is_short = self._kind in SHORT_KINDS
        self._parse: Parser | None = make_parser(target.task) if is_short else None

    def read(self, reply: Reply, example: Example | None) -> tuple[Any, str | None]:
        """Return the answer, or None and the reason."""
        if reply.completion is None:
            return None, reply.why
        if reply.choices and self._parse is not None:
            place = find_letter(reply)
            if place is not None:
                return self._read_choice(reply.choices[place], example)
        return self._choose_text(reply, example), None

    def _read_choice(self, text: str, example: Example | None) -> tuple[Any, str | None]:
        """A choice of the sample as the answer: its text, or its place among the item's choices."""
        if self._kind != "choice" or example is None:
            return text, None
        places = find_choices([text], example)
        return (places[0], None) if places else (None, f"the item has no choice {text!r}")

    def _choose_text(self, reply: Reply, example: Example | None) -> Any:
        """The completion, or what the log's scorers took from it where it cannot be read whole."""
        if self._parse is None or example is None:
            return reply.completion
        for text in (reply.completion, *reply.scored):
            if self._parse(text, example)[1] is None:
                return text
        return reply.completion


def find_letter(reply: Reply) -> int | None:
    """The place of the choice that a reply to `multiple_choice()` names by its letter.

    None where it names none or several.
    """
    stated = ANSWER_LINE.findall(reply.completion or "")
    for text in (*reply.scored, *stated[-1:]):
        letter = text.strip().upper()
        if re.fullmatch("[A-Z]", letter):
            place = ord(letter) - ord("A")
        elif re.fullmatch("[1-9][0-9]?", letter) and len(reply.choices) > LETTERS:
            place = LETTERS + int(letter) - 1  # inspect counts on with numbers
        else:
            continue
        if place < len(reply.choices):
            return place
    return None


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
