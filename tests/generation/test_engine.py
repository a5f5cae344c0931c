"""The generator: cells, words without repeats, splits that share no sentence, nothing that depends on order."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from nikawa.errors import BadInput
from nikawa.generation.generator import Generator, PlannedCell, load_pack_lexicon
from nikawa.generation.lexicon import load_lexicon
from nikawa.generation.pack import Pack, load_pack
from nikawa.generation.randomness import KeyedRandom, hash_key, permute_place
from nikawa.generation.word_space import RESIDUE_COUNT, WordSpace, nouns_of_kind, verb_unit
from nikawa.records import Example

HEAD = 'name = "lamps"\nlanguage = "{language}"\ntitle = "Lamps"\nlicence = "CC0"\ntemplates = ["t.txt"]\nlexicon = "w"\n'
LEXICON = 'name = "lamps"\nlanguage = "{language}"\ntitle = "t"\nlicence = "CC0"\nprovenance = "invented"\n'
AGENTS = " ".join(f"名{c}" for c in "あいうえおかきくけこさしすせそたちつてとな")
FRAMES = (
    "verb\tclass\ttransitive\ttimes\tunits\tstate\tnouns",
    "磨く\t五段・カ行イ音便\tyes\tpoint within\tday hour\tno\tヲ=灯台 塔 鐘",
    "灯す\t五段・サ行\tyes\tpoint\thour\tno\tヲ=灯 火",
    "建てる\t一段\tyes\tpoint within\tyear\tno\tヲ=灯台 塔",
    "置く\t五段・カ行イ音便\tyes\tpoint\thour\tno\tニ=棚 丘;ヲ=灯 鐘 棚",
    "着く\t五段・カ行イ音便\tno\tpoint\thour\tno\t",
)
NOUNS = (
    "class\tkind\tnouns",
    "建物\tthing\t灯台 塔 鐘 灯 火",
    "場所\tplace\t棚 丘",
    "colour\tcolour\t赤 青 白",
)
TEMPLATES = """\
template when
  category:          時点
  premise:           {agent ガ}は{time1}に{noun ヲ}を{verb 他 ガ ヲ past}。
  hypothesis:        {agent}は{time2}に{noun}を{verb past}。
  contradicts when:  time2 < time1

template order
  category:          順序
  premise:           {agent1 ガ1}は{agent2 ガ2}が{verb 自 ガ1 ガ2}前に{verb past}。
  hypothesis:        {agent2}は{agent1}より{先|早く}{verb past}。
  contradicts:       always
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    words = tmp_path / "w"
    words.mkdir()
    (tmp_path / "pack.toml").write_text(HEAD.format(language="ja"), "utf-8")
    (tmp_path / "t.txt").write_text(TEMPLATES, "utf-8")
    (words / "lexicon.toml").write_text(LEXICON.format(language="ja"), "utf-8")
    (words / "agents.txt").write_text(AGENTS, "utf-8")
    (words / "frames.tsv").write_text("\n".join(FRAMES) + "\n", "utf-8")
    (words / "nouns.tsv").write_text("\n".join(NOUNS) + "\n", "utf-8")
    return tmp_path


def generator(folder: Path, seed: str = "1") -> Generator:
    pack = load_pack(folder)
    return Generator(pack, load_pack_lexicon(pack), seed)


def all_of(maker: Generator, split: str = "train", per: int = 10) -> list[Example]:
    return [
        example
        for place in maker.plan_cells(split, per)
        for example in maker.problems(split, place)
    ]


def texts(examples: list[Example]) -> list[tuple[str, str]]:
    return [(e.inputs["premise"], e.inputs["hypothesis"]) for e in examples]


def masked(example: Example) -> str:
    return re.sub(r"\d+", "0", example.inputs["premise"] + example.inputs["hypothesis"])


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100, 1009])
def test_a_shuffle_is_a_permutation(n: int) -> None:
    orders = {
        tuple(permute_place(i, n, hash_key("a", seed)) for i in range(n)) for seed in range(5)
    }
    assert all(sorted(order) == list(range(n)) for order in orders)
    assert len(orders) > 1 or n <= 2


def test_a_shuffle_leaves_no_trace_of_steps() -> None:
    # Cells take every C-th number: what they get must not repeat with C.
    n, step = 300, 60
    got = Counter(permute_place(i * step % n, n, hash_key("b", i)) % 5 for i in range(5000))
    assert max(got.values()) < 1.15 * min(got.values())


def test_dice_are_keyed_and_even() -> None:
    assert [KeyedRandom(1, 2).random() for _ in range(3)] == [KeyedRandom(1, 2).random()] * 3
    drawn = [KeyedRandom(7, i).random() for i in range(20_000)]
    assert 0 <= min(drawn) < max(drawn) < 1
    counts = Counter(int(x * 10) for x in drawn)
    assert max(counts.values()) < 1.12 * min(counts.values())


def test_every_way_once_and_frames_take_turns(folder: Path) -> None:
    maker = generator(folder)
    space = WordSpace(maker.pack["when"], maker.lexicon, "", range(RESIDUE_COUNT))
    assert space.size == (3 + 2 + 2) * 21
    filled = [tuple(space.fill(k, 5).values()) for k in range(space.size)]
    assert len(set(filled)) == space.size
    assert space.fill(space.size + 3, 5) == space.fill(3, 5)
    verbs = Counter(space.fill(k, 5)["verb_1.past"] for k in range(3 * 40))
    assert verbs == {"磨いた": 40, "灯した": 40, "建てた": 40}


def test_words_of_one_problem_differ(folder: Path) -> None:
    text = "template put\n  category: 場\n  premise: {agent ガ}は{noun1 ニ}に{noun2 ヲ}を{verb 他 ガ ニ ヲ past}。\n  hypothesis: {agent}は{noun2}を{verb past}。\n"
    (folder / "t.txt").write_text(text, "utf-8")
    maker = generator(folder)
    found = [space_words for k in range(60) for space_words in [_fill(maker, k)]]
    assert all(words["noun_1"] != words["noun_2"] for words in found)
    assert {words["noun_1"] for words in found} == {"棚", "丘"}


def _fill(maker: Generator, k: int) -> dict[str, str]:
    return WordSpace(maker.pack.templates[0], maker.lexicon, "", range(RESIDUE_COUNT)).fill(k, 1)


def test_splits_share_no_masked_sentence_and_use_all_agents(folder: Path) -> None:
    maker = generator(folder)
    train, test = all_of(maker, "train", 40), all_of(maker, "test", 40)
    assert not {masked(e) for e in train} & {masked(e) for e in test}
    for examples in (train, test):
        assert (
            len({word for e in examples for word in re.findall("名.", e.inputs["premise"])}) >= 20
        )


def test_no_problem_twice(folder: Path) -> None:
    examples = all_of(generator(folder), per=100)
    assert len(set(texts(examples))) == len(examples)
    assert len({e.id for e in examples}) == len(examples)


def test_words_may_return_but_then_the_times_differ(folder: Path) -> None:
    maker = generator(folder)
    (place,) = [
        p for p in maker.plan_cells("train", 2000) if p.cell.name == "when/年月日/random/neutral"
    ]
    examples = list(maker.problems("train", place))
    assert len({masked(e) for e in examples}) < len(examples) == len(set(texts(examples)))
    later = list(maker.problems("train", place, 1900))
    assert later == examples[1900:]


def test_a_cell_without_times_ends_where_its_words_do(folder: Path) -> None:
    (place,) = [
        p for p in generator(folder).plan_cells("train", 10**6) if p.cell.template.id == "order"
    ]
    assert 21 * 16 >= place.n > 300
    assert len(set(texts(list(generator(folder).problems("train", place))))) == place.n


def test_an_item_depends_on_seed_cell_and_number_alone(folder: Path) -> None:
    maker = generator(folder)
    place = maker.plan_cells("train", 10)[3]
    whole = list(maker.problems("train", place))
    assert [
        next(generator(folder).problems("train", place, i, i + 1)) for i in reversed(range(10))
    ] == whole[::-1]
    assert list(maker.problems("train", PlannedCell(place.number, place.cell, 3))) == whole[:3]
    assert texts(whole) != texts(list(generator(folder, "2").problems("train", place)))


def test_gold_is_what_the_template_says(folder: Path) -> None:
    from nikawa.generation.problem_reader import ProblemReader

    maker = generator(folder)
    for example in all_of(maker):
        template = maker.pack[example.meta["template"]]
        parsed = ProblemReader(template).read(
            example.inputs["premise"], example.inputs["hypothesis"]
        )
        assert parsed is not None
        assert template.compute_label(parsed.values, parsed.format) == example.gold["label"]
        assert example.origin is not None
        assert (example.origin.recipe, example.origin.step, example.origin.gold) == (
            "lamps",
            template.id,
            "derived",
        )
        assert example.meta["cell"].endswith(f"/{example.gold['label']}")
        assert example.tags == {template.category}


@pytest.mark.slow
def test_verbs_suit_the_unit(folder: Path) -> None:
    lexicon = load_lexicon("ja")
    pack = load_pack("temporal-ja@1")
    maker = Generator(pack, lexicon, "1")
    years = {f.verb for f in lexicon.frames if "year" in f.units}
    (place,) = [
        p for p in maker.plan_cells("train", 30) if p.cell.name == "done-1/年間/random/entailment"
    ]
    space = WordSpace(place.cell.template, lexicon, verb_unit(place.cell), (0,))
    from nikawa.text.conjugation_ja import conjugate

    past = {conjugate(f.verb, "past", f.ctype or None) for f in lexicon.frames if f.verb in years}
    assert {space.fill(k, 1)["verb_1.past"] for k in range(200)} <= past


def test_a_unit_few_verbs_have_is_not_asked_for(folder: Path) -> None:
    maker = generator(folder)
    (cell,) = [c for c in maker.pack.cells() if c.name == "when/年/random/neutral"]
    assert verb_unit(cell) == "year"
    assert {
        WordSpace(cell.template, maker.lexicon, "year", range(RESIDUE_COUNT)).fill(k, 1)[
            "verb_1.past"
        ]
        for k in range(9)
    } == {
        "磨いた",
        "灯した",
        "建てた",
    }


def test_a_slot_of_another_kind_takes_its_class(folder: Path) -> None:
    lexicon = load_lexicon(folder / "w")
    assert nouns_of_kind(lexicon, "colour") == ("赤", "青", "白")
    assert nouns_of_kind(lexicon, "place") == ("棚", "丘")
    assert set(nouns_of_kind(lexicon, "noun")) == {
        "灯台",
        "塔",
        "鐘",
        "灯",
        "火",
        "棚",
        "丘",
        "赤",
        "青",
        "白",
    }
    (folder / "pack.toml").write_text(
        HEAD.format(language="ja") + 'slots = ["colour", "shape"]\n', "utf-8"
    )
    line = "template c\n  category: 色\n  premise: {agent}は%s。\n  hypothesis: {agent}は%s。\n  entails: always\n"
    (folder / "t.txt").write_text(line % ("{colour}が好きだ", "{colour}を好む"), "utf-8")
    assert {re.findall("は(.)", p)[0] for p, _ in texts(all_of(generator(folder), per=12))} == {
        "赤",
        "青",
        "白",
    }
    (folder / "t.txt").write_text(line % ("{shape}だ", "{shape}だ"), "utf-8")
    with pytest.raises(
        BadInput,
        match="asks for shape_1, of which the lexicon 'lamps' has none; add a class 'shape'",
    ):
        all_of(generator(folder))


def test_two_verbs_are_different_verbs(folder: Path) -> None:
    text = "template two\n  category: 二\n  premise: {agent ガ}は{noun1 ヲ}を{verb1 他 ガ ヲ te}、{noun2 ヲ2}を{verb2 他 ガ ヲ2 past}。\n  hypothesis: {agent}は{noun2}を{verb2}前に{noun1}を{verb1 past}。\n  entails: always\n"
    (folder / "t.txt").write_text(text, "utf-8")
    pairs = {
        tuple(re.findall("を(磨|灯|建)", p)) for p, _ in texts(all_of(generator(folder), per=60))
    }
    assert pairs == {pair for pair in product("磨灯建", repeat=2) if pair[0] != pair[1]}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "自 ガ1 ガ2",
            "自 ガ1 ガ2 マデ",
            "template order has a verb that no frame of the lexicon 'lamps' suits",
        ),
        ("{agent1 ガ1}は", "{time1}に{agent1 ガ1}は", ""),
    ],
)
def test_a_verb_nobody_has(folder: Path, old: str, new: str, said: str) -> None:
    (folder / "t.txt").write_text(TEMPLATES.replace(old, new), "utf-8")
    if said:
        with pytest.raises(BadInput, match=said):
            all_of(generator(folder))
    else:
        assert all_of(generator(folder))


def test_a_lexicon_of_another_language(folder: Path) -> None:
    (folder / "w" / "lexicon.toml").write_text(LEXICON.format(language="ko"), "utf-8")
    with pytest.raises(BadInput, match="the pack lamps is 'ja', its lexicon 'lamps' is 'ko'"):
        generator(folder)


def test_splits_that_cannot_be_kept_apart(folder: Path) -> None:
    cells = "".join(f"[cells.s{i}]\nper = 1\n" for i in range(RESIDUE_COUNT + 1))
    (folder / "pack.toml").write_text(HEAD.format(language="ja") + cells, "utf-8")
    with pytest.raises(BadInput, match="lamps has 6 splits; at most 5"):
        all_of(generator(folder), "s0", 1)


def test_too_few_words_for_a_split(folder: Path) -> None:
    (folder / "w" / "agents.txt").write_text("名あ 名い", "utf-8")
    maker = generator(folder)
    places = maker.plan_cells("test", 1)
    assert {place.n for place in places if place.cell.template.id == "order"} == {0}


@pytest.mark.slow
def test_korean_particles_and_states() -> None:
    pack = load_pack("temporal-ko@1")
    maker = Generator(pack, load_pack_lexicon(pack), "1")
    (place,) = [
        p for p in maker.plan_cells("train", 60) if p.cell.name == "since-1/일시/short/entailment"
    ]
    found = texts(list(maker.problems("train", place)))
    assert all(re.search(r" \S+(?:은|는) ", premise) for premise, _ in found)
    assert any(
        "앉아 있다" in premise or "서 있다" in premise or "숨어 있다" in premise
        for premise, _ in found
    )
    assert not any("서고 있다" in premise or "숨고 있다" in premise for premise, _ in found)


def test_marks_of_the_training_splits(folder: Path) -> None:
    rules = '[split.short]\ntime_span = ["random"]\n[split.orders]\nextends = "short"\ncategory = ["順序"]\n'
    (folder / "pack.toml").write_text(HEAD.format(language="ja") + rules, "utf-8")
    maker = generator(folder)
    marks = {
        (e.meta["time_span"], e.meta["short"], e.meta["orders"]) for e in all_of(maker, "test", 1)
    }
    assert marks == {
        ("random", "unseen", "unseen"),
        ("short", "seen", "seen"),
        (None, "seen", "unseen"),
    }
    assert "short" not in all_of(maker, "train", 1)[0].meta


@pytest.mark.slow
def test_the_published_design(shared_data: Path) -> None:
    from nikawa.generation.pack import open_pack

    pack: Pack = open_pack("jamp", shared_data)
    maker = Generator(pack, load_pack_lexicon(pack), "1")
    train, test = maker.plan_cells("train", 10), maker.plan_cells("test", 2)
    assert (len(train), len(test)) == (995, 174)
    assert {place.n for place in train} == {10}
    assert len(pack.unreachable()) == 18
    labels = Counter(place.cell.label for place in train)
    assert (labels["entailment"], labels["contradiction"], labels["neutral"]) == (305, 354, 336)


@pytest.mark.parametrize("odd", ["", '"火"', "100%だ"])
def test_lines_are_the_records(folder: Path, odd: str) -> None:
    from nikawa.io.json import encode_json

    if odd:
        frames = (folder / "w" / "frames.tsv").read_text("utf-8").replace("灯 火", f"灯 {odd}")
        (folder / "w" / "frames.tsv").write_text(frames, "utf-8")
        (folder / "t.txt").write_text(TEMPLATES.replace("時点", '時"点 100%'), "utf-8")
    maker = generator(folder)
    for split in ("train", "test"):
        for place in maker.plan_cells(split, 4):
            whole = b"".join(encode_json(e) + b"\n" for e in maker.problems(split, place))
            assert maker.lines(split, place) == whole
            assert maker.lines(split, place, 0, 1) + maker.lines(split, place, 1) == whole


def test_a_literal_that_needs_escapes(folder: Path) -> None:
    (folder / "t.txt").write_text(
        TEMPLATES.replace("より", '"より"').replace("先|早く", '先|"早く"'), "utf-8"
    )
    maker = generator(folder)
    lines = b"".join(
        maker.lines("train", place) for place in maker.plan_cells("train", 30)
    ).splitlines()
    from nikawa.io.json import decode_json

    found = [decode_json(line, Example, folder) for line in lines]
    assert texts(found) == texts(all_of(maker, per=30))
    assert any('"早く"' in e.inputs["hypothesis"] for e in found)
