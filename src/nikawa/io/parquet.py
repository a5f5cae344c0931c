"""Records as Parquet: flat, typed columns. Needs the extra `tables` (pyarrow).

A column that no plain type holds is JSON text and says so in its field metadata; null means absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import UNSET

from nikawa.errors import BadInput, missing_extra
from nikawa.io.atomic import atomic_write
from nikawa.io.columns import check_columns, columns_of, flat_rows, unflatten
from nikawa.io.json import decode_json, encode_json
from nikawa.io.lines import open_bytes
from nikawa.io.shapes import ListOf, Shape, Struct, column_shape
from nikawa.records import Record

R = TypeVar("R", bound=Record)

_ROWS = 4096
"""Rows of a group: what is in memory at a time."""
_MARK = {b"nikawa": b"json"}

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
            names, coded = opened.schema_arrow.names, _coded(opened.schema_arrow)
            check_columns(names, kind, path)
            for batch in opened.iter_batches(batch_size=_ROWS):
                columns = [_values(batch.column(name), name in coded, path) for name in names]
                for cells in zip(*columns, strict=True):
                    yield {name: cell for name, cell in zip(names, cells, strict=True) if cell is not UNSET}
        except (pa.ArrowInvalid, OSError) as problem:
            said = str(problem).partition("\n")[0].partition(". ")[0]
            raise BadInput(f"is not Parquet ({said})", file=path, cure="fetch or write it again") from None


def _coded(schema: Any) -> set[str]:
    return {field.name for field in schema if (field.metadata or {}).items() >= _MARK.items()}


def _values(column: Any, coded: bool, path: Path) -> list[Any]:
    """The values of a column, unset where null: a JSON null is a value."""
    return [
        UNSET if value is None else decode_json(value, object, path, unique=True) if coded else value
        for value in column.to_pylist()
    ]


def write(path: Path, records: Iterable[Record], overwrite: bool) -> int:
    """All records are held in memory: the types of the columns depend on every value."""
    rows, _ = flat_rows(records, path)
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
    return {name: column_shape(row[name] for row in rows if name in row) for name in columns_of(rows)}


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
