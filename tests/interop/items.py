"""The items that people judge in the other annotation tools, and what they answer: written here, Japanese and Korean.

Emoji and the character 𠮷 take two UTF-16 units each; they come before the spans, so that an offset tells what it counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

Mark = tuple[int, int, str]
Relation = tuple[int, int, str]


def mark(text: str, *parts: tuple[str, str]) -> list[Mark]:
    """The spans of words in a text, each given with its label."""
    return [(text.index(word), text.index(word) + len(word), label) for word, label in parts]


CHOICES: list[tuple[str, str, tuple[tuple[str, int, list[str]], ...]]] = [
    (
        "ja-1",
        "駅前のパン屋は朝から長い列ができている🥐",
        (("positive", 5, ["行列は人気のしるし"]), ("positive", 4, [])),
    ),
    (
        "ja-2",
        "頼んだ荷物が三日たっても届かない。",
        (("negative", 4, []), ("negative", 5, ["遅い", "三日は長い"])),
    ),
    (
        "ko-1",
        "새로 산 우산이 첫날부터 고장 났다 ☔",
        (("negative", 3, []), ("positive", 2, ["농담으로 읽었다"])),
    ),
    ("ko-2", "국물이 시원해서 두 그릇이나 비웠다.", (("positive", 5, []), ("positive", 5, []))),
]
"""Item, text, and of each of two people label, stars and reasons."""

JA = "🍣が好きな佐伯さんは港町書店で働いている。"
KO = "𠮷野와 한가람은 새봄시의 푸른연구소에 다닌다."
NOBODY = "雨が止んで、道がすっかり乾いた。"
ENTITIES: list[tuple[str, str, tuple[tuple[list[Mark], list[Relation]], ...]]] = [
    (
        "ner-ja",
        JA,
        (
            (mark(JA, ("佐伯", "PS"), ("港町書店", "OG")), [(0, 1, "works_for")]),
            (mark(JA, ("佐伯さん", "PS"), ("港町書店", "OG")), [(0, 1, "works_for")]),
        ),
    ),
    (
        "ner-ko",
        KO,
        (
            (
                mark(KO, ("한가람", "PS"), ("새봄시", "LC"), ("푸른연구소", "OG")),
                [(0, 2, "works_for"), (0, 1, "lives_in")],
            ),
            (
                mark(KO, ("한가람", "PS"), ("새봄시", "LC"), ("푸른연구소", "OG")),
                [(0, 2, "works_for")],
            ),
        ),
    ),
    ("ner-none", NOBODY, (([], []), ([], []))),
]
"""Item, text, and of each of two people spans and relations between them, by their places."""

LISTS: list[tuple[str, list[dict[str, str]], tuple[list[str], ...]]] = [
    (
        "list-1",
        [
            {"id": "a", "title": "가", "body": "봄에 피는 꽃"},
            {"id": "b", "title": "나", "body": "겨울에 피는 꽃"},
            {"id": "c", "title": "다", "body": "꽃이 아닌 것"},
        ],
        (["b", "a", "c"], ["a", "b", "c"]),
    )
]
"""Item, what is put in order, and the order of each of two people."""

PAIRS: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("pair-1", "窓を開けると海が見える。", "窓があくと海みえる。", ("left", "left")),
    ("pair-2", "밥은 먹고 다니니?", "밥을 먹고 다니십니까?", ("left", "right")),
]
"""Item, two texts, and which each of two people finds better."""

PROJECTS: dict[str, tuple[list[dict[str, Any]], dict[str, list[Any]], list[str]]] = {
    "span-tagging": (
        [{"id": item, "inputs": {"text": text}} for item, text, _ in ENTITIES],
        {
            "spans": [
                [
                    [{"start": s, "end": e, "label": label} for s, e, label in spans]
                    for spans, _ in answers
                ]
                for _, _, answers in ENTITIES
            ]
        },
        ['labels=["PS", "LC", "OG"]'],
    ),
    "inference": (
        [
            {
                "id": "nli-1",
                "inputs": {"premise": "猫が縁側で眠る😺", "hypothesis": "動物が休む。"},
            },
            {
                "id": "nli-2",
                "inputs": {"premise": "아이가 연을 날린다.", "hypothesis": "아이가 잔다."},
            },
        ],
        {
            "label": [["entailment", "neutral"], ["contradiction", "contradiction"]],
            "naturalness": [["natural", "natural"], ["natural", "hypothesis"]],
        },
        [],
    ),
    "ranked": (
        [
            {"id": "topic-1", "inputs": {"text": "환율이 내려 여행객이 늘었다"}},
            {"id": "topic-2", "inputs": {"text": "새 경기장이 문을 열었다 🏟️"}},
        ],
        {"label": [[["경제", "생활문화"], ["생활문화"]], [["스포츠"], ["스포츠", "사회"]]]},
        [],
    ),
    "scale": (
        [
            {"id": "sts-1", "inputs": {"sentence1": "犬が走る。", "sentence2": "犬が駆ける🐕"}},
            {"id": "sts-2", "inputs": {"sentence1": "비가 온다.", "sentence2": "눈이 그쳤다."}},
        ],
        {"score": [[5, 4], [1, 0]]},
        [],
    ),
    "translation": (
        [
            {"id": "tr-1", "inputs": {"english": "A dog runs."}},
            {"id": "tr-2", "inputs": {"english": "It rains."}},
        ],
        {"japanese": [["犬が走る。", "犬が走っている🐕"], ["雨が降る。", "雨だ。"]]},
        [],
    ),
}
"""By form the examples, by question the answers of two people about each, and the settings of a project."""


def run_nikawa(*words: str) -> None:
    """Run the command of this checkout."""
    subprocess.run([sys.executable, "-m", "nikawa", *words], check=True, stdout=subprocess.DEVNULL)


def write_round_trip_project(form: str, out: Path, to: str) -> Path:
    """Make a project with two people's answers, write its export to `out`; what lies beside it for the tool is returned.

    The judgements as we keep them lie beside it too, as `ours.FORM.jsonl`: what comes back must equal them.
    """
    import tempfile

    examples, answers, settings = PROJECTS[form]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples.jsonl").write_text(
            "".join(json.dumps(example, ensure_ascii=False) + "\n" for example in examples), "utf-8"
        )
        rows = [
            {
                "example": example["id"],
                "worker": worker,
                "question": question,
                "answer": people_answer[place],
                "seconds": 3.5 + place,
                "at": f"2026-05-0{place + 1}T10:00:00+00:00",
            }
            for place, worker in enumerate(("hanako", "minsu"))
            for question, by_item in answers.items()
            for example, people_answer in zip(examples, by_item, strict=True)
        ]
        (folder / "judgements.jsonl").write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
        )
        project = str(folder / "project")
        sets = [word for setting in settings for word in ("--set", setting)]
        run_nikawa(
            "collect",
            "new",
            project,
            "--examples",
            str(folder / "examples.jsonl"),
            "--form",
            form,
            *sets,
        )
        run_nikawa("collect", "import", project, str(folder / "judgements.jsonl"))
        kept = out.parent / f"ours.{form}.jsonl"
        run_nikawa("collect", "export", project, "--out", str(kept), "--overwrite")
        run_nikawa("collect", "export", project, "--to", to, "--out", str(out), "--overwrite")
        kept.chmod(0o644)
    return out.with_suffix(".xml")
