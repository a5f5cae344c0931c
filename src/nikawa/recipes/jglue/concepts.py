"""Triples of ConceptNet, the rules for questions made of them, and simulated workers who write such questions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from nikawa.errors import BadInput
from nikawa.io.lines import read_lines
from nikawa.recipes.recipe import found_in
from nikawa.records import Example, Origin

FORWARD = (
    "Antonym",
    "AtLocation",
    "CapableOf",
    "Causes",
    "CausesDesire",
    "DefinedAs",
    "DerivedFrom",
    "Desires",
    "DistinctFrom",
    "EtymologicallyDerivedFrom",
    "HasA",
    "HasFirstSubevent",
    "HasLastSubevent",
    "HasPrerequisite",
    "HasProperty",
    "InstanceOf",
    "MadeOf",
    "MotivatedByGoal",
    "NotDesires",
    "PartOf",
    "SymbolOf",
    "UsedFor",
)
"""The 22 relations of the paper's footnote 5; general ones such as RelatedTo and IsA are not among them."""
THINGS = ("靴下", "梯子", "窓", "鍵", "帽子", "時計", "石", "傘", "薬", "地図", "糸", "鏡")
"""What simulated workers add as distractors."""

CHARACTERS = re.compile(r"[0-9０-９一二三四五六七八九十百]+\s*文字")
"""`2文字`: a question about how a word is written, not about the world."""


class About(msgspec.Struct):
    """What the last column of an assertion says of where it comes from."""

    dataset: str = ""
    license: str = ""


def read_triples(path: Path, language: str) -> Iterator[Example]:
    """The triples of two concepts of a language; lines of other languages are passed over."""
    here = f"/c/{language}/"
    for number, line in read_lines(path):
        cells = line.split("\t")
        if len(cells) < 4 or not cells[1].startswith("/r/"):
            cure = (
                "write edge, relation (/r/...), start and end (/c/LANGUAGE/CONCEPT), tab-separated"
            )
            raise BadInput("is no assertion of ConceptNet", file=path, line=number, cure=cure)
        if cells[2].startswith(here) and cells[3].startswith(here):
            about = _about(cells[4], path, number) if len(cells) > 4 else About()
            start, end = (
                cell[len(here) :].partition("/")[0].replace("_", " ") for cell in cells[2:4]
            )
            yield Example(
                id=f"t{number}",
                inputs={"start": start, "relation": cells[1].removeprefix("/r/"), "end": end},
                meta=found_in(
                    path, number, url=cells[0], licence=about.license.removeprefix("cc:")
                ),
                origin=Origin(recipe="conceptnet", step=about.dataset),
            )


def _about(cell: str, path: Path, number: int) -> About:
    try:
        return msgspec.json.decode(cell, type=About)
    except msgspec.DecodeError:
        what = "the last column is not JSON"
        raise BadInput(what, file=path, line=number, cure="fetch the file again") from None


def folded(text: str) -> str:
    """A word without width, and with hiragana for katakana."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(chr(ord(c) - 96) if "ァ" <= c <= "ヶ" else c for c in plain)


def question_fault(question: str, choices: list[str]) -> str:
    """Why a written question is left out (step 3); empty where it is kept."""
    if any(choice in question for choice in choices):
        return "holds a choice"
    if CHARACTERS.search(question):
        return "asks for a number of characters"
    return "" if question.rstrip().endswith(("？", "?")) else "does not end in a question mark"


def simulate_synonyms(example: Example, config: Any, random: Random) -> str:
    """Few sets hold synonyms."""
    return "no" if random.random() < 0.85 else "yes"


def simulate_question(example: Example, config: Any, random: Random) -> str:
    """A question by pattern; now and then one that breaks a rule."""
    source = example.inputs["source"]
    ways = [f"{source}といえば何？"] * 8 + [
        f"{source}といえば{example.inputs['answer']}？",
        f"{source}を2文字で何という？",
        f"{source}とは",
    ]
    return random.choice(ways)


def simulate_distractors(example: Example, config: Any, random: Random) -> list[str]:
    """Things by chance; now and then a choice that is there already."""
    found = random.sample(THINGS, config.distractors)
    return found if random.random() < 0.9 else [example.inputs["choices"][0], *found[1:]]


def simulate_choice(example: Example, config: Any, random: Random) -> int:
    """Right more often than not."""
    wrong = random.randrange(len(example.inputs["choices"]))
    return int(example.gold["choice"]) if random.random() < 0.75 else wrong
