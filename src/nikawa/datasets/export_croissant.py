"""Croissant 1.1 metadata (MLCommons) for the Parquet files: every file with its hash, every
column with its type.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from nikawa.datasets.export_hf import (
    Column,
    Layout,
    data_file,
    is_built,
    licence_tag,
    procedure_note,
)
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_write
from nikawa.io.lines import open_packed
from nikawa.io.shapes import ListOf, Shape, Struct
from nikawa.records import Card, Dataset

CROISSANT = "croissant.json"

_TERMS = [
    "arrayShape",
    "citeAs",
    "column",
    "containedIn",
    "equivalentProperty",
    "extract",
    "field",
    "fileProperty",
    "fileObject",
    "fileSet",
    "format",
    "includes",
    "isArray",
    "isLiveDataset",
    "jsonPath",
    "key",
    "md5",
    "parentField",
    "path",
    "recordSet",
    "references",
    "regex",
    "repeated",
    "replace",
    "samplingRate",
    "separator",
    "source",
    "subField",
    "transform",
]
"""The words of the Croissant vocabulary that its context must declare, used here or not."""
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{name: f"cr:{name}" for name in _TERMS},
}
TYPES = {
    "text": "sc:Text",
    "json": "sc:Text",
    "flag": "sc:Boolean",
    "integer": "sc:Integer",
    "long": "sc:Integer",
    "number": "sc:Float",
}
"""Shapes of values to the types of schema.org."""


def write_croissant(dataset: Dataset, layout: Layout, folder: Path) -> None:
    """Write `croissant.json` for the files in `folder`."""
    text = json.dumps(metadata(dataset, layout, folder), ensure_ascii=False, indent=2)
    with atomic_write(folder / CROISSANT) as stream:
        stream.write(f"{text}\n".encode())


def metadata(dataset: Dataset, layout: Layout, folder: Path) -> dict[str, Any]:
    """The whole document."""
    splits = list(layout.splits.values())
    records = [
        {
            "@type": "cr:RecordSet",
            "@id": split,
            "name": split,
            "key": {"@id": f"{split}/id"},
            "field": [describe_column(split, column) for column in layout.columns],
        }
        for split in splits
    ]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        **describe_card(dataset.card),
        "version": three_part_version(dataset.version),
        "distribution": [describe_file(split, folder) for split in splits],
        "recordSet": records,
    }


def describe_card(card: Card) -> dict[str, Any]:
    """Return the part of the document with the content of the card, in the terms of schema.org and
    Croissant RAI.
    """
    tag = licence_tag(card.licence)
    about: dict[str, Any] = {
        "name": card.name,
        "description": card.description,
        "citeAs": procedure_note(card) if is_built(card) else card.citation,
        "license": card.licence if tag == "other" else licence_url(tag),
        "inLanguage": list(card.languages),
        "rai:dataCollection": card.source,
        "rai:dataAnnotationProtocol": card.labels,
        "rai:annotationsPerItem": card.workers,
    }
    if card.problems:
        about["rai:dataLimitations"] = list(card.problems)
    if card.homepage.startswith(("https://", "http://")):
        about["url"] = card.homepage
    return about


def licence_url(tag: str) -> str:
    """Return the address of a known licence.

    >>> licence_url("cc-by-sa-4.0")
    'https://creativecommons.org/licenses/by-sa/4.0/'
    """
    if tag.startswith("cc-"):
        terms, _, version = tag.removeprefix("cc-").rpartition("-")
        return f"https://creativecommons.org/licenses/{terms}/{version}/"
    return f"https://spdx.org/licenses/{tag}.html"


def three_part_version(version: str) -> str:
    """Return a version with three numbers: `1.3` is `1.3.0`.

    A version that is not numeric stays as it is.
    """
    parts = version.removeprefix("v").split(".")
    if not all(part.isdigit() for part in parts) or len(parts) > 3:
        return version
    return ".".join([*parts, "0", "0"][:3])


def describe_file(split: str, folder: Path) -> dict[str, Any]:
    """The entry of the Parquet file of a split: its place, size and hash."""
    path = folder / data_file(split)
    return {
        "@type": "cr:FileObject",
        "@id": f"{split}.parquet",
        "name": f"{split}.parquet",
        "contentUrl": data_file(split),
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": sha256(path),
    }


def describe_column(split: str, column: Column) -> dict[str, Any]:
    """Return the entry of a column; a column of mappings has one sub-field per key."""
    place = f"{split}/{column.name}"
    source = {"fileObject": {"@id": f"{split}.parquet"}, "extract": {"column": column.name}}
    head = {"@type": "cr:Field", "@id": place, "name": column.name, "description": column.source}
    inner = column.shape.item if isinstance(column.shape, ListOf) else column.shape
    if not isinstance(inner, Struct):
        return {**head, **_data_type(column.shape), "source": source}
    repeated = _array(1) if isinstance(column.shape, ListOf) else {}
    parts = [
        {
            "@type": "cr:Field",
            "@id": f"{place}/{name}",
            "name": name,
            **_data_type(shape),
            "source": {**source, "transform": {"jsonPath": f"$.{name}"}},
        }
        for name, shape in inner.fields
    ]
    return {**head, **repeated, "subField": parts}


def _data_type(shape: Shape) -> dict[str, Any]:
    depth = 0
    while isinstance(shape, ListOf):
        shape, depth = shape.item, depth + 1
    assert not isinstance(shape, Struct), "the layout holds no mappings this deep"
    return {"dataType": TYPES[shape], **(_array(depth) if depth else {})}


def _array(depth: int) -> dict[str, Any]:
    return {"isArray": True, "arrayShape": ",".join(["-1"] * depth)}


def sha256(path: Path) -> str:
    """Return the hash of a file's content.

    Returns an empty text if it cannot be read, such as a broken link.
    """
    try:
        with open_packed(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, BadInput):
        return ""
