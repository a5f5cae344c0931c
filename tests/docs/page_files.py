"""Files that the commands of a page read and that the page does not show, for tests and benches that run the page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from tests.docs.page_blocks import Block, read_blocks

from nikawa.io.records import write_records
from nikawa.records import Example, Judgement, Record

DOCS = Path(__file__).parents[2] / "docs"
NLI_LABELS = ("entailment", "contradiction", "neutral")
WORKERS = ("aki", "ben", "chie")


def blocks_of(page: str, language: str) -> list[Block]:
    """The blocks of a page in one language."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    return [block for block in read_blocks(text) if block.language == language]


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def judge(path: Path, question: str, answers: Sequence[Sequence[Any]]) -> None:
    """Write the answers of the workers to each item, whose id is its number."""
    rows: list[Record] = [
        Judgement(example=str(item), worker=worker, question=question, answer=answer)
        for item, given in enumerate(answers)
        for worker, answer in zip(WORKERS, given, strict=True)
    ]
    write_records(path, rows)


def write_votes(folder: Path) -> None:
    """Judgements of three workers and two samples of a machine."""
    votes = {"aki": "yes", "ben": "no", "cho": "yes", "model:m#1": "yes", "model:m#2": "no"}
    rows = [
        Judgement(example=str(item), worker=worker, question="label", answer=answer)
        for item in range(6)
        for worker, answer in votes.items()
    ]
    write_records(folder / "judgements.jsonl", rows)


def write_comparisons(folder: Path) -> None:
    """Two systems in pairs, and four texts of which the best and the worst were chosen."""
    pairs, sets, better, poles = [], [], [], []
    for n in range(24):
        pairs.append(
            Example(
                id=str(n),
                inputs={"a": f"訳{n}", "b": f"文{n}"},
                meta={"a": "system-a", "b": "system-b"},
            )
        )
        answer = "tie" if n % 6 == 0 else "b" if n % 5 else "a"
        better.append(Judgement(example=str(n), worker="aki", question="better", answer=answer))
        sets.append(Example(id=str(n), inputs={"choices": ["はい", "ええ", "うん", "おう"]}))
        for question, letter in (("best", "AABC"[n % 4]), ("worst", "DDDA"[n % 4])):
            poles.append(Judgement(example=str(n), worker="aki", question=question, answer=letter))
    write_records(folder / "pairs.jsonl", pairs)
    write_records(folder / "preferences.jsonl", better)
    write_records(folder / "sets.jsonl", sets)
    write_records(folder / "choices.jsonl", poles)


def write_aggregate(folder: Path) -> None:
    """The files of aggregate.md."""
    write_votes(folder)
    write_comparisons(folder)


def write_agreement(folder: Path) -> None:
    """The judgements of agreement.md: labels, ratings, spans and trees, as records and as a sheet."""
    labels = [[NLI_LABELS[(n + (n % 4 == k)) % 3] for k in range(3)] for n in range(24)]
    judge(folder / "judgements.jsonl", "label", labels)
    judge(folder / "pilot.jsonl", "label", labels)
    cells = [
        f"{n},{w},{a}" for n, row in enumerate(labels) for w, a in zip(WORKERS, row, strict=True)
    ]
    (folder / "results.csv").write_text("\n".join(("task_id,user,label", *cells, "")), "utf-8")
    texts = [Example(id=str(n), inputs={"text": f"青木は{n}日に港町へ行った。"}) for n in range(12)]
    for name in ("sentences.jsonl", "texts.jsonl"):
        write_records(folder / name, texts)
    spans = [
        [[{"start": 0, "end": 2 + (n % 5 == k), "label": "PS"}] for k in range(3)]
        for n in range(12)
    ]
    judge(folder / "spans.jsonl", "spans", spans)
    trees = [
        [{"heads": [2 + (n % 5 == k), 3, 0], "labels": ["NP", "AP", "VP"]} for k in range(3)]
        for n in range(12)
    ]
    judge(folder / "trees.jsonl", "tree", trees)
    write_label_studio(folder / "project-3.json", texts)


def write_label_studio(path: Path, texts: Sequence[Example]) -> None:
    """An export of Label Studio with names in texts, marked by two persons."""
    tasks = [
        {
            "id": n,
            "data": {"id": example.id, "text": example.inputs["text"]},
            "annotations": [
                {
                    "id": 10 * n + person,
                    "completed_by": person,
                    "result": [
                        {
                            "from_name": "ner",
                            "to_name": "text",
                            "type": "labels",
                            "value": {
                                "start": 0,
                                "end": 2 + (n % 5 == person),
                                "text": example.inputs["text"][: 2 + (n % 5 == person)],
                                "labels": ["PS"],
                            },
                        }
                    ],
                }
                for person in (1, 2)
            ],
        }
        for n, example in enumerate(texts)
    ]
    path.write_text(json.dumps(tasks, ensure_ascii=False), "utf-8")


def write_sheet_of_answers(folder: Path) -> None:
    """One row per answer."""
    rows = [
        f"{n},{worker},{NLI_LABELS[(n + (n % 4 == k)) % 3]},{5 + n},{n % 2},{n % 5}"
        for n in range(12)
        for k, worker in enumerate(WORKERS)
    ]
    (folder / "s.csv").write_text("\n".join(("id,who,label,time,A,B", *rows, "")), "utf-8")


def write_sheet_of_items(folder: Path) -> None:
    """One row per item, one column per worker."""
    rows = [",".join((str(n), *(f"{(n + (n % 4 == k)) % 3}" for k in range(3)))) for n in range(12)]
    (folder / "s.csv").write_text("\n".join(("id,rater_1,rater_2,rater_3", *rows, "")), "utf-8")


def change_board_settings(board: Path) -> None:
    """Put the lines of board.toml that the page shows in place of the board's own."""
    file = board / "board.toml"
    shown = "".join(b.text for b in blocks_of("board", "toml") if b.file == "board.toml")
    for line in shown.splitlines():
        name = line.partition(" =")[0]
        changed, count = re.subn(rf"(?m)^{name} = .*$", line, file.read_text("utf-8"))
        assert count == 1, line
        file.write_text(changed, "utf-8")


def write_captions(folder: Path) -> None:
    """Captions of twelve images for JNLI."""
    rows = []
    for image in range(12):
        who, where = ("猫", "犬", "子供", "老人")[image % 4], ("橋の上", "駅前", "浜辺")[image % 3]
        texts = (f"{where}で{who}が休んでいる。", f"{who}が{where}にいる", f"{where}の{who}")
        for number, text in enumerate(texts):
            rows.append({"id": image * 10 + number, "image": f"m{image}", "text": text})
    write_lines(folder / "captions.jsonl", rows)


def write_build(folder: Path) -> None:
    """The sources and the settings of build.md."""
    write_captions(folder)
    example = msgspec.json.decode(blocks_of("build", "json")[1].text)
    pairs = (("弟が母に手紙を渡した。", ""), (example["text"], example["diacritic"]))
    rows = [
        {**example, "id": f"{n}{mark}", "text": f"{n}日に{text}", "diacritic": mark, "pair": n}
        | {"source": ("handbook", "journal 3")[n % 3 == 2]}
        for n in range(1, 16)
        for text, mark in pairs
    ]
    write_lines(folder / "examples.jsonl", rows)
    write_settings("build", ("jnli", "jcola"), folder)


def write_settings(page: str, names: Sequence[str], folder: Path) -> None:
    """The settings that a page shows, each as the file that its commands name."""
    for name, block in zip(names, blocks_of(page, "toml"), strict=True):
        (folder / f"{name}.toml").write_text(block.text, "utf-8")


def write_build_klue(folder: Path) -> None:
    """The sources and the settings of build-klue.md."""
    from tests.recipes.klue.test_every import KOREAN

    from nikawa.datasets.klue.ynat import LABELS

    headline, tree = (msgspec.json.decode(b.text) for b in blocks_of("build-klue", "json")[:2])
    rows = [
        {
            **headline,
            "id": f"{t}{n}",
            "text": f"{t} 소식 {n}",
            "category": t,
            "date": f"{2016 + n}-01-01",
        }
        for t in LABELS
        for n in range(5)
    ]
    write_lines(folder / "headlines.jsonl", [headline, *rows])
    trees = [
        {**tree, "id": n, "text": text, "source": "ab"[n % 2]}
        for n, text in enumerate((tree["text"], *KOREAN))
    ]
    write_lines(folder / "sentences.jsonl", trees)
    write_settings("build-klue", ("ynat", "trees"), folder)


def write_build_reading(folder: Path) -> None:
    """The settings of build-reading.md; its Python writes the sources."""
    write_settings("build-reading", ("mrc",), folder)


def write_clean(folder: Path) -> None:
    """The files that clean.md speaks of."""
    (folder / "news.txt").write_text(
        "(서울=연합뉴스) 홍길동 기자 = 낡은 다리 옆에 작은 가게가 새로 문을 열었다.\n"
        "나쁜 사람들은 모두 이 마을에서 영원히 사라져야 한다고 한다.\n",
        "utf-8",
    )
    for block in blocks_of("clean", "json"):
        if block.file:
            (folder / block.file).write_text(block.text, "utf-8")
    (folder / "corpus").mkdir()
    (folder / "corpus" / "a.txt").write_bytes((folder / "news.txt").read_bytes())
    (folder / "old-sjis.txt").write_bytes("古い橋のそばに小さな店があった。\n".encode("shift_jis"))
    (folder / "score.py").write_text(
        "import sys\nfor line in sys.stdin.buffer:\n    print(0.1)\n", "utf-8"
    )
    (folder / "links.tsv").write_text("산\t강\n바다\t강\n강\t산\n섬\t바다\n", "utf-8")
    rows = [
        {"title": name, "text": f"{name}은 물이 맑고 깊어서 좋다."} for name in ("강", "산", "절")
    ]
    write_lines(folder / "articles.jsonl", rows)


def write_dialogue(folder: Path) -> None:
    """The files that dialogue.md shows, and the ontology and the table of its build."""
    text = (DOCS / "dialogue.md").read_text("utf-8")
    for name, body in find_dialogue_files(text):
        (folder / name).write_text(body, "utf-8")
    for name in ("ontology.ko.json", "entities.ko.json"):
        source = DOCS.parent / "examples" / "dialogue" / name
        (folder / name).write_text(source.read_text("utf-8"), "utf-8")
    write_settings("dialogue", ("wos",), folder)


def find_dialogue_files(page: str) -> list[tuple[str, str]]:
    """Names and texts of the files that a page shows after a sentence on them."""
    return re.findall(r"`([\w.]+\.jsonl?)` (?:lists|has)[^\n]*\n\n```json\n(.*?)```", page, re.S)


def write_machines(folder: Path) -> None:
    """The texts and judgements of machines.md."""
    draw = Random(4)
    examples, rows = [], []
    for n in range(40):
        inputs = {"text": f"{n}匹の犬が走る。"}
        examples.append(Example(id=f"q{n}", inputs=inputs, meta={"source": "ab"[n % 2]}))
        for name in ("aki", "ben", "chie", "model:gemma#1", "model:gemma#2"):
            label = NLI_LABELS[(n + (draw.random() < 0.15)) % 3]
            rows.append(Judgement(example=f"q{n}", worker=name, question="label", answer=label))
    write_records(folder / "texts.jsonl", examples)
    write_records(folder / "judgements.jsonl", rows)


def write_pair(folder: Path) -> None:
    """The sentences and captions of pair.md."""
    (folder / "sentences.txt").write_text("庭で猫が眠る。\n庭で犬が眠る。\n", "utf-8")
    captions = [
        Example(id=str(i), inputs={"text": f"絵{i}"}, meta={"image": "m"}) for i in range(3)
    ]
    write_records(folder / "captions.jsonl", captions)


def write_corpus(folder: Path) -> None:
    """The corpus of pretrain.md."""
    parts = product(
        ("風車", "学者", "子馬", "行商人", "画家"),
        ("朝", "昼", "夜"),
        ("丘", "砂浜", "工場", "森"),
        ("眠った", "絵を見た", "水を飲んだ", "歌った", "笑った"),
    )
    lines = [
        f"{a}は{b}、{c}で{d}。" + ("\n" if n % 5 == 4 else "")
        for n, (a, b, c, d) in enumerate(parts)
    ]
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n", "utf-8")


def write_shards(folder: Path) -> None:
    """The corpus of scale.md: two files, with sentences that are long enough to be kept."""
    write_corpus(folder)
    (folder / "corpus").mkdir()
    text = (folder / "corpus.txt").read_text("utf-8")
    lines = text.replace("。", "ので、家族が本を読んだ。").splitlines(keepends=True)
    for name, part in (("a.txt", lines[::2]), ("b.txt", lines[1::2])):
        (folder / "corpus" / name).write_text("".join(part), "utf-8")
    (folder / "corpus.txt").unlink()


def write_novel(folder: Path) -> None:
    """The texts of lexicon.md."""
    import gzip

    write_corpus(folder)
    text = (folder / "corpus.txt").read_bytes()
    (folder / "corpus.txt").unlink()
    (folder / "novel.txt").write_bytes(text)
    (folder / "news.txt.gz").write_bytes(gzip.compress(text))


def write_corrections(folder: Path) -> None:
    """The corrections of release.md."""
    (block,) = blocks_of("release", "csv")
    (folder / "fix.csv").write_text(block.text, "utf-8")


def write_tag_pack(folder: Path) -> None:
    """The first pack that tags.md shows."""
    (folder / "more-ja.toml").write_text(blocks_of("tags", "toml")[0].text, "utf-8")


def write_lighthouse(folder: Path) -> None:
    """The pack that templates.md shows."""
    folder.mkdir()
    (template,), (head,) = blocks_of("templates", "text"), blocks_of("templates", "toml")
    (folder / "templates.txt").write_text(template.text, "utf-8")
    (folder / "pack.toml").write_text(head.text, "utf-8")
