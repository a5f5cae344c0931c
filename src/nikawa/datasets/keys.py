"""The key file of a dataset whose labels are hidden, and the notice in the dataset folder.

`nikawa data hide` takes the labels of a split away and writes them into a key file, JSON lines of
mode 0600: a header with the secret that the new ids are keyed by, then one line per item with its old
id, its gold and everything else that was removed. The folder that is published holds `hidden.json`, the
notice: which tasks are asked, how many items are hidden, the digest of their inputs, and a seal.

The seal is HMAC-SHA256 of the whole key file under its secret. It reveals no label,
and anyone with the folder can later verify that no label was changed: a key file with
another label has another seal. So a key file that was edited, cut short or mixed up is refused.
"""

from __future__ import annotations

import hmac
from base64 import b32encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from nikawa.datasets.names import custom_path, spec_of
from nikawa.errors import BadInput
from nikawa.io.folders import HIDDEN_NOTICE
from nikawa.io.json import decode_json, encode_json, read_json
from nikawa.io.lines import read_raw_lines
from nikawa.io.remote import to_path
from nikawa.io.spans import check_spans, has_spans
from nikawa.records import Dataset, Example, Judgement, Origin, Record, Task

VERSION = 1
"""Of the key file and of the notice."""
SECRET_BYTES = 32
ID_BYTES = 10
"""Bytes of a new id: 80 bits, so that ids neither collide nor can be guessed."""
PRIVATE_MODES = (0o600, 0o400)
"""The modes that a key file should have."""
NOT_KEYS = "pass the file that nikawa data hide --keys wrote"


class HiddenSplit(Record, frozen=True, kw_only=True):
    """The entry of a split with hidden labels in the notice."""

    items: int
    digest: str
    """SHA-256 of ids and inputs, whatever the order: see `digest_items`."""
    kept: tuple[str, ...] = ()
    """The fields that were kept in addition to the inputs."""
    seal: str
    """Of the key file that holds the labels."""


class HiddenNotice(Record, frozen=True, kw_only=True):
    """The notice in the folder of a dataset with hidden labels."""

    hidden: int
    """The version of this form."""
    tasks: tuple[Task, ...]
    """The tasks, because they cannot be inferred without gold."""
    splits: dict[str, HiddenSplit]


class KeyItem(Record, frozen=True, kw_only=True, omit_defaults=True):
    """The data that was removed from one item."""

    id: str
    """Its id in the published folder."""
    split: str
    was: str
    """Its id before."""
    place: int
    """Its place in the split before, counted from 0."""
    inputs: str
    """The digest of its inputs, which are published."""
    gold: dict[str, Any] = msgspec.field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    meta: dict[str, Any] = msgspec.field(default_factory=dict)
    group: str | None = None
    origin: Origin | None = None
    judgements: tuple[Judgement, ...] = ()
    lineage: dict[str, Any] | None = None
    """Its entry of `lineage.jsonl`, if the folder had one."""


class KeyHeader(Record, frozen=True, kw_only=True):
    """The first line of a key file."""

    keys: int
    """The version of this form."""
    dataset: str
    version: str
    """Of the dataset."""
    secret: str
    """The secret for new ids and the new order, in hexadecimal digits."""
    splits: dict[str, str]
    """Split to the digest of its items."""
    items: int
    seal: str = ""
    """Of the header without it, and of all that follows."""


@dataclass(frozen=True)
class LabelKeys:
    """A key file that was read and found whole."""

    path: Path
    header: KeyHeader
    items: Mapping[str, Mapping[str, KeyItem]]
    """Split to published id to item."""

    @property
    def secret(self) -> bytes:
        """The secret for new ids and the new order."""
        return bytes.fromhex(self.header.secret)


def make_id(secret: bytes, *parts: str) -> str:
    """Return sixteen letters and digits that cannot be guessed without the secret; the same parts give the
    same ones.

    >>> make_id(b"s", "tides", "test", "t1") == make_id(b"s", "tides", "test", "t1")
    True
    """
    text = b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts)
    return b32encode(blake2b(text, key=secret, digest_size=ID_BYTES).digest()).decode().lower()


def digest_inputs(inputs: Mapping[str, Any]) -> str:
    """The digest of what a model sees of an item."""
    return blake2b(encode_json(inputs), digest_size=16).hexdigest()


def digest_items(digests: Mapping[str, str]) -> str:
    """The digest of a split, from the digests of its items' inputs by id, in any order."""
    return sha256(encode_json(sorted(digests.items()))).hexdigest()


def write_keys(stream: BinaryIO, header: KeyHeader, items: Iterable[KeyItem]) -> str:
    """Write a key file; returns its seal."""
    lines = [encode_json(item) for item in items]
    seal = compute_seal(header, lines)
    stream.write(encode_json(replace(header, seal=seal)) + b"\n")
    stream.writelines(line + b"\n" for line in lines)
    return seal


def compute_seal(header: KeyHeader, lines: Iterable[bytes]) -> str:
    """HMAC-SHA256 of a key file under its secret."""
    state = hmac.new(bytes.fromhex(header.secret), encode_json(replace(header, seal="")), "sha256")
    for line in lines:
        state.update(b"\n" + line)
    return state.hexdigest()


def read_keys(path: Path) -> LabelKeys:
    """Read a key file.

    Raises `BadInput` if it is not a key file, or if it was changed.
    """
    header: KeyHeader | None = None
    lines: list[bytes] = []
    items: dict[str, dict[str, KeyItem]] = {}
    for number, raw in read_raw_lines(path):
        line = raw.removesuffix(b"\n")
        if header is None:
            header = read_header(line, path)
            items = {split: {} for split in header.splits}
            continue
        item = decode_json(line, KeyItem, path, number)
        if item.split not in items or item.id in items[item.split]:
            what = (
                f"has {item.id!r} of {item.split} twice, or a split that its header does not list"
            )
            raise BadInput(what, file=path, line=number, cure=NOT_KEYS)
        items[item.split][item.id] = item
        lines.append(line)
    if header is None:
        raise BadInput("is empty", file=path, cure=NOT_KEYS)
    if not hmac.compare_digest(compute_seal(header, lines), header.seal):
        held = sum(map(len, items.values()))
        lost = f" ({held:,} of {header.items:,} items are present)" if held != header.items else ""
        what = f"was changed after nikawa data hide wrote it: its checksum does not match{lost}"
        raise BadInput(what, file=path, cure="use your backup copy, or hide the labels again")
    return LabelKeys(path, header, items)


def refuse_closed_keys(keys: Path | LabelKeys | None, hidden: bool) -> None:
    """Refuse a key file without `hidden`, which confirms that the user may see the labels."""
    if keys is not None and not hidden:
        what = "--keys needs --hidden"
        raise BadInput(what, cure="also pass --hidden if you may see the hidden labels")


def read_header(line: bytes, path: Path) -> KeyHeader:
    """The first line of a key file."""
    try:
        header = msgspec.json.decode(line, type=KeyHeader)
        size = len(bytes.fromhex(header.secret))
    except (msgspec.DecodeError, ValueError, RecursionError):
        size = 0
    if size != SECRET_BYTES:
        raise BadInput("is not a key file", file=path, line=1, cure=NOT_KEYS)
    if header.keys != VERSION:
        what = f"is a key file of version {header.keys}; this Nikawa reads version {VERSION}"
        raise BadInput(what, file=path, line=1, cure="update Nikawa")
    return header


def describe_mode(path: Path) -> str:
    """Return a warning if others can read or change a key file, or an empty text."""
    mode = path.stat().st_mode & 0o7777
    if mode in PRIVATE_MODES:
        return ""
    return f"{path} has the mode {mode:04o}: others may read the labels; run: chmod 600 {path}"


def read_notice(folder: Path) -> HiddenNotice | None:
    """Return the notice of a dataset folder, or None."""
    path = folder / HIDDEN_NOTICE
    if not path.is_file():
        return None
    notice = read_json(path, HiddenNotice, unique=True)
    if notice.hidden != VERSION:
        what = f"is a notice of version {notice.hidden}; this Nikawa reads version {VERSION}"
        raise BadInput(what, file=path, cure="update Nikawa")
    return notice


def encode_notice(notice: HiddenNotice) -> bytes:
    """Return the notice as the content of its file."""
    return msgspec.json.format(encode_json(notice), indent=2) + b"\n"


def find_notice(text: str) -> HiddenNotice | None:
    """Return the notice of a dataset, named as for `load`, or None."""
    return None if spec_of(text).name else read_notice(custom_path(text)[0])


def carry_notice(text: str, splits: Collection[str]) -> dict[str, bytes]:
    """Return the notice for a copy of a dataset with some of its splits: its file name and content.

    Returns nothing if the dataset, named as for `load`, has no notice, or if none of these
    splits is hidden.
    """
    notice = find_notice(text)
    if notice is None:
        return {}
    hidden = {
        split: notice_of_split
        for split, notice_of_split in notice.splits.items()
        if split in splits
    }
    return {HIDDEN_NOTICE: encode_notice(replace(notice, splits=hidden))} if hidden else {}


def restore_labels(dataset: Dataset, keys: LabelKeys, place: str) -> Dataset:
    """Return the dataset with its labels and all other removed data, under its published ids and in
    its published order, which answers without ids follow.

    `place` is its source. Raises `BadInput` if the keys belong to other items, or
    to items that were changed since.
    """
    splits = dict(dataset.splits)
    known = [split for split in keys.items if split in splits]
    if not known:
        what = f"has the labels of {', '.join(keys.items)} of {keys.header.dataset}"
        cure = f"{place} has {', '.join(splits)}; pass the key file of this dataset"
        raise BadInput(what, file=keys.path, cure=cure)
    notice = read_notice(to_path(place)) if to_path(place).is_dir() else None
    for split in known:
        refuse_other_items(keys, split, splits[split], place)
        notice_of_split = None if notice is None else notice.splits.get(split)
        if notice_of_split is not None and not hmac.compare_digest(
            notice_of_split.seal, keys.header.seal
        ):
            what = f"has a different checksum for {split} than {to_path(place) / HIDDEN_NOTICE}"
            cure = "the labels were hidden again later; pass the key file of that time"
            raise BadInput(what, file=keys.path, cure=cure)
        items = keys.items[split]
        splits[split] = tuple(restore_example(e, items[e.id], keys.path) for e in splits[split])
    return replace(dataset, splits=splits)


def refuse_other_items(
    keys: LabelKeys, split: str, examples: Sequence[Example], place: str
) -> None:
    """Raise unless the items of a split are those of the keys."""
    items = keys.items[split]
    ids = {example.id for example in examples}
    strange = [name for name in ids if name not in items]
    missing = [name for name in items if name not in ids]
    name = f"{place}:{split}"
    if len(missing) == len(items):
        what = f"is the key file of {keys.header.dataset}: it has none of the items of {name}"
        raise BadInput(what, file=keys.path, cure="pass the key file of this dataset")
    if strange:
        what = f"does not have {len(strange):,} items of {name}, such as {min(strange)}"
        raise BadInput(what, file=keys.path, cure="score the folder that nikawa data hide wrote")
    if missing:
        what = f"has the labels of {len(missing):,} items that {name} lacks, such as {min(missing)}"
        raise BadInput(what, file=keys.path, cure="score the folder that nikawa data hide wrote")
    changed = [e.id for e in examples if digest_inputs(e.inputs) != items[e.id].inputs]
    if changed:
        what = f"{len(changed):,} items of {name} have changed since, such as {min(changed)}"
        raise BadInput(what, file=keys.path, cure="score the folder that nikawa data hide wrote")


def restore_example(example: Example, item: KeyItem, path: Path) -> Example:
    """Return an example with its removed data; `path` is the key file.

    Later tags and metadata values, as from `nikawa tag`, stay.
    """
    restored = Example(
        id=example.id,
        inputs=example.inputs,
        gold=dict(item.gold),
        tags=item.tags | example.tags,
        meta={**example.meta, **item.meta},
        group=item.group,
        origin=item.origin,
    )
    try:
        return check_spans(restored) if has_spans(restored) else restored
    except ValueError as problem:
        what = f"{problem} (id {example.id!r})"
        raise BadInput(what, file=path, cure="count characters from 0, the end exclusive") from None


def sort_as_before(examples: Sequence[Example], keys: LabelKeys, split: str) -> tuple[Example, ...]:
    """Examples in the order they had before, so that resamples draw the same ones."""
    # A split may have its usual name, `dev` for `valid`: then its ids identify it.
    named = [keys.items[split]] if split in keys.items else []
    for items in (*named, *keys.items.values()):
        if all(example.id in items for example in examples):
            return tuple(sorted(examples, key=lambda example: items[example.id].place))
    return tuple(examples)
