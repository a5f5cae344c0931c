"""The lexicons that ship: large enough, clean, and every form of every verb can be made."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from nikawa.generation.lexicon import SHIPPED_FOLDER, Lexicon, load_lexicon, shipped_lexicons
from nikawa.generation.times import VERB_TIMES
from nikawa.text.conjugation_ja import list_forms
from nikawa.text.conjugation_ko import attach, has_final, inflect

JA = {
    ("ガ", "ヲ"): 200,
    ("ガ", "ニ"): 60,
    ("ガ", "ニ", "ヲ"): 40,
    ("ガ", "ノ~ヲ", "ヲ"): 30,
    ("ガ", "マデ"): 20,
    ("ガ",): 60,
}
KO = {
    ("이/가", "을/를"): 80,
    ("이/가", "에"): 25,
    ("이/가", "에게", "을/를"): 15,
    ("이/가",): 30,
    ("이/가", "까지"): 10,
}
LEAST = {"ja": (25, 300, 2000, JA), "ko": (25, 120, 600, KO)}


@pytest.fixture(params=shipped_lexicons())
def lexicon(request: pytest.FixtureRequest) -> Lexicon:
    return load_lexicon(str(request.param))


def test_size(lexicon: Lexicon) -> None:
    agents, verbs, nouns, frames = LEAST[lexicon.language]
    assert len(lexicon.agents) >= agents
    assert len(lexicon.verbs) >= verbs
    assert len(lexicon.nouns) >= nouns
    for cases, least in frames.items():
        assert len({frame.verb for frame in lexicon.find_frames(cases)}) >= least, cases


def test_every_kind_of_time_is_served(lexicon: Lexicon) -> None:
    for cases in LEAST[lexicon.language][3]:
        assert lexicon.find_frames(cases, wants="point")
    first, second = list(LEAST[lexicon.language][3])[:2]
    for wants in VERB_TIMES:
        assert len(lexicon.find_frames(first, wants=wants)) >= 20
    assert len(lexicon.find_frames(second, state=True, wants="during", transitive=False)) >= 10


def test_places(lexicon: Lexicon) -> None:
    case = {"ja": "ニ", "ko": "에"}[lexicon.language]
    assert len(lexicon.find_frames((case,), kinds={case: "place"})) >= 15


def test_a_frame_line_is_written_once(lexicon: Lexicon) -> None:
    lines = Counter((frame.verb, tuple(frame.nouns.items())) for frame in lexicon.frames)
    assert max(lines.values()) == 1
    for frame in lexicon.frames:
        assert frame.times, frame
        assert frame.units, frame
        assert frame.state <= (
            "during" in frame.times or "에" in frame.cases or "ニ" in frame.cases
        )
        assert all(len(nouns) >= 4 for nouns in frame.nouns.values()), frame


def test_no_excluded_word(lexicon: Lexicon) -> None:
    words = {*lexicon.nouns, *lexicon.verbs, *lexicon.agents}
    assert not words & lexicon.excluded
    assert not {noun for _, _, noun in lexicon.counts.counts} & lexicon.excluded


def test_provenance_and_size_on_disk(lexicon: Lexicon) -> None:
    assert lexicon.about.licence == "Apache-2.0"
    assert lexicon.about.provenance
    assert (
        sum(path.stat().st_size for path in SHIPPED_FOLDER.rglob("*") if path.is_file()) < 700_000
    )


def test_japanese_verbs_conjugate_without_the_analyser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nikawa.text.analysers.analyser", None)
    for frame in load_lexicon("ja").frames:
        made = list_forms(frame.verb, frame.ctype)
        assert {"past", "te", "stem", "negative", "polite"} <= made.keys()


def test_the_class_column_agrees_with_the_analyser() -> None:
    for frame in load_lexicon("ja").frames:
        assert list_forms(frame.verb, frame.ctype) == list_forms(frame.verb)


def test_korean_verbs_inflect_and_names_take_both_shapes() -> None:
    lexicon = load_lexicon("ko")
    for frame in lexicon.frames:
        assert inflect(frame.verb, "past", irregular=frame.ctype) == inflect(frame.verb, "past")
        assert inflect(frame.verb, "past").endswith("다")
    shapes = Counter(attach(name, "은/는")[-1] for name in lexicon.agents)
    assert min(shapes["은"], shapes["는"]) >= 10
    assert all(has_final(noun) is not None for noun in lexicon.nouns)


def test_agents_are_not_the_published_ones(shared_data: Path) -> None:
    text = (shared_data / "jamp" / "dataset" / "train_all.tsv").read_text("utf-8")
    assert not [name for name in load_lexicon("ja").agents if f"\t{name}は" in text]


def test_what_can_be_done_again_makes_nothing(lexicon: Lexicon) -> None:
    making = {
        "ja": {"建てる", "作る", "組み立てる", "縫う", "食べる"},
        "ko": {"짓다", "만들다", "먹다", "발명하다"},
    }
    case = {"ja": "ヲ", "ko": "을/를"}[lexicon.language]
    again = {frame.verb for frame in lexicon.find_frames((case,), transitive=True, wants="again")}
    assert len(again) >= 25
    assert making[lexicon.language] <= set(lexicon.verbs)
    assert again.isdisjoint(making[lexicon.language])
