"""The files of a lexicon folder: what one entry is, and how each file is read."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from nikawa.errors import BadInput, suggest
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


class About(Record, frozen=True, kw_only=True):
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


def read_about(path: Path) -> About:
    """What `lexicon.toml` says."""
    try:
        return msgspec.convert(tomllib.loads(read_whole(path)), About)
    except tomllib.TOMLDecodeError as problem:
        raise BadInput(f"is not TOML ({problem})", file=path, cure="correct it there") from None
    except msgspec.ValidationError as problem:
        raise BadInput(
            str(problem), file=path, cure=f"it takes: {', '.join(About.__struct_fields__)}"
        ) from None


def word_list(path: Path) -> tuple[str, ...]:
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
    return frozenset(word_list(path)) if path.exists() else frozenset()


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
