"""JSeM: the Japanese semantics test suite, a file a section; premises, a hypothesis, and an answer.

Known problems: the answer can be other than yes, no and unknown (undef, unacceptable, weakacceptable, *, ?), and such
a problem has no label; texts are wrapped and indented by the tool that wrote the files; links may lack an id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from nikawa.datasets.base import Benchmark, Source
from nikawa.datasets.jsem._xml import parse_problems
from nikawa.errors import BadInput
from nikawa.records import Card, Dataset, Example, Finding, Task, reference

LABELS = {"yes": "entailment", "no": "contradiction", "unknown": "neutral"}


def read(path: Path) -> Iterator[Example]:
    """The problems of one section."""
    section = path.name.split(".")[0]
    groups: dict[str, str] = {}
    for line, problem in parse_problems(path):
        name = _attribute(problem, "jsem_id", path, line)
        premises = _premises(problem, path, line)
        premise = "".join(premises)
        answer = problem.get("answer", "").strip()
        yield Example(
            id=name,
            inputs={"premise": premise, "hypothesis": _hypothesis(problem, path, line)},
            gold={"label": LABELS[answer]} if answer in LABELS else {},
            tags=frozenset(
                tag for part in problem.get("phenomena", "").split(",") if (tag := part.strip())
            ),
            meta={"section": section, "answer": answer, "premises": premises, **_details(problem)},
            # The same premise is put to several hypotheses; the first problem's id names the lot.
            group=groups.setdefault(premise, f"{section}-{name}"),
        )


def _attribute(problem: Element, name: str, path: Path, line: int) -> str:
    value = problem.get(name, "").strip()
    if not value:
        raise BadInput(f"the problem has no {name}", file=path, line=line, cure="add the attribute")
    return value


def _premises(problem: Element, path: Path, line: int) -> list[str]:
    texts = [_script(p) for p in problem.findall("p")]
    if not texts or not all(texts):
        raise BadInput(
            f"problem {problem.get('jsem_id')} has {'an empty' if texts else 'no'} premise",
            file=path,
            line=line,
            cure="each needs <p><script>…</script></p>",
        )
    return texts


def _hypothesis(problem: Element, path: Path, line: int) -> str:
    found = [_script(h) for h in problem.findall("h")]
    if len(found) != 1 or not found[0]:
        raise BadInput(
            f"problem {problem.get('jsem_id')} has {len(found)} hypotheses, or an empty one",
            file=path,
            line=line,
            cure="each needs one <h><script>…</script></h>",
        )
    return found[0]


def _script(element: Element) -> str:
    """The Japanese text; line breaks and indents of the file are not part of it."""
    script = element.find("script")
    text = "".join(script.itertext()) if script is not None else ""
    return re.sub(r"[ \t\r\n]+", " ", text).strip(" ")


def _details(problem: Element) -> dict[str, Any]:
    return {
        "inference_type": problem.get("inference_type", "").strip() or None,
        "links": [dict(link.attrib) for link in problem.findall("link") if link.get("link_id")],
    }


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Problems without a label, and ids that two sections share."""
    for split, examples in dataset.splits.items():
        bare = tuple(reference("jsem", split, e.id) for e in examples if not e.gold)
        if bare:
            note = "the answer is none of yes, no and unknown"
            yield Finding(
                check="no-label", where=split, count=len(bare), ids=bare, note=note, known=True
            )
        twice = [name for name, n in Counter(e.id for e in examples).items() if n > 1]
        if twice:
            ids = tuple(reference("jsem", split, name) for name in twice)
            yield Finding(
                check="repeated-ids", where=split, count=len(ids), ids=ids, note="in two sections"
            )


DATASET = Benchmark(
    name="jsem",
    language="ja",
    repository="jsem",
    card=Card(
        name="jsem",
        title="JSeM: Japanese semantics test suite (Japanese FraCaS and extensions)",
        version="1.0",
        languages=("ja",),
        licence="BSD-3-Clause",
        citation="Kawazoe, Tanaka, Mineshima, Bekki (2015). An Inference Problem Set for Evaluating Semantic Theories and Semantic Processing Systems for Japanese. LENLS 12.",
        homepage="https://github.com/DaisukeBekki/JSeM",
        description="Inference problems made by linguists, grouped by phenomenon: one or more premises, a hypothesis, and whether it follows.",
        labels="Judged by the linguists who wrote the problems: yes, no, unknown; other answers give no label.",
        workers="the authors; how many judged each problem is not published",
        workers_are="none",
        source="Translations of the FraCaS test suite, and new problems for phenomena of Japanese",
        problems=(
            "Answers other than yes, no and unknown (undef, unacceptable, …) have no label; meta.answer holds the word.",
            "Several premises are joined without a blank; meta.premises keeps them apart.",
            "The problems are for testing only: a section is small and its labels are not balanced.",
        ),
    ),
    tasks=(
        Task(
            name="jsem",
            dataset="jsem",
            kind="inference",
            question="label",
            inputs=("premise", "hypothesis"),
            labels=tuple(LABELS.values()),
            metrics=("accuracy",),
        ),
    ),
    sources=(Source("test", ("data/v1.0/*.xml", "*.xml")),),
    read=read,
    find_problems=find_problems,
    sections=True,
)
