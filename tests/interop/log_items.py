"""The items that inspect, lm-eval and flexeval are run on, in the published files' own fields.

Everything here is our own invention. Ids are as the datasets number them: JGLUE's from 0, KLUE's with a
prefix. The items are hard to match on purpose: pairs that occur both ways round, a pair of one sentence, a text
inside another, and two items of the same texts with different labels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_NLI_JA = [
    ("灯台守が油を運んでいる。", "人が油を運んでいる。", "entailment"),
    ("人が油を運んでいる。", "灯台守が油を運んでいる。", "neutral"),
    ("猫が桟橋で眠っている。", "桟橋には何もいない。", "contradiction"),
    ("猫が桟橋で眠っている。", "猫が桟橋で眠っている。", "entailment"),
    ("黒い猫が桟橋で眠っている。", "猫が桟橋で眠っている。", "entailment"),
    ("舟が三そう並んでいる。", "舟は赤い。", "neutral"),
    ("舟が三そう並んでいる。", "舟は赤い。", "contradiction"),
    ("舟が三そう並んでいる。", "舟は一そうだけだ。", "contradiction"),
    ("少年が浜で凧を揚げている。", "凧が空にある。", "entailment"),
    ("少年が浜で凧を揚げている。", "少年は兄を待っている。", "neutral"),
]
_STS_JA = [
    ("波が高い。", "高い波が寄せている。", 4.2),
    ("鐘が鳴る。", "時計台に鳩がいる。", 0.8),
    ("女の子が傘をさして歩いている。", "女の子が傘をさして歩く。", 4.8),
    ("女の子が傘をさして歩いている。", "女の子が傘をさして歩く。", 4.4),
    ("市場に魚が並ぶ。", "魚が市場に並べられている。", 4.6),
    ("畑で老人が鍬を振るう。", "海で若者が泳ぐ。", 0.2),
]
_NLI_KO = [
    ("등대지기가 기름을 나르고 있다.", "사람이 기름을 나르고 있다.", "entailment"),
    ("고양이가 부두에서 잔다.", "부두에는 아무도 없다.", "contradiction"),
    ("배 세 척이 나란히 있다.", "배는 빨갛다.", "neutral"),
    ("소년이 바닷가에서 연을 날린다.", "연이 하늘에 있다.", "entailment"),
    ("소년이 바닷가에서 연을 날린다.", "소년은 형을 기다린다.", "neutral"),
]
_CHOICE_JA = [
    ("船を岸につなぐものは？", ("鐘", "綱", "帆", "魚", "地図"), 1),
    ("雨の日に頭の上で広げるものは？", ("傘", "靴", "皿", "窓", "机"), 0),
    ("夜の海で船に場所を知らせる建物は？", ("駅", "畑", "灯台", "橋", "市場"), 2),
    ("朝に鳴いて時を告げる鳥は？", ("鳩", "鷺", "雀", "鶏", "梟"), 3),
]
_TOPICS_KO = [
    ("섬마을 등대, 백 년 만에 다시 불 밝혀", "사회"),
    ("항구 시장 생선값 두 주째 내림세", "경제"),
    ("연날리기 대회 결승, 막내가 이겼다", "스포츠"),
    ("새 나침반 앱, 구름 낀 날에도 길 찾는다", "IT과학"),
]
_READING_JA = [
    (
        "霧浜灯台",
        "霧浜灯台 [SEP] 霧浜灯台は霧浜の北の岬にある。塔は白く、高さは十八メートルである。守は三人いた。",
        [("灯台はどこにありますか。", "北の岬"), ("塔は何色ですか。", "白")],
    ),
    (
        "霧浜の市",
        "霧浜の市 [SEP] 霧浜の市は毎月五日に開かれる。\n魚と塩が売られ、昼には鐘が鳴る。",
        [("市は何日に開かれますか。", "五日"), ("昼に何が鳴りますか。", "鐘")],
    ),
]


def rows_of(dataset: str) -> list[Row]:
    """The rows of a dataset, with the fields of its published file."""
    if dataset == "jnli":
        return [
            {
                "sentence_pair_id": str(i),
                "yjcaptions_id": f"{70 + i}-{700 + i}-{800 + i}",
                "sentence1": premise,
                "sentence2": hypothesis,
                "label": label,
            }
            for i, (premise, hypothesis, label) in enumerate(_NLI_JA)
        ]
    if dataset == "jsts":
        return [
            {
                "sentence_pair_id": str(i),
                "yjcaptions_id": f"{90 + i}-{900 + i}-{990 + i}",
                "sentence1": one,
                "sentence2": other,
                "label": score,
            }
            for i, (one, other, score) in enumerate(_STS_JA)
        ]
    if dataset == "klue-nli":
        return [
            {
                "guid": f"klue-nli-v1_dev_{i:05}",
                "source": "wikitree",
                "premise": premise,
                "hypothesis": hypothesis,
                "gold_label": label,
                "author": label,
                **dict.fromkeys(("label2", "label3", "label4", "label5"), label),
            }
            for i, (premise, hypothesis, label) in enumerate(_NLI_KO)
        ]
    if dataset == "jcommonsenseqa":
        return [
            {
                "q_id": 8939 + i,
                "question": question,
                **{f"choice{place}": choice for place, choice in enumerate(choices)},
                "label": label,
            }
            for i, (question, choices, label) in enumerate(_CHOICE_JA)
        ]
    if dataset == "ynat":
        return [
            {"guid": f"ynat-v1_dev_{i:05}", "title": title, "label": label}
            for i, (title, label) in enumerate(_TOPICS_KO)
        ]
    return [
        {
            "id": f"a{page}p0q{place}",
            "title": title,
            "context": context,
            "question": question,
            "answers": [{"text": answer, "answer_start": context.index(answer)}],
            "is_impossible": False,
        }
        for page, (title, context, questions) in enumerate(_READING_JA)
        for place, (question, answer) in enumerate(questions)
    ]


DATASETS = ("jnli", "jsts", "klue-nli", "jcommonsenseqa", "ynat", "jsquad")


def write_published(folder: Path) -> None:
    """Lay the items out as the published repositories do, so that commands find them with `--data`."""
    for dataset in ("jnli", "jsts", "jcommonsenseqa"):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows_of(dataset)]
        _write(folder / f"jglue/datasets/{dataset}-v1.3/valid-v1.3.json", "".join(lines))
    pages: dict[str, Row] = {}
    for row in rows_of("jsquad"):
        question = {name: row[name] for name in ("id", "question", "answers", "is_impossible")}
        empty = {"title": row["title"], "paragraphs": [{"context": row["context"], "qas": []}]}
        pages.setdefault(row["title"], empty)["paragraphs"][0]["qas"].append(question)
    document = json.dumps({"data": list(pages.values())}, ensure_ascii=False)
    _write(folder / "jglue/datasets/jsquad-v1.3/valid-v1.3.json", document)
    for dataset in ("klue-nli", "ynat"):
        name = f"{dataset}-v1.1"
        text = json.dumps(rows_of(dataset), ensure_ascii=False, indent=4)
        _write(folder / f"klue/klue_benchmark/{name}/{name}_dev.json", text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
