"""JSeM: the Japanese semantics test suite, a file a section; premises, a hypothesis, and an answer.

Known problems: the answer can be other than yes, no and unknown (undef, unacceptable,
weakacceptable, *, ?), and such a problem has no label; texts are wrapped and indented by the tool
that wrote the files; links may lack an id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nikawa.datasets.base import Benchmark, Source, report_examples
from nikawa.errors import BadInput
from nikawa.io.lines import open_bytes
from nikawa.records import Card, Dataset, Example, Finding, Task, reference

LABELS = {"yes": "entailment", "no": "contradiction", "unknown": "neutral"}
ROOTS = ("jsem-dataset", "jsem-problems", "jsem_problems")
"""Names the root element had in the releases."""


def parse_problems(path: Path) -> list[tuple[int, Element]]:
    """(line, `<problem>` element) in file order; entities are refused, and no DTD is fetched."""
    sink = _Sink(path)
    try:
        with open_bytes(path) as stream:
            sink.parser.ParseFile(stream)
    except expat.ExpatError as problem:
        what = f"is not well-formed XML ({expat.ErrorString(problem.code)})"
        cure = "fetch or correct the file"
        raise BadInput(what, file=path, line=problem.lineno, cure=cure) from None
    except (ValueError, LookupError):  # a multi-byte encoding, or unknown to Python
        what = f"declares the encoding {sink.encoding!r}, which is not read"
        cure = f"convert it, e.g. with iconv -f {sink.encoding} -t UTF-8, and declare UTF-8 in its first line"
        raise BadInput(what, file=path, line=1, cure=cure) from None
    return sink.problems


class _Sink:
    """Feeds a tree builder and notes where each problem begins."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[tuple[int, Element]] = []
        self.encoding = ""
        self._builder = TreeBuilder()
        self._depth = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.XmlDeclHandler = self._declared
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._builder.data
        self.parser.EntityDeclHandler = self._refuse_entity

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        self.encoding = encoding or ""

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if self._depth == 0 and tag not in ROOTS:
            raise BadInput(
                f"the root element is <{tag}>, not <{ROOTS[0]}>",
                file=self.path,
                line=line,
                cure="name a file of JSeM",
            )
        element = self._builder.start(tag, attributes)
        if tag == "problem":
            self.problems.append((line, element))
        self._depth += 1

    def _end(self, tag: str) -> None:
        self._builder.end(tag)
        self._depth -= 1

    def _refuse_entity(self, name: str, *_: object) -> NoReturn:
        # JSeM declares none; a few nested ones can fill the memory, and an external one reads other files.
        raise BadInput(
            f"declares the entity {name!r}",
            file=self.path,
            line=self.parser.CurrentLineNumber,
            cure="write the text out; entity declarations are refused",
        )


def read(path: Path) -> Iterator[Example]:
    """The problems of one section."""
    section = path.name.split(".")[0]
    groups: dict[str, str] = {}
    for line, problem in parse_problems(path):
        name = problem.get("jsem_id", "").strip()
        if not name:
            what = "the problem has no jsem_id"
            raise BadInput(what, file=path, line=line, cure="add the attribute")
        premises = [_script(element) for element in problem.findall("p")]
        if not premises or not all(premises):
            what = f"problem {name} has {'an empty' if premises else 'no'} premise"
            cure = "each needs <p><script>…</script></p>"
            raise BadInput(what, file=path, line=line, cure=cure)
        hypotheses = [_script(element) for element in problem.findall("h")]
        if len(hypotheses) != 1 or not hypotheses[0]:
            what = f"problem {name} has {len(hypotheses)} hypotheses, or an empty one"
            cure = "each needs one <h><script>…</script></h>"
            raise BadInput(what, file=path, line=line, cure=cure)
        premise = "".join(premises)
        answer = problem.get("answer", "").strip()
        tags = [part.strip() for part in problem.get("phenomena", "").split(",")]
        yield Example(
            id=name,
            inputs={"premise": premise, "hypothesis": hypotheses[0]},
            gold={"label": LABELS[answer]} if answer in LABELS else {},
            tags=frozenset(tag for tag in tags if tag),
            meta={
                "section": section,
                "answer": answer,
                "premises": premises,
                "inference_type": problem.get("inference_type", "").strip() or None,
                "links": [
                    dict(link.attrib) for link in problem.findall("link") if link.get("link_id")
                ],
            },
            # The same premise is put to several hypotheses; the first problem's id names the lot.
            group=groups.setdefault(premise, f"{section}-{name}"),
        )


def _script(element: Element) -> str:
    """The Japanese text; line breaks and indents of the file are not part of it."""
    script = element.find("script")
    text = "".join(script.itertext()) if script is not None else ""
    return re.sub(r"[ \t\r\n]+", " ", text).strip(" ")


def find_problems(folder: Path, dataset: Dataset) -> Iterable[Finding]:
    """Problems without a label, and ids that several problems have, in one section or in two."""
    for split, examples in dataset.splits.items():
        bare = [example for example in examples if not example.gold]
        note = "the answer is not yes, no or unknown"
        yield from report_examples("no-label", dataset, split, bare, note, known=True)
        twice = [name for name, n in Counter(e.id for e in examples).items() if n > 1]
        if twice:
            ids = tuple(reference("jsem", split, name) for name in twice)
            yield Finding(
                check="repeated-ids",
                where=split,
                count=len(ids),
                ids=ids,
                note="of several problems",
            )


DATASET = Benchmark(
    name="jsem",
    language="ja",
    repository="jsem",
    further_files=("*",),
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
