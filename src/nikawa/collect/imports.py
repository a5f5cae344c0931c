"""Judgements of other tools, fitted to the form of a project: whose question is whose, and whether the form takes each answer.

A tool may use its own name for a question (`sentiment`, `ner`). It is ours where the names are equal; else where it is the
only one of the file with the kind of answer that the form asks for; else the owner says which (`OURS=THEIRS`). Answers to other
questions are skipped and counted. An answer that the form does not take as it is written may be written otherwise: the name
that a label has on the page, one text where a list of texts is asked, the words of a choice where its number is. What the form
takes then is meant; where it takes nothing, the answer is refused with its place and what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from nikawa.collect.form import Answer, Form, Options, Problem
from nikawa.collect.project import Project
from nikawa.errors import BadInput, suggest
from nikawa.io.judgements import Reading
from nikawa.records import Example, Judgement
from nikawa.serve.languages import fill_message, read_messages

RELATED = {
    "choice": ("text", "number"),
    "text": ("choice", "number"),
    "number": ("choice",),
    "ranking": ("choice", "text"),
}
"""Kinds that are tried where a file has none of the kind that is asked for."""
MAX_LABELS_SHOWN = 12


def list_questions(form: Form, options: Options) -> dict[str, str]:
    """The questions that a project asks, the main one first, with the kind of answer each takes."""
    main = form.main_question(options)
    sample = dict(form.sample.answer) if form.sample is not None else {}
    names = {form.questions[0]: main}
    kinds = {main: kind_of_answer(sample.get(form.questions[0]), form)}
    for name, answer in sample.items():
        if (
            getattr(options, name, True) is not False
        ):  # a setting of this name switches the question off
            kinds.setdefault(names.get(name, name), kind_of_answer(answer, form))
    return kinds


def kind_of_answer(answer: Any, form: Form | None = None) -> str:
    """What an answer is, as `io.judgements.base.KINDS` calls it; empty where it is something else."""
    word = "text" if form is not None and form.writes else "choice"
    if isinstance(answer, str):
        return word
    if isinstance(answer, int | float):
        return "number"
    if isinstance(answer, list) and all(isinstance(part, str) for part in answer) and answer:
        return "text" if word == "text" else "ranking"
    if isinstance(answer, list) and all(
        isinstance(part, dict) and "start" in part for part in answer
    ):
        return "spans"
    return ""


def map_questions(theirs: Mapping[str, str], ours: Mapping[str, str], file: Any) -> dict[str, str]:
    """Their question to ours, both given with the kinds of their answers.

    Raises `BadInput` where two of theirs would fit, or none.
    """
    mapping = {name: name for name in theirs if name in ours}
    for question, kind in ours.items():
        if question in mapping.values():
            continue
        free = [name for name in theirs if name not in mapping]
        for accepted in ((kind,), RELATED.get(kind, ())):
            fitting = [name for name in free if theirs[name] in accepted]
            if len(fitting) == 1:
                mapping[fitting[0]] = question
            if fitting:
                break
        if len(fitting) > 1 and question == next(iter(ours)):
            names = " or ".join(map(repr, fitting))
            cure = f"write --question {question}={fitting[0]}"
            raise BadInput(
                f"several questions could be {question!r}: {names}", file=file, cure=cure
            )
    main = next(iter(ours))
    if theirs and not mapping:
        listed = ", ".join(
            f"{name!r} ({kind or 'of another kind'})" for name, kind in theirs.items()
        )
        what = f"answers {listed}; the form asks {main!r} ({ours[main]})"
        raise BadInput(what, file=file, cure=f"write --question {main}=NAME to choose one of them")
    return mapping


def fit_judgements(
    project: Project,
    reading: Reading,
    find_examples: Callable[[set[str]], Mapping[str, Example]],
    *,
    skip_invalid: bool = False,
) -> list[tuple[int, Judgement]]:
    """The judgements of a file with our questions and answers that the form takes, and their places.

    `find_examples` gives the items of the project among those that are named. What is skipped is noted in the reading.
    Raises `BadInput` with file and place for an item that the project does not have, for a second answer of a worker, and
    for an answer that breaks a rule of the form, unless `skip_invalid` is set.
    """
    files = []
    rows = []
    for place, judgement in reading.rows:
        rows.append((place, judgement))
        files.append(reading.file)
    ours = list_questions(project.form, project.options)
    theirs: dict[str, str] = {}
    for _, judgement in rows:
        kind = reading.kinds.get(judgement.question) or kind_of_answer(judgement.answer)
        if judgement.answer is not None and not theirs.get(judgement.question):
            theirs[judgement.question] = kind
    mapping = map_questions(theirs, ours, reading.path)
    for name, question in mapping.items():
        if name != question:
            count = sum(judgement.question == name for _, judgement in rows)
            note = f"answers to {name!r}"
            reading.notes.add_many(note, count, f"read as answers to {question!r}")
    groups: dict[tuple[str, str], dict[str, tuple[int, Judgement]]] = {}
    names = {judgement.example for _, judgement in rows}
    examples = find_examples(names)
    for (place, judgement), file in zip(rows, files, strict=True):
        reading.file = file
        if judgement.answer is None:
            reading.notes.add("judgements without an answer", place, "skipped")
            continue
        own_question = mapping.get(judgement.question)
        if own_question is None:
            what = f"answers to {judgement.question!r}"
            reading.notes.add(what, place, "skipped: the form does not ask it")
            continue
        if judgement.example not in examples:
            what = f"the answer is about {judgement.example!r}, which is not an item of the project"
            raise reading.fault(place, what, explain_unknown(reading))
        parts = groups.setdefault((judgement.worker, judgement.example), {})
        if own_question in parts:
            what = f"worker {judgement.worker} answers {judgement.question!r} twice about {judgement.example}"
            raise reading.fault(place, what, "keep one answer per worker and item")
        parts[own_question] = (place, replace(judgement, question=own_question))
    fitted: list[tuple[int, Judgement]] = []
    for (_, name), parts in groups.items():
        fitted += fit_answer(project, examples[name], parts, ours, reading, skip_invalid)
    return fitted


def explain_unknown(reading: Reading) -> str:
    """Where the id of an item may have got lost."""
    if reading.form.endswith("JSON-MIN"):
        return "JSON-MIN replaces the task's own id by a number: export JSON or CSV"
    if reading.form.startswith("label-studio"):
        return "the item is data.example, else data.id, else the task's number: import the tasks with one of them"
    if reading.form == "doccano":
        return "the item is the field example, else doccano's number: import the documents with it"
    return "check the column with the ids"


def fit_answer(
    project: Project,
    example: Example,
    parts: Mapping[str, tuple[int, Judgement]],
    ours: Mapping[str, str],
    reading: Reading,
    skip_invalid: bool,
) -> Iterator[tuple[int, Judgement]]:
    """The judgements of one worker about one item as the form takes them, or their fault."""
    form, options = project.form, project.options
    raw = {question: judgement.answer for question, (_, judgement) in parts.items()}
    first_faults: list[Problem] = []
    for answer in vary_answer(raw, example, options):
        problems = form.validate(form.from_judgements(list(answer.items())), example, options)
        faults = [
            problem
            for problem in problems
            if not problem.warning and (problem.where not in ours or problem.where in raw)
        ]
        if not faults:
            for problem in problems:
                if problem.where in ours and problem.where not in raw:
                    place = next(iter(parts.values()))[0]
                    reading.notes.add(
                        f"answers without {problem.where!r}", place, "taken as they are"
                    )
            for question, (place, judgement) in parts.items():
                yield place, replace(judgement, answer=answer[question])
            return
        first_faults = first_faults or faults
    place, judgement = next(iter(parts.values()))
    what = f"the answer {describe_answer(raw)} breaks a rule of the form: {explain_faults(form, first_faults)}"
    if skip_invalid:
        reading.notes.add(
            "answers that the form does not accept", place, "skipped because of --skip-invalid"
        )
        return
    raise reading.fault(place, what, list_allowed(form, options, judgement))


def describe_answer(answer: Answer) -> str:
    """An answer in a message: the one value, or each with its question."""
    texts = {question: repr(value) for question, value in answer.items()}
    texts = {q: text if len(text) < 120 else text[:117] + "…" for q, text in texts.items()}
    if len(texts) == 1:
        return next(iter(texts.values()))
    return ", ".join(f"{question}={text}" for question, text in texts.items())


def explain_faults(form: Form, faults: Sequence[Problem]) -> str:
    """What is wrong, in the words that a worker reads."""
    messages = {**read_messages("nikawa.collect", "messages", "en"), **form.words.get("en", {})}
    texts = dict.fromkeys(fill_message(messages, fault.code, fault.values) for fault in faults)
    return " ".join(text.rstrip(".") for text in list(texts)[:1])


def list_allowed(form: Form, options: Options, judgement: Judgement) -> str:
    """The answers that the form allows, if they can be listed."""
    labels = [] if form.writes else [str(label) for label in getattr(options, "labels", ())]
    if labels:
        shown = ", ".join(labels[:MAX_LABELS_SHOWN])
        more = f", … ({len(labels)} in total)" if len(labels) > MAX_LABELS_SHOWN else ""
        near = suggest(str(judgement.answer), labels) if isinstance(judgement.answer, str) else ""
        hint = f"; {near}" if near.startswith("did you mean") else ""
        return f"the labels are {shown}{more}{hint}"
    if hasattr(options, "low") and hasattr(options, "step"):
        return (
            f"the scale goes from {options.low:g} to {options.high:g} in steps of {options.step:g}"
        )
    return "correct it, or pass --skip-invalid to skip such answers"


def vary_answer(raw: Answer, example: Example, options: Options) -> Iterator[Answer]:
    """The answer as it was given, then with each value in another notation."""
    yield raw
    varied = {
        question: list(vary_value(value, example, options)) for question, value in raw.items()
    }
    most = max(map(len, varied.values()), default=0)
    for place in range(most):
        yield {
            question: others[place] if place < len(others) else raw[question]
            for question, others in varied.items()
        }


def vary_value(value: Any, example: Example, options: Options) -> Iterator[Any]:
    """Other notations of a value; only the form can decide whether one is valid."""
    if isinstance(value, str):
        called = [label for label, name in getattr(options, "names", {}).items() if name == value]
        if len(called) == 1:
            yield called[0]
            yield called
        choices = example.inputs.get("choices")
        if isinstance(choices, list) and choices.count(value) == 1:
            yield choices.index(value)
        yield [value]
        try:
            yield int(value)
        except ValueError:
            return
    elif isinstance(value, list) and len(value) == 1:
        yield value[0]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        whole = int(value) if isinstance(value, int) or value.is_integer() else value
        yield whole
        yield str(whole)
