"""Forms: the question that a worker sees, the rules for its answer, and how the answer becomes judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from nikawa.errors import BadInput, suggest
from nikawa.io.json import plain_fault, read_json
from nikawa.io.lines import read_text
from nikawa.io.settings import find_line, setting_names
from nikawa.records import Example, Record
from nikawa.registry import Registry, collect_plugins

REPORTS = ("personal", "hate", "bias", "undecidable", "broken", "boundary", "other")
"""Reasons for which a worker can report an item; the message of each is `report_CODE`."""
MAX_ID_BYTES = 2000
"""Of an id or group; an index of PostgreSQL holds little more."""
REFUSED = "answer_invalid"
"""The code for an answer that does not have the structure that the page of the form sends."""

Answer = dict[str, Any]
Options = Any
"""The form's settings: an instance of `Form.settings`, or None where it has none."""


class Problem(Record, frozen=True, omit_defaults=True):
    """Why an answer is not accepted: a code, which is also the key of its message, and what the message names."""

    code: str
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    where: str = ""
    """The question or field it is about."""
    warning: bool = False
    """Shown to the worker; the answer is accepted anyway."""


def plain_view(form: Form, example: Example, _options: Options) -> dict[str, Any]:
    """The inputs the form names, as they are."""
    return {name: example.inputs[name] for name in form.inputs if name in example.inputs}


def same_gold(answer: Answer, gold: Mapping[str, Any], _options: Options) -> bool:
    """Whether each question the control item has gold for is answered with it."""
    return all(
        msgspec.json.encode(answer.get(question)) == msgspec.json.encode(right)
        for question, right in gold.items()
    )


def keeps_rules(_answer: Answer, _gold: Mapping[str, Any], _options: Options) -> bool:
    """Accept every answer that keeps the rules: texts that workers write cannot be compared with gold."""
    return True


def answers_alone(_options: Options) -> bool:
    """Each worker gives an answer alone."""
    return False


def any_unequal(answers: Sequence[Answer], _options: Options) -> bool:
    """Whether two answers are not the same."""
    return len({msgspec.json.encode(answer, order="deterministic") for answer in answers}) > 1


def split_questions(answer: Answer) -> list[tuple[str, Any]]:
    """One judgement a question, in the order of the answer."""
    return list(answer.items())


def join_questions(rows: Sequence[tuple[str, Any]]) -> Answer:
    """The answer whose judgements these are."""
    return dict(rows)


def _why_not_stored(what: str, text: str) -> str:
    """Why no database can look up an id or group; empty: it can."""
    if "\0" in text:
        return f"its {what} contains the character NUL"
    if len(text.encode()) > MAX_ID_BYTES:
        return f"its {what} is longer than {MAX_ID_BYTES:,} bytes"
    return ""


class WriterExample(Record, frozen=True):
    """The inputs of an example that a worker wrote, and the label it was meant to have, where there is one."""

    inputs: dict[str, Any]
    meant: str = ""
    """The label the worker was asked for; it never reaches those who judge."""
    meta: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """What else the example tells about how it was written."""


@dataclass(frozen=True)
class Sample:
    """An item of a form with an answer it takes and answers it refuses; the tests of all forms walk these."""

    inputs: Mapping[str, Any]
    """The inputs of its example."""
    answer: Answer
    """An answer the form takes."""
    refused: tuple[Answer, ...]
    """Answers it refuses, each for a different reason."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The `[form_settings]` it is tried with."""


@dataclass(frozen=True)
class Offer:
    """The answers that a question of a form offers, for who cannot see its page: a language model."""

    values: tuple[Any, ...]
    """As judgements have them, in the order of the page."""
    words: tuple[str, ...] = ()
    """What each is called; empty: by the message `label_VALUE` or the names of the settings."""
    most: int = 1
    """How many may be chosen, the best first; the answer is then a list."""
    is_ranking: bool = False
    """Whether the answer is a list."""
    is_set: bool = False
    """Whether the order of the list does not count."""
    is_ordered: bool = False
    """Whether the values are steps of a scale, which are not shuffled."""
    is_fixed: bool = False
    """Whether the values keep their order, as they name places of the page that a `Mirror` exchanges."""
    messages: tuple[str, ...] = ()
    """The messages that say what each is called, where that depends on the language and on the settings."""


@dataclass(frozen=True)
class Mirror:
    """How an item is shown with its two sides exchanged, so that a preference for a place favours neither.

    A page draws it for each worker and item; `nikawa judge` exchanges the sides in every other copy.
    """

    example: Callable[[Example], Example]
    """The item with its sides exchanged."""
    answer: Callable[[Answer, Options], Answer]
    """An answer to the one as an answer to the other."""


@dataclass(frozen=True)
class Form:
    """A form, as its file declares it.

    A file in `collect.forms` with `FORM = Form(...)` and a script are all that a new form needs.
    """

    name: str
    """The name in project.toml and on the command line."""
    title: Mapping[str, str]
    """One line in ja, ko and en for the list of forms."""
    questions: tuple[str, ...]
    """The questions its judgements answer; a control item has gold for one of them at least."""
    inputs: tuple[str, ...]
    """The inputs an example must have."""
    validate: Callable[[Answer, Example, Options], list[Problem]]
    """Returns all problems of an answer, including a wrong structure. The example comes without gold. It must never raise."""
    template: str = "_fields.html"
    """The file in `pages/forms`; the usual one is a place that the script fills."""
    script: str = ""
    """The file in `pages/static`; empty: NAME.js."""
    assets: Path | None = None
    """The folder of the page and the script of a form that comes inside another package, laid out as `pages`:
    `forms/TEMPLATE` and `static/SCRIPT`. None: they are in `pages`."""
    optional: tuple[str, ...] = ()
    """Inputs it shows where they are there."""
    settings: type[msgspec.Struct] | None = None
    """The table `[form_settings]` of project.toml, with defaults; it reaches the page, so it may hold no secret."""
    files: tuple[str, ...] = ()
    """Settings that name a JSON file; a project keeps a copy of each as SETTING.json, and `prepare` gets its content."""
    prepare: Callable[[Options, Mapping[str, Path]], Options] | None = None
    """Makes of the settings, with the content of `files`, those that the other functions get; the paths of the files are
    for its errors. It raises `BadInput` for content that is wrong."""
    server_only: tuple[str, ...] = ()
    """Settings that no page gets."""
    gold_matches: Callable[[Answer, Mapping[str, Any], Options], bool] = same_gold
    """Whether an answer to a control item is right, given its gold."""
    differ: Callable[[Sequence[Answer], Options], bool] = any_unequal
    """Whether the answers to an item disagree; what workers write never does (`writes`)."""
    to_judgements: Callable[[Answer], list[tuple[str, Any]]] = split_questions
    """An answer as pairs of question and value, one judgement each."""
    from_judgements: Callable[[Sequence[tuple[str, Any]]], Answer] = join_questions
    """The answer again, from pairs of question and value that came from elsewhere."""
    offers: Callable[[Example, Options], Mapping[str, Offer]] | None = None
    """The closed questions with their answers, all that the page asks; None: an answer is written, as the sample shows."""
    mirror: Mirror | None = None
    """How the two sides of an item are exchanged; None: it has no sides."""
    why_no_machine: str = ""
    """Why a language model cannot be asked, as `nikawa judge` says it after "a model cannot answer this form:"; empty: it can."""
    mislead: Callable[[Mapping[str, Any], Example, Options, float], Answer | None] | None = None
    """A plausible wrong answer, given the gold, and a number below 1 to draw it by, for control items that come filled in
    with a machine's answer. None: one of `offers` that is not the gold; without offers, such items come without an answer."""
    to_judge: Callable[[Answer, Example, Options], list[WriterExample]] | None = None
    """The examples that other workers judge, made from a written answer; None: answers make no new examples."""
    together: Callable[[Options], bool] = answers_alone
    """Whether two workers meet and give one answer to an item (`collect.live`)."""
    view: Callable[[Form, Example, Options], dict[str, Any]] = plain_view
    """The parts of an example that the worker sees, never its gold."""
    guideline: Mapping[str, str] = field(default_factory=dict)
    """The first guideline of a new project, Markdown by language."""
    guided: Callable[[Options], Mapping[str, str]] | None = None
    """The same by settings, where it depends on them."""
    reports: tuple[str, ...] = ()
    """Reasons of report that it offers in addition to those that every form has."""
    sets: Mapping[str, Any] = field(default_factory=dict)
    """Settings of a new project that differ from the defaults."""
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The messages of the form by language: `prompt`, those of its problems, `label_NAME` for labels it knows."""
    sample: Sample | None = None
    """An item with answers to try; the tests of all forms need it."""

    @property
    def page(self) -> str:
        """The template of the form, as Jinja finds it."""
        return f"forms/{self.template}"

    @property
    def code(self) -> str:
        """The script of the form, as the page asks for it."""
        return self.script or f"{self.name}.js"

    @property
    def writes(self) -> bool:
        """Whether it asks for texts of the worker's own: no two of those are meant to be equal."""
        return self.gold_matches is keeps_rules

    def guidelines(self, options: Options) -> Mapping[str, str]:
        """The first guideline of a new project with these settings."""
        return self.guideline if self.guided is None else self.guided(options)

    def parse_options(self, table: Mapping[str, Any], file: Path | None = None) -> Options:
        """The form's own settings, checked; `file` is the project.toml that holds them.

        Raises `BadInput`, with the line where `file` is known, for a setting that is unknown or wrong.
        """

        def wrong(what: str, names: Sequence[str], cure: str) -> BadInput:
            text = read_text(file, "settings").decode() if file is not None else ""
            line = find_line(text, ("form_settings", *names))
            what = f"[form_settings] of the form {self.name}: {what}"
            return BadInput(what, file=file or "project.toml", line=line, cure=cure)

        if self.settings is None:
            if table:
                raise wrong("the form has no settings", (), "remove the entries of [form_settings]")
            return None
        known = {field.encode_name for field in msgspec.structs.fields(self.settings)}
        for name in table:
            if name not in known:
                raise wrong(f"there is no setting {name!r}", (name,), suggest(name, known))
        values, paths = dict(table), self.find_files(table, file)
        for name, path in paths.items():
            values[name] = read_json(path, Any)
        try:
            options = msgspec.convert(values, self.settings)
        except (msgspec.ValidationError, ValueError) as problem:
            names = [setting_names(str(problem))[0].partition("[")[0]]
            raise wrong(plain_fault(str(problem)), names, "correct the value") from None
        return options if self.prepare is None else self.prepare(options, paths)

    def find_files(self, table: Mapping[str, Any], file: Path | None = None) -> dict[str, Path]:
        """The files that settings name, by setting; names are relative to the folder of the project.toml `file`."""
        base = file.parent if file is not None else Path()
        names = {name: table[name] for name in self.files if table.get(name)}
        return {name: base / value for name, value in names.items() if isinstance(value, str)}

    def page_settings(self, options: Options) -> dict[str, Any]:
        """The settings as the pages get them."""
        table = msgspec.to_builtins(options) or {}
        return {name: value for name, value in table.items() if name not in self.server_only}

    def initial_options(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """The whole table `[form_settings]` of a new project: what is chosen, else what it starts with."""
        if self.settings is None:
            return dict(chosen)
        table = msgspec.to_builtins(msgspec.convert(dict(self.sets), self.settings))
        if self.prepare is not None and not self.files:
            table = msgspec.to_builtins(self.parse_options({**table, **chosen}))
        return {**table, **chosen}

    def main_question(self, options: Options) -> str:
        """The question that the judgements of a project with these settings answer."""
        return str(getattr(options, "question", self.questions[0]))

    def find_fault(self, example: Example, options: Options = None) -> str:
        """Why an example cannot be shown in this form; empty: it can. If options are given, the form tries to show it."""
        fault = _why_not_stored("id", example.id) or _why_not_stored("group", example.group or "")
        if fault:
            return fault
        for name in self.inputs:
            if name not in example.inputs:
                return f"the form {self.name} needs the input {name!r}"
            is_text = self.sample is not None and isinstance(self.sample.inputs.get(name), str)
            if is_text and not isinstance(example.inputs[name], str):
                return f"the input {name!r} is not a text"
        if options is None:
            return ""
        try:
            shown = self.view(self, example, options)
        except (LookupError, TypeError, ValueError, AttributeError) as problem:
            return f"the form {self.name} cannot show it ({type(problem).__name__}: {problem})"
        return "" if shown else f"the form {self.name} finds no input to show"

    def known_gold(self, gold: Mapping[str, Any], options: Options) -> dict[str, Any]:
        """The part of an example's gold that this form asks for."""
        questions = {*self.questions, self.main_question(options)}
        return {question: right for question, right in gold.items() if question in questions}

    def find_gold_fault(self, example: Example, options: Options) -> str:
        """Why no answer to a control item could be correct; empty: there is no fault."""
        gold = self.known_gold(example.gold, options)
        if not gold:
            questions = dict.fromkeys((self.main_question(options), *self.questions))
            return f"a control item needs gold for one of these questions: {', '.join(questions)}"
        if self.gold_matches is not same_gold:
            return ""
        for question, right in gold.items():
            problems = self.validate({question: right}, example, options)
            if any(problem.where == question for problem in problems):
                return f"the gold {right!r} is not a valid answer to {question!r}"
        return ""


@cache
def forms() -> Registry[Form]:
    """Each form by its name: the files of `collect.forms`, and entry points `nikawa.forms` of other packages."""
    import nikawa.collect.forms as folder

    table: Registry[Form] = Registry("form")
    for form in collect_plugins(Form, "FORM", "nikawa.forms", folder):
        table.add(form.name, form)
    return table


def find_form(name: str) -> Form:
    """The form of a name; an unknown one is bad input that names the nearest.

    >>> find_form("choice").questions
    ('label',)
    """
    return forms()[name]
