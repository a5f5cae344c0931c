"""A dependency tree over the words of a sentence: each word gets its head and its relation (KLUE-DP).

An answer is `{"tree": {"heads": [2, 0], "labels": ["NP_SBJ", "VP"]}}`: heads count words from 1, 0 is the root. Only a tree
is accepted: one root, no cycle, a label for each word. The input `tree`, made by a parser, is shown as a beginning unless
the setting `preparse` is off. The input `answers`, trees of earlier workers, is shown to who decides between them: the page
begins with the arcs that all share. A control item is right where the share of equal arcs reaches the setting `share`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from nikawa.collect.form import REFUSED, Answer, Form, Options, Problem, Sample
from nikawa.collect.forms._base import FormSettings, make_guideline, only_answer
from nikawa.collect.forms._tree_labels import (
    KLUE_RELATIONS,
    LIKELY,
    likely_relations,
    relation_names,
)
from nikawa.datasets.trees import has_crossing_arcs, has_leftward_head, has_loop, is_tree
from nikawa.errors import BadInput
from nikawa.records import Example

MAX_WORDS = 200
"""Words that a page can show."""


class Tree(FormSettings, frozen=True, kw_only=True):
    """The relations, what is shown at the start, and which trees are unusual."""

    question: str = "tree"
    labels: Annotated[tuple[str, ...], Meta(min_length=1, max_length=200)] = KLUE_RELATIONS
    """The relations; the default are those of KLUE-DP."""
    candidates: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Relations shown first by the last tag of the word that has an entry: a tag (`JKS`), or a morpheme with its tag
    (`は/助詞-係助詞`). Empty: what is frequent in KLUE-DP, and for Japanese by GiNZA's tags."""
    preparse: bool = True
    """Whether the page begins with the tree that the item comes with."""
    root_label: str = ""
    """The relation of the root and of no other word, such as `root`; empty: the root has a relation like any word."""
    crossing: Literal["mark", "refuse"] = "mark"
    """Whether arcs that cross are marked, or not accepted."""
    head_final: bool = True
    """Whether a head to the left of its word is marked, as in Korean and Japanese such heads are rare."""
    share: Annotated[float, Meta(ge=0, le=1)] = 0.9
    """The share of words with the right head and relation from which a control item counts as right."""


def check_settings(options: Options, _paths: Mapping[str, Path]) -> Options:
    """Refuse a relation of the root that no word can get."""
    if options.root_label and options.root_label not in options.labels:
        what = f"[form_settings] of the form tree: root_label = {options.root_label!r} is not one of the labels"
        raise BadInput(what, file="project.toml", cure="write one of them, or add it to labels")
    return options


def list_words(example: Example) -> list[Mapping[str, Any]]:
    """The words of an item; raises `ValueError` for words that cannot be shown."""
    words = example.inputs.get("words")
    if not isinstance(words, list | tuple) or not words:
        raise ValueError("the input 'words' is not a list of words")
    if len(words) > MAX_WORDS:
        raise ValueError(f"it has {len(words)} words, and the page shows {MAX_WORDS}")
    for number, word in enumerate(words, start=1):
        if not isinstance(word, Mapping) or type(word.get("form")) is not str:
            raise ValueError(f"word {number} has no form")
    return list(words)


def validate(answer: Answer, example: Example, options: Options) -> list[Problem]:
    """One root, a head and a relation for each other word, no cycle; what is unusual is a warning."""
    size = len(list_words(example))
    tree = only_answer(answer, options.question)
    if not isinstance(tree, dict) or tree.keys() != {"heads", "labels"}:
        return [Problem(REFUSED)]
    heads, labels = tree["heads"], tree["labels"]
    for part in (heads, labels):
        if not isinstance(part, list | tuple) or len(part) != size:
            return [Problem(REFUSED)]
    where = options.question
    for place, (head, label) in enumerate(zip(heads, labels, strict=True), start=1):
        is_head = head is None or (type(head) is int and 0 <= head <= size and head != place)
        is_label = label is None or (isinstance(label, str) and label in options.labels)
        if not is_head or not is_label:
            return [Problem(REFUSED, where=where)]
    for name, part in (("tree_heads_missing", heads), ("tree_labels_missing", labels)):
        if missing := sum(value is None for value in part):
            return [Problem(name, {"count": missing}, where)]
    if heads.count(0) > 1:
        return [Problem("tree_roots", {"count": heads.count(0)}, where)]
    if has_loop(heads):
        return [Problem("tree_cycle", where=where)]
    at_root = [head == 0 for head in heads]
    if options.root_label and at_root != [label == options.root_label for label in labels]:
        return [Problem("tree_root_label", where=where)]
    problems = []
    if has_crossing_arcs(heads):
        problems.append(Problem("tree_crossing", where=where, warning=options.crossing == "mark"))
    if options.head_final and has_leftward_head(heads):
        problems.append(Problem("tree_leftward", where=where, warning=True))
    return problems


def is_near_gold(answer: Answer, gold: Mapping[str, Any], options: Options) -> bool:
    """Whether the share of words with the right head and relation reaches the one asked for."""
    tree, right = answer[options.question], gold.get(options.question) or {}
    heads, labels = right.get("heads", ()), right.get("labels", ())
    if len(heads) != len(tree["heads"]) or len(labels) != len(heads):
        return False
    pairs = zip(tree["heads"], tree["labels"], heads, labels, strict=True)
    equal = sum(head == own and label == named for head, label, own, named in pairs)
    return bool(equal >= options.share * len(heads) - 1e-9)


def misattach(
    gold: Mapping[str, Any], example: Example, options: Options, chance: float
) -> Answer | None:
    """The gold with other relations, of just as many words as make it wrong; None where there is no other relation."""
    tree, size = gold.get(options.question), len(list_words(example))
    free = [label for label in options.labels if label != options.root_label]
    if not is_tree(tree, size) or tree is None or len(free) < 2:
        return None
    places = [n for n in range(size) if tree["heads"][n] or not options.root_label]
    count = int((1 - options.share) * size) + 1
    if count > len(places):
        return None
    start, labels = int(chance * len(places)), list(tree["labels"])
    for n in range(count):
        place = places[(start + n) % len(places)]
        others = [label for label in free if label != labels[place]]
        labels[place] = others[int(chance * len(others))]
    return {options.question: {"heads": list(tree["heads"]), "labels": labels}}


def shorten_tags(pos: str) -> str:
    """The tags of a word as the page shows them: of UniDic's long ones the part that says most.

    >>> shorten_tags("名詞-普通名詞-一般+助詞-格助詞"), shorten_tags("NNG+JKO")
    ('名詞+格助詞', 'NNG+JKO')
    """
    parts = [tag.split("-") for tag in pos.split("+")]
    return "+".join(part[1] if part[0] == "助詞" and len(part) > 1 else part[0] for part in parts)


def view(_form: Form, example: Example, options: Options) -> dict[str, Any]:
    """The text, its words with the relations that are likely, and the tree it comes with."""
    words = list_words(example)
    shown: dict[str, Any] = {
        "text": str(example.inputs["text"]),
        "words": [
            {
                "form": word["form"],
                "pos": shorten_tags(str(word.get("pos") or "")),
                "likely": likely_relations(word, options.candidates or LIKELY, options.labels),
            }
            for word in words
        ],
    }
    tree = example.inputs.get("tree")
    if options.preparse and is_tree(tree, len(words)) and tree is not None:
        known = [label if label in options.labels else None for label in tree["labels"]]
        shown["tree"] = {"heads": list(tree["heads"]), "labels": known}
    answers = example.inputs.get("answers")
    if isinstance(answers, list | tuple) and all(is_tree(one, len(words)) for one in answers):
        shown["answers"] = list(answers)
    return shown


FORM = Form(
    name="tree",
    title={
        "ja": "文節の係り受けを付ける",
        "ko": "어절의 의존 관계 지정하기",
        "en": "Dependency tree of a sentence",
    },
    questions=("tree",),
    inputs=("text", "words"),
    optional=("tree", "answers"),
    validate=validate,
    settings=Tree,
    prepare=check_settings,
    gold_matches=is_near_gold,
    mislead=misattach,
    view=view,
    template="tree.html",
    words={
        "ja": {
            "prompt": "文節ごとに、係り先と関係を指定してください。",
            "words": "文節",
            "root": "文の中心",
            "head": "係り先",
            "relation": "関係",
            "unset": "未定",
            "open_words": "未定の文節：{count}",
            "none_open": "すべての文節が決まりました",
            "word_is": "{n}、{form}。係り先：{head}。関係：{label}。",
            "word_crosses": "他の線と交差しています。",
            "word_leftward": "係り先が左にあります。",
            "word_disputed": "作業者の回答が分かれています。",
            "pick_head": "係り先を選ぶ",
            "pick_now": "「{form}」の係り先を選んでください",
            "pick_stopped": "係り先の選択をやめました",
            "head_set": "「{form}」の係り先：{head}",
            "root_moved": "「{form}」を文の中心にしました。「{old}」の係り先が未定になりました",
            "cycle": "「{head}」は「{form}」に係っているため、係り先にできません",
            "label_set": "「{form}」の関係：{label}",
            "cleared": "「{form}」を未定に戻しました",
            "step_back": "一つ戻しました",
            "next_open": "次の未定へ",
            "all_labels": "すべての関係",
            "filter": "関係を検索",
            "filter_count": "{count}件",
            "drag_from": "「{form}」から係り先までドラッグ",
            "of_workers": "作業者の回答",
            "of_worker": "{worker}：{head}、{label}",
            "key_word": "前後の文節",
            "key_head": "係り先を選ぶ（左右のキーとEnter）",
            "key_root": "文の中心にする",
            "key_label": "関係を選ぶ",
            "key_open": "次・前の未定の文節",
            "key_all": "すべての関係を表示",
            "key_clear": "未定に戻す",
            "key_back": "一つ戻す",
            "tree_heads_missing": "係り先が未定の文節があります（{count}個）",
            "tree_labels_missing": "関係が未定の文節があります（{count}個）",
            "tree_roots": "文の中心は一つだけにしてください（今は{count}個）",
            "tree_cycle": "係り先が循環しているか、文の中心がありません",
            "tree_root_label": "文の中心には「文の中心」の関係を付け、他の文節には付けないでください",
            "tree_crossing": "交差する線があります。確認してください。",
            "tree_leftward": "左の文節に係る文節があります。確認してください。",
            **relation_names(1),
        },
        "ko": {
            "prompt": "어절마다 지배소와 관계를 지정해 주세요.",
            "words": "어절",
            "root": "문장의 중심",
            "head": "지배소",
            "relation": "관계",
            "unset": "미정",
            "open_words": "미정인 어절: {count}",
            "none_open": "모든 어절이 정해졌습니다",
            "word_is": "{n}, {form}. 지배소: {head}. 관계: {label}.",
            "word_crosses": "다른 선과 교차합니다.",
            "word_leftward": "지배소가 왼쪽에 있습니다.",
            "word_disputed": "작업자의 답이 다릅니다.",
            "pick_head": "지배소 고르기",
            "pick_now": "‘{form}’의 지배소를 골라 주세요",
            "pick_stopped": "지배소 고르기를 그만두었습니다",
            "head_set": "‘{form}’의 지배소: {head}",
            "root_moved": "문장의 중심: ‘{form}’. ‘{old}’의 지배소가 미정이 되었습니다",
            "cycle": "순환이 생겨 지배소로 고를 수 없습니다: ‘{head}’ → ‘{form}’",
            "label_set": "‘{form}’의 관계: {label}",
            "cleared": "미정으로 되돌림: ‘{form}’",
            "step_back": "한 단계 되돌렸습니다",
            "next_open": "다음 미정 어절",
            "all_labels": "모든 관계",
            "filter": "관계 검색",
            "filter_count": "{count}건",
            "drag_from": "‘{form}’에서 지배소까지 끌기",
            "of_workers": "작업자의 답",
            "of_worker": "{worker}: {head}, {label}",
            "key_word": "앞뒤 어절",
            "key_head": "지배소 고르기(화살표와 Enter)",
            "key_root": "문장의 중심으로 정하기",
            "key_label": "관계 고르기",
            "key_open": "다음·이전 미정 어절",
            "key_all": "모든 관계 보기",
            "key_clear": "미정으로 되돌리기",
            "key_back": "한 단계 되돌리기",
            "tree_heads_missing": "지배소가 미정인 어절이 있습니다({count}개)",
            "tree_labels_missing": "관계가 미정인 어절이 있습니다({count}개)",
            "tree_roots": "문장의 중심은 하나여야 합니다(지금은 {count}개)",
            "tree_cycle": "지배소가 순환하거나 문장의 중심이 없습니다",
            "tree_root_label": "문장의 중심에만 ‘문장의 중심’ 관계를 지정해 주세요",
            "tree_crossing": "교차하는 선이 있습니다. 확인해 주세요.",
            "tree_leftward": "왼쪽 어절에 걸리는 어절이 있습니다. 확인해 주세요.",
            **relation_names(2),
        },
        "en": {
            "prompt": "Give each word its head and its relation.",
            "words": "Words",
            "root": "root",
            "head": "Head",
            "relation": "Relation",
            "unset": "not set",
            "open_words": "Words left: {count}",
            "none_open": "Every word has a head and a relation",
            "word_is": "{n}, {form}. Head: {head}. Relation: {label}.",
            "word_crosses": "Crosses another arc.",
            "word_leftward": "The head is on the left.",
            "word_disputed": "The workers' answers differ.",
            "pick_head": "Choose the head",
            "pick_now": "Choose the head of “{form}”",
            "pick_stopped": "No head was chosen",
            "head_set": "The head of “{form}” is {head}",
            "root_moved": "“{form}” is the root now. “{old}” needs a head",
            "cycle": "“{head}” depends on “{form}”, so it cannot be its head",
            "label_set": "The relation of “{form}” is {label}",
            "cleared": "“{form}” has no head and no relation now",
            "step_back": "The last change was undone",
            "next_open": "Next unfinished word",
            "all_labels": "All relations",
            "filter": "Find a relation",
            "filter_count": "{count} found",
            "drag_from": "Drag from “{form}” to its head",
            "of_workers": "Answers of the workers",
            "of_worker": "{worker}: {head}, {label}",
            "key_word": "Previous or next word",
            "key_head": "Choose the head (arrows and Enter)",
            "key_root": "Make the word the root",
            "key_label": "Choose the relation",
            "key_open": "Next or previous unfinished word",
            "key_all": "Show all relations",
            "key_clear": "Remove head and relation",
            "key_back": "Undo the last change",
            "tree_heads_missing": "Words without a head: {count}",
            "tree_labels_missing": "Words without a relation: {count}",
            "tree_roots": "There must be one root (now {count})",
            "tree_cycle": "The heads lead in a circle, or no word is the root",
            "tree_root_label": "Give the root, and no other word, the relation of the root",
            "tree_crossing": "Two arcs cross. Please check them.",
            "tree_leftward": "A word has its head on the left. Please check it.",
            **relation_names(3),
        },
    },
    guideline=make_guideline(
        ja=(
            "文節ごとに、意味の上で直接係っている文節を一つ選び、その関係を指定してください。",
            "文の中心は一つだけです。ほとんどの文では最後の文節です。",
            "最初から付いている線は自動で付けたものです。誤りがあれば修正してください。",
            "線の交差や左への係りはまれです。赤い枠が付いたら、もう一度確認してください。",
        ),
        ko=(
            "어절마다 의미상 직접 걸리는 어절(지배소)을 하나 고르고 그 관계를 지정해 주세요.",
            "문장의 중심은 하나뿐이며, 대부분 마지막 어절입니다.",
            "처음부터 있는 선은 자동으로 그은 것입니다. 틀렸으면 고쳐 주세요.",
            "선이 교차하거나 왼쪽으로 걸리는 경우는 드뭅니다. 표시가 나타나면 다시 확인해 주세요.",
        ),
        en=(
            "For each word, choose the one word that it directly depends on (its head), and their relation.",
            "A sentence has one root. In most sentences it is the last word.",
            "The arcs you see at the start were made automatically. Correct wrong ones.",
            "Arcs that cross and heads on the left are rare. Check a word again if it is marked.",
        ),
    ),
    sample=Sample(
        inputs={
            "text": "하루가 종을 힘껏 쳤다.",
            "words": [
                {"form": "하루가", "lemma": "하루 가", "pos": "NNP+JKS"},
                {"form": "종을", "lemma": "종 을", "pos": "NNG+JKO"},
                {"form": "힘껏", "lemma": "힘껏", "pos": "MAG"},
                {"form": "쳤다.", "lemma": "치 었 다 .", "pos": "VV+EP+EF+SF"},
            ],
        },
        answer={"tree": {"heads": [4, 4, 4, 0], "labels": ["NP_SBJ", "NP_OBJ", "AP", "VP"]}},
        refused=(
            {},
            {"tree": None},
            {"tree": {"heads": [4, 4, 4, None], "labels": ["NP_SBJ", "NP_OBJ", "AP", "VP"]}},
            {"tree": {"heads": [4, 4, 4, 0], "labels": ["NP_SBJ", None, "AP", "VP"]}},
            {"tree": {"heads": [4, 4, 0, 0], "labels": ["NP_SBJ", "NP_OBJ", "AP", "VP"]}},
            {"tree": {"heads": [2, 1, 4, 0], "labels": ["NP_SBJ", "NP_OBJ", "AP", "VP"]}},
            {"tree": {"heads": [4, 4, 4, 0], "labels": ["NP_SBJ", "NP_OBJ", "AP", "XX"]}},
            {"tree": {"heads": [1, 4, 4, 0], "labels": ["NP_SBJ", "NP_OBJ", "AP", "VP"]}},
            {"tree": {"heads": [4, 4, 0], "labels": ["NP_SBJ", "NP_OBJ", "VP"]}},
        ),
    ),
)
