"""A few lines of source for every recipe, written for the tests: enough that each question to people has items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tests.recipes.klue.test_every import SOURCES as KLUE_SOURCES


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(msgspec.json.encode({**row, "licence": "CC0"}).decode() + "\n" for row in rows)


def _captions() -> dict[str, str]:
    texts = {
        "a": ("水辺で白い鳥が羽を広げている。", "白い鳥が水辺で羽を広げている。"),
        "b": ("古い電車が踏切を通り過ぎる。", "踏切を古い電車が通り過ぎる。"),
        "c": ("机の上に本が三冊積まれている。", "本が三冊、机の上に積まれている。"),
    }
    rows = [
        {"id": f"{image}{n}", "image": image, "text": text}
        for image, both in texts.items()
        for n, text in enumerate(both)
    ]
    config = (
        'captions = "captions.jsonl"\ncontradicted_captions = 2\nsimilarity_workers = 2\n'
        'inference_workers = 2\ninference_votes = 2\nsplit = "0.5,0.25,0.25"\n'
    )
    return {"captions.jsonl": _lines(rows), "config.toml": config}


def _triples() -> dict[str, str]:
    about = '{"dataset": "/d/own", "license": "cc:by/4.0"}'
    rows = [(thing, "台所") for thing in ("鍋", "皿", "匙")]
    rows += [(thing, "海岸") for thing in ("砂", "貝", "波")]
    text = "".join(
        f"/a/{n}\t/r/AtLocation\t/c/ja/{start}\t/c/ja/{end}/n\t{about}\n"
        for n, (start, end) in enumerate(rows)
    )
    config = 'triples = "triples.tsv"\nanalyser = "none"\nsynonym_workers = 1\nanswerers = 2\n'
    return {"triples.tsv": text, "config.toml": f'{config}split = "0.5,0.25,0.25"\n'}


def _articles() -> dict[str, str]:
    body = "岬の灯台は百年前に建てられた。はじめは石油ランプを使い、のちに電灯に替わった。"
    rows = [
        {"id": n, "title": f"岬の灯台{n}", "text": f"{body}{n}号と呼ばれる。", "rank": n}
        for n in range(4)
    ]
    config = 'articles = "articles.jsonl"\nshortest = 10\nquestions = 2\nsplit = "0.5,0.25,0.25"\n'
    return {"articles.jsonl": _lines(rows), "config.toml": config}


def _passages() -> dict[str, str]:
    rows = [
        {
            "id": f"{source}{n}",
            "title": f"岬の灯台{n}",
            "text": f"岬の灯台{n}は百年前に建てられた。はじめは石油ランプを使い、のちに電灯に替わった。今は{n}人が守ると{source}にある。",
            "source": source,
        }
        for source in ("事典", "新聞", "会報")
        for n in range(2, 5)
    ]
    config = (
        'articles = "articles.jsonl"\nshortest = 10\nquestions = 2\npassages = 9\ncheckers = 1\n'
    )
    return {"articles.jsonl": _lines(rows), "config.toml": f'{config}split = "0.5,0.25,0.25"\n'}


def _reviews() -> dict[str, str]:
    rows = [
        {"id": f"r{n}", "text": f"{n}個買いました。{word}です。", "stars": stars}
        for n, (word, stars) in enumerate([("とても満足", 5), ("ひどく残念", 1)] * 4)
    ]
    config = 'reviews = "reviews.jsonl"\nworkers = 3\nvotes = 2\nsplit = "0.5,0.25,0.25"\n'
    return {"reviews.jsonl": _lines(rows), "config.toml": config}


ENGLISH = {
    "A man is carrying a lamp": "男性がランプを運んでいる",
    "A man is not carrying a lamp": "男性がランプを運んでいない",
    "Somebody is carrying a light": "誰かが明かりを運んでいる",
    "Two women are crossing a river": "女性たちが川を渡っていない",
}
"""English sentences of the pairs and what their translator writes; the last one leaves the guidelines."""


def _pairs() -> dict[str, str]:
    one, denied, other, two = ENGLISH
    pairs = [(one, denied, "TRAIN"), (one, other, "TRIAL"), (other, two, "TEST")]
    rows = [
        {
            "id": str(n),
            "premise": first,
            "hypothesis": second,
            "split": split,
            "label": "neutral",
            "relatedness": 3.0,
        }
        for n, (first, second, split) in enumerate(pairs)
    ]
    config = 'pairs = "pairs.jsonl"\nworkers = 2\ntags = "none"\n'
    return {"pairs.jsonl": _lines(rows), "config.toml": config}


def _examples() -> dict[str, str]:
    pairs = [
        ("猫がひなたで寝ている。", "猫をひなたで寝ている。", "handbook"),
        ("弟が母に手紙を渡した。", "弟が母が手紙を渡した。", "handbook"),
        ("誰も店に来なかった。", "誰も店に来た。", "handbook"),
        ("子どもが三人庭を走った。", "子どもを三人庭を走った。", "handbook"),
        ("彼だけが道を知っている。", "彼しか道を知っている。", "journal"),
        ("昨日買った本を読んだ。", "昨日買った読んだ本を。", "journal"),
        ("姉は犬に吠えられた。", "姉は犬を吠えられた。", "journal"),
    ]
    rows = [
        {"id": f"{n}{mark or '-'}", "text": text, "source": source, "diacritic": mark, "pair": n,
         "phenomena": ["Arg. Str."]}
        for n, (good, bad, source) in enumerate(pairs)
        for text, mark in ((good, ""), (bad, "*"))
    ]  # fmt: skip
    config = 'sentences = "examples.jsonl"\nout_of_domain = ["journal"]\nworkers = 3\nsplit = "0.5,0.25,0.25"\n'
    return {"examples.jsonl": _lines(rows), "config.toml": config}


JAPANESE = (
    "庭で見つけた小さな虫を弟が図鑑で調べた。",
    "駅から宿まで歩いて十分で着きました。",
    "母が焼いたパンを家族みんなで食べた。",
    "新しい図書館が来月町の中心に開く。",
    "窓を開けると海がとてもよく見える。",
    "部屋がとても静かで、朝までよく眠れました。",
    "朝になると鳥が庭の木で鳴いている。",
    "私たちは夕方に川沿いの道を長く歩いた。",
)


def _trees() -> dict[str, str]:
    rows = [
        {"id": f"t{n}", "text": text, "source": ("story", "review")[n % 2]}
        for n, text in enumerate(JAPANESE)
    ]
    config = 'sentences = "sentences.jsonl"\nanalyser = "unidic"\nsplit = "0.5,0.25,0.25"\n'
    return {"sentences.jsonl": _lines(rows), "config.toml": config}


def _dialogues(language: str) -> dict[str, str]:
    """The ontology and the table of the examples, and a few goals."""
    folder = Path(__file__).parents[2] / "examples" / "dialogue"
    names = {part: f"{part}.{language}.json" for part in ("ontology", "entities")}
    config = "".join(f'{part} = "{name}"\n' for part, name in names.items())
    config += 'goals = 6\nvalidators = 2\nsource_licence = "CC0"\nsplit = "0.5,0.25,0.25"\n'
    files = {name: (folder / name).read_text("utf-8") for name in names.values()}
    return {**files, "config.toml": config}


def _fewer(name: str, **settings: Any) -> dict[str, str]:
    """The sources of a recipe of KLUE with other numbers, such as fewer workers."""
    files = KLUE_SOURCES[name]()
    more = "".join(f"{key} = {msgspec.json.encode(v).decode()}\n" for key, v in settings.items())
    return {**files, "config.toml": files["config.toml"] + more}


SMALL_SOURCES: dict[str, Callable[[], dict[str, str]]] = {
    "jnli": _captions,
    "jsts": _captions,
    "jcommonsenseqa": _triples,
    "jsquad": _articles,
    "marc-ja": _reviews,
    "jcola": _examples,
    "jsick": _pairs,
    "reading-ja": _passages,
    "klue-mrc": lambda: _fewer("klue-mrc", checkers=1),
    "wos": lambda: _dialogues("ko"),
    "dst-ja": lambda: _dialogues("ja"),
    "ynat": lambda: _fewer("ynat", section=2, sections=[], workers=2),
    "klue-sts": lambda: _fewer("klue-sts", workers=2, ratings=2),
    "klue-nli": lambda: _fewer("klue-nli", validators=2, votes=2),
    "klue-ner": lambda: _fewer("klue-ner", checkers=1),
    "klue-re": lambda: _fewer("klue-re", workers=2),
    "klue-dp": lambda: _fewer("klue-dp", per_source=4),
    "trees-ja": _trees,
}
"""Recipe to its source files and its config."""
