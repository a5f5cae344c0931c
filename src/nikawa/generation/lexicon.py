"""The words a template is filled with: agents, nouns in classes, and verbs with the cases they take.

A lexicon is a folder: `lexicon.toml` (name, language, licence, where it comes from), `agents.txt`, `nouns.tsv` (class, nouns),
`frames.tsv` (a verb, its cases and the nouns of each), and two that may be absent: `counts.tsv` (how often a verb was seen with
a noun) and `exclude.txt` (words no text may hold). `_` stands for a space inside a noun.
A frame line is written so that every choice of its nouns makes a natural sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from nikawa.errors import BadInput, unknown
from nikawa.generation.frame_counts import FrameCounts, read_counts
from nikawa.generation.lexicon_files import (
    FRAME_COLUMNS,
    SUBJECTS,
    TIMES,
    UNITS,
    About,
    Frame,
    NounClass,
    excluded_words,
    read_about,
    read_classes,
    read_frames,
    word_list,
)

__all__ = [
    "FOLDER",
    "FRAME_COLUMNS",
    "SUBJECTS",
    "TIMES",
    "UNITS",
    "About",
    "Frame",
    "Lexicon",
    "NounClass",
    "excluded_words",
    "load_lexicon",
    "shipped",
    "word_list",
]
FOLDER = Path(__file__).parent / "lexicons"


class Lexicon(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Words of one language, ready to be drawn from."""

    about: About
    agents: tuple[str, ...]
    classes: dict[str, NounClass]
    frames: tuple[Frame, ...]
    folder: Path

    @property
    def language(self) -> str:
        """`ja` or `ko`."""
        return self.about.language

    @cached_property
    def verbs(self) -> tuple[str, ...]:
        """Every verb once, in order."""
        return tuple(dict.fromkeys(frame.verb for frame in self.frames))

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """Every noun of the classes and the frames, once."""
        groups = [
            *(c.nouns for c in self.classes.values()),
            *(n for f in self.frames for n in f.nouns.values()),
        ]
        return tuple(dict.fromkeys(noun for group in groups for noun in group))

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each noun that is in a class; of several, the first."""
        found: dict[str, str] = {}
        for group in self.classes.values():
            for noun in group.nouns:
                found.setdefault(noun, group.kind)
        return found

    def kind_of(self, frame: Frame, case: str) -> str:
        """What the nouns of a case mostly are; empty where the lexicon does not say."""
        kinds = Counter(
            kind for noun in frame.nouns.get(case, ()) if (kind := self.kinds.get(noun))
        )
        return min(kinds, key=lambda kind: (-kinds[kind], kind), default="")

    @cached_property
    def excluded(self) -> frozenset[str]:
        """Words that no generated text may hold."""
        return excluded_words(self.folder / "exclude.txt")

    @cached_property
    def counts(self) -> FrameCounts:
        """How often verbs were seen with nouns; none where the folder has no counts."""
        path = self.folder / "counts.tsv"
        return read_counts(path) if path.exists() else FrameCounts({})

    def choose(
        self,
        cases: Iterable[str],
        *,
        transitive: bool | None = None,
        wants: str = "",
        state: bool = False,
        kinds: Mapping[str, str] | None = None,
    ) -> tuple[Frame, ...]:
        """The frames with exactly these cases (numbers after an agent's case do not count) that suit what is asked.

        `wants` is one of `TIMES`; `kinds` asks that the nouns of a case be of a kind, such as {"ニ": "place"}.
        """
        asked = frozenset(case.rstrip("0123456789") for case in cases) | {
            SUBJECTS.get(self.language, "ガ")
        }
        return tuple(
            frame
            for frame in self._by_cases.get(asked, ())
            if transitive in (None, frame.transitive)
            and frame.suits(wants, state=state)
            and all(self.kind_of(frame, case) == kind for case, kind in (kinds or {}).items())
        )

    @cached_property
    def _by_cases(self) -> dict[frozenset[str], list[Frame]]:
        found: dict[frozenset[str], list[Frame]] = {}
        for frame in self.frames:
            found.setdefault(frozenset(frame.cases), []).append(frame)
        return found


def shipped() -> tuple[str, ...]:
    """The names of the lexicons that come with the package."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob("*/lexicon.toml")))


def load_lexicon(name: str | Path) -> Lexicon:
    """A shipped lexicon by name (`ja`, `ko`), or one in a folder."""
    if isinstance(name, str) and name in shipped():
        return _load(FOLDER / name)
    folder = Path(name)
    if not (folder / "lexicon.toml").exists():
        if folder.exists():
            raise BadInput(
                "is no lexicon: it has no lexicon.toml",
                file=folder,
                cure="build one with nikawa lexicon build",
            )
        raise unknown("lexicon", str(name), shipped())
    return _load(folder.resolve())


@lru_cache(maxsize=8)
def _load(folder: Path) -> Lexicon:
    about = read_about(folder / "lexicon.toml")
    classes = read_classes(folder / "nouns.tsv") if (folder / "nouns.tsv").exists() else {}
    return Lexicon(
        about=about,
        agents=word_list(folder / "agents.txt"),
        classes=classes,
        frames=tuple(
            read_frames(folder / "frames.tsv", classes, SUBJECTS.get(about.language, "ガ"))
        ),
        folder=folder,
    )
