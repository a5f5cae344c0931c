"""Phenomenon tags from the text alone: packs of patterns over morphemes, as data files."""

from nikawa.tagging.engine import (
    Match,
    PackFault,
    PackTagger,
    TaggedExample,
    Tagger,
    check_pack,
    tag_all,
    tagger,
    texts_of,
)
from nikawa.tagging.pack import (
    Pack,
    Pattern,
    TagName,
    default_pack,
    find_pack,
    pack_names,
    read_pack,
)

__all__ = [
    "Match",
    "Pack",
    "PackFault",
    "PackTagger",
    "Pattern",
    "TagName",
    "TaggedExample",
    "Tagger",
    "check_pack",
    "default_pack",
    "find_pack",
    "pack_names",
    "read_pack",
    "tag_all",
    "tagger",
    "texts_of",
]
