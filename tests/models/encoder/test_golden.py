"""What KLUE's reference code makes of its own cases: the same here, but where it loses or repeats something."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nikawa.errors import BadInput
from nikawa.models.crf import tags_to_spans
from nikawa.models.dialogue.turns import parse_state
from nikawa.models.encoder.alignment import align_subwords, make_disjoint
from nikawa.models.encoder.heads.dialogue import GATE_DONTCARE, GATE_NONE, GATE_VALUE, format_state
from nikawa.models.encoder.heads.relation import insert_markers

TAGS = {
    "unk_word": ["B-PS", "I-PS", "I-PS", "O", "O"],
    "unk_middle": ["B-PS", "I-PS", "I-PS", "O", "B-QT", "I-QT", "O", "O"],
    "unk_multichar_piece": ["B-PS", "B-QT", "I-QT", "O", "B-LC", "I-LC"],
}
"""Where a word has an unknown piece the reference reads tags of others; here every character has its own piece's."""
NESTED = "<subj><obj>서울</obj>대학교</subj>"


@pytest.fixture(scope="module")
def cases(shared_golden: Path) -> dict[str, list[dict[str, Any]]]:
    """The cases of each function of the reference."""
    whole = json.loads((shared_golden / "encoder.json").read_text("utf-8"))["metrics"]
    return {name: part["cases"] for name, part in whole.items()}


def _characters(sentence: str, pieces: list[str], tags: list[str]) -> Iterator[str]:
    """The tag of every character but blanks."""
    places, _ = make_disjoint(sentence, align_subwords(sentence, pieces, "[UNK]"))
    spans = tags_to_spans(tags, places[: len(tags)])
    for at, character in enumerate(sentence):
        if not character.isspace():
            held = [s for s in spans if s.start <= at < s.end]
            yield f"{'B' if held[0].start == at else 'I'}-{held[0].label}" if held else "O"


def test_tags_of_pieces_are_those_of_characters(cases: dict[str, list[dict[str, Any]]]) -> None:
    for case in cases["klue_ner_subword_to_char"]:
        given, expected = case["input"], case["expected"]["pred"][1:-1]
        pieces = [
            piece for word in given["sentence"].split() for piece in given["wordpieces"][word]
        ]
        tags = given["subword_tags_from_CLS"][1 : 1 + len(pieces)]
        found = list(_characters(given["sentence"], pieces, tags[: given["max_seq_length"] - 2]))
        wanted = TAGS.get(
            case["id"], expected
        )  # what lies past the longest input is not in the reference's
        assert found[: len(wanted)] == wanted, case["id"]
        assert len(found) == len(given["char_labels_without_spaces"])


def test_unknown_pieces_have_the_characters_the_reference_gives_them(
    cases: dict[str, list[dict[str, Any]]],
) -> None:
    for case in cases["klue_ner_unk_aligner"]:
        word, pieces = case["input"]["word"], case["input"]["pieces"]
        told = [sum(1 for _ in group) for group in _groups(case["expected"])]
        sizes = [
            count if piece == "[UNK]" else len(piece.removeprefix("##"))
            for piece, count in zip(pieces, told, strict=True)
        ]
        assert [end - start for start, end in align_subwords(word, pieces, "[UNK]")] == sizes, case[
            "id"
        ]


def _groups(expected: list[str]) -> list[list[str]]:
    made: list[list[str]] = []
    for piece in expected:
        if piece == "[+UNK]":
            made[-1].append(piece)
        else:
            made.append([piece])
    return made


def test_slots_are_parted_as_the_reference_does_it(cases: dict[str, list[dict[str, Any]]]) -> None:
    for case in cases["wos_split_slot"]:
        if "-" not in case["input"]:  # the reference makes it domain, slot and value at once
            with pytest.raises(BadInput, match="is not of the form domain-slot-value"):
                parse_state([case["input"]], "x")
        else:
            slot, value = case["expected"]["domain_slot"]
            assert parse_state([case["input"]], "x") == {slot: value}


def test_states_are_recovered_as_the_reference_does_it(
    cases: dict[str, list[dict[str, Any]]],
) -> None:
    for case in cases["wos_recover_state"]:
        given = case["input"]
        words = [
            [given["vocab"][str(i)] for i in row[: row.index(1)]] for row in given["generated"]
        ]
        kinds = {
            0: (GATE_NONE, ""),
            1: (GATE_DONTCARE, ""),
            3: (GATE_VALUE, "yes"),
            4: (GATE_VALUE, "no"),
        }
        chosen = [
            kinds.get(gate, (GATE_VALUE, "".join(row)))
            for gate, row in zip(given["gates"], words, strict=True)
        ]
        found = format_state(
            given["slot_meta"], [gate for gate, _ in chosen], [value for _, value in chosen]
        )
        assert found == ([] if case["id"] == "empty_value" else case["expected"]), case["id"]


def test_entities_are_marked_as_the_reference_does_it(
    cases: dict[str, list[dict[str, Any]]],
) -> None:
    for case in cases["klue_re_mark_entities"]:
        given = case["input"]
        entities = [
            (*_exclusive(given[name]), (f"<{short}>", f"</{short}>"))
            for name, short in (("subject", "subj"), ("object", "obj"))
        ]
        expected = (
            NESTED if case["id"] == "nested" else case["expected"]
        )  # the reference writes the text twice
        assert insert_markers(given["text"], entities) == expected, case["id"]


def _exclusive(place: list[int]) -> tuple[int, int]:
    return place[0], place[1] + 1
