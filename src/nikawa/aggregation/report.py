"""What `nikawa aggregate` reports of the gold it made, and the folder it writes.

The folder holds `examples.jsonl` (with the known examples, and the judgements in a file next to it) or `gold.jsonl`;
`items.jsonl`, one reason per item; `adjudicate.tsv`, a sheet of ties to fill in and give back; `skills.jsonl` of a model of
workers; `remarks.jsonl`, workers' comments and reports; `agreement.json`; `summary.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from nikawa.aggregation.agree_job import AgreeOptions, measure_rows, text_lengths
from nikawa.aggregation.decisions import DecisionBook
from nikawa.aggregation.effort_record import EffortRecord
from nikawa.aggregation.judgements import JudgementCopy
from nikawa.aggregation.machine_votes import describe_answers
from nikawa.aggregation.sheets import TIE_COLUMNS, name_input_column, write_sheet
from nikawa.aggregation.spans import (
    Marks,
    answers_by_item,
    count_marks,
    format_mark,
    text_of,
    to_marks,
)
from nikawa.aggregation.structures import structures_by_item
from nikawa.aggregation.table import Table
from nikawa.aggregation.trees import arc_shares, format_arc_votes, trees_by_item
from nikawa.aggregation.verdicts import (
    ACCEPTED,
    Verdicts,
    name_shares,
    soft_labels,
    span_shares,
)
from nikawa.datasets.aggregated import AggregateSummary, describe_aggregation
from nikawa.datasets.load import loose_dataset
from nikawa.errors import BadInput
from nikawa.io.atomic import atomic_folder, private_files
from nikawa.io.folders import JUDGEMENTS
from nikawa.io.json import encode_json
from nikawa.io.judgements import Note
from nikawa.records import Dataset, Example, Judgement, MachinePart, Origin, Record
from nikawa.tables import ResultTable, ShownAsTables

MAX_ITEMS_LISTED = 50
"""Items a summary lists by name."""
MACHINE_PARTS: tuple[MachinePart, ...] = ("", "weighed", "tie-break", "changed")
"""From the least to the most that machines did; an example with several questions has the most of them."""
STATE_NAMES = ("accepted", "dropped", "tied")
"""What the states of `verdicts` are called in files."""


class GoldComparison(Record, frozen=True, kw_only=True):
    """How the gold made here and the gold that the examples have go together."""

    items: int
    """Items of the judgements that have gold there."""
    same: int
    """Items with equal gold."""
    different: tuple[str, ...]
    """Items that have both and they differ: the first few."""
    differing: int
    """How many differ, also beyond those named."""
    only_there: int
    """Items with gold there and none here (ties and what was dropped)."""


class DecisionCounts(Record, frozen=True, kw_only=True):
    """What decisions made of the gold of one rule."""

    decided: int
    """Items whose gold a person decided."""
    overruled: int
    """Of these, items for which the votes make another gold."""
    overruled_items: tuple[str, ...]
    """The first of them."""
    not_counted: int
    """Items with a decision that does not count: it is for ties, and the votes make gold, or a step refuses its label."""
    decided_again: int
    """Items on which a later decision replaced an earlier one."""


class RemarkCounts(Record, frozen=True, kw_only=True):
    """Comments that workers wrote with their answers."""

    comments: int
    """Answers that a worker wrote a comment on."""
    reports: dict[str, int]
    """Items that workers reported, by reason."""
    reported_items: tuple[str, ...]
    """The first of the items that were reported."""


class MachineCounts(Record, frozen=True, kw_only=True):
    """What machines did to the gold of one rule."""

    use: str
    """`tie-break` or `weigh`."""
    models: tuple[str, ...]
    """The models that answered; copies of one model count as one."""
    answers: int
    """Answers of machines about items that a person answered."""
    unused: int
    """Other answers of machines: no person answered the item, or no person gave the label."""
    labels: int
    """Items with gold in which a machine took part."""
    ties: int
    """Ties of persons that machines broke."""
    changed: int
    """Items whose gold is another than that of the persons alone, under the same model."""
    changed_items: tuple[str, ...]
    """The first of them."""
    accuracy: dict[str, float] = msgspec.field(default_factory=dict)
    """Of labels that were weighed: how often each model is right, as learnt from the persons."""
    correlation: float | None = None
    """Of labels that were weighed: how far the errors of different models go together; None with one model."""
    share: float | None = None
    """Of numbers that were weighed: the mean share of machines in the gold of an item."""


class RuleReport(Record, frozen=True, kw_only=True):
    """The result of one rule."""

    question: str
    """The question the gold is written under."""
    rule: str
    ties: str
    items: int
    accepted: int
    dropped: dict[str, int]
    """By the step that dropped them."""
    tied: int
    """Left to be adjudicated."""
    tied_items: tuple[str, ...]
    """The first of them."""
    settled: int
    """Ties that were settled, by the tie rule or by a decision."""
    iterations: int = 0
    """Of EM, where a model of workers decided; else 0."""
    published: GoldComparison | None = None
    """Comparison with the gold of the examples, if they have any."""
    decisions: DecisionCounts | msgspec.UnsetType = msgspec.UNSET
    """What decisions changed; omitted from the JSON if there are no decisions."""
    machines: MachineCounts | msgspec.UnsetType = msgspec.UNSET
    """What machines did; omitted from the JSON unless the rule uses them."""
    label_set: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """All labels that may answer the question; omitted from the JSON if the gold uses every one of them."""


class AggregateReport(ShownAsTables, Record, frozen=True, kw_only=True):
    """Everything `nikawa aggregate` reports."""

    main_table: ClassVar[str] = "rules"
    headline_fields: ClassVar[tuple[str, ...]] = (
        "judgements",
        "workers_are",
        "items",
        "workers",
        "answers",
        "missing",
        "kept",
        "unjudged",
    )

    judgements: str
    workers_are: str
    items: int
    workers: int
    answers: int
    missing: int
    """Judgements without an answer."""
    kept: int
    """Items that every rule accepted."""
    unjudged: int
    """The given examples without judgements."""
    rules: tuple[RuleReport, ...]
    excluded: tuple[Any, ...] = ()
    """What leaving workers out changed: one `ExclusionEffect` each, then all together."""
    notes: tuple[Note, ...] = ()
    """Oddities of the file."""
    remarks: RemarkCounts | msgspec.UnsetType = msgspec.UNSET
    """Comments and reports of workers; omitted from the JSON if there are no remarks."""
    effort: str | msgspec.UnsetType = msgspec.UNSET
    """Where a project stopped asking persons, in a paragraph; omitted where every item got as many."""
    prelabels: str | msgspec.UnsetType = msgspec.UNSET
    """What it did to the answers that pages came filled in with a machine's, in a paragraph; omitted where none did."""
    machine_verdict: str | msgspec.UnsetType = msgspec.UNSET
    """Machines compared with persons, in a paragraph; omitted where no item has the answers of a machine and of two persons."""


@dataclass(frozen=True, repr=False)
class AggregateResult(ShownAsTables):
    """The report and what it was made from. It shows what each rule made, and its gold."""

    main_table: ClassVar[str] = "gold"
    text_tables: ClassVar[int] = 2

    report: AggregateReport
    verdicts: Mapping[str, Verdicts]
    """By the question their gold is written under."""
    examples: Mapping[str, Example] | None
    """Those the judgements are about, by reference; None where they are not known."""
    tables: Mapping[str, Table]
    """The judgements each rule was applied to, by rule."""
    decided: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    """By question and item who decided, why, and what was decided before."""
    judgements: JudgementCopy | None = None
    """The judgements of a file, if they belong next to the examples."""
    hidden: bool = False
    """Whether hidden labels were looked at."""
    remarks: tuple[Judgement, ...] = ()
    """Answers with comments, and reports."""
    effort: EffortRecord | None = None
    """Where a project stopped asking persons."""

    @property
    def gold(self) -> dict[str, dict[str, Any]]:
        """Item to its answers by question, of the items that every rule accepted."""
        return collect_gold(self.verdicts)

    def headline(self) -> str:
        """That of the report."""
        return self.report.headline()

    def list_tables(self) -> list[ResultTable]:
        """The gold of each item with its reason, then the tables of the report."""
        lines = list(item_lines(self.verdicts, self.decided))
        columns = ("example", "question", "gold", "verdict", "by", "why")
        rows = [tuple(line.get(name) for name in columns) for line in lines]
        tables = [ResultTable("gold", columns, rows), *self.report.list_tables()]
        names = ("worker", "question", "model", "skill")
        skills = [tuple(line[name] for name in names) for line in skill_lines(self.verdicts)]
        if skills:
            tables.append(ResultTable("skills", names, skills))
        return tables

    def to_dataset(self, name: str = "gold") -> Dataset:
        """Return the examples with their new gold as a dataset called `name`, in their splits; items without gold are skipped.

        Raises `BadInput` if the examples are not known: pass `examples=` to `nikawa.aggregate`.
        """
        if self.examples is None:
            what = "the examples of the judgements are not known"
            raise BadInput(what, cure="pass examples= to nk.aggregate")
        merged = merge_gold(self.gold, self.examples, self.verdicts, hidden=self.hidden)
        splits: dict[str, list[Example]] = {}
        for item, example in zip(self.gold, merged, strict=True):
            place = re.match(r"[^/]+:([^/]+)/", item)
            splits.setdefault(place[1] if place else "all", []).append(example)
        if not splits:
            raise BadInput("no item has gold", cure="choose another rule or other ties")
        everything = tuple(example for part in splits.values() for example in part)
        made = loose_dataset(Path("gold"), everything)
        summary = msgspec.convert(msgspec.to_builtins(self.report), AggregateSummary)
        facts = {"name": name, "title": name, **describe_aggregation(summary)}
        card = msgspec.structs.replace(made.card, **facts)
        return msgspec.structs.replace(
            made,
            name=name,
            card=card,
            splits={split: tuple(part) for split, part in splits.items()},
        )


def collect_gold(verdicts: Mapping[str, Verdicts]) -> dict[str, dict[str, Any]]:
    """Gold by item, of the items that every rule accepted."""
    gold: dict[str, dict[str, Any]] = {}
    for question, each in verdicts.items():
        for item, answer in zip(each.table.items, each.answers(), strict=True):
            if answer is not None:
                gold.setdefault(item, {})[question] = answer
    return {item: answers for item, answers in gold.items() if len(answers) == len(verdicts)}


def report_rule(
    question: str,
    verdicts: Verdicts,
    known: Mapping[str, Example] | None,
    book: DecisionBook,
    names: Sequence[str],
    labels: Sequence[str] = (),
) -> RuleReport:
    """The result of one rule, compared with the gold of the examples if known.

    `names` are the questions that decisions of the book may speak of; `labels` are those that the user names.
    """
    tied = [verdicts.table.items[place] for place in verdicts.tied_places()]
    return RuleReport(
        question=question,
        rule=verdicts.rule.text,
        ties=str(verdicts.ties),
        items=len(verdicts.table.items),
        accepted=verdicts.count(ACCEPTED),
        dropped=verdicts.by_step(),
        tied=len(tied),
        tied_items=tuple(tied[:MAX_ITEMS_LISTED]),
        settled=int(verdicts.settled.sum()),
        iterations=0 if verdicts.fit is None else len(verdicts.fit.likelihood),
        published=None if known is None else compare_gold(question, verdicts, known),
        decisions=count_decisions(verdicts, book, names) if book.items(names) else msgspec.UNSET,
        machines=msgspec.UNSET if verdicts.machines is None else count_machines(verdicts),
        label_set=find_label_set(verdicts, labels),
    )


def count_machines(verdicts: Verdicts) -> MachineCounts:
    """What machines did to the gold; unset where the rule does not use them."""
    machines = verdicts.machines
    assert machines is not None
    parts = find_machine_parts(verdicts)
    changed = [verdicts.table.items[place] for place, part in parts.items() if part == "changed"]
    model, scale = machines.model, machines.scale
    return MachineCounts(
        use=machines.use,
        models=tuple(machines.models),
        answers=machines.answers,
        unused=machines.unused,
        labels=len(parts),
        ties=sum(part == "tie-break" for part in parts.values()),
        changed=len(changed),
        changed_items=tuple(changed[:MAX_ITEMS_LISTED]),
        accuracy={} if model is None else {name: model.accuracy(name) for name in machines.models},
        correlation=None if model is None or len(machines.models) < 2 else model.correlation,
        share=None if scale is None else machines.share,
    )


def find_machine_parts(verdicts: Verdicts) -> dict[int, MachinePart]:
    """By the place of each item with gold what machines did to it; nothing where a person decided."""
    if verdicts.machines is None:
        return {}
    return {
        place: part
        for place, part in verdicts.machines.parts.items()
        if verdicts.state[place] == ACCEPTED and place not in verdicts.decided
    }


def find_label_set(
    verdicts: Verdicts, labels: Sequence[str]
) -> tuple[str, ...] | msgspec.UnsetType:
    """The labels that workers chose from, if they are more than the gold has: a model must know them all.

    Answers that a step `only` refuses, such as "cannot tell", are no labels.
    """
    answers = [answer for answer in verdicts.answers() if answer is not None]
    if not all(isinstance(label, str) for label in (*verdicts.table.categories, *answers)):
        return msgspec.UNSET  # numbers or spans
    used, gold = set(verdicts.table.categories), set(answers)
    for step in verdicts.rule.steps:
        if step.name == "only":
            used &= set(step.value.split("|"))
    if gold >= used | set(labels):
        return msgspec.UNSET
    return (*labels, *sorted((used | gold) - set(labels)))


def count_decisions(verdicts: Verdicts, book: DecisionBook, names: Sequence[str]) -> DecisionCounts:
    """What the decisions of a book, to questions of these names, made of the gold."""
    overruled = []
    places = list(verdicts.decided)
    before = [] if verdicts.without is None else verdicts.without.answers_at(places)
    for place, gold in zip(places, before, strict=True):
        if gold is not None and gold != verdicts.decided[place]:
            overruled.append(verdicts.table.items[place])
    items = book.items(names)
    return DecisionCounts(
        decided=len(places),
        overruled=len(overruled),
        overruled_items=tuple(overruled[:MAX_ITEMS_LISTED]),
        not_counted=len(items) - len(places),
        decided_again=sum(len(book.chain(item, names)) > 1 for item in items),
    )


def compare_gold(
    question: str, verdicts: Verdicts, known: Mapping[str, Example]
) -> GoldComparison | None:
    """Hold the gold made here against the examples' own; None where they have none for the question."""
    pairs = [
        (item, answer, known[item].gold[question])
        for item, answer in zip(verdicts.table.items, verdicts.answers(), strict=True)
        if item in known and question in known[item].gold
    ]
    if not pairs:
        return None
    if verdicts.marks is not None:
        pairs = [
            (item, None if here is None else to_marks(here), to_marks(there))
            for item, here, there in pairs
        ]
    different = [item for item, here, there in pairs if here is not None and here != there]
    return GoldComparison(
        items=len(pairs),
        same=sum(here == there for _, here, there in pairs),
        different=tuple(different[:MAX_ITEMS_LISTED]),
        differing=len(different),
        only_there=sum(here is None for _, here, _ in pairs),
    )


# The folder


def write_result(result: AggregateResult, out: Path, *, overwrite: bool = False) -> list[str]:
    """Write the folder whole or not at all; returns the names of its files.

    What was made with hidden labels has mode 0600.
    """
    gold = collect_gold(result.verdicts)
    with private_files(result.hidden), atomic_folder(out, overwrite=overwrite) as folder:
        if result.examples is None:
            _write_lines(folder / "gold.jsonl", gold_lines(gold, result.verdicts))
        else:
            examples = merge_gold(gold, result.examples, result.verdicts, hidden=result.hidden)
            _write_lines(folder / "examples.jsonl", examples)
            if result.judgements is not None:
                result.judgements.write(folder / JUDGEMENTS)
        lines = item_lines(result.verdicts, result.decided, result.effort)
        _write_lines(folder / "items.jsonl", lines)
        if result.remarks:
            _write_lines(folder / "remarks.jsonl", result.remarks)
        ties = tie_rows(result)
        if ties:
            write_sheet(folder / "adjudicate.tsv", ties)
        skills = list(skill_lines(result.verdicts))
        if skills:
            _write_lines(folder / "skills.jsonl", skills)
        _write_json(folder / "agreement.json", measure_tables(result))
        _write_json(folder / "summary.json", result.report)
        return sorted(path.name for path in folder.iterdir())


def gold_lines(
    gold: Mapping[str, Mapping[str, Any]], verdicts: Mapping[str, Verdicts]
) -> Iterator[dict[str, Any]]:
    """A line for each item with gold; `machines` says by question what machines did to it, where they took part."""
    parts = name_machine_parts(verdicts)
    for item, answers in gold.items():
        line: dict[str, Any] = {"example": item, "gold": answers}
        if item in parts:
            line["machines"] = parts[item]
        yield line


def name_machine_parts(verdicts: Mapping[str, Verdicts]) -> dict[str, dict[str, MachinePart]]:
    """By item and question what machines did to the gold, where they took part."""
    parts: dict[str, dict[str, MachinePart]] = {}
    for question, each in verdicts.items():
        for place, part in find_machine_parts(each).items():
            parts.setdefault(each.table.items[place], {})[question] = part
    return parts


def _write_lines(path: Path, records: Iterable[Any]) -> None:
    with path.open("wb") as stream:
        for record in records:
            stream.write(encode_json(record) + b"\n")


def _write_json(path: Path, value: Any) -> None:
    text = msgspec.json.encode(value)
    path.write_bytes(msgspec.json.format(text, indent=2) + b"\n")


def merge_gold(
    gold: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, Example],
    verdicts: Mapping[str, Verdicts],
    *,
    hidden: bool = False,
) -> Iterator[Example]:
    """The examples that got gold, with it; other gold they have stays.

    Gold made of judgements by somebody who does not hold hidden labels is their own. With `hidden`
    it is stored with the hidden labels and stays hidden too.
    """
    decided = {
        question: {each.table.items[place] for place in each.decided}
        for question, each in verdicts.items()
    }
    parts = name_machine_parts(verdicts)
    for item, answers in gold.items():
        if item not in known:
            cure = "pass the examples that the judgements are about"
            raise BadInput(f"judgements are about {item!r}, which is not an example", cure=cure)
        example = known[item]
        step = ", ".join(
            f"{question}={'decision' if item in decided[question] else each.rule.text}"
            for question, each in verdicts.items()
        )
        origin = example.origin or Origin(recipe="aggregate", step=step)
        yield msgspec.structs.replace(
            example,
            gold={**example.gold, **answers},
            origin=msgspec.structs.replace(
                origin,
                gold="hidden" if hidden and example.hidden else "annotated",
                machines=max(parts.get(item, {}).values(), key=MACHINE_PARTS.index, default=""),
            ),
        )


def item_lines(
    verdicts: Mapping[str, Verdicts],
    decided: Mapping[tuple[str, str], Mapping[str, Any]],
    effort: EffortRecord | None = None,
) -> Iterator[dict[str, Any]]:
    """For every item and rule: what became of it, which step or person decided, on what votes; soft labels kept."""
    for question, each in verdicts.items():
        gold = each.answers()
        names = each.names
        soft = None if each.label is None else soft_labels(each)
        answers = None if each.marks is None else answers_by_item(each.table)
        trees = None if each.trees is None else trees_by_item(each.table)
        structures = None if each.kind is None else structures_by_item(each.table)
        parts = find_machine_parts(each)
        given = describe_answers(each.machines) if each.machines is not None else {}
        for place, item in enumerate(each.table.items):
            line = {
                "example": item,
                "question": question,
                "gold": gold[place],
                "verdict": STATE_NAMES[each.state[place]],
                "by": names[each.by[place]],
            }
            if structures is not None and each.kind is not None:
                line["why"] = each.kind.format_votes(structures[place])
                line["soft"] = each.kind.shares(structures[place]) if structures[place] else {}
            elif trees is not None:
                line["why"] = format_arc_votes(trees[place])
                line["soft"] = arc_shares(trees[place])
            elif answers is None:
                line["why"] = explain_item(each, place)
            else:
                line["why"] = format_span_votes(answers[place])
                line["soft"] = span_shares(answers[place])
            if soft is not None:
                line["soft"] = name_shares(soft[place], each.table.categories)
            if each.machines is not None:
                line["machines"] = parts.get(place, "")
                line["machine_answers"] = given.get(place, {})
            if effort is not None and effort.question == each.table.question:
                line["effort"] = effort.describe_item(item)
            yield {**line, **decided.get((question, item), {})}


def explain_item(verdicts: Verdicts, place: int) -> str:
    """The figures an item was judged by: `2 of 3 for entailment`, `mean of 5, variance 0.96`."""
    n = int(verdicts.table.per_item()[place])
    if not n:
        return "no answers"
    if verdicts.label is None:
        return f"{verdicts.rule.decider.name} of {n}, variance {verdicts.strength[place]:.4g}"
    if verdicts.fit is not None:
        name = verdicts.table.categories[verdicts.label[place]]
        return f"probability {verdicts.strength[place]:.4f} for {name}, {n} answers"
    return format_votes(verdicts, place)


def format_votes(verdicts: Verdicts, place: int) -> str:
    """`entailment 2, neutral 1`, the most first."""
    counts = verdicts.table.counts()[place].tolist()
    votes = zip(counts, verdicts.table.categories, strict=True)
    ranked = sorted(votes, key=lambda pair: -pair[0])
    return ", ".join(f"{name} {count}" for count, name in ranked if count)


def format_span_votes(answers: Sequence[Marks], text: str = "") -> str:
    """`0-3:PS 2, 5-7:LC 1, of 3`, the most first, with the marked characters where the text is known."""
    votes = []
    for mark, count in count_marks(answers).items():
        start, end, _ = mark
        marked = f" ({text[start:end]})" if text else ""
        votes.append(f"{format_mark(mark)} {count}{marked}")
    return ", ".join([*(votes or ["none"]), f"of {len(answers)}"]) if answers else "no answers"


def skill_lines(verdicts: Mapping[str, Verdicts]) -> Iterator[dict[str, Any]]:
    """Every worker's skill under a model, with the table of errors (Dawid-Skene) or of guesses (MACE)."""
    for question, each in verdicts.items():
        if each.fit is None:
            continue
        names = [str(category) for category in each.table.categories]
        for code, worker in enumerate(each.table.workers):
            errors = each.fit.errors[code]
            line = {
                "worker": worker,
                "question": question,
                "model": each.rule.decider.name,
                "skill": float(each.fit.skill[code]),
            }
            if errors.ndim == 1:
                line["answers_given"] = dict(zip(names, errors.tolist(), strict=True))
            else:
                by_true = zip(names, errors.T.tolist(), strict=True)
                line["answers_by_true"] = {
                    true: dict(zip(names, shares, strict=True)) for true, shares in by_true
                }
            yield line
        if each.machines is None or each.machines.model is None:
            continue
        for model, table in each.machines.model.machine_errors.items():
            by_true = zip(names, table.T.tolist(), strict=True)
            yield {
                "worker": model,
                "question": question,
                "model": each.rule.decider.name,
                "skill": each.machines.model.accuracy(model),
                "answers_by_true": {
                    true: dict(zip(names, shares, strict=True)) for true, shares in by_true
                },
                "kind": "machine",
            }


def tie_rows(result: AggregateResult) -> list[Sequence[Any]]:
    """The sheet of ties: the votes, an empty column for the decision, the inputs. Empty where nothing is tied."""
    ties: list[tuple[str, str, str, Example | None]] = []
    for question, verdicts in result.verdicts.items():
        answers = None if verdicts.marks is None else answers_by_item(verdicts.table)
        trees = None if verdicts.trees is None else trees_by_item(verdicts.table)
        structures = None if verdicts.kind is None else structures_by_item(verdicts.table)
        for place in verdicts.tied_places():
            item = verdicts.table.items[place]
            example = (result.examples or {}).get(item)
            if structures is not None and verdicts.kind is not None:
                votes = verdicts.kind.format_votes(structures[place])
            elif trees is not None:
                words = [] if example is None else example.inputs.get("words", [])
                votes = format_arc_votes(trees[place], [str(word["form"]) for word in words])
            elif answers is None:
                votes = format_votes(verdicts, place)
            else:
                text = "" if example is None else text_of(item, example)
                votes = format_span_votes(answers[place], text)
            ties.append((item, question, votes, example))
    if not ties:
        return []
    inputs: dict[str, None] = {}
    for *_, example in ties:
        if example is not None:
            inputs |= dict.fromkeys(example.inputs)
    columns = [name_input_column(name, inputs) for name in inputs]
    rows: list[Sequence[Any]] = [(*TIE_COLUMNS, *columns)]
    for item, question, votes, example in ties:
        known = {} if example is None else example.inputs
        texts = [known.get(name, "") for name in inputs]
        rows.append((item, question, votes, "", *texts))
    return rows


def measure_tables(result: AggregateResult) -> dict[str, Any]:
    """The measures of agreement of each table, as `nikawa agree` has them."""
    summary = {}
    distinct = {id(table): table for table in result.tables.values()}
    for table in distinct.values():
        rows = []
        if table.paired().any():
            lengths = text_lengths(table, result.examples)
            rows = list(measure_rows(table, AgreeOptions(), lengths))
        summary[table.question] = {
            "items": len(table.items),
            "workers": len(table.workers),
            "answers": len(table),
            "measures": rows,
        }
    return summary
