"""What `nikawa aggregate` writes: gold, a reason an item, the list of ties, skills, agreement, a summary.

`examples.jsonl` (with the examples at hand, and the judgements of a file beside it) or `gold.jsonl`; `items.jsonl`; `adjudicate.tsv`, a sheet to fill in
and give back; `skills.jsonl` of a model of workers; `agreement.json`; `summary.json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import msgspec

from nikawa.aggregation.agree_spans import spans_of, text_of
from nikawa.aggregation.judgements import load_examples
from nikawa.aggregation.tie_sheet import read_rows, write_rows
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder
from nikawa.io.folders import JUDGEMENTS
from nikawa.io.json import encode_json
from nikawa.io.judgements.guard import bare
from nikawa.records import Example, Origin

if TYPE_CHECKING:
    from nikawa.aggregation.job import Aggregated
    from nikawa.aggregation.span_agreement import Marks
    from nikawa.aggregation.verdicts import Verdicts

HEAD = ("example", "question", "votes", "answer")
"""Columns of the sheet of ties; `answer` is for a person to fill in, the inputs follow."""
STATES = ("accepted", "dropped", "tied")


def write(found: Aggregated, out: Path, *, overwrite: bool = False) -> list[str]:
    """Write the folder whole or not at all; returns the names of its files."""
    from nikawa.aggregation.report import gold_of

    gold = gold_of(found.verdicts)
    with atomic_folder(out, overwrite=overwrite) as folder:
        if found.examples is None:
            _lines(folder / "gold.jsonl", ({"example": i, "gold": g} for i, g in gold.items()))
        else:
            _lines(folder / "examples.jsonl", merged(gold, found.examples, found.verdicts))
            if found.judgements is not None:
                _lines(folder / JUDGEMENTS, found.judgements())
        _lines(folder / "items.jsonl", items(found.verdicts, found.decided))
        _sheet(folder / "adjudicate.tsv", found)
        skills = list(skill_lines(found.verdicts))
        if skills:
            _lines(folder / "skills.jsonl", iter(skills))
        _json(folder / "agreement.json", agreement(found))
        _json(folder / "summary.json", found.report)
        return sorted(path.name for path in folder.iterdir())


def _lines(path: Path, records: Iterator[Any]) -> None:
    with path.open("wb") as stream:
        for record in records:
            stream.write(encode_json(record) + b"\n")


def _json(path: Path, value: Any) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def merged(
    gold: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, Example],
    verdicts: Mapping[str, Verdicts],
) -> Iterator[Example]:
    """The examples that got gold, with it; other gold they have stays."""
    step = ", ".join(f"{question}={found.rule.text}" for question, found in verdicts.items())
    for item, answers in gold.items():
        if item not in known:
            cure = "name the examples the judgements are about"
            raise BadInput(f"judgements speak of {item!r}, which is no example", cure=cure)
        example = known[item]
        origin = example.origin or Origin(recipe="aggregate", step=step)
        yield msgspec.structs.replace(
            example,
            gold={**example.gold, **answers},
            origin=msgspec.structs.replace(origin, gold="annotated"),
        )


def items(
    verdicts: Mapping[str, Verdicts],
    decided: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
) -> Iterator[dict[str, Any]]:
    """For every item and rule: what became of it, which step or person decided, on what votes; soft labels kept."""
    from nikawa.aggregation.span_agreement import by_item
    from nikawa.aggregation.verdicts import ACCEPTED, as_mapping, soft_labels, span_shares

    for question, found in verdicts.items():
        answers, names = found.answers(), found.names
        soft = None if found.label is None else soft_labels(found)
        given = None if found.marks is None else by_item(found.table)
        for place, item in enumerate(found.table.items):
            line = {
                "example": item,
                "question": question,
                "gold": answers[place],
                "verdict": STATES[found.state[place]],
                "by": names[found.by[place]],
                "why": why(found, place) if given is None else votes_on_spans(given[place]),
            }
            if soft is not None:
                line["soft"] = as_mapping(soft[place], found.table.categories)
            if given is not None:
                line["soft"] = span_shares(given[place])
            if (
                found.state[place] == ACCEPTED and found.by[place] == len(names) - 2
            ):  # a tie that was settled
                line |= (decided or {}).get((question, item), {})
            yield line


def why(found: Verdicts, place: int) -> str:
    """The figures an item was judged by: `2 of 3 for entailment`, `mean of 5, variance 0.96`."""
    n = int(found.table.per_item()[place])
    if found.label is None:
        return f"{found.rule.decider.name} of {n}, variance {found.strength[place]:.4g}"
    if found.fit is not None:
        name = found.table.categories[found.label[place]]
        return f"probability {found.strength[place]:.4f} for {name}, {n} answers"
    return votes(found, place)


def votes(found: Verdicts, place: int) -> str:
    """`entailment 2, neutral 1`, the most first."""
    counts = found.table.counts()[place].tolist()
    ranked = sorted(zip(counts, found.table.categories, strict=True), key=lambda pair: -pair[0])
    return ", ".join(f"{name} {count}" for count, name in ranked if count)


def votes_on_spans(given: list[Marks], text: str = "") -> str:
    """`0-3:PS 2, 5-7:LC 1, of 3`, the most first, with the marked characters where the text is known."""
    from nikawa.aggregation.spans import support, written

    told = [
        f"{written(mark)} {count}" + (f" ({text[mark[0] : mark[1]]})" if text else "")
        for mark, count in support(given).items()
    ]
    return ", ".join([*(told or ["none"]), f"of {len(given)}"])


def skill_lines(verdicts: Mapping[str, Verdicts]) -> Iterator[dict[str, Any]]:
    """Every worker's skill under a model, with the table of errors (Dawid-Skene) or of guesses (MACE)."""
    for question, found in verdicts.items():
        if found.fit is None:
            continue
        names = [str(category) for category in found.table.categories]
        for code, worker in enumerate(found.table.workers):
            errors = found.fit.errors[code]
            if errors.ndim == 1:
                told: Any = dict(zip(names, errors.tolist(), strict=True))
            else:
                told = {
                    true: dict(zip(names, errors[:, t].tolist(), strict=True))
                    for t, true in enumerate(names)
                }
            yield {
                "worker": worker,
                "question": question,
                "model": found.rule.decider.name,
                "skill": float(found.fit.skill[code]),
                "answers_given" if errors.ndim == 1 else "answers_by_true": told,
            }


def _sheet(path: Path, found: Aggregated) -> None:
    """The ties, with the votes and the inputs, and an empty column for the decision."""
    from nikawa.aggregation.span_agreement import by_item
    from nikawa.aggregation.verdicts import TIED

    ties = [
        (question, verdicts, place)
        for question, verdicts in found.verdicts.items()
        for place in (verdicts.state == TIED).nonzero()[0].tolist()
    ]
    if not ties:
        return
    known = found.examples or {}
    about = [known.get(verdicts.table.items[place]) for _, verdicts, place in ties]
    inputs = list(dict.fromkeys(name for example in about if example for name in example.inputs))
    rows: list[tuple[Any, ...]] = [(*HEAD, *inputs)]
    given = {
        name: by_item(each.table) for name, each in found.verdicts.items() if each.marks is not None
    }
    for (question, verdicts, place), example in zip(ties, about, strict=True):
        texts = [example.inputs.get(name, "") if example else "" for name in inputs]
        item = verdicts.table.items[place]
        told = (
            votes(verdicts, place)
            if verdicts.marks is None
            else _on_spans(given[question][place], item, example)
        )
        rows.append((item, question, told, "", *texts))
    write_rows(path, rows)


def _on_spans(given: list[Marks], item: str, example: Example | None) -> str:
    return votes_on_spans(given, "" if example is None else text_of(item, example))


def read_adjudicated(path: Path) -> dict[str, dict[str, Any]]:
    """A filled-in sheet of ties: question to item to answer. Rows without an answer stay ties."""
    found: dict[str, dict[str, Any]] = {}
    for line, row in read_rows(path, ("example", "question", "answer")):
        example, answer = row["example"], normalize("NFC", bare(row["answer"].strip()))
        settled = found.setdefault(row["question"], {})
        if example in settled:
            cure = "keep one line an item"
            raise BadInput(f"{example!r} is decided twice", file=path, line=line, cure=cure)
        if answer:
            settled[example] = answer
    return found


def read_deciders(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """By question and item who decided a tie and why, where the sheet has the columns person and reason."""
    found = {}
    for _, row in read_rows(path, ("example", "question", "answer")):
        told = {
            "decided_by": row.get("person", "").strip(),
            "reason": row.get("reason", "").strip(),
        }
        found[row["question"], row["example"]] = {name: text for name, text in told.items() if text}
    return found


def agreement(found: Aggregated) -> dict[str, Any]:
    """The measures of agreement of each table, as `nikawa agree` has them."""
    from nikawa.aggregation.agree import Options, measured

    told = {}
    for table in {id(table): table for table in found.tables.values()}.values():
        compared = bool((table.per_item() > 1).any())
        spans = spans_of(table, found.examples, Options()) if compared else None
        told[table.question] = {
            "items": len(table.items),
            "workers": len(table.workers),
            "answers": len(table),
            "measures": list(measured(table, Options(), spans)) if compared else [],
        }
    return told


def read_known(path: Path, question: str) -> dict[str, Any]:
    """Known answers by item: a sheet with the columns example and answer, or examples with gold."""
    if path.name.endswith((".tsv", ".csv")):
        return {
            row["example"]: _plain(row["answer"])
            for _, row in read_rows(path, ("example", "answer"))
        }
    examples = load_examples(str(path), str(path), None) or {}
    found = {
        item: example.gold[question]
        for item, example in examples.items()
        if question in example.gold
    }
    if not found:
        raise BadInput(
            f"holds no gold for {question!r}",
            file=path,
            cure="give examples with gold, or a sheet example, answer",
        )
    return found


def _plain(text: str) -> Any:
    """A number where the text is one."""
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value
