"""The words a template is filled with: agents, nouns in classes, and verbs with the cases they
take.

A lexicon is a folder: `lexicon.toml` (name, language, licence, where it comes from), `agents.txt`,
`nouns.tsv` (class, nouns), `frames.tsv` (a verb, its cases and the nouns of each), and two that may
be absent: `counts.tsv` (how often a verb was seen with a noun) and `exclude.txt` (words no text may
hold). `_` stands for a space inside a noun. A frame line is written so that every choice of its
nouns makes a natural sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from pathlib import Path

import msgspec

from nikawa.errors import BadInput, suggest, unknown
from nikawa.generation.frame_counts import FrameCounts, read_counts
from nikawa.generation.times import UNITS, VERB_TIMES
from nikawa.io.hand_edited import read_lines, read_rows, read_whole
from nikawa.io.toml import parse_toml
from nikawa.records import Record

SHIPPED_FOLDER = Path(__file__).parent / "lexicons"
"""Where the lexicons lie that come with the package."""
FRAME_COLUMNS = ("verb", "class", "transitive", "times", "units", "state", "nouns")
TAG_COLUMN = "tags"
"""An optional column of `frames.tsv`."""
SUBJECTS = {"ja": "ガ", "ko": "이/가"}
"""The case of the agent, which every frame has."""


class Frame(Record, frozen=True, kw_only=True):
    """A verb in one use: its cases, and the nouns that go together in them."""

    verb: str
    """Dictionary form."""
    ctype: str = ""
    """Conjugation class (IPADIC's for Japanese, the irregular class for Korean); empty where the
    spelling tells."""
    cases: tuple[str, ...]
    """The agent's case first: ("ガ", "ニ", "ヲ")."""
    transitive: bool = False
    times: tuple[str, ...] = VERB_TIMES
    units: tuple[str, ...] = UNITS
    """Units of time in which it may sensibly be measured."""
    state: bool = False
    """Whether its ている (-어 있다, -고 있다) form tells a state that holds: 住んでいる."""
    nouns: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """By case; the agent's case is filled with any agent."""
    tags: tuple[str, ...] = ()
    """Classes of verbs that templates ask for with `#`."""

    def suits(self, wants: str = "", unit: str = "", state: bool = False) -> bool:
        """Whether it goes with a kind of time and a unit, and has a state where `state` is true."""
        if wants and wants not in self.times:
            return False
        if unit and unit not in self.units:
            return False
        return self.state or not state


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
        nouns: dict[str, None] = {}
        for noun_class in self.classes.values():
            nouns.update(dict.fromkeys(noun_class.nouns))
        for frame in self.frames:
            for listed in frame.nouns.values():
                nouns.update(dict.fromkeys(listed))
        return tuple(nouns)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each noun that is in a class; of several, the first."""
        kinds: dict[str, str] = {}
        for noun_class in self.classes.values():
            for noun in noun_class.nouns:
                kinds.setdefault(noun, noun_class.kind)
        return kinds

    def kind_of(self, frame: Frame, case: str) -> str:
        """What the nouns of a case mostly are; empty where the lexicon does not say."""
        nouns = frame.nouns.get(case, ())
        kinds = Counter(self.kinds[noun] for noun in nouns if self.kinds.get(noun))
        return min(kinds, key=lambda kind: (-kinds[kind], kind), default="")

    def place_fault(self, word: str, problem: BadInput) -> BadInput:
        """The fault of a word with the file and the line that the word is written in."""
        written = word.replace(" ", "_")
        for name in ("frames.tsv", "nouns.tsv", "agents.txt"):
            path = self.folder / name
            for number, line in read_lines(path) if path.exists() else ():
                if written in re.split(r"[\s;=]+", line):
                    return BadInput(problem.what, file=path, line=number, cure=problem.cure)
        return BadInput(problem.what, file=self.folder, cure=problem.cure)

    @cached_property
    def excluded(self) -> frozenset[str]:
        """Words that no generated text may hold."""
        path = self.folder / "exclude.txt"
        return frozenset(read_word_list(path)) if path.exists() else frozenset()

    @cached_property
    def counts(self) -> FrameCounts:
        """How often verbs were seen with nouns; none where the folder has no counts."""
        path = self.folder / "counts.tsv"
        return read_counts(path) if path.exists() else FrameCounts({})

    def find_frames(
        self,
        cases: Iterable[str],
        *,
        transitive: bool | None = None,
        wants: str = "",
        tag: str = "",
        state: bool = False,
        kinds: Mapping[str, str] | None = None,
    ) -> tuple[Frame, ...]:
        """The frames with exactly these cases, where numbers after an agent's case do not count.

        `wants` is one of `VERB_TIMES`; `tag` is a class of verbs; `kinds` limits the nouns of a case to a kind, such as {"ニ":
        "place"}.
        """
        own_cases = {case.rstrip("0123456789") for case in cases}
        own_cases.add(SUBJECTS.get(self.language, "ガ"))
        frames = []
        for frame in self._frames_by_cases.get(frozenset(own_cases), ()):
            is_voice = transitive in (None, frame.transitive)
            if tag and tag not in frame.tags:
                continue
            if is_voice and frame.suits(wants, state=state):
                own_kinds = {case: self.kind_of(frame, case) for case in kinds or ()}
                if own_kinds == (kinds or {}):
                    frames.append(frame)
        return tuple(frames)

    @cached_property
    def _frames_by_cases(self) -> dict[frozenset[str], list[Frame]]:
        frames: dict[frozenset[str], list[Frame]] = {}
        for frame in self.frames:
            frames.setdefault(frozenset(frame.cases), []).append(frame)
        return frames


def shipped_lexicons() -> tuple[str, ...]:
    """The names of the lexicons that come with the package."""
    return tuple(sorted(path.parent.name for path in SHIPPED_FOLDER.glob("*/lexicon.toml")))


def load_lexicon(name: str | Path) -> Lexicon:
    """A shipped lexicon by name (`ja`, `ko`), or one in a folder.

    >>> load_lexicon("ko").language
    'ko'
    """
    if isinstance(name, str) and name in shipped_lexicons():
        return _read_lexicon(SHIPPED_FOLDER / name)
    folder = Path(name)
    if not (folder / "lexicon.toml").exists():
        if folder.exists():
            cure = "build one with nikawa lexicon build"
            raise BadInput("is no lexicon: it has no lexicon.toml", file=folder, cure=cure)
        raise unknown("lexicon", str(name), shipped_lexicons())
    return _read_lexicon(folder.resolve())


@lru_cache(maxsize=8)
def _read_lexicon(folder: Path) -> Lexicon:
    return _LexiconReader(folder).read()


def read_word_list(path: Path) -> tuple[str, ...]:
    """The words of a file, one a line or several separated by spaces; `#` starts a comment."""
    lines: dict[str, int] = {}
    for number, line in read_lines(path):
        for word in line.partition("#")[0].split():
            if word in lines:
                what = f"{word!r} was on line {lines[word]} already"
                raise BadInput(what, file=path, line=number, cure="remove one of them")
            lines[word] = number
    return tuple(lines)


class _LexiconReader:
    """Reads the files of a lexicon folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.classes: dict[str, NounClass] = {}

    def read(self) -> Lexicon:
        about = self.read_about()
        self.read_classes()
        subject = SUBJECTS.get(about.language, "ガ")
        return Lexicon(
            about=about,
            agents=read_word_list(self.folder / "agents.txt"),
            classes=self.classes,
            frames=tuple(self.read_frames(subject)),
            folder=self.folder,
        )

    def read_about(self) -> LexiconAbout:
        path = self.folder / "lexicon.toml"
        try:
            return msgspec.convert(parse_toml(read_whole(path), path), LexiconAbout)
        except msgspec.ValidationError as error:
            cure = f"it takes: {', '.join(LexiconAbout.__struct_fields__)}"
            raise BadInput(str(error), file=path, cure=cure) from None

    def read_classes(self) -> None:
        """Read the noun classes, where the folder has any."""
        path = self.folder / "nouns.tsv"
        if not path.exists():
            return
        for number, row in read_rows(path, ("class", "kind", "nouns")):
            name = row["class"]
            nouns = tuple(_unescape_noun(noun) for noun in row["nouns"].split())
            if name in self.classes:
                what = f"the class {name!r} comes twice"
                raise BadInput(what, file=path, line=number, cure="join the two lines")
            if len(set(nouns)) != len(nouns):
                twice = next(noun for noun in nouns if nouns.count(noun) > 1)
                what = f"{twice!r} appears twice in {name!r}"
                raise BadInput(what, file=path, line=number, cure="remove one")
            self.classes[name] = NounClass(kind=row["kind"], nouns=nouns)

    def read_frames(self, subject: str) -> Iterator[Frame]:
        """The frames, classes written out; `subject` is the case of the agent."""
        path = self.folder / "frames.tsv"
        for number, row in read_rows(path, FRAME_COLUMNS):
            refuse = partial(BadInput, file=path, line=number)
            nouns = self.parse_nouns(row["nouns"], refuse)
            for column in ("transitive", "state"):
                if row[column] not in ("yes", "no"):
                    raise refuse(f"{column} is {row[column]!r}", cure="write yes or no")
            times = tuple(row["times"].split())
            units = tuple(row["units"].split())
            for words, known in ((times, VERB_TIMES), (units, UNITS)):
                for word in words:
                    if word not in known:
                        raise refuse(f"{word!r} is not known here", cure=suggest(word, known))
            yield Frame(
                verb=row["verb"],
                ctype=row["class"],
                cases=(subject, *nouns),
                transitive=row["transitive"] == "yes",
                times=times,
                units=units,
                state=row["state"] == "yes",
                nouns=nouns,
                tags=tuple(row.get(TAG_COLUMN, "").split()),
            )

    def parse_nouns(self, text: str, refuse: Callable[..., BadInput]) -> dict[str, tuple[str, ...]]:
        """`ニ=机 棚;ヲ=@本 花瓶` as nouns by case; `@` names a class, `-` leaves a noun of a class out."""
        nouns_by_case: dict[str, tuple[str, ...]] = {}
        for part in filter(None, text.split(";")):
            case, equals, written = part.partition("=")
            nouns: dict[str, None] = {}
            for word in written.split():
                if word.startswith("@"):
                    name = word[1:]
                    if name not in self.classes:
                        cure = suggest(name, self.classes)
                        raise refuse(f"there is no noun class {name!r}", cure=cure)
                    nouns.update(dict.fromkeys(self.classes[name].nouns))
                elif word.startswith("-"):
                    nouns.pop(_unescape_noun(word[1:]), None)
                else:
                    nouns[_unescape_noun(word)] = None
            if not equals or not nouns:
                raise refuse(f"{part!r} has no nouns", cure="write CASE=noun noun")
            nouns_by_case[case.strip()] = tuple(nouns)
        return nouns_by_case


def _unescape_noun(word: str) -> str:
    """A noun of several words is written with `_`."""
    return word.replace("_", " ")
