"""Datasets of every kind of task, for exports to other tools, and the replies that a scripted model gives to them.

Everything here is our own invention. `plan_replies` decides for each item whether the model answers with gold, with gold inside a
sentence, with something else or with nothing readable; `compute_expected` is the official figure of these answers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nikawa.datasets.load import load
from nikawa.datasets.task_lookup import find_tasks
from nikawa.exchange.base import ANSWER, PROMPT, Row
from nikawa.io.cards import blank_card
from nikawa.io.folders import write_folder
from nikawa.metrics import metrics
from nikawa.metrics.base import Items
from nikawa.records import Dataset, Example, Span, Task

TRAIN_ITEMS = 4
"""The first items of each kind are the training split."""
_TEXT = [
    ("港の朝市は活気があって楽しかった。", "positive"),
    ("宿の部屋は狭くて暗かった。", "negative"),
    ("船の揺れがひどく、もう乗りたくない。", "negative"),
    ("灯台からの眺めは息をのむ美しさだった。", "positive"),
    ("案内の人がとても親切だった。", "positive"),
    ("料理が冷めていて残念だった。", "negative"),
    ("夕方の浜辺は静かで心地よかった。", "positive"),
    ("予約が取り消されていて困った。", "negative"),
    ("魚の塩焼きが最高においしかった。", "positive"),
    ("トイレが汚れていた。", "negative"),
    ("また来年も来たいと思う。", "positive"),
    ("値段のわりに量が少なかった。", "negative"),
]
_INFERENCE = [
    ("灯台守が油を運んでいる。", "人が油を運んでいる。", "entailment"),
    ("猫が桟橋で眠っている。", "桟橋には何もいない。", "contradiction"),
    ("舟が三そう並んでいる。", "舟は赤い。", "neutral"),
    ("少年が浜で凧を揚げている。", "凧が空にある。", "entailment"),
    ("漁師が網を直している。", "漁師は眠っている。", "contradiction"),
    ("子どもが貝を拾っている。", "貝を拾う人がいる。", "entailment"),
    ("市場に客が集まっている。", "客は魚を買う。", "neutral"),
    ("鐘が昼に鳴った。", "昼に音がした。", "entailment"),
    ("橋は工事で閉まっている。", "橋を車が渡っている。", "contradiction"),
    ("船長が地図を見ている。", "船長は北へ向かう。", "neutral"),
    ("女の人が傘をさしている。", "傘をさした人がいる。", "entailment"),
]
_SIMILARITY = [
    ("波が高い。", "高い波が寄せている。", 4.2),
    ("鐘が鳴る。", "時計台に鳩がいる。", 0.8),
    ("市場に魚が並ぶ。", "魚が市場に並べられている。", 4.6),
    ("畑で老人が鍬を振るう。", "海で若者が泳ぐ。", 0.2),
    ("女の子が傘をさして歩いている。", "女の子が傘をさして歩く。", 4.8),
    ("舟が港を出る。", "港から船が出ていく。", 4.4),
    ("灯台に明かりがともる。", "灯台の光が消える。", 1.6),
    ("猫が屋根にいる。", "犬が庭にいる。", 1.2),
    ("漁師が網を投げる。", "漁師が海に網を打つ。", 4.0),
    ("子どもが石段を上る。", "石段で子どもが休む。", 2.6),
]
_CHOICE = [
    ("船を岸につなぐものは？", ("鐘", "綱", "帆", "魚", "地図"), 1),
    ("雨の日に頭の上で広げるものは？", ("傘", "靴", "皿", "窓", "机"), 0),
    ("夜の海で船に場所を知らせる建物は？", ("駅", "畑", "灯台", "橋", "市場"), 2),
    ("朝に鳴いて時を告げる鳥は？", ("鳩", "鷺", "雀", "鶏", "梟"), 3),
    ("魚を捕るために海に投げるものは？", ("網", "鍋", "本", "筆", "枕"), 0),
    ("風を受けて舟を進めるものは？", ("錨", "櫂", "帆", "樽", "鎖"), 2),
    ("潮が引いた浜で拾うものは？", ("星", "貝", "葉", "雪", "雲"), 1),
    ("手紙を入れて出す箱は？", ("井戸", "たんす", "かご", "郵便受け", "ポスト"), 4),
    ("冬に首に巻くものは？", ("帯", "マフラー", "靴下", "帽子", "手袋"), 1),
    ("方角を知るための道具は？", ("はさみ", "鏡", "羅針盤", "温度計", "秤"), 2),
]
_READING = [
    (
        "霧浜灯台",
        "霧浜灯台は霧浜の北の岬にある。塔は白く、高さは十八メートルである。守は三人いた。",
        [
            ("灯台はどこにありますか。", ["霧浜の北の岬", "北の岬"]),
            ("塔は何色ですか。", ["白"]),
            ("守は何人いましたか。", ["三人"]),
            ("塔の高さはどれだけですか。", ["十八メートル"]),
        ],
    ),
    (
        "霧浜の市",
        "霧浜の市は毎月五日に開かれる。魚と塩が売られ、昼には鐘が鳴る。市を始めたのは商人の千代である。",
        [
            ("市は何日に開かれますか。", ["毎月五日", "五日"]),
            ("昼に何が鳴りますか。", ["鐘"]),
            ("市を始めたのはだれですか。", ["商人の千代", "千代"]),
            ("売られるものは魚と何ですか。", ["塩"]),
            ("鐘はいつ鳴りますか。", ["昼"]),
            ("市では何が売られますか。", ["魚と塩"]),
        ],
    ),
]
_TAGGING = [
    ("三月に千代が霧浜を訪れた。", [("三月", "DT"), ("千代", "PS"), ("霧浜", "LC")]),
    ("霧浜商会は魚を五箱送った。", [("霧浜商会", "OG"), ("五箱", "QT")]),
    ("雨が降っている。", []),
    ("源太は午後二時に港へ着いた。", [("源太", "PS"), ("午後二時", "TI")]),
    ("青島の灯台は一九〇一年に建った。", [("青島", "LC"), ("一九〇一年", "DT")]),
    ("千代と源太は青島に住む。", [("千代", "PS"), ("源太", "PS"), ("青島", "LC")]),
    ("市役所は三人を雇った。", [("市役所", "OG"), ("三人", "QT")]),
    ("船は朝六時に出る。", [("朝六時", "TI")]),
    ("風が強い。", []),
    ("霧浜から青島までは十二キロだ。", [("霧浜", "LC"), ("青島", "LC"), ("十二キロ", "QT")]),
]
_RELATION = [
    ("千代は霧浜商会の代表だ。", "千代", "霧浜商会", "per:employee_of"),
    ("源太は青島で生まれた。", "源太", "青島", "per:place_of_birth"),
    ("霧浜商会は霧浜に本社がある。", "霧浜商会", "霧浜", "org:place_of_headquarters"),
    ("千代は源太に手紙を書いた。", "千代", "源太", "no_relation"),
    ("青島汽船の本社は青島にある。", "青島汽船", "青島", "org:place_of_headquarters"),
    ("お菊は青島汽船で働いている。", "お菊", "青島汽船", "per:employee_of"),
    ("佐吉は霧浜の生まれだ。", "佐吉", "霧浜", "per:place_of_birth"),
    ("佐吉は霧浜を見た。", "佐吉", "霧浜", "no_relation"),
    ("源太は霧浜商会に勤めている。", "源太", "霧浜商会", "per:employee_of"),
    ("お菊は市場で魚を買った。", "お菊", "市場", "no_relation"),
    ("海運社は港町に本社を置く。", "海運社", "港町", "org:place_of_headquarters"),
]
_TREE = [
    (("千代が", "鐘を", "鳴らした。"), (3, 3, 0), ("NP_SBJ", "NP_OBJ", "VP")),
    (("白い", "舟が", "出る。"), (2, 3, 0), ("DP", "NP_SBJ", "VP")),
    (("源太は", "静かに", "歩いた。"), (3, 3, 0), ("NP_SBJ", "AP", "VP")),
    (("古い", "灯台を", "直す。"), (2, 3, 0), ("DP", "NP_OBJ", "VP")),
    (("猫が", "魚を", "見た。"), (3, 3, 0), ("NP_SBJ", "NP_OBJ", "VP")),
    (("高い", "波が", "ゆっくり", "寄せる。"), (2, 4, 4, 0), ("DP", "NP_SBJ", "AP", "VP")),
    (("子どもが", "貝を", "拾う。"), (3, 3, 0), ("NP_SBJ", "NP_OBJ", "VP")),
    (("急に", "鐘が", "鳴る。"), (3, 3, 0), ("AP", "NP_SBJ", "VP")),
    (("赤い", "旗を", "振る。"), (2, 3, 0), ("DP", "NP_OBJ", "VP")),
    (("船長が", "北を", "指す。"), (3, 3, 0), ("NP_SBJ", "NP_OBJ", "VP")),
]
_DIALOGUE = [
    (["海の見える宿を探しています。"], ["宿-地域-海辺"]),
    (["こんにちは。"], []),
    (["駅前で安い食堂はありますか。"], ["食堂-地域-駅前", "食堂-価格-安い"]),
    (["二人で泊まりたいです。"], ["宿-人数-2"]),
    (["山の宿をお願いします。", "何名ですか。", "三人です。"], ["宿-地域-山", "宿-人数-3"]),
    (["高級な食堂がいいです。"], ["食堂-価格-高級"]),
    (["港の食堂を探してください。"], ["食堂-地域-港"]),
    (["おはようございます。"], []),
    (["四人で泊まれる海辺の宿はありますか。"], ["宿-人数-4", "宿-地域-海辺"]),
    (["安い宿を知りたいです。"], ["宿-価格-安い"]),
]
_ODD = [  # id, text, label; the first are the training items
    ("t0", "訓練 {{ 1 }}", "{{label}}"),
    ("t1", "訓練 {% raw %}\\n", "{% endraw %}"),
    ("t2", "訓練 \u2028 #", "AB"),
    ("t3", "訓練 ''' \"\"\"", "A"),
    ("a/b", "{{ 7 * 7 }} と {{ answer }} {% raw %}", "A"),
    ("a_b", "{% endraw %}{{ 1/0 }}{# 注 #}", "AB"),
    ("{{id}}", "\\n は改行ではない \\ \\\\ \\u3042 ''' \"\"\"", "B"),
    ("日本 語", "$HOME `ls` %s %(x)s {0} {input} ${a.b} ${oc.env:HOME}", "O"),
    ("0", "", "A"),
    ("00", "一行目\r\n\r\n三行目\n\n", "AB"),
    ("..", "\u2028区切り\u0085と\x0bと\t", "{{label}}"),
    ("\"'\\", "a: b\n- c # d\n!!python/object:os.system &x *x", "{% endraw %}"),
    ("test/1", "local x = 1; // j\n/* c */ error 'e' |||", "B"),
    ("#1", "答え: O\n\n文章: x\n答え: A", "A"),
    ("*?|", "<|endoftext|> [INST] </s> 👩‍👩‍👧 𠮷野家 é e\u0301 ﾊﾝｶｸ", "O"),
    ("x" * 150, "長い文。" * 200, "AB"),
    ("-1", "null", "{{label}}"),
    ("🙂", "答えはBです。", "B"),
]
"""Texts, ids and labels that mean something in YAML, Jinja, Jsonnet, Python or JSON; labels that are letters of options."""
KINDS = (
    "text",
    "inference",
    "similarity",
    "choice",
    "reading",
    "tagging",
    "relation",
    "tree",
    "dialogue",
)
WALKS = (*KINDS, "odd")
"""What the tools are run on: every kind, and a text task that is hard to quote."""


def list_examples(kind: str) -> list[Example]:
    """The items of one of `WALKS`, the training items first."""
    if kind == "odd":
        return [Example(id=i, inputs={"text": t}, gold={"label": label}) for i, t, label in _ODD]
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
    if kind == "text":
        pairs = [({"text": text}, {"label": label}) for text, label in _TEXT]
    elif kind == "inference":
        pairs = [({"premise": p, "hypothesis": h}, {"label": label}) for p, h, label in _INFERENCE]
    elif kind == "similarity":
        pairs = [({"sentence1": a, "sentence2": b}, {"score": s}) for a, b, s in _SIMILARITY]
    elif kind == "choice":
        pairs = [({"question": q, "choices": [*c]}, {"choice": g}) for q, c, g in _CHOICE]
    elif kind == "reading":
        for title, context, questions in _READING:
            for question, answers in questions:
                gold = [{"text": text, "start": context.index(text)} for text in answers]
                inputs = {"title": title, "context": context, "question": question}
                pairs.append((inputs, {"answers": gold}))
    elif kind == "tagging":
        pairs = [({"text": t}, {"spans": [_span(t, *s) for s in spans]}) for t, spans in _TAGGING]
    elif kind == "relation":
        for text, subject, other, label in _RELATION:
            spans = {"subject": _span(text, subject, "PER"), "object": _span(text, other, "ORG")}
            pairs.append(({"text": text, **spans}, {"relation": label}))
    elif kind == "tree":
        for words, heads, labels in _TREE:
            forms = [{"form": word, "lemma": word.strip("。"), "pos": "X"} for word in words]
            gold_tree = {"heads": [*heads], "labels": [*labels]}
            pairs.append(({"text": " ".join(words), "words": forms}, {"tree": gold_tree}))
    else:
        for texts, state in _DIALOGUE:
            turns = [
                {"role": "sys" if i % 2 else "user", "text": text} for i, text in enumerate(texts)
            ]
            pairs.append(({"turns": turns}, {"state": state}))
    return [
        Example(id=f"{kind[:2]}{place}", inputs=inputs, gold=gold)
        for place, (inputs, gold) in enumerate(pairs)
    ]


def _span(text: str, words: str, label: str) -> Span:
    start = text.index(words)
    return Span(start, start + len(words), label)


def write_dataset(kind: str, folder: Path) -> Path:
    """The dataset folder of one of `WALKS`, below `folder`."""
    examples = list_examples(kind)
    is_odd = kind == "odd"
    card = blank_card("港 {{x}} 'odd' \"1\" $HOME" if is_odd else f"harbour-{kind}", "ja")
    splits = {"train": tuple(examples[:TRAIN_ITEMS]), "test": tuple(examples[TRAIN_ITEMS:])}
    dataset = Dataset(name=card.name, language="ja", version="1.0", card=card, splits=splits)
    path = folder / ("odd {{x}} 港" if is_odd else card.name)
    write_folder(dataset, path)
    return path


def read_rows(folder: Path, name: str) -> list[Row]:
    """The items of a task in an export; lighteval's data have each as one JSON text."""
    nested = folder / "data" / name / "test.jsonl"
    path = nested if nested.exists() else folder / "data" / f"{name}.jsonl"
    rows = map(json.loads, path.read_bytes().splitlines())
    return [json.loads(row["row"]) if nested.exists() else row for row in rows]


class PlannedReply(NamedTuple):
    """What the scripted model says to an item, and the answer that this is."""

    reply: str
    answer: Any


def plan_replies(
    task: Task, examples: Sequence[Example], rows: Sequence[Row]
) -> dict[str, PlannedReply]:
    """The reply to each question, by the rendered question: mostly gold; the second item of five is answered in a sentence or a
    code block, the third with another item's answer, the last item not at all.
    """
    by_id = {example.id: example for example in examples}
    plans: dict[str, PlannedReply] = {}
    for place, row in enumerate(rows):
        gold = by_id[row["id"]].gold[task.question]
        if task.kind == "reading":
            gold = gold[0]["text"] if gold else ""
        plan = PlannedReply(row[ANSWER], gold)
        if place == len(rows) - 1:
            plan = PlannedReply("申し訳ありませんが、お答えできません。", None)
            if task.kind == "reading":  # any text may be an answer
                plan = PlannedReply("海", "海")
        elif place % 5 == 1:
            plan = PlannedReply(dress_reply(task, row[ANSWER]), gold)
        elif place % 5 == 2:
            plan = plan_error(task, row, by_id[row["id"]])
        plans[row[PROMPT]] = plan
    return plans


def dress_reply(task: Task, answer: str) -> str:
    """An answer with words around it, which a reader must see through."""
    if task.kind in ("tagging", "tree", "dialogue"):
        return f"解析の結果です。\n```json\n{answer}\n```"
    return f"「{answer}」" if task.kind == "reading" else f"答えは{answer}です。"


def plan_error(task: Task, row: Row, example: Example) -> PlannedReply:
    """A wrong answer in the form that the prompt asks for."""
    if task.kind in ("text", "inference", "relation"):
        labels = task.labels
        place = (row["nikawa_target"] + 1) % len(labels)
        return PlannedReply(row["nikawa_choices"][place], labels[place])
    if task.kind == "choice":
        place = (row["nikawa_target"] + 1) % len(row["nikawa_choices"])
        return PlannedReply(row["nikawa_choices"][place], place)
    if task.kind == "similarity":
        value = 5.0 - float(example.gold["score"])
        return PlannedReply(f"{value:.1f}", round(value, 1))
    if task.kind == "reading":
        words = str(example.inputs["context"])[:4]
        return PlannedReply(words, words)
    if task.kind == "tagging":
        return PlannedReply('{"entities": []}', [])
    if task.kind == "dialogue":
        return PlannedReply('{"state": []}', [])
    tree = example.gold["tree"]
    heads = [0, *[1] * (len(tree["heads"]) - 1)]
    arcs = [
        {"index": i + 1, "word": "x", "head": head, "label": label}
        for i, (head, label) in enumerate(zip(heads, tree["labels"], strict=True))
    ]
    return PlannedReply(
        json.dumps({"words": arcs}), {"heads": heads, "labels": list(tree["labels"])}
    )


def compute_expected(
    task: Task, examples: Sequence[Example], rows: Sequence[Row], plans: dict[str, PlannedReply]
) -> dict[str, float]:
    """The official metrics of the planned answers, and the share of unread replies."""
    by_id = {example.id: example for example in examples}
    own = [by_id[row["id"]] for row in rows]
    answers = [plans[row[PROMPT]].answer for row in rows]
    items = Items(
        gold=[example.gold[task.question] for example in own],
        answers=answers,
        inputs=[example.inputs for example in own],
        labels=task.labels,
    )
    figures = {"unread": sum(answer is None for answer in answers) / len(answers)}
    for name in task.metrics:
        metric = metrics()[name]
        if not metric.needs_scores:
            figures[name] = metric.evaluate(items, "official").value * metric.scale(task)
    return figures


def read_dataset(path: Path) -> tuple[Task, tuple[Example, ...]]:
    """The task of a dataset folder and its test items."""
    (task,) = find_tasks(str(path))
    return task, load(str(path)).splits["test"]
