"""Records as Parquet: flat, typed columns. Needs the extra `tables` (pyarrow).

A column that no plain type holds is JSON text and says so in its field metadata; null means absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import UNSET

from nikawa.errors import BadInput, missing_extra
from nikawa.io.atomic import atomic_write
from nikawa.io.columns import check_columns, columns_of, flatten_records, unflatten
from nikawa.io.json import decode_json, encode_json, has_nonfinite
from nikawa.io.lines import open_bytes
from nikawa.io.shapes import ListOf, Shape, Struct, column_shape
from nikawa.records import Record

R = TypeVar("R", bound=Record)

_ROWS = 4096
"""Rows of a group: what is in memory at a time."""
_MARK = {b"nikawa": b"json"}
_DAMAGE = (OSError, ValueError, KeyError, TypeError, IndexError, OverflowError, MemoryError)

Row = Mapping[str, Any]


def arrow() -> Any:
    """The `pyarrow` module with its `parquet` part, or the error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise missing_extra("pyarrow, which reads and writes Parquet,", "tables") from None
    return pyarrow


def read(path: Path, kind: type[R]) -> Iterator[tuple[int, R]]:
    """Stream (row from 1, record)."""
    number = 0
    for number, row in enumerate(_rows(path, kind), start=1):
        try:
            yield number, unflatten(row, kind)
        except ValueError as problem:
            raise BadInput(
                f"row {number}: {problem}", file=path, cure="see docs/files.md for the columns"
            ) from None
    if not number:
        raise BadInput("holds no records", file=path, cure="write at least one")


def _rows(path: Path, kind: type[Record]) -> Iterator[dict[str, Any]]:
    pa = arrow()
    with open_bytes(path) as stream:
        try:
            opened = pa.parquet.ParquetFile(stream)
            names, decoders = _columns(pa, opened.schema_arrow, kind, path)
            for batch in opened.iter_batches(batch_size=_ROWS):
                columns = [
                    decode(column.to_pylist())
                    for decode, column in zip(decoders, batch.columns, strict=True)
                ]
                for cells in zip(*columns, strict=True):
                    yield {
                        name: cell
                        for name, cell in zip(names, cells, strict=True)
                        if cell is not UNSET
                    }
        except (pa.ArrowException, *_DAMAGE) as problem:  # what a damaged file makes of the library
            said = str(problem).partition("\n")[0].partition(". ")[0]
            raise BadInput(
                f"is not Parquet ({said})", file=path, cure="fetch or write it again"
            ) from None


def _columns(
    pa: Any, schema: Any, kind: type[Record], path: Path
) -> tuple[list[str], list[Callable[[list[Any]], list[Any]]]]:
    """The names of the columns and what makes their values ours."""
    names = list(schema.names)
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise BadInput(f"column {twice[0]!r} occurs twice", file=path, cure="rename one of them")
    check_columns(names, kind, path)
    return names, [_decoder(pa, field, path) for field in schema]


def _decoder(pa: Any, field: Any, path: Path) -> Callable[[list[Any]], list[Any]]:
    """Null is unset, as a JSON null is a value; JSON is decoded; NaN is refused."""
    name, coded = field.name, (field.metadata or {}).items() >= _MARK.items()
    if not (_is_text(pa, field.type) if coded else _is_plain(pa, field.type)):
        wanted = (
            "JSON text, as it is marked"
            if coded
            else "text, numbers, true or false, or lists and structs of them"
        )
        raise BadInput(f"column {name!r} is {field.type}", file=path, cure=f"make it {wanted}")

    has_floats = any(word in str(field.type) for word in ("float", "double"))

    def decode(values: list[Any]) -> list[Any]:
        if coded:
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
    """Whether values of an Arrow type are what JSON has."""
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
    overwrite: bool = False,
) -> None:
    """Write flat rows; `shapes` gives the columns and their types, else the rows tell."""
    pa = arrow()
    shapes = row_shapes(rows) if shapes is None else shapes
    schema = pa.schema([_field(pa, name, shape) for name, shape in shapes.items()])
    with (
        atomic_write(path, overwrite=overwrite) as stream,
        pa.parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        for start in range(0, len(rows), _ROWS):
            block = rows[start : start + _ROWS]
            arrays = [
                pa.array(_cells(block, name, shape), schema.field(name).type)
                for name, shape in shapes.items()
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _cells(rows: Sequence[Row], name: str, shape: Shape) -> list[Any]:
    if shape != "json":
        return [row.get(name) for row in rows]
    return [encode_json(row[name]).decode() if name in row else None for row in rows]


def row_shapes(rows: Sequence[Row]) -> dict[str, Shape]:
    """Column to shape, in column order."""
    return {
        name: column_shape((row[name] for row in rows if name in row), exact=True)
        for name in columns_of(rows)
    }


def _field(pa: Any, name: str, shape: Shape) -> Any:
    return pa.field(name, arrow_type(pa, shape), metadata=_MARK if shape == "json" else None)


def arrow_type(pa: Any, shape: Shape) -> Any:
    """The Arrow type of a shape."""
    if isinstance(shape, ListOf):
        return pa.list_(arrow_type(pa, shape.item))
    if isinstance(shape, Struct):
        return pa.struct([(name, arrow_type(pa, part)) for name, part in shape.fields])
    plain = {"flag": pa.bool_(), "integer": pa.int64(), "long": pa.int64(), "number": pa.float64()}
    return plain.get(shape, pa.string())
