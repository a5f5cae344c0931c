"""How the fuzzer damages a file: its bytes, what it holds, or the thing that stands at its path.

Every mutation is drawn from a `random.Random`, so that a case is the same each time it is repeated.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import os
import random
import re
import shutil
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import zstandard

DEEP = 3_000
"""Levels of nesting that no honest file has."""
NESTED = "@@nested@@"
"""What stands for deep nesting until the text is written: no encoder writes that deep."""
SPARSE_BYTES = 1_500_000_000
"""Bytes of a file that takes no room on disk and would not fit into the memory a case may take."""
PARTS = (".gz", ".zst", ".xz")

NAMES = (
    "",
    " ",
    ".",
    "..",
    "-",
    "--out",
    "a/b",
    "/../../x",
    "../../../x",
    "/x",
    "x" * 300,
    "膠" * 120,
    "x" * 500_000,
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\x7f",
    "\u202edcba",
    "\u200f\u200e",
    "\u2066abc",
    "\ufeff",
    "a\x00b",
    "\ud800",
    "a\r\nnikawa: forged",
    "a\u2028b",
    "[red]a[/red]",
    "[/]",
    "<script>alert(1)</script>",
    "%s {0} $x",
    "=1+1",
    "\U000e0041",
    "\t",
    "NaN",
    "null",
    "1",
    "𝟙",
)
VALUES: tuple[Any, ...] = (
    None,
    [],
    {},
    [[]],
    [None],
    {"": None},
    True,
    0,
    -1,
    1.5,
    -0.0,
    2**31,
    2**63,
    2**64,
    10**400,
    1e308,
    1e-320,
    float("nan"),
    float("inf"),
    NESTED,
    ["a"] * 20_000,
)


def mutate(path: Path, rng: random.Random, bombs: Path, others: list[Path]) -> str:
    """Damage the file at `path` in one way, and say in which. `others` are files whose content may take its place."""
    draw = rng.random()
    if draw < 0.12:
        return replace_thing(path, rng)
    if draw < 0.17:
        return explode(path, rng, bombs)
    if draw < 0.21 and others:
        other = rng.choice(others)
        shutil.copyfile(other, path)
        return f"holds {other.name}"
    if draw < 0.36:
        data, said = damage_bytes(path.read_bytes(), rng)
        path.write_bytes(data)
        return said
    if path.name.endswith(".db"):
        return damage_database(path, rng)
    data, said = damage_content(path.read_bytes(), path.name, rng)
    path.write_bytes(data)
    return said


def replace_thing(path: Path, rng: random.Random) -> str:
    """Put something else than a readable file at the path."""
    kind = rng.choice(
        ("folder", "loop", "dangling", "pipe", "zero", "null", "unreadable", "empty", "absent")
    )
    if kind == "unreadable":
        path.chmod(0)
        return kind
    if kind == "empty":
        path.write_bytes(b"")
        return kind
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind in ("zero", "null"):
        path.symlink_to(f"/dev/{kind}")
    return kind


def explode(path: Path, rng: random.Random, bombs: Path) -> str:
    """Put a file there that is small on disk and huge when it is read."""
    suffix = path.suffix if path.suffix in (*PARTS, ".parquet", ".eval", ".npy") else ""
    choices = sorted(bombs.glob(f"*{suffix}")) if suffix else []
    if choices:
        bomb = rng.choice(choices)
        path.unlink()
        os.link(bomb, path)  # one of them has holes, which a copy would fill
        return f"is the bomb {bomb.name}"
    start = rng.choice((b"", b"[", b'{"id": "', b'["', b"a\tb\n", path.read_bytes()))
    with path.open("wb") as stream:
        stream.write(start)
        stream.truncate(SPARSE_BYTES)
    return f"is {SPARSE_BYTES} bytes after {start[:12]!r}"


def damage_bytes(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Damage bytes whatever they mean."""
    size = len(data)
    at = rng.randrange(size + 1)
    kind = rng.choice(
        (
            "flip",
            "flips",
            "cut",
            "tail",
            "repeat",
            "insert",
            "bom",
            "boms",
            "crlf",
            "cr",
            "utf-16",
            "utf-32",
            "cp932",
            "nul",
            "deep",
            "line",
            "blank",
        )
    )
    if kind in ("flip", "flips") and size:
        changed = bytearray(data)
        for _ in range(1 if kind == "flip" else rng.randrange(2, 30)):
            changed[rng.randrange(size)] ^= 1 << rng.randrange(8)
        return bytes(changed), kind
    if kind == "cut":
        return data[:at], f"cut at {at}"
    if kind == "tail":
        return data[at:], f"begins at {at}"
    if kind == "repeat":
        end = rng.randrange(at, size + 1)
        return data[:end] + data[at:end] * rng.randrange(1, 4) + data[end:], "repeat"
    if kind == "insert":
        return data[:at] + rng.randbytes(rng.randrange(1, 64)) + data[at:], f"noise at {at}"
    if kind == "bom":
        return b"\xef\xbb\xbf" + data, kind
    if kind == "boms":
        return b"\xef\xbb\xbf" * 2 + data, kind
    if kind in ("crlf", "cr"):
        return data.replace(b"\n", b"\r\n" if kind == "crlf" else b"\r"), kind
    if kind in ("utf-16", "utf-32", "cp932"):
        return data.decode("utf-8", "replace").encode(kind, "replace"), kind
    if kind == "nul":
        return data[:at] + b"\0" + data[at:], f"NUL at {at}"
    if kind == "deep":
        opening = rng.choice((b"[", b'{"a":', b"x = [", b"(", b"{a="))
        return opening * DEEP, f"{DEEP} {opening!r}"
    if kind == "line":
        return data[:at] + b"a" * 3_000_000 + data[at:], f"3,000,000 letters at {at}"
    return b"\n" * rng.randrange(1, 5), "blank"


def damage_content(data: bytes, name: str, rng: random.Random) -> tuple[bytes, str]:
    """Damage what a file holds, by the form that its name tells; bytes where it is not in that form."""
    suffix = Path(name).suffix
    with suppress(Exception):  # it is not in that form, since the name is another's
        if suffix in PARTS:
            inner, said = damage_content(_unpack(data, suffix), name.removesuffix(suffix), rng)
            return _pack(inner, suffix), said
        if suffix in CONTENT:
            return CONTENT[suffix](data, rng)
        if suffix in ("", ".txt", ".md") or name.endswith((".conll", ".template")):
            return damage_lines(data, rng)
    return damage_bytes(data, rng)


def _unpack(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.decompress(data)
    if suffix == ".xz":
        return lzma.decompress(data)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def _pack(data: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(data, 1)
    if suffix == ".xz":
        return lzma.compress(data, preset=0)
    return zstandard.compress(data)


def damage_json(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Damage a JSON document, or one line of a file of JSON lines."""
    try:
        value, said = damage_value(json.loads(data), rng)
        return _dump(value, rng, indent=rng.choice((None, 2))), said
    except ValueError:
        lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    kind = rng.random()
    if kind < 0.1:
        lines.insert(rng.randrange(len(lines)), lines[at])
        return b"".join(lines), f"line {at + 1} repeated"
    if kind < 0.15:
        del lines[at]
        return b"".join(lines), f"line {at + 1} deleted"
    value, said = damage_value(json.loads(lines[at]), rng)
    if kind < 0.3:  # the same damage everywhere: as a tool would write that does it wrong
        state = rng.getstate()
        everywhere = []
        for line in lines:
            rng.setstate(state)
            everywhere.append(_dump(damage_value(json.loads(line), rng)[0], rng) + b"\n")
        return b"".join(everywhere), f"every line: {said}"
    lines[at] = _dump(value, rng) + b"\n"
    return b"".join(lines), f"line {at + 1}: {said}"


def _dump(value: Any, rng: random.Random, indent: int | None = None) -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=indent)
    opening, end = rng.choice((("[", "]"), ('{"a":', "}")))
    text = text.replace(f'"{NESTED}"', f"{opening * DEEP}1{end * DEEP}", 1)
    return text.encode("utf-8", "surrogatepass")


def damage_value(value: Any, rng: random.Random) -> tuple[Any, str]:
    """Change one part of a JSON value: the value of a field, its name, or whether it is there."""
    places = list(_places(value))
    if not places or rng.random() < 0.04:
        new = rng.choice((*VALUES, *NAMES))
        return new, f"all is {_short(new)}"
    holder, key = rng.choice(places)
    where = f"field {_short(key)}"
    kind = rng.random()
    if kind < 0.15:
        del holder[key]
        return value, f"{where} deleted"
    if kind < 0.3 and isinstance(holder, dict):
        name = rng.choice(NAMES)
        holder[name] = holder.pop(key)
        return value, f"{where} is called {_short(name)}"
    if kind < 0.4 and isinstance(holder, dict):
        name = rng.choice(NAMES)
        holder[name] = rng.choice((*VALUES, *NAMES))
        return value, f"has {_short(name)}: {_short(holder[name])}"
    if kind < 0.45:
        holder[key] = str(holder[key])
        return value, f"{where} is text"
    if kind < 0.5:
        holder[key] = [holder[key]]
        return value, f"{where} is in a list"
    holder[key] = new = rng.choice(NAMES if rng.random() < 0.5 else VALUES)
    return value, f"{where} is {_short(new)}"


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Every (holder, key) inside a value."""
    keys: list[Any] = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(min(len(value), 50)))
    for key in keys:
        yield value, key
        if depth < 12:
            yield from _places(value[key], depth + 1)


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 40 else f"{text[:30]}… ({len(text)})"


def damage_toml(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Damage TOML as text: a value, a key, the name of a table, a line."""
    lines = data.decode("utf-8").splitlines()
    pairs = [n for n, line in enumerate(lines) if re.match(r"^\s*[\w\"'-]+\s*=", line)]
    heads = [n for n, line in enumerate(lines) if re.match(r"^\s*\[+[^\[\]]+\]+\s*$", line)]
    name = _toml(rng.choice(NAMES))
    kind = rng.random()
    if kind < 0.5 and pairs:
        at = rng.choice(pairs)
        key = lines[at].partition("=")[0]
        new = _toml(rng.choice(VALUES if rng.random() < 0.6 else NAMES))
        lines[at] = f"{key}= {new}"
        said = f"line {at + 1}: {key.strip()} = {new[:40]}"
    elif kind < 0.6 and pairs:
        at = rng.choice(pairs)
        lines[at] = f"{name} ={lines[at].partition('=')[2]}"
        said = f"line {at + 1}: key {name[:40]}"
    elif kind < 0.75 and heads:
        at = rng.choice(heads)
        inner = re.sub(r"[\[\]\s]", "", lines[at])
        above = inner.rpartition(".")[0]
        new = rng.choice((f"{inner}.{name}", f"{above}.{name}" if above else name, name))
        lines[at] = f"[{new}]"
        said = f"line {at + 1}: table {new[:60]}"
    elif kind < 0.85:
        table = rng.choice(("", "split.", "cells.", "tags.", "settings.", "task.", "sizes."))
        lines += [f"[{table}{name}]", rng.choice(("", "a = 1", 'time_format = ["年"]', "n = 2"))]
        said = f"table {table}{name[:40]} added"
    elif kind < 0.93:
        at = rng.randrange(len(lines))
        lines.insert(rng.randrange(len(lines)), lines[at])
        said = f"line {at + 1} repeated"
    else:
        at = rng.randrange(len(lines))
        del lines[at]
        said = f"line {at + 1} deleted"
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass"), said


def _toml(value: Any) -> str:
    if value is None:
        return "null"
    if value == NESTED:
        return "[" * DEEP + "]" * DEEP
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(k)} = 1" for k in value) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # JSON writes control characters as TOML reads them; a lone surrogate is an error in both.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def damage_table(delimiter: str) -> Callable[[bytes, random.Random], tuple[bytes, str]]:
    """Damage one cell, row or column of a CSV or TSV file."""

    def damage(data: bytes, rng: random.Random) -> tuple[bytes, str]:
        text = data.decode("utf-8")
        if delimiter == ",":
            rows = list(csv.reader(io.StringIO(text)))
        else:
            rows = [line.split(delimiter) for line in text.splitlines()]
        row = 0 if rng.random() < 0.25 else rng.randrange(len(rows))
        if not rows[row]:
            return damage_lines(data, rng)
        column = rng.randrange(len(rows[row]))
        kind = rng.random()
        where = f"cell {row + 1}.{column + 1}"
        if kind < 0.6:
            new = str(rng.choice(NAMES if rng.random() < 0.7 else VALUES))
            rows[row][column] = new
            said = f"{where} is {_short(new)}"
        elif kind < 0.7:
            del rows[row][column]
            said = f"{where} deleted"
        elif kind < 0.8:
            rows[row].insert(column, "more")
            said = f"{where} added"
        elif kind < 0.88:
            for cells in rows:
                del cells[column : column + 1]
            said = f"column {column + 1} deleted"
        elif kind < 0.95:
            rows.insert(rng.randrange(len(rows)), rows[row])
            said = f"row {row + 1} repeated"
        else:
            rows[row][column] = '"' + rows[row][column]
            said = f"{where} opens a quote"
        lines = (_line(cells, delimiter) for cells in rows)
        return "".join(lines).encode("utf-8", "surrogatepass"), said

    return damage


def _line(cells: list[str], delimiter: str) -> str:
    if delimiter == "\t":
        return delimiter.join(cells) + "\n"
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def damage_lines(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Damage one line of plain text."""
    lines = data.decode("utf-8").split("\n")
    at = rng.randrange(len(lines))
    name = rng.choice(NAMES)
    kind = rng.random()
    if kind < 0.2:
        lines[at] = name
        said = f"line {at + 1} is {_short(name)}"
    elif kind < 0.5:
        place = rng.randrange(len(lines[at]) + 1)
        lines[at] = lines[at][:place] + name + lines[at][place:]
        said = f"line {at + 1} holds {_short(name)}"
    elif kind < 0.65:
        lines.insert(rng.randrange(len(lines)), lines[at])
        said = f"line {at + 1} repeated"
    elif kind < 0.8:
        del lines[at]
        said = f"line {at + 1} deleted"
    elif kind < 0.9:
        lines[at] = lines[at].replace("\t", " ") if "\t" in lines[at] else lines[at] + "\t" + name
        said = f"line {at + 1}: tabs changed"
    else:
        opening = rng.choice(("(", "[", "{", "<", "「"))
        lines[at] = opening * DEEP
        said = f"line {at + 1} is {DEEP} {opening}"
    return "\n".join(lines).encode("utf-8", "surrogatepass"), said


def damage_parquet(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Damage one column of a Parquet file, or a cell of it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(data))
    at = rng.randrange(table.num_columns)
    name, values = table.column_names[at], table.column(at).to_pylist()
    kind = rng.random()
    try:
        if kind < 0.2:
            new = rng.choice(NAMES).encode("utf-8", "replace").decode()
            names = [new if n == at else old for n, old in enumerate(table.column_names)]
            table, said = table.rename_columns(names), f"column {name} is called {_short(new)}"
        elif kind < 0.3:
            table, said = table.drop_columns([name]), f"column {name} deleted"
        elif kind < 0.4:
            table, said = table.append_column(name, table.column(at)), f"column {name} twice"
        elif kind < 0.5:
            cells = pa.nulls(len(values), rng.choice((pa.string(), pa.null(), pa.int8())))
            table, said = table.set_column(at, name, cells), f"column {name} is null"
        elif kind < 0.65:
            raw = [rng.choice((b"\xff\xfe", b"\x00", b"a")) for _ in values]
            binary = pa.array(raw, pa.binary())
            cells = pa.StringArray.from_buffers(len(raw), *binary.buffers()[1:])
            table, said = table.set_column(at, name, cells), f"column {name} is no UTF-8"
        elif kind < 0.8:
            wide: Any = rng.choice(([1.5], [[1]], [{"a": 1}], [2**60], [b"a"], [True], [[]]))
            cells = pa.array((wide * (len(values) + 1))[: len(values)])
            table = table.set_column(at, name, cells)
            said = f"column {name} is {_short(wide[0])}"
        else:
            new = rng.choice(NAMES).encode("utf-8", "replace").decode()
            values[rng.randrange(len(values))] = new
            table, said = table.set_column(at, name, pa.array(values)), f"a {name} is {_short(new)}"
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return damage_bytes(data, rng)
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue(), said


def damage_archive(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Damage one member of an archive, or its name, or the way it says it is packed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = []
        for info in archive.infolist():
            with suppress(NotImplementedError):
                members.append((info.filename, archive.read(info)))
    if not members:  # packed by Zstandard
        return damage_bytes(data, rng)
    at = rng.randrange(len(members))
    name, content = members[at]
    kind = rng.random()
    if kind < 0.6:
        content, said = damage_content(content, name, rng)
        members[at] = name, content
    elif kind < 0.8:
        new = rng.choice(NAMES[:30]).encode("utf-8", "replace").decode()[:60_000]
        new = rng.choice((new, f"samples/{new}.json"))
        members[at], said = (new, content), f"member {name} is called {_short(new)}"
    elif kind < 0.9:
        members.append((name, content))
        said = f"member {name} twice"
    else:
        return pack_archive(members, 93), "packed by Zstandard"
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93))
    return pack_archive(members, method), f"member {name}: {said}"


def pack_archive(members: list[tuple[str, bytes]], method: int) -> bytes:
    """An archive; by Zstandard (93) too, which Python's own writer does not know: the headers are changed afterwards."""
    packed = io.BytesIO()
    stored = zipfile.ZIP_STORED if method == 93 else method
    import warnings

    with zipfile.ZipFile(packed, "w", stored) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two members of one name are meant
        for name, content in members:
            archive.writestr(name, zstandard.compress(content) if method == 93 else content)
    data = bytearray(packed.getvalue())
    if method == 93:
        for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            at = data.find(mark)
            while at >= 0:
                data[at + offset : at + offset + 2] = struct.pack("<H", 93)
                at = data.find(mark, at + 4)
    return bytes(data)


def damage_numpy(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Damage the header of a numpy file."""
    header = data[10 : 10 + struct.unpack("<H", data[8:10])[0]].decode("latin-1")
    new = rng.choice(
        (
            header.replace("}", ""),
            re.sub(r"\(\d+.*?\)", "(99999999999,)", header),
            re.sub(r"\(\d+.*?\)", "(-1,)", header),
            re.sub(r"\(\d+.*?\)", "(3, 99999999, 99999999)", header),
            re.sub(r"\(\d+.*?\)", "(" * DEEP + ")" * DEEP, header),
            re.sub(r"'descr': '.*?'", "'descr': '|O'", header),
            re.sub(r"'descr': '.*?'", "'descr': '<U999999999'", header),
            re.sub(r"'descr': '.*?'", "'descr': '|V99'", header),
            re.sub(r"'descr': '.*?'", "'descr': 'zz'", header),
            re.sub(r"'descr': '.*?'", "'descr': [('a', '<f8'), ('b', '<f8')]", header),
            "[" * DEEP,
            "",
            "\x00" * 40,
        )
    )
    head = new.encode("latin-1")
    return data[:8] + struct.pack("<H", len(head)) + head + data[118:], f"header {new[:60]!r}"


def damage_database(path: Path, rng: random.Random) -> str:
    """Change one cell of a SQLite database, or take a table away."""
    try:
        with sqlite3.connect(path) as base:
            names = (
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            )
            tables = sorted(name for (name,) in base.execute(names))
            table = rng.choice(tables)
            columns = [row[1] for row in base.execute(f'PRAGMA table_info("{table}")')]
            column = rng.choice(columns)
            if rng.random() < 0.2:
                base.execute(f'DROP TABLE "{table}"')
                said = f"no table {table}"
            elif rng.random() < 0.2:
                base.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO other')
                said = f"no column {table}.{column}"
            else:
                new = rng.choice((*NAMES, *VALUES))
                new = new if isinstance(new, str | int | float | None) else json.dumps(new)
                if isinstance(new, str):
                    new = new.encode("utf-8", "replace").decode()
                if isinstance(new, int) and abs(new) >= 2**63:
                    new = b"\xff\x00"
                base.execute(f'UPDATE "{table}" SET "{column}" = ?', (new,))
                said = f"{table}.{column} = {_short(new)}"
        base.close()
    except (sqlite3.Error, IndexError):
        data, said = damage_bytes(path.read_bytes(), rng)
        path.write_bytes(data)
    return said


CONTENT: dict[str, Callable[[bytes, random.Random], tuple[bytes, str]]] = {
    ".jsonl": damage_json,
    ".json": damage_json,
    ".toml": damage_toml,
    ".csv": damage_table(","),
    ".tsv": damage_table("\t"),
    ".parquet": damage_parquet,
    ".eval": damage_archive,
    ".npy": damage_numpy,
}
