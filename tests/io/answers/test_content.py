"""Which example a sample is about: texts first, then ids, then order, and never a guess."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nikawa.datasets import tasks
from nikawa.errors import BadInput
from nikawa.io.answers import read_answers
from nikawa.io.answers.base import Target
from nikawa.io.answers.content import ContentIndex, LogSample, SampleMatcher, place_texts
from nikawa.records import Example, Kind, Span, Task

NLI = ("entailment", "contradiction", "neutral")


def make_target(
    items: Sequence[dict[str, Any]],
    kind: Kind = "inference",
    ids: Sequence[str] | None = None,
    dataset: str = "harbour",
) -> Target:
    names = tuple(items[0])
    task = Task(
        name=dataset,
        dataset=dataset,
        kind=kind,
        question="label",
        inputs=names,
        labels=NLI,
        metrics=("none",),
    )
    ids = ids or [str(place) for place in range(len(items))]
    examples = [Example(id=i, inputs=item) for i, item in zip(ids, items, strict=True)]
    return Target(task, examples)


def pairs(*texts: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"premise": premise, "hypothesis": hypothesis} for premise, hypothesis in texts]


def sample(
    *segments: str,
    own_id: str | None = None,
    number: int | None = None,
    order: int | None = None,
    payload: Any = None,
    **fields: Any,
) -> LogSample:
    texts = (*segments, *(value for value in fields.values() if isinstance(value, str)))
    name = None if number is None else str(number)
    order = number - 1 if number is not None else order
    return LogSample(0, texts, fields, own_id, name, order, payload)


def match(
    target: Target, samples: Sequence[LogSample], *, by_order: bool = False, trust_ids: bool = False
) -> list[str | None]:
    """The id of each sample's example, `?` where it is refused, None where it is of none."""
    matcher = SampleMatcher(target, by_order=by_order, trust_ids=trust_ids)
    placed = [one._replace(place=place) for place, one in enumerate(samples)]
    names: dict[int, str | None] = {}
    for one, example, unfit, _ in matcher.match(placed):
        names[one.place] = "?" if unfit else example.id if example else None
    return [names[place] for place in range(len(samples))]


def ask(premise: str, hypothesis: str) -> str:
    return f"前提：{premise}\n仮説：{hypothesis}\n答え："


HARBOUR = pairs(
    ("波が高くなってきた。", "海が荒れている。"),
    ("鐘が三度鳴った。", "鐘が鳴った。"),
    ("市場に魚が並んでいる。", "魚が売られている。"),
    ("市場に魚が並んでいる。", "市場は閉まっている。"),
    ("少年が凧を揚げている。", "凧が空にある。"),
    ("老人が畑を耕している。", "老人は休んでいる。"),
)


def prompts(items: Sequence[dict[str, Any]]) -> list[str]:
    return [ask(item["premise"], item["hypothesis"]) for item in items]


def test_numbers_from_one_are_no_ids() -> None:
    samples = [sample(text, number=i) for i, text in enumerate(prompts(HARBOUR), start=1)]
    assert match(make_target(HARBOUR), samples) == list("012345")
    assert match(make_target(HARBOUR), samples[::-1]) == list("543210")


def test_width_and_blanks_do_not_matter() -> None:
    items = pairs(("ＪＲの駅は３つある。", "駅 が ある。"), ("JRの駅は無い。", "駅がある。"))
    segments = [ask("JRの駅は3つある。", "駅がある。"), ask("ＪＲの 駅 は無い。", "駅がある。")]
    assert match(make_target(items), [sample(text) for text in segments]) == ["0", "1"]


def test_what_folding_joins_is_told_apart_by_the_texts_themselves() -> None:
    items = pairs(("塔は１つ。とても高い。", "高い。"), ("塔は1つ。とても高い。", "高い。"))
    segments = [ask(item["premise"], item["hypothesis"]) for item in reversed(items)]
    assert match(make_target(items), [sample(text) for text in segments]) == ["1", "0"]


def test_a_text_inside_another_is_not_the_item() -> None:
    items = pairs(
        ("黒い猫が桟橋で眠る。", "猫が桟橋で眠る。"),
        ("猫が桟橋で眠る。", "猫が桟橋で眠る。"),
        ("猫が桟橋で眠る。", "猫がいる。"),
    )
    samples = [sample(text) for text in prompts(items)]
    assert match(make_target(items), samples) == ["0", "1", "2"]
    assert match(make_target(items), samples[:1]) == ["0"]
    # the hypothesis first, and a premise that holds another hypothesis
    items = pairs(
        ("鐘が鳴った。海が荒れている。", "船が出た。"),
        ("鐘が鳴った。海が荒れている。", "鐘が鳴った。"),
    )
    text = "「船が出た。」は「鐘が鳴った。海が荒れている。」から言えますか。"
    assert match(make_target(items), [sample(text)]) == ["0"]


def test_both_ways_round_the_way_of_the_log_counts() -> None:
    items = pairs(
        ("灯台守が油を運ぶ。", "人が油を運ぶ。"), ("人が油を運ぶ。", "灯台守が油を運ぶ。")
    )
    items += HARBOUR[:2]
    forward = [sample(text) for text in prompts(items)]
    assert match(make_target(items), forward) == ["0", "1", "2", "3"]
    template = "{hypothesis} は {premise} から言えるか。"
    backward = [sample(template.format(**item), payload=i) for i, item in enumerate(items)]
    assert match(make_target(items), backward) == ["0", "1", "2", "3"]
    assert match(make_target(items), backward[:2]) == ["?", "?"]
    by_name = [sample(hypothesis=i["hypothesis"], premise=i["premise"]) for i in items[:2]]
    assert match(make_target(items), by_name) == ["0", "1"]
    as_published = [sample(sentence1=i["premise"], sentence2=i["hypothesis"]) for i in items[:2]]
    assert match(make_target(items), as_published) == ["0", "1"]


def test_few_shot_examples_of_the_same_set() -> None:
    shots = "".join(f"{text}含意\n\n" for text in prompts(HARBOUR[2:4]))
    samples = [sample(shots + text, number=i) for i, text in enumerate(prompts(HARBOUR), start=1)]
    assert match(make_target(HARBOUR), samples) == list("012345")
    # other examples before each question
    texts = prompts(HARBOUR)
    turned = [f"{texts[i - 2]}矛盾\n{texts[i - 1]}含意\n{texts[i]}" for i in range(6)]
    assert match(make_target(HARBOUR), [sample(text) for text in turned]) == list("012345")


def test_short_texts_in_the_instruction() -> None:
    texts = ["네", "등대가 희다고 합니다", "배가 늦게 도착했다"]
    target = make_target([{"text": text} for text in texts], "text")
    samples = [
        sample(f"문장: {text}\n답은 네 또는 아니오입니다.") for text in [*texts, "새가 운다"]
    ]
    assert match(target, samples) == [None, "1", "2", None]
    assert match(target, samples[:3]) == ["0", "1", "2"]
    alone = [sample(text, text=text) for text in texts]
    assert match(target, alone) == ["0", "1", "2"]


TWINS = [*HARBOUR, HARBOUR[0]]


def test_items_of_the_same_texts_by_order() -> None:
    texts = prompts(TWINS)
    samples = [sample(text, number=i, payload=i) for i, text in enumerate(texts, start=1)]
    assert match(make_target(TWINS), samples) == list("0123456")
    assert match(make_target(TWINS), samples[::-1]) == list("6543210")
    part = [sample(texts[0], number=1, payload=1), *samples[1:4]]
    assert match(make_target(TWINS), part) == list("0123")


def test_items_of_the_same_texts_without_order_are_refused() -> None:
    texts = prompts(TWINS)
    samples = [sample(text, payload=i) for i, text in enumerate(texts)]
    assert match(make_target(TWINS), samples) == ["?", *"12345", "?"]
    order = [3, 0, 4, 6, 1, 5, 2]
    shuffled = [sample(texts[place], number=i, payload=i) for i, place in enumerate(order, start=1)]
    assert match(make_target(TWINS), shuffled) == ["3", "?", "4", "?", "1", "5", "2"]
    lonely = [sample(texts[0], number=1, payload=1), sample(texts[6], number=2, payload=2)]
    assert match(make_target(TWINS), lonely) == ["?", "?"]


def test_items_of_the_same_texts_and_answers() -> None:
    samples = [sample(text, payload="含意") for text in prompts(TWINS)]
    assert match(make_target(TWINS), samples) == list("0123456")
    assert match(make_target(TWINS), samples[:6]) == ["?", *"12345"]


def test_items_of_the_same_texts_by_the_only_order_there_is() -> None:
    """Gaps in the log, so that no number says the place; the order leaves one place only."""
    items = [*HARBOUR[:2], HARBOUR[5], HARBOUR[5], *HARBOUR[2:5]]
    kept = [0, 2, 3, 4, 5, 6]  # item 1 is not in the log
    texts = prompts(items)
    samples = [sample(texts[place], number=i, payload=i) for i, place in enumerate(kept, start=1)]
    assert match(make_target(items), samples) == ["0", "?", "?", "4", "5", "6"]
    items += pairs(("夜が明けた。朝になった。", "朝だ。"))
    texts, kept = prompts(items), [*kept, 7]
    samples = [sample(texts[place], number=i, payload=i) for i, place in enumerate(kept, start=1)]
    assert match(make_target(items), samples) == ["0", "2", "3", "4", "5", "6", "7"]


def test_ids_tell_twins_apart_unless_they_contradict_texts() -> None:
    texts = prompts(TWINS)
    own = [sample(text, own_id=str(i), payload=i) for i, text in enumerate(texts)]
    assert match(make_target(TWINS), own) == list("0123456")
    counted = [sample(text, own_id=str(i + 1), payload=i) for i, text in enumerate(texts)]
    assert match(make_target(TWINS), counted) == ["?", *"12345", "?"]
    numbers = [
        sample(text, number=i, payload=i)._replace(order=None) for i, text in enumerate(texts)
    ]
    assert match(make_target(TWINS), numbers) == list("0123456")


def test_ids_without_texts() -> None:
    target = make_target(HARBOUR)
    assert match(target, [sample("問", own_id="3"), sample("", own_id="harbour:dev/4")]) == [
        "3",
        "4",
    ]
    assert match(target, [sample("問", number=3)]) == [None]
    other = ask("まったく違う話がここにある。", "関係のない文である。")
    assert match(target, [sample(other, own_id="3")]) == ["?"]
    assert match(target, [sample(other, own_id="harbour:dev/3")]) == ["3"]
    assert match(target, [sample(other, own_id="3")], trust_ids=True) == ["3"]
    assert match(target, [sample(other, own_id="9"), sample(other, number=3)]) == [None, None]
    changed = ask("市場に魚がたくさん並んでいる。", "市場は閉まっているよ")
    assert match(target, [sample(changed, own_id="3")]) == ["3"]


def test_prompts_that_leave_a_text_out() -> None:
    """A premise or hypothesis alone: by number, or by place, whichever has the text."""
    target = make_target(HARBOUR)
    samples = [sample(item["hypothesis"], number=i) for i, item in enumerate(HARBOUR, start=1)]
    assert match(target, samples) == list("012345")
    samples = [sample(item["hypothesis"], own_id=str(i)) for i, item in enumerate(HARBOUR)]
    assert match(target, samples) == list("012345")
    wrong = [sample(item["hypothesis"], number=i) for i, item in enumerate(HARBOUR[::-1], start=1)]
    assert match(target, wrong) == [None, None, "3", None, None, None]


def test_whole_logs_by_order_alone() -> None:
    target = make_target(HARBOUR)
    samples = [sample(order=place) for place in (1, 0, 2, 3, 4, 5)]
    assert match(target, samples, by_order=True) == ["1", "0", "2", "3", "4", "5"]
    assert match(target, samples[:5], by_order=True) == [None] * 5
    assert match(target, [*samples, samples[0]], by_order=True) == [None] * 7
    assert match(target, samples) == [None] * 6
    texts = [sample("この文は別のデータのものです。", order=place) for place in range(6)]
    assert match(target, texts, by_order=True) == [None] * 6


def test_other_kinds() -> None:
    choices = ["鐘", "綱", "帆"]
    target = make_target(
        [
            {"question": "船をつなぐものは？", "choices": choices},
            {"question": "船をつなぐものは？", "choices": ["紐", "鎖", "帆"]},
        ],
        "choice",
    )
    listed = "問：船をつなぐものは？\n0. 紐\n1. 鎖\n2. 帆"
    assert match(target, [sample(listed), sample("船をつなぐものは？", *choices)]) == ["1", "0"]
    context = "霧浜 [SEP] 塔は白い。守は三人いた。"
    items = [
        {"title": "霧浜", "context": context, "question": q} for q in ("塔の色は？", "守は何人？")
    ]
    target = make_target(items, "reading")
    assert match(target, [sample("塔は白い。守は三人いた。\n守は何人？")]) == ["1"]
    turns = [{"role": "user", "text": t} for t in ("조용한 숙소를 찾아요", "네", "예약해 주세요")]
    target = make_target([{"turns": turns[: i + 1]} for i in range(3)], "dialogue")
    talks = ["\n".join(turn["text"] for turn in turns[: i + 1]) for i in range(3)]
    assert match(target, [sample(talk) for talk in talks]) == ["0", "1", "2"]
    text = "등대회의 미오와 하루"
    spans = [(Span(0, 3, "ORG"), Span(5, 7, "PER")), (Span(0, 3, "ORG"), Span(9, 11, "PER"))]
    related: list[dict[str, Any]] = [
        {"text": text, "subject": one, "object": other} for one, other in spans
    ]
    target = make_target(related, "relation")
    assert match(target, [sample(text, "등대회", "하루"), sample(text, "등대회", "미오")]) == [
        "1",
        "0",
    ]
    assert match(target, [sample(text, payload=1), sample(text, payload=2)]) == ["?", "?"]


def test_places_of_texts() -> None:
    assert place_texts(("ab", "ab"), "ab ab") == ((0, 2), (3, 5))
    assert place_texts(("ab", "ab"), "ab") is None
    assert place_texts(("a", "ba"), "ba") is None
    assert place_texts(("a", "b"), "ab b") == ((0, 1), (3, 4))


@pytest.mark.parametrize("size", [300, 3000])
def test_a_sample_takes_as_long_among_many(size: int) -> None:
    """The texts looked at do not grow with the split: premises that recur, hypotheses that recur."""
    side = int(size**0.5)
    items = pairs(
        *(
            (f"灯台の{i}番目の窓が光っている。", f"窓{j}が見える。")
            for i in range(side)
            for j in range(side)
        )
    )
    index = ContentIndex(make_target(items))
    content, fits = index.find_fits(sample(prompts(items)[side + 1]))
    assert "窓1が見える。" in content
    assert [fit.places for fit in fits] == [(side + 1,)]


def write_inspect_log(path: Path, samples: list[dict[str, Any]]) -> Path:
    rows = [{"epoch": 1, "target": "", **sample} for sample in samples]
    document = {"status": "success", "eval": {}, "samples": rows}
    path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    return path


def make_pairs(*pairs: tuple[str, str]) -> list[Example]:
    return [
        Example(id=str(place), inputs={"premise": premise, "hypothesis": hypothesis})
        for place, (premise, hypothesis) in enumerate(pairs)
    ]


def word_prompt(example: Example, shown: str = "") -> str:
    return shown + "前提: {premise}\n仮説: {hypothesis}\n".format(**example.inputs)


def test_fields_of_the_item_count_before_examples_that_were_shown(tmp_path: Path) -> None:
    """The ids are somebody's count from 1, and name items that every prompt shows."""
    examples = make_pairs(
        ("船が港に入る。", "港に船がいる。"),
        ("橋を電車が渡る。", "電車は動いている。"),
        ("鐘が三度鳴る。", "鐘は静かだ。"),
    )
    shown = "".join(word_prompt(example) + "答え: 含意\n" for example in examples)
    labels = ["entailment", "neutral", "contradiction"]
    samples = [
        {
            "id": str(place + 1),
            "input": word_prompt(example, shown),
            "metadata": dict(example.inputs),
            "output": {"completion": labels[place]},
        }
        for place, example in enumerate(examples)
    ]
    path = write_inspect_log(tmp_path / "log.json", samples)
    answers = read_answers(path, tasks()["jnli"], examples)
    assert [answers.predictions[str(place)].answer for place in range(3)] == labels
    for sample in samples:
        sample["metadata"] = {}
    path = write_inspect_log(tmp_path / "bare.json", samples[:2])
    with pytest.raises(BadInput, match="so the item is ambiguous"):
        read_answers(path, tasks()["jnli"], examples)


def test_an_id_counts_between_items_that_differ_in_width_alone(tmp_path: Path) -> None:
    """A tool that normalises writes ＪＲ as JR, which is another item to the letter."""
    examples = make_pairs(("ＪＲの駅がある。", "駅がある。"), ("JRの駅がある。", "駅がある。"))
    sample = {"id": "0", "input": word_prompt(examples[1]), "output": {"completion": "entailment"}}
    path = write_inspect_log(tmp_path / "log.json", [sample])
    answers = read_answers(path, tasks()["jnli"], examples)
    assert list(answers.predictions) == ["0"]
