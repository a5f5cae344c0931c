"""Raw text from files, streamed: lines with the document each belongs to, broken ones counted,
giant ones cut.

Plain text has one paragraph per line and a blank line between documents (or a table of where they
begin); JSON lines have one document per record. Files are named or found in folders, each once. Memory
stays flat for any file. Files in another language than the chosen one, and files that
cannot be read, are refused: most by their beginning, before any work.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nikawa.errors import BadInput, suggest, unknown
from nikawa.io.chunks import by_characters
from nikawa.io.lines import guess_encoding, open_bytes, read_lines

_RECORD_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.xz")
TEXT_SUFFIXES = (".txt", ".txt.gz", ".txt.zst", ".txt.xz", *_RECORD_SUFFIXES)
"""Names that a folder is searched for."""
MAX_PLACES_SHOWN = 20
"""Broken lines whose numbers are reported."""
MAX_GUESS_BYTES = 1 << 16
"""Bytes of a broken line that its encoding is guessed from."""
MAX_LINE_BYTES = 1 << 18
"""Bytes of a line in memory at once; a longer one is cut where a sentence ends."""
MAX_RECORD_BYTES = 1 << 26
"""Bytes of a record; a longer one is broken."""
MAX_DOCUMENT_LINES, MAX_DOCUMENT_CHARS = 1_000, 200_000
"""Lines and characters after which a document counts as two: one without end could not be held out.
"""
CHUNK_CHARS = 300_000
"""Characters that a worker gets at a time."""
_SENTENCE_ENDS = ("。", "！", "？", ". ", "! ", "? ", "\t", " ", "、")
"""Where a long line may be cut, the best first."""
_BLOCK_BYTES = 1 << 17
_RECORD_DECODER = msgspec.json.Decoder(dict[str, Any])


class Line(NamedTuple):
    """A line of text and the document it belongs to."""

    document: str
    """`file:line.n`, the n-th that begins in that line: no other document has it."""
    text: str


@dataclass
class BrokenLines:
    """Lines that could not be read."""

    count: int = 0
    places: list[str] = field(default_factory=list)
    """`file:line` of the first of them."""
    raw: bytes = b""
    """The first of them, or its beginning."""

    def add(self, place: str, raw: bytes) -> None:
        """Count one more."""
        if not self.count:
            self.raw = raw[:MAX_GUESS_BYTES]
        self.count += 1
        if len(self.places) < MAX_PLACES_SHOWN:
            self.places.append(place)


@dataclass
class Source:
    """One file and what came of reading it."""

    path: Path
    name: str
    text_field: str = "text"
    """The field of JSON lines with the text."""
    folder: Path | None = None
    """The folder that was searched for it; None if the user named the file."""
    starts: frozenset[int] | None = None
    """Lines (from 1) at which documents begin, according to a table."""
    table: str = ""
    """The name of that table."""
    rows: tuple[tuple[int, int], ...] = ()
    """The first and the last line (from 1) of each of its rows, ascending."""
    outside: int = 0
    """Lines of text that no row covers."""
    broken: BrokenLines = field(default_factory=BrokenLines)
    cut: int = 0
    """Places at which lines that were too long were cut."""
    lines: int = 0
    characters: int = 0

    def read(self) -> Iterator[Line]:
        """The lines of a file that can be read, blank ones left out.

        The object counts what was read, left out and broken.
        """
        texts = self._read_records() if is_json_lines(self.path) else self._read_plain()
        document, lines, size, first_line, nth = "", 0, 0, 0, 0
        for number, text, begins in texts:
            is_full = lines >= MAX_DOCUMENT_LINES or size >= MAX_DOCUMENT_CHARS
            if begins or not document or is_full:
                nth = nth + 1 if number == first_line else 0  # one line may be many documents
                document, lines, size, first_line = f"{self.name}:{number}.{nth}", 0, 0, number
            lines += 1
            size += len(text)
            self.characters += len(text)
            yield Line(document, text)

    def _read_plain(self) -> Iterator[tuple[int, str, bool]]:
        """(Line number, text, whether a document begins) of plain text."""
        begins, row, texts = True, 0, 0
        for number, raw in self._read_raw_lines(MAX_LINE_BYTES):
            if number == 1 and raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                cure = "convert it, e.g. with iconv -f UTF-16 -t UTF-8"
                raise BadInput("is UTF-16", file=self.path, line=1, cure=cure)
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\r")
            except UnicodeDecodeError:
                self._count_broken(raw, number, "most of its lines are not UTF-8")
                continue
            is_blank = not text.strip()
            begins = begins or (is_blank if self.starts is None else number in self.starts)
            if is_blank:
                continue
            if self.starts is not None:
                texts += 1
                while row < len(self.rows) and self.rows[row][1] < number:
                    row += 1
                self.outside += not (row < len(self.rows) and self.rows[row][0] <= number)
            yield number, text, begins
            begins = False
        if self.starts is not None:
            self._refuse_table_of_another_text(texts)

    def _refuse_table_of_another_text(self, texts: int) -> None:
        """Refuse a table that does not fit what was read: `texts` lines of text."""
        if self.starts and max(self.starts) > self.lines:
            start = f"a document begins in line {max(self.starts):,}"
            what = f"has {self.lines:,} lines, but according to {self.table} {start}"
        elif 2 * self.outside > texts:
            held = texts - self.outside
            what = f"has {texts:,} lines of text, but {self.table} covers only {held:,}"
        else:
            return
        cure = "pass the table that belongs to this file with --sources"
        raise BadInput(what, file=self.path, cure=cure)

    def _read_records(self) -> Iterator[tuple[int, str, bool]]:
        """(Line number, text, whether a document begins) of JSON lines."""
        for number, raw in self._read_raw_lines(MAX_RECORD_BYTES):
            if not raw.strip():
                continue
            try:
                record = _RECORD_DECODER.decode(raw.removeprefix(BOM_UTF8) if number == 1 else raw)
                text = self._find_text(record, number)
            except (msgspec.DecodeError, UnicodeDecodeError):
                text = None
            if text is None:
                what = "most of its lines are not JSON records with a text"
                self._count_broken(raw, number, what)
                continue
            for place, part in enumerate(filter(str.strip, text.splitlines())):
                yield number, part, place == 0

    def _find_text(self, record: dict[str, Any], number: int) -> str | None:
        """The text of a record; None if the field contains something else."""
        inputs = record.get("inputs")
        holder = inputs if isinstance(inputs, dict) and self.text_field not in record else record
        if self.text_field not in holder:
            what = f"has no field {self.text_field!r}"
            hint = suggest(self.text_field, holder)
            cure = f"pass the field that contains the text with --field; {hint}"
            raise BadInput(what, file=self.path, line=number, cure=cure)
        text = holder[self.text_field]
        return text if isinstance(text, str) else None

    def _read_raw_lines(self, max_bytes: int) -> Iterator[tuple[int, bytes]]:
        """(Number from 1, undecoded line without its end).

        A line over `max_bytes` comes in parts.
        """
        number, size = 1, 0
        parts: list[bytes] = []  # a long line comes in many blocks: they are joined once
        with open_bytes(self.path) as stream:
            while data := stream.read(_BLOCK_BYTES):
                parts.append(data)
                size += len(data)
                if b"\n" in data:
                    *whole, rest = b"".join(parts).split(b"\n")
                    for raw in whole:
                        yield number, raw
                        number += 1
                    parts, size, self.lines = [rest], len(rest), number - 1
                while size > max_bytes:
                    raw = b"".join(parts)
                    at = _find_cut(raw)
                    self.cut += 1
                    yield number, raw[:at]
                    parts, size = [raw[at:]], len(raw) - at
        if size:
            self.lines = number
            yield number, b"".join(parts)

    def _count_broken(self, raw: bytes, number: int, what: str) -> None:
        """Count a line that cannot be read; where most cannot, the file is refused."""
        self.broken.add(f"{self.name}:{number}", raw)
        if number <= 2 * self.broken.count and self.broken.count > MAX_PLACES_SHOWN:
            raise self.unreadable_error(what)

    def unreadable_error(self, what: str) -> BadInput:
        """The error for a file whose lines cannot be read, with the cure that its first broken line
        suggests.
        """
        line = int(self.broken.places[0].rpartition(":")[2])
        try:
            self.broken.raw.decode("utf-8")
            is_utf_8 = True
        except UnicodeDecodeError as problem:
            is_utf_8 = problem.reason == "unexpected end of data"  # it was cut
        if is_utf_8:
            cure = "write one JSON object with a text per line, or rename the file to .txt if it is plain text"
        elif guess := guess_encoding(self.broken.raw):
            cure = f"convert it, e.g. with iconv -f {guess} -t UTF-8"
        else:
            cure = "save it as UTF-8"
        return BadInput(what, file=self.path, line=line, cure=cure)


def find_sources(
    paths: Sequence[Path],
    text_field: str = "text",
    table: Path | None = None,
    made: Path | None = None,
) -> list[Source]:
    """The files to read, each once; folders are searched.

    `table` lists the sources of the lines of the one file. `made` is the folder that results are
    written to: files in it are not read.
    """
    files: list[tuple[Path, Path | None]] = []
    for path in paths:
        if path.is_dir():
            files += [(file, path) for file in _search_folder(path, made)]
        else:
            files.append((path, None))
    if not files:
        raise BadInput("no corpus is named", cure="pass a .txt or .jsonl file, or a folder of them")
    _refuse_bad_files([file for file, _ in files])
    if table is not None and (len(files) > 1 or is_json_lines(files[0][0])):
        what = "a table of sources describes one plain-text file"
        raise BadInput(what, file=table, cure="pass one file")
    base_names = Counter(file.name for file, _ in files)
    rows = read_table(table) if table else ()
    sources = []
    for file, folder in files:
        source = Source(
            path=file,
            name=file.name if base_names[file.name] == 1 else file.as_posix(),
            text_field=text_field,
            folder=folder,
            starts=frozenset(first for first, _ in rows) if table else None,
            table=table.name if table else "",
            rows=rows,
        )
        sources.append(source)
    return sources


def is_json_lines(path: Path) -> bool:
    """Whether a file is JSON lines, by its name."""
    return path.name.endswith(_RECORD_SUFFIXES)


def _search_folder(folder: Path, made: Path | None) -> list[Path]:
    """The text files below a folder: not hidden, and not made here before."""
    files = []
    for file in sorted(folder.rglob("*")):
        if not file.name.endswith(TEXT_SUFFIXES) or not file.is_file():
            continue
        is_hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        is_made = made is not None and file.resolve().is_relative_to(made.resolve())
        if not is_hidden and not is_made:
            files.append(file)
    if not files:
        cure = f"add files that end in {', '.join(TEXT_SUFFIXES)}"
        raise BadInput("contains no text files", file=folder, cure=cure)
    return files


def _refuse_bad_files(files: Sequence[Path]) -> None:
    """Refuse pipes, names that are not UTF-8, and files that are named twice."""
    seen: dict[Path, Path] = {}
    for file in files:
        if file.exists() and not file.is_file():  # a pipe can be read once only
            cure = "write the text to a file and pass that file"
            raise BadInput("is not a regular file", file=file, cure=cure)
        try:
            str(file).encode()
        except UnicodeEncodeError:
            cure = "rename the file"
            raise BadInput("the file name is not UTF-8", file=ascii(str(file)), cure=cure) from None
        try:
            resolved = file.resolve()
        except (OSError, RuntimeError):  # older Python versions report a loop like this
            cure = "point the link at the text"
            raise BadInput("is a link that points to itself", file=file, cure=cure) from None
        if resolved in seen:
            what = f"is passed twice, here and as {seen[resolved]}"
            raise BadInput(what, file=file, cure="pass each file once")
        seen[resolved] = file


def read_table(table: Path) -> tuple[tuple[int, int], ...]:
    """First and last lines (from 1) of the rows of a table of first line (from 0), number of lines
    and source.
    """
    rows: list[tuple[int, int, int]] = []
    for number, line in read_lines(table):
        start, count, *_ = *line.split("\t"), ""
        if not (start.isdecimal() and count.isdecimal()):
            cure = "write the first line (from 0), the number of lines and the source, separated by tabs"
            raise BadInput("is not a row of sources", file=table, line=number, cure=cure)
        rows.append((int(start) + 1, int(start) + int(count), number))
    rows.sort()
    for (_, last, row), (first, _, number) in pairwise(rows):
        if first <= last:
            what = f"begins at {first - 1}, which the row in line {row} already covers"
            cure = "cover each line of the text by one row only"
            raise BadInput(what, file=table, line=number, cure=cure)
    return tuple((first, last) for first, last, _ in rows)


def _find_cut(raw: bytes) -> int:
    """Where to cut a line: behind the last sentence or word that ends in it, else between two
    characters.
    """
    for end in _SENTENCE_ENDS:
        mark = end.encode()
        at = raw.rfind(mark, len(raw) // 2)
        if at > 0:
            return at + len(mark)
    at = len(raw) - 1
    while at > len(raw) - 4 and raw[at] & 0xC0 == 0x80:
        at -= 1
    return at


def chunk_lines(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines together until they have `CHUNK_CHARS` characters."""
    return by_characters(lines, CHUNK_CHARS)


# Checks the language of a text by the script of its letters.

LANGUAGE_NAMES = {"ja": "Japanese", "ko": "Korean"}
"""Languages that can be learned."""
MIN_OWN_SHARE = 0.4
"""Share of the letters that must be of the language's own script; documentation is full of Latin
words."""
MIN_KANA_SHARE = 0.1
"""Share of kana among the letters of Japanese; Chinese has none."""
SAMPLE_CHARS = 200_000
"""Characters of a file that its language is judged by."""
MIN_CHARS_TO_JUDGE = 2_000
"""Characters from which a file of a folder is checked on its own: a short one may be a heading, or a
licence."""
_KANA = "\u3041-\u3096\u309d-\u30fa\u30fc-\u30ff\uff66-\uff9d"
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_OWN = {
    "ja": re.compile(f"[{_KANA}{_HAN}]"),
    "ko": re.compile("[\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e]"),
}
_LETTER, _ANY_KANA = re.compile(r"[^\W\d_]"), re.compile(f"[{_KANA}]")


def check_language(language: str) -> None:
    """Refuse a language that cannot be learned here."""
    if language not in LANGUAGE_NAMES:
        raise unknown("language with an encoder", language, LANGUAGE_NAMES)


def own_script_share(texts: Iterable[str], language: str) -> float:
    """The share of letters that are of the language's script; 0 for Japanese with hardly any kana."""
    own = kana = letters = 0
    for text in texts:
        letters += len(_LETTER.findall(text))
        own += len(_OWN[language].findall(text))
        kana += len(_ANY_KANA.findall(text)) if language == "ja" else 0
    if not letters or (language == "ja" and kana < MIN_KANA_SHARE * letters):
        return 0.0
    return own / letters


def refuse_other_language(texts: Iterable[str], language: str, path: Path) -> None:
    """Refuse a text that is not in the language."""
    texts = list(texts)
    share = own_script_share(texts, language)
    if share >= MIN_OWN_SHARE:
        return
    cure = "pass another text, or pass --any-language"
    for other in LANGUAGE_NAMES:
        if other != language and own_script_share(texts, other) >= MIN_OWN_SHARE:
            cure = f"pass --language {other}"
    what = f"does not look like {LANGUAGE_NAMES[language]}: only {share:.0%} of its letters are"
    raise BadInput(what, file=path, cure=cure)


def refuse_other_languages(sources: Sequence[Source], language: str) -> None:
    """Refuse files in another language by their first parts.

    Short files of a folder are judged only if it has no longer one.
    """
    short_texts: list[str] = []
    short_size, has_judged = 0, False
    for source in sources:
        texts = _read_beginning(source)
        size = sum(map(len, texts))
        if not texts and source.folder is None:
            cure = "pass a file of UTF-8 text or of JSON lines"
            raise BadInput("contains no text", file=source.path, cure=cure)
        if source.folder is None or size >= MIN_CHARS_TO_JUDGE:
            refuse_other_language(texts, language, source.path)
            has_judged = True
        elif short_size < SAMPLE_CHARS:
            short_texts += texts
            short_size += size
    if short_texts and not has_judged:
        refuse_other_language(short_texts, language, sources[0].folder or sources[0].path)


def _read_beginning(source: Source) -> list[str]:
    """The lines at the beginning of a file; nothing is counted in the source."""
    copy = Source(source.path, source.name, source.text_field)
    texts: list[str] = []
    size = 0
    for line in copy.read():
        texts.append(line.text)
        size += len(line.text)
        if size >= SAMPLE_CHARS:
            break
    if not texts and copy.broken.count:
        raise copy.unreadable_error("none of its lines can be read")
    return texts
