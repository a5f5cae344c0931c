"""Captions of images from JSON lines, records, or the JSON of YJ Captions, each with its image and place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.json import read_json, read_json_lines
from nikawa.recipes.decide import need
from nikawa.recipes.recipe import found_in
from nikawa.records import Example, Origin


class Line(msgspec.Struct):
    """A caption of a JSON line; what else the line holds is passed over."""

    id: str | int
    text: str = ""
    image: str | int = ""
    url: str = ""
    licence: str = ""
    inputs: dict[str, Any] = {}
    meta: dict[str, Any] = {}


class Annotation(msgspec.Struct):
    """A caption as MS COCO and YJ Captions write it."""

    id: int
    image_id: int
    caption: str


class Picture(msgspec.Struct):
    """An image as MS COCO writes it."""

    id: int
    coco_url: str = ""
    flickr_url: str = ""
    license: int | None = None


class Licence(msgspec.Struct):
    """A licence as MS COCO writes it."""

    id: int
    name: str = ""


class Coco(msgspec.Struct):
    """The file of YJ Captions."""

    annotations: list[Annotation]
    images: list[Picture] = []
    licenses: list[Licence] = []


def read_captions(path: Path) -> Iterator[Example]:
    """The captions of a file, each with its image and where it stands."""
    rows = _coco(path) if path.suffix == ".json" else _lines(path)
    for line, name, image, text, more in rows:
        for part, what in ((name, "id"), (image, "image")):
            if "-" in part or "_" in part or not part:
                cure = "ids of captions and images may not be empty or hold - or _, which part them in the ids of pairs"
                raise BadInput(
                    f"the {what} {part!r} cannot be used", file=path, line=line, cure=cure
                )
        yield Example(
            id=name,
            inputs={"text": text},
            group=image,
            meta={"image": image, **found_in(path, line, **more)},
            origin=Origin(recipe="captions"),
        )


Row = tuple[int, str, str, str, dict[str, str]]


def _lines(path: Path) -> Iterator[Row]:
    for number, line in read_json_lines(path, Line):
        text = line.text or line.inputs.get("text", "")
        image = str(line.image or line.meta.get("image", ""))
        more = {
            key: str(getattr(line, key) or line.meta.get(key, "")) for key in ("url", "licence")
        }
        yield number, str(line.id), image, str(need(text, "text", path, number)).strip(), more


def _coco(path: Path) -> Iterator[Row]:
    whole = read_json(path, Coco)
    images = {image.id: image for image in whole.images}
    licences = {licence.id: licence.name for licence in whole.licenses}
    for number, found in enumerate(whole.annotations, start=1):
        image = images.get(found.image_id, Picture(found.image_id))
        more = {
            "url": image.coco_url or image.flickr_url,
            "licence": licences.get(image.license or -1, ""),
        }
        yield number, str(found.id), str(found.image_id), found.caption.strip(), more
