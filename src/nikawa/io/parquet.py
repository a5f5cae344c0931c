"""Records as Parquet: flat, typed columns. Needs the extra `tables` (pyarrow).

A column without a plain type is JSON text and is marked in its field metadata; null means absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from msgspec import UNSET

from nikawa.errors import BadInput, missing_extra
from nikawa.io.atomic import atomic_write
from nikawa.io.columns import check_columns, columns_of, flatten_records, unflatten
from nikawa.io.json import decode_json, encode_json, has_nonfinite
from nikawa.io.lines import open_bytes
from nikawa.io.parquet_pages import plan_reading
from nikawa.io.shapes import ListOf, Shape, Struct, column_shape
from nikawa.records import Record

R = TypeVar("R", bound=Record)

ROWS_IN_GROUP = 4096
"""Rows of a group, which are in memory at a time."""
JSON_MARK = {b"nikawa": b"json"}
SOURCE_MARK = b"nikawa.source"
"""The metadata key for the field of a record that a column holds, if its name is different."""
_DAMAGE = (OSError, ValueError, KeyError, TypeError, IndexError, OverflowError, MemoryError)

Row = Mapping[str, Any]


def arrow() -> Any:
    """Return the `pyarrow` module with its `parquet` part, or raise an error that explains how to install it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise missing_extra("pyarrow, which reads and writes Parquet,", "tables") from None
    return pyarrow


def read(path: Path, kind: type[R]) -> Iterator[tuple[int, R]]:
    """Stream (row from 1, record)."""
    number = 0
    for number, row in enumerate(read_flat_rows(path, kind), start=1):
        try:
            yield number, unflatten(row, kind)
        except ValueError as problem:
            cure = "see docs/files.md for the columns"
            raise BadInput(f"row {number}: {problem}", file=path, cure=cure) from None
    if not number:
        raise BadInput("holds no records", file=path, cure="write at least one")


def read_flat_rows(path: Path, kind: type[Record]) -> Iterator[dict[str, Any]]:
    """Stream the rows of a file, column to value; null is left out.

    Refuses columns that `kind` does not have.
    """
    pa = arrow()
    with open_parquet(path) as (file, rows):
        names = list(file.schema_arrow.names)
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            what = f"column {twice[0]!r} occurs twice"
            raise BadInput(what, file=path, cure="rename one of them")
        check_columns(names, kind, path)
        decoders = [make_decoder(pa, field, path) for field in file.schema_arrow]
        for batch in file.iter_batches(batch_size=rows):
            pairs = zip(decoders, batch.columns, strict=True)
            columns = [decode(list_values(pa, column)) for decode, column in pairs]
            for cells in zip(*columns, strict=True):
                row = zip(names, cells, strict=True)
                yield {name: cell for name, cell in row if cell is not UNSET}


@contextmanager
def open_parquet(path: Path, most: int = ROWS_IN_GROUP) -> Iterator[tuple[Any, int]]:
    """Yield an open `ParquetFile`, and how many of its rows may be read at a time, at most `most`.

    Errors of the library for a damaged file become `BadInput`.
    """
    pa = arrow()
    with open_bytes(path) as stream:
        try:
            file = pa.parquet.ParquetFile(stream)
            plan = plan_reading(stream, path, most)
            if plan.dictionaries:
                file = pa.parquet.ParquetFile(stream, read_dictionary=list(plan.dictionaries))
            yield file, plan.rows
        except (pa.ArrowException, *_DAMAGE) as problem:
            reason = str(problem).partition("\n")[0].partition(". ")[0]
            what, cure = f"is not Parquet ({reason})", "fetch or write it again"
            if path.suffix in (".gz", ".zst", ".xz"):
                what, cure = f"is Parquet in {path.suffix}, which cannot be read", "unpack it"
            raise BadInput(what, file=path, cure=cure) from None


def list_values(pa: Any, array: Any) -> list[Any]:
    """The values of an array as Python's own.

    Rows that share an entry of a dictionary share one text: pyarrow itself makes one for each.
    """
    types, kind = pa.types, array.type
    if "dictionary" not in str(kind):
        return list(array.to_pylist())
    if types.is_dictionary(kind):
        used = array.indices.unique()
        texts = array.dictionary.take(used).to_pylist()
        by_index = dict(zip(used.to_pylist(), texts, strict=True))
        return [by_index[index] for index in array.indices.to_pylist()]
    is_valid = array.is_valid().to_pylist()
    if types.is_struct(kind):
        names = [kind.field(at).name for at in range(kind.num_fields)]
        parts = [list_values(pa, part) for part in array.flatten()]
        cells = zip(*parts, strict=True)
        return [
            dict(zip(names, row, strict=True)) if valid else None
            for row, valid in zip(cells, is_valid, strict=True)
        ]
    values = iter(list_values(pa, array.flatten()))
    lengths = pa.compute.list_value_length(array).to_pylist()
    return [None if length is None else list(islice(values, length)) for length in lengths]


def make_decoder(pa: Any, field: Any, path: Path) -> Callable[[list[Any]], list[Any]]:
    """Return a converter for the values of a column: null is unset, because a JSON null is a value.

    JSON is decoded; NaN is an error.
    """
    name, is_json = field.name, (field.metadata or {}).items() >= JSON_MARK.items()
    if not (_is_text(pa, field.type) if is_json else _is_plain(pa, field.type)):
        plain = "text, numbers, true or false, or lists and structs of them"
        cure = f"make it {'JSON text, as it is marked' if is_json else plain}"
        raise BadInput(f"column {name!r} is {field.type}", file=path, cure=cure)
    has_floats = any(word in str(field.type) for word in ("float", "double"))

    def decode(values: list[Any]) -> list[Any]:
        if is_json:
            return [
                UNSET if v is None else decode_json(v, object, path, unique=True) for v in values
            ]
        if has_floats and has_nonfinite(values):
            raise BadInput(f"column {name!r} holds NaN or Infinity", file=path, cure="use null")
        return [UNSET if value is None else value for value in values]

    return decode


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_plain(pa: Any, kind: Any) -> bool:
    """Whether JSON has the values of an Arrow type."""
    types = pa.types
    if types.is_dictionary(kind):
        return _is_plain(pa, kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _is_plain(pa, kind.value_type)
    if types.is_struct(kind):
        parts = [kind.field(at) for at in range(kind.num_fields)]
        return len({part.name for part in parts}) == len(parts) and all(
            _is_plain(pa, p.type) for p in parts
        )
    scalar = (
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_null(kind)
    )
    return bool(scalar) or _is_text(pa, kind)


def write(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """All records are held in memory: the types of the columns depend on every value."""
    rows, _ = flatten_records(records, path)
    write_rows(path, rows, overwrite=overwrite)
    return len(rows)


def write_rows(
    path: Path,
    rows: Sequence[Row],
    *,
    shapes: Mapping[str, Shape] | None = None,
    sources: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> None:
    """Write flat rows; `shapes` has the columns and their types; default: inferred from the rows.

    `sources` has the field of a record (`meta.source`) for a column with another name.
    """
    pa = arrow()
    shapes = row_shapes(rows) if shapes is None else shapes
    fields = []
    for name, shape in shapes.items():
        metadata = dict(JSON_MARK) if shape == "json" else {}
        if sources and sources.get(name, name) != name:
            metadata[SOURCE_MARK] = sources[name].encode()
        fields.append(pa.field(name, arrow_type(pa, shape), metadata=metadata or None))
    schema = pa.schema(fields)
    with (
        atomic_write(path, overwrite=overwrite) as stream,
        pa.parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        for start in range(0, len(rows), ROWS_IN_GROUP):
            block = rows[start : start + ROWS_IN_GROUP]
            arrays = []
            for name, shape in shapes.items():
                cells = [row.get(name) for row in block]
                if shape == "json":
                    cells = [
                        encode_json(row[name]).decode() if name in row else None for row in block
                    ]
                arrays.append(pa.array(cells, schema.field(name).type))
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def row_shapes(rows: Sequence[Row]) -> dict[str, Shape]:
    """Column to shape, in column order."""
    return {
        name: column_shape((row[name] for row in rows if name in row), exact=True)
        for name in columns_of(rows)
    }


def arrow_type(pa: Any, shape: Shape) -> Any:
    """The Arrow type of a shape."""
    if isinstance(shape, ListOf):
        return pa.list_(arrow_type(pa, shape.item))
    if isinstance(shape, Struct):
        return pa.struct([(name, arrow_type(pa, part)) for name, part in shape.fields])
    plain = {"flag": pa.bool_(), "integer": pa.int64(), "long": pa.int64(), "number": pa.float64()}
    return plain.get(shape, pa.string())
