"""Workers who answer the sheets of a build on the annotation server, by the routes that their pages use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from tests.recipes.small_sources import ENGLISH, SMALL_SOURCES

from nikawa.collect.app import create_app
from nikawa.collect.items import open_synced
from nikawa.collect.job import create_links
from nikawa.collect.project import Project
from nikawa.io.json import read_json
from nikawa.io.task_sheet import SHEET, TASKS, Sheet
from nikawa.recipes.build import BuildOptions, BuildReport, build

RESERVE = 4
"""Workers beyond the number asked for: some may not answer, as they wrote what is judged."""
HYPOTHESES = ("{} 곳에 갔다고 한다.", "{} 집에만 머물렀다고 한다.", "{} 그날 무척 기뻤다고 한다.")
LABELS = ("entailment", "contradiction", "neutral")
Answer = dict[str, Any] | str
"""What a worker sends: an answer, or the code of a report."""


def write_sources(recipe: str, folder: Path) -> Callable[[], BuildReport]:
    """The sources of a recipe in a folder, and a build of them to call again and again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in SMALL_SOURCES[recipe]().items():
        (folder / name).write_text(text, "utf-8")
    return lambda: build(recipe, folder / "out", BuildOptions(config=folder / "config.toml"))


def read_sheet(out: Path, ask: str) -> tuple[Sheet, Path]:
    """The sheet of a question and the file of its tasks."""
    place = out / "people" / ask
    return read_json(place / SHEET, Sheet), place / TASKS


@contextmanager
def served(folder: Path) -> Iterator[tuple[Project, TestClient]]:
    """A project on a server of its own."""
    with open_synced(folder) as (project, store):
        yield project, TestClient(create_app(project, store), base_url="http://here")


def answer_as(sheet: Sheet, inputs: dict[str, Any], worker: int, number: int) -> Answer:
    """What a worker says to an item, from what the page shows; `number` counts the items of all workers.

    The first item of a question that takes reports is handed back, so that every question after it has items.
    """
    if number < len(REPORTED.get((sheet.recipe, sheet.name), ())):
        return REPORTED[sheet.recipe, sheet.name][number]
    answer = OPINIONS[sheet.form](sheet, inputs, worker)
    if sheet.form == "further-answers":
        return {sheet.question: answer, "start": 0}
    return {sheet.question: answer}


REPORTED = {
    ("ynat", "topics"): ("hate",),
    ("klue-sts", "similarity"): ("broken",),
    ("klue-nli", "hypotheses"): ("bias", "undecidable"),
    ("klue-ner", "tagging"): ("broken",),
    ("klue-re", "relations"): ("personal", "boundary"),
    ("klue-mrc", "written"): ("hate",),
    ("reading-ja", "written"): ("bias",),
    ("klue-dp", "trees"): ("broken",),
}
"""What the first items of some questions are reported for."""


def choose(sheet: Sheet, inputs: dict[str, Any], worker: int) -> str:
    if sheet.name == "synonyms":
        return "no"
    if sheet.recipe == "marc-ja":
        return "positive" if "満足" in inputs["text"] else "negative"
    if sheet.name == "check" and "김하늘" in inputs["text"]:
        return "wrong"
    return sheet.labels[0]


def infer(sheet: Sheet, inputs: dict[str, Any], worker: int) -> str:
    hypothesis = inputs["hypothesis"]
    for label, pattern in zip(LABELS, HYPOTHESES, strict=True):
        if pattern.format("")[1:] in hypothesis:
            return label
    if sheet.name == "inference-c" or "いない" in hypothesis:
        return "contradiction"
    return "entailment"


def rate(sheet: Sheet, inputs: dict[str, Any], worker: int) -> int:
    one, other = [set(text) for text in inputs.values()]
    low, high = sheet.scale or (0, 5)
    return round(low + (high - low) * len(one & other) / len(one | other))


def relate(sheet: Sheet, inputs: dict[str, Any], worker: int) -> str:
    disputed = "이바다" in inputs["text"] and sheet.name == "relations"
    return str(inputs["candidates"][worker if disputed else 0])


def question_of(inputs: dict[str, Any], number: int) -> dict[str, Any]:
    answer = inputs["context"][3 * number : 3 * number + 3]
    return {"question": f"{number}つ目に出てくる言葉は？", "answer": answer, "start": 3 * number}


def question_by_type(inputs: dict[str, Any], number: int) -> dict[str, Any]:
    """The second word for an answerable question, the first where there is none."""
    kind = inputs["types"][number]
    words = {"ja": "書いた人が{}番目に会った相手は？", "ko": "쓴 사람이 {}번째로 만난 사람은?"}
    is_korean = any("가" <= char <= "힣" for char in inputs["context"])
    place = inputs["context"].index("。" if not is_korean else ".") - 3
    return {
        "type": kind,
        "question": words["ko" if is_korean else "ja"].format(number + 1),
        "answer": inputs["context"][place : place + 2],
        "start": place,
    }


def answer_or_none(sheet: Sheet, inputs: dict[str, Any], worker: int) -> dict[str, Any]:
    """What the writer marked, whatever the type: questions without an answer are dropped."""
    stop = "." if any("가" <= char <= "힣" for char in inputs["context"]) else "。"
    place = inputs["context"].index(stop) - 3
    return {"text": inputs["context"][place : place + 2], "start": place}


def parse(sheet: Sheet, inputs: dict[str, Any], worker: int) -> dict[str, Any]:
    """A chain to the last word; the second worker sees another relation of the first word."""
    words = inputs["words"]
    if sheet.name == "adjudication":
        return dict(inputs["answers"][0])
    free = [label for label in sheet.labels if label != "root"]
    likely = [[label for label in word["likely"] if label != "root"] for word in words]
    labels = [(of_word or free)[0] for of_word in likely]
    if "root" in sheet.labels:
        labels[-1] = "root"
    if worker % 2 and len(words) > 1:
        labels[0] = next(label for label in free if label != labels[0])
    return {"heads": [*range(2, len(words) + 1), 0], "labels": labels}


def accept(sheet: Sheet, inputs: dict[str, Any], worker: int) -> str:
    """The third speaker of three finds everything possible."""
    is_odd = any(part in inputs["text"] for part in ("を吠え", "猫を", "母が手紙", "も店に来た"))
    return "unacceptable" if is_odd and worker != 2 else "acceptable"


def converse(sheet: Sheet, inputs: dict[str, Any], worker: int) -> dict[str, Any]:
    """All of the goal in one turn, and a second turn that thanks; names are of the first entity that fits."""
    ontology, entities = sheet.settings["ontology"]["domains"], sheet.settings["entities"]
    wanted = inputs["constraints"]
    state: dict[str, str] = {}
    for row in wanted:
        domain, _, slot = row.get("same", "").partition("-")
        if not row.get("value") and ontology[domain]["slots"][slot].get("kind") == "offer":
            fixed = {
                one["slot"].partition("-")[2]: one["value"]
                for one in wanted
                if one["slot"].startswith(f"{domain}-")
                and one.get("value", "dontcare") != "dontcare"
            }
            fits = (
                entity
                for entity in entities[domain]
                if all(entity.get(key, value) == value for key, value in fixed.items())
            )
            state[row["same"]] = next(fits)[slot]
        state[row["slot"]] = row.get("value") or state[row["same"]]
    entries = [f"{slot}-{value}" for slot, value in state.items()]
    done = {"ja": "承知しました。", "ko": "네, 알겠습니다."}[sheet.language]
    turns: list[dict[str, Any]] = [
        {"role": "user", "text": " ".join(inputs["goal"])[:200], "state": entries},
        {"role": "sys", "text": done},
        {"role": "user", "text": done, "state": entries},
        {"role": "sys", "text": done},
    ]
    return {"how": "self", "turns": turns}


OPINIONS: dict[str, Callable[[Sheet, dict[str, Any], int], Any]] = {
    "choice": choose,
    "inference": infer,
    "scale": rate,
    "relation": relate,
    "ranked": lambda sheet, inputs, _: [inputs["text"].split()[0]],
    "multiple-choice": lambda sheet, inputs, _: next(
        place for place, word in enumerate(inputs["choices"]) if word in "鍋皿匙砂貝波"
    ),
    "write-hypotheses": lambda sheet, inputs, _: [
        pattern.format(inputs["premise"].split()[0]) for pattern in HYPOTHESES
    ],
    "write-contradictions": lambda sheet, inputs, _: [
        f"{word}{inputs['text']}" for word in ("昨日、", "夜中に", "去年、", "遠くで")
    ],
    "write-question": lambda sheet, inputs, _: [question_of(inputs, n) for n in range(sheet.texts)],
    "reading": lambda sheet, inputs, _: [
        question_by_type(inputs, n) for n in range(len(inputs["types"]))
    ],
    "reading-answers": answer_or_none,
    "further-answers": lambda sheet, inputs, _: inputs["context"][:3],
    "concept-question": lambda sheet, inputs, _: f"{inputs['source']}にあるものはどれでしょうか？",
    "distractors": lambda sheet, inputs, _: ["椅子", "時計"],
    "translation": lambda sheet, inputs, _: inputs.get("begun") or ENGLISH[inputs["english"]],
    "span-tagging": lambda sheet, inputs, _: inputs["spans"],
    "tree": parse,
    "acceptability": accept,
    "dialogue": converse,
    "dialogue-states": lambda sheet, inputs, _: inputs["states"],
}
"""Form to what a worker answers."""


def answer_sheet(folder: Path, sheet: Sheet) -> list[dict[str, Any]]:
    """Let workers answer all items of a project; returns the first state of each worker's page.

    The same people come for every question of a build: the server keeps those away who may not answer.
    """
    names = [f"사람{n}" for n in range(sheet.workers + RESERVE)]
    states, number = [], 0
    with served(folder) as (_, client):
        for worker, (_, link) in enumerate(create_links(folder, names, "http://here").links):
            state = client.get(f"{link}/next").json()
            states.append(state)
            while state["item"]:
                lease, inputs = state["item"]["lease"], state["item"]["inputs"]
                answer = answer_as(sheet, inputs, worker, number)
                number += 1
                what = "report" if isinstance(answer, str) else "answer"
                body = {"code": answer} if isinstance(answer, str) else {"answer": answer}
                reply = client.post(f"{link}/{what}", json={"lease": lease, "key": lease, **body})
                assert reply.status_code == 200, (sheet.recipe, sheet.name, answer, reply.text)
                state = reply.json()["state"]
            assert state["stage"] == "done"
    return states
