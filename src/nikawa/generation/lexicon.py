"""The words a template is filled with: agents, nouns in classes, and verbs with the cases they take.

A lexicon is a folder: `lexicon.toml` (name, language, licence, where it comes from), `agents.txt`, `nouns.tsv` (class, nouns),
`frames.tsv` (a verb, its cases and the nouns of each), and two that may be absent: `counts.tsv` (how often a verb was seen with
a noun) and `exclude.txt` (words no text may hold). `_` stands for a space inside a noun.
A frame line is written so that every choice of its nouns makes a natural sentence.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from nikawa.errors import BadInput, suggest, unknown
from nikawa.generation.frame_counts import FrameCounts, read_counts
from nikawa.io.by_hand import read_lines, read_rows, read_whole
from nikawa.records import Record

TIMES = ("point", "within", "during", "again")
"""What a verb may go with: a point of time, an interval it is finished in, an interval it lasts."""
UNITS = ("year", "month", "day", "hour")
FRAME_COLUMNS = ("verb", "class", "transitive", "times", "units", "state", "nouns")
SUBJECTS = {"ja": "ガ", "ko": "이/가"}
"""The case of the agent, which every frame has."""


class Frame(Record, frozen=True, kw_only=True):
    """A verb in one use: its cases, and the nouns that go together in them."""

    verb: str
    """Dictionary form."""
    ctype: str = ""
    """Conjugation class (IPADIC's for Japanese, the irregular class for Korean); empty where the spelling tells."""
    cases: tuple[str, ...]
    """The agent's case first: ("ガ", "ニ", "ヲ")."""
    transitive: bool = False
    times: tuple[str, ...] = TIMES
    units: tuple[str, ...] = UNITS
    """Units of time in which it may sensibly be measured."""
    state: bool = False
    """Whether its ている (-어 있다, -고 있다) form tells a state that holds: 住んでいる."""
    nouns: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """By case; the agent's case is filled with any agent."""

    def suits(self, wants: str = "", unit: str = "", state: bool = False) -> bool:
        """Whether it goes with a kind of time, a unit, and, where asked, a state."""
        return (
            (not wants or wants in self.times)
            and (not unit or unit in self.units)
            and (not state or self.state)
        )


class LexiconAbout(Record, frozen=True, kw_only=True):
    """What `lexicon.toml` says."""

    name: str
    language: str
    title: str
    licence: str
    provenance: str
    """Where the words come from, and what was done to them."""
    sources: tuple[str, ...] = ()


class NounClass(Record, frozen=True, kw_only=True):
    """Nouns that can stand for each other."""

    kind: str
    """`thing`, `place`, `person`, `group`, `event`, or another word of the lexicon's own."""
    nouns: tuple[str, ...]


def read_about(path: Path) -> LexiconAbout:
    """What `lexicon.toml` says."""
    try:
        return msgspec.convert(tomllib.loads(read_whole(path)), LexiconAbout)
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"is not TOML ({problem})", file=path, cure="correct it there") from None
    except msgspec.ValidationError as problem:
        raise BadInput(
            str(problem), file=path, cure=f"it takes: {', '.join(LexiconAbout.__struct_fields__)}"
        ) from None


def read_word_list(path: Path) -> tuple[str, ...]:
    """The words of a file, one a line or several separated by spaces; `#` starts a comment."""
    found: dict[str, int] = {}
    for number, line in read_lines(path):
        for word in line.partition("#")[0].split():
            if word in found:
                raise BadInput(
                    f"{word!r} was on line {found[word]} already",
                    file=path,
                    line=number,
                    cure="remove one of them",
                )
            found[word] = number
    return tuple(found)


def excluded_words(path: Path) -> frozenset[str]:
    """The words of an exclusion list; none where there is no such file."""
    return frozenset(read_word_list(path)) if path.exists() else frozenset()


def read_classes(path: Path) -> dict[str, NounClass]:
    """The noun classes of a `nouns.tsv`."""
    classes: dict[str, NounClass] = {}
    for number, row in read_rows(path, ("class", "kind", "nouns")):
        name, nouns = row["class"], tuple(map(_spaced, row["nouns"].split()))
        if name in classes:
            raise BadInput(
                f"the class {name!r} comes twice", file=path, line=number, cure="join the two lines"
            )
        if len(set(nouns)) != len(nouns):
            twice = next(noun for noun in nouns if nouns.count(noun) > 1)
            raise BadInput(
                f"{twice!r} stands twice in {name!r}", file=path, line=number, cure="remove one"
            )
        classes[name] = NounClass(kind=row["kind"], nouns=nouns)
    return classes


def read_frames(path: Path, classes: dict[str, NounClass], subject: str) -> Iterator[Frame]:
    """The frames of a `frames.tsv`, classes written out."""
    for number, row in read_rows(path, FRAME_COLUMNS):
        nouns = dict(_nouns(row["nouns"], classes, path, number))
        yield Frame(
            verb=row["verb"],
            ctype=row["class"],
            cases=(subject, *nouns),
            transitive=_flag(row, "transitive", path, number),
            times=_words(row["times"], TIMES, path, number),
            units=_words(row["units"], UNITS, path, number),
            state=_flag(row, "state", path, number),
            nouns=nouns,
        )


def _flag(row: dict[str, str], column: str, path: Path, line: int) -> bool:
    if row[column] not in ("yes", "no"):
        raise BadInput(f"{column} is {row[column]!r}", file=path, line=line, cure="write yes or no")
    return row[column] == "yes"


def _words(text: str, known: tuple[str, ...], path: Path, line: int) -> tuple[str, ...]:
    for word in (words := tuple(text.split())):
        if word not in known:
            raise BadInput(
                f"{word!r} is not known here", file=path, line=line, cure=suggest(word, known)
            )
    return words


def _nouns(
    text: str, classes: dict[str, NounClass], path: Path, line: int
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """`ニ=机 棚;ヲ=@本 花瓶` as nouns by case; `@` names a class, `-` leaves a noun of a class out."""
    for part in filter(None, text.split(";")):
        case, equals, written = part.partition("=")
        found: dict[str, None] = {}
        for word in written.split():
            if word.startswith("@"):
                if word[1:] not in classes:
                    cure = suggest(word[1:], classes)
                    raise BadInput(
                        f"there is no noun class {word[1:]!r}", file=path, line=line, cure=cure
                    )
                found.update(dict.fromkeys(classes[word[1:]].nouns))
            elif word.startswith("-"):
                found.pop(_spaced(word[1:]), None)
            else:
                found[_spaced(word)] = None
        if not equals or not found:
            raise BadInput(
                f"{part!r} has no nouns", file=path, line=line, cure="write CASE=noun noun"
            )
        yield case.strip(), tuple(found)


def _spaced(word: str) -> str:
    """A noun of several words is written with `_`."""
    return word.replace("_", " ")


__all__ = [
    "FRAME_COLUMNS",
    "SHIPPED_FOLDER",
    "SUBJECTS",
    "TIMES",
    "UNITS",
    "Frame",
    "Lexicon",
    "LexiconAbout",
    "NounClass",
    "excluded_words",
    "load_lexicon",
    "read_word_list",
    "shipped_lexicons",
]
SHIPPED_FOLDER = Path(__file__).parent / "lexicons"


class Lexicon(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Words of one language, ready to be drawn from."""

    about: LexiconAbout
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


def shipped_lexicons() -> tuple[str, ...]:
    """The names of the lexicons that come with the package."""
    return tuple(sorted(path.parent.name for path in SHIPPED_FOLDER.glob("*/lexicon.toml")))


def load_lexicon(name: str | Path) -> Lexicon:
    """A shipped lexicon by name (`ja`, `ko`), or one in a folder."""
    if isinstance(name, str) and name in shipped_lexicons():
        return _load(SHIPPED_FOLDER / name)
    folder = Path(name)
    if not (folder / "lexicon.toml").exists():
        if folder.exists():
            raise BadInput(
                "is no lexicon: it has no lexicon.toml",
                file=folder,
                cure="build one with nikawa lexicon build",
            )
        raise unknown("lexicon", str(name), shipped_lexicons())
    return _load(folder.resolve())


@lru_cache(maxsize=8)
def _load(folder: Path) -> Lexicon:
    about = read_about(folder / "lexicon.toml")
    classes = read_classes(folder / "nouns.tsv") if (folder / "nouns.tsv").exists() else {}
    return Lexicon(
        about=about,
        agents=read_word_list(folder / "agents.txt"),
        classes=classes,
        frames=tuple(
            read_frames(folder / "frames.tsv", classes, SUBJECTS.get(about.language, "ガ"))
        ),
        folder=folder,
    )
