"""A dataset as the tables of other libraries: a pandas DataFrame, a Hugging Face `DatasetDict`.

The columns are those that `nikawa data export --to hf` writes (`nikawa.datasets.export_hf`).
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from nikawa.datasets.export_hf import lay_out
from nikawa.errors import MissingExtra
from nikawa.io.parquet import write_rows
from nikawa.records import Dataset
from nikawa.tables import make_frame

if TYPE_CHECKING:
    import pandas


def to_pandas(dataset: Dataset) -> pandas.DataFrame:
    """Return one row per example, in the order of the splits, with the split in the first column."""
    layout = lay_out(dataset)
    names = [column.name for column in layout.columns]
    rows = [
        [split, *(row.get(name) for name in names)]
        for split, other in layout.splits.items()
        for row in layout.rows[other]
    ]
    return make_frame(["split", *names], rows)


def to_hf(dataset: Dataset) -> Any:
    """Return a `datasets.DatasetDict`; raise `MissingExtra` if the package is not installed.

    The code of the export writes Parquet files to a temporary folder, so that every column has the same type as in an
    export. Split names are those of Hugging Face: `dev` is `validation`.
    """
    try:
        import datasets
    except ImportError:
        what = "a Hugging Face dataset needs the package datasets, which is not installed"
        raise MissingExtra(what, cure="run: pip install datasets pyarrow") from None
    from pyarrow import parquet  # which datasets brings

    layout = lay_out(dataset)
    shapes = {column.name: column.shape for column in layout.columns}
    parts: dict[str, Any] = {}
    with TemporaryDirectory(prefix="nikawa-") as folder:
        for split, rows in layout.rows.items():
            path = Path(folder) / f"{len(parts)}.parquet"
            write_rows(path, rows, shapes=shapes)
            table = parquet.read_table(path, memory_map=False)
            parts[split] = datasets.Dataset(table.replace_schema_metadata())
    return datasets.DatasetDict(parts)
