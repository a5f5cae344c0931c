"""Apply the texts of a task to the rows of its data: prompt, choices and the right answer of each row, as the tool computes them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from jinja2 import nodes

from nikawa.exchange.reading.definition import Analysis, Definition, Item, ReadFault, Text
from nikawa.exchange.reading.inspect_task import (
    InspectTask,
    find_place,
    read_choices,
    read_input,
    to_row,
)
from nikawa.exchange.reading.jinja import (
    LetteredPrompt,
    Renderer,
    compile_template,
    find_columns,
    list_outcomes,
    list_pieces,
    parse,
)

Row = dict[str, Any]
FEW_SHOTS = "few_shot_data"
"""The few-shot examples in prompts of flexeval; a prompt is read without them."""
QUOTES = {'"': '"', "'": "'", "「": "」", "『": "』", "“": "”", "‘": "’", "`": "`"}
"""Quotation marks that a template may put around an answer."""
NO_ANSWER = -1
"""The target of a row whose answer is not published."""


class ItemReader:
    """Reads the rows of one table."""

    analysis: Analysis

    def read(self, row: Row) -> Item:
        """What the task computes for a row; a fault is in the item."""
        try:
            return self.compute(row)
        except ReadFault as fault:
            return Item(fault=f"{fault.what}\n{fault.cure}")
        except RecursionError:
            return Item(fault="is nested too deeply\nsimplify the row or the task")

    def compute(self, row: Row) -> Item:
        """What the task computes for a row; raises `ReadFault`."""
        raise NotImplementedError


def make_reader(definition: Definition, columns: tuple[str, ...]) -> ItemReader:
    """The reader for data with these columns."""
    if definition.tool == "inspect":
        return SampleReader(definition)
    return TemplateReader(definition, columns)


class TemplateReader(ItemReader):
    """Rows of lm-eval and flexeval, whose tasks are templates."""

    def __init__(self, definition: Definition, columns: tuple[str, ...]) -> None:
        self.definition, self.columns = definition, columns
        self.is_lm_eval = definition.tool == "lm-eval"
        self.further = {
            name: compile_template(parse(source, f"of {name}"), f"of {name}")
            for name, source in definition.inputs.items()
        }
        prompt, target = definition.prompt, definition.target
        self.prompt_tree = self.parse_text(prompt, "of the prompt")
        self.render_prompt = (
            None
            if self.prompt_tree is None
            else compile_template(self.prompt_tree, "of the prompt")
        )
        self.lettered = None if self.prompt_tree is None else LetteredPrompt.find(self.prompt_tree)
        self.target_tree = self.parse_text(target, "of the answer")
        self.render_target = (
            None
            if self.target_tree is None
            else compile_template(self.target_tree, "of the answer")
        )
        self.choice_templates, choices_columns = self.prepare_choices()
        pieces = () if self.prompt_tree is None else list_pieces(self.prompt_tree)
        prompt_columns = self.used(prompt, self.prompt_tree)
        self.quotes = find_quotes(self.target_tree)
        closed = () if self.target_tree is None else list_outcomes(self.target_tree)
        self.analysis = Analysis(
            prompt_columns=prompt_columns,
            prompt_is_column=self.column_of(prompt) is not None,
            target_columns=self.used(target, self.target_tree),
            choices_columns=choices_columns,
            closed=closed,
            pieces=pieces if all(name in (*columns, "") for _, name in pieces) else (),
            lettered=self.lettered is not None,
            lettered_question=self.expand(self.lettered.question_columns if self.lettered else ()),
            lettered_choices=self.expand(self.lettered.choices_columns if self.lettered else ()),
        )

    def parse_text(self, text: Text | None, part: str) -> nodes.Template | None:
        """The tree of a template without the few-shot examples; None for a column or a value."""
        if text is None or text.form != "template" or self.column_of(text) is not None:
            return None
        tree = parse(text.value, part)
        tree.body = [
            node
            for node in tree.body
            if not (
                isinstance(node, nodes.For)
                and isinstance(node.iter, nodes.Name)
                and node.iter.name == FEW_SHOTS
            )
        ]
        return tree

    def column_of(self, text: Text | None) -> str | None:
        """The column that a text is, if it is one."""
        if text is None or not isinstance(text.value, str):
            return None
        is_name = text.form == "column" or (self.is_lm_eval and text.form == "template")
        return text.value if is_name and text.value in self.columns else None

    def used(self, text: Text | None, tree: nodes.Template | None) -> tuple[str, ...]:
        """The columns that a text uses."""
        column = self.column_of(text)
        if column is not None:
            return (column,)
        names = () if tree is None else find_columns(tree)
        return self.expand(names)

    def expand(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The columns of the data behind names; a column that the task makes counts with those that it is made of."""
        columns: dict[str, None] = {}
        for name in names:
            if name in self.definition.inputs:
                tree = parse(self.definition.inputs[name], f"of {name}")
                columns.update(dict.fromkeys(find_columns(tree)))
            elif name not in (FEW_SHOTS, "choices") or name in self.columns:
                columns[name] = None
        return tuple(columns)

    def prepare_choices(self) -> tuple[list[Renderer], tuple[str, ...]]:
        """The templates of the choices, and the columns that they use."""
        choices = self.definition.choices
        column = self.column_of(choices)
        if choices is None or column is not None:
            return [], (column,) if column else ()
        sources = (
            choices.value
            if choices.form == "templates"
            else [choices.value]
            if choices.form == "template"
            else []
        )
        trees = [parse(source, "of the choices") for source in sources]
        names = dict.fromkeys(name for tree in trees for name in find_columns(tree))
        renderers = [compile_template(tree, "of the choices") for tree in trees]
        return renderers, self.expand(tuple(names))

    def compute(self, row: Row) -> Item:
        """What the task computes for a row; raises `ReadFault`."""
        whole = {**row, FEW_SHOTS: []}
        whole |= {name: render(row) for name, render in self.further.items()}
        item = Item()
        item.choices = self.list_choices(whole)
        if item.choices is not None and not self.is_lm_eval:
            whole["choices"] = item.choices
        prompt = self.definition.prompt
        column = self.column_of(prompt)
        if column is not None:
            item.prompt = as_text(row.get(column))
        elif self.render_prompt is not None:
            item.prompt = self.render_prompt(whole)
        elif prompt is not None:
            item.prompt = str(prompt.value)
        is_place = self.is_lm_eval and item.choices is not None and item.prompt.isdigit()
        if is_place or isinstance(row.get(column or ""), int):
            what = "the prompt is the place of a context (doc_to_text is a number)"
            raise ReadFault(what, "import a task whose prompt is a text")
        if self.lettered is not None:
            item.question = self.lettered.question(whole)
            item.options = [choice(whole) for choice in self.lettered.choices]
        self.read_target(whole, item)
        return item

    def list_choices(self, row: Row) -> list[str] | None:
        """The choices of a row."""
        choices = self.definition.choices
        if choices is None:
            return None
        column = self.column_of(choices)
        if column is not None or choices.form == "template":
            value = row.get(column) if column else parse_list(self.choice_templates[0](row))
            if not isinstance(value, list) or not value:
                raise ReadFault(f"the choices are not a list: {cut(value)}", "correct the row")
            return [as_text(part) for part in value]
        if choices.form == "literal":
            return [str(part) for part in choices.value]
        # flexeval leaves out empty choices
        return [text for text in (render(row) for render in self.choice_templates) if text]

    def read_target(self, row: Row, item: Item) -> None:
        """The right choice, or the right answers, of a row."""
        target = self.definition.target
        column = self.column_of(target)
        if target is None:
            return
        value: Any
        if column is not None:
            value = row.get(column)
            if value is None:
                return
        elif self.render_target is not None:
            if all(row.get(name) is None for name in self.analysis.target_columns) and (
                self.analysis.target_columns
            ):
                return
            value = self.read_rendered(self.render_target(row), item.choices)
        else:
            value = target.value
        if item.choices is None:
            values = value if isinstance(value, list) else [value]
            item.answers = [self.unquote(as_text(part)) for part in values]
            return
        if isinstance(value, list):
            if len(value) != 1:
                what = f"has {len(value)} right choices"
                raise ReadFault(what, "keep rows with one right choice: Nikawa's tasks have one")
            value = value[0]
        if isinstance(value, str):
            if not self.is_lm_eval:
                value = int(value) if value.strip().lstrip("-").isdigit() else value
            elif value in item.choices:
                value = item.choices.index(value)
        if not isinstance(value, int) or not NO_ANSWER <= value < len(item.choices):
            what = f"the answer {cut(value)} is not one of the {len(item.choices)} choices"
            raise ReadFault(what, "correct the row, or remove it")
        item.index = None if value == NO_ANSWER else int(value)

    def read_rendered(self, text: str, choices: list[str] | None) -> Any:
        """The value of a rendered target, as the tool reads it."""
        if self.is_lm_eval:
            if text.isdigit() and choices is not None:
                return int(text)
            if len(text) >= 2 and text[0] == "[" and text[-1] == "]":
                try:
                    return parse_list(text)
                except ReadFault:
                    return text
            return text
        if self.definition.target_list and choices is None:
            return parse_list(text)
        return text

    def unquote(self, text: str) -> str:
        """An answer without the quotation marks that the template puts around it."""
        if not self.quotes:
            return text
        first, last = self.quotes
        return text.strip().removeprefix(first).removesuffix(last)


class SampleReader(ItemReader):
    """Rows of inspect, which a field specification or a function turns into samples."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.task = InspectTask(definition.code, definition.file, definition.function)
        if isinstance(self.task.fields, dict):
            fields = self.task.fields
            self.analysis = Analysis(
                prompt_columns=(fields["input"],),
                prompt_is_column=True,
                target_columns=(fields["target"],),
                choices_columns=(fields["choices"],),
            )
        else:
            self.analysis = Analysis()

    def look_at(self, rows: list[Row]) -> None:
        """Find the columns that a function uses: those whose change changes the value."""
        if isinstance(self.task.fields, dict):
            return
        used: dict[str, dict[str, None]] = {"input": {}, "target": {}, "choices": {}}
        is_column = True
        for row in rows:
            try:
                sample = self.task.make_sample(dict(row))
            except ReadFault:
                continue
            for name, columns in used.items():
                own = find_sensitive(row, partial(self.read_field, name))
                # a column whose change makes the function fail may not be in the input
                exact = [column for column in own if row[column] == sample.get(name)]
                columns.update(dict.fromkeys(exact[:1] if name == "input" and exact else own))
            own_input = list(used["input"])
            is_column &= len(own_input) == 1 and row.get(own_input[0]) == sample.get("input")
        self.analysis = Analysis(
            prompt_columns=tuple(used["input"]),
            prompt_is_column=is_column and bool(used["input"]),
            target_columns=tuple(used["target"]),
            choices_columns=tuple(used["choices"]),
        )

    def read_field(self, name: str, row: Row) -> Any:
        """A field of the sample of a row."""
        return self.task.make_sample(row).get(name)

    def compute(self, row: Row) -> Item:
        """What the task computes for a row; raises `ReadFault`."""
        sample = self.task.make_sample(row)
        meta = sample.get("metadata")
        item = Item(
            prompt=read_input(sample.get("input")),
            choices=read_choices(sample.get("choices")),
            meta=meta if isinstance(meta, dict) else to_row(row),
        )
        name = sample.get("id")
        item.id = str(name) if isinstance(name, str | int) and not isinstance(name, bool) else None
        target = sample.get("target")
        if target in (None, "", []):
            return item
        answers = [as_text(part) for part in (target if isinstance(target, list) else [target])]
        if item.choices is None:
            item.answers = answers
            return item
        if len(answers) != 1:
            what = f"has {len(answers)} right choices"
            raise ReadFault(what, "keep rows with one right choice: Nikawa's tasks have one")
        place = find_place(answers[0].strip())
        if place >= len(item.choices):
            what = f"the answer {answers[0]!r} is not one of the {len(item.choices)} choices"
            raise ReadFault(what, "correct the row, or remove it")
        item.index = place
        return item


def find_sensitive(row: Row, compute: Callable[[Row], Any]) -> list[str]:
    """The columns of a row whose change changes a value, or makes it impossible."""
    before = compute(dict(row))
    columns = []
    for name, value in row.items():
        changed = f"{value}\ue000" if isinstance(value, str) else [value, "\ue000"]
        try:
            if compute({**row, name: changed}) != before:
                columns.append(name)
        except ReadFault:
            columns.append(name)
    return columns


def find_quotes(tree: nodes.Template | None) -> tuple[str, str] | None:
    """The quotation marks that a template puts around its only value."""
    outputs = [] if tree is None else [node for node in tree.body if isinstance(node, nodes.Output)]
    if tree is None or len(outputs) != 1 or len(tree.body) != 1:
        return None
    parts = outputs[0].nodes
    if len(parts) != 3 or isinstance(parts[1], nodes.TemplateData):
        return None
    first, last = parts[0], parts[2]
    if not isinstance(first, nodes.TemplateData) or not isinstance(last, nodes.TemplateData):
        return None
    marks = first.data.strip(), last.data.strip()
    return marks if QUOTES.get(marks[0]) == marks[1] else None


def parse_list(text: str) -> list[Any]:
    """A list as Python writes it."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise ReadFault(f"the template does not give a list: {cut(text)}", "correct it") from None
    if not isinstance(value, list | tuple):
        raise ReadFault(f"the template does not give a list: {cut(text)}", "correct it")
    return list(value)


def as_text(value: Any) -> str:
    """A value as the tools write it in a text."""
    return value if isinstance(value, str) else str(value)


def cut(value: Any) -> str:
    """A value for a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def keep_row(filters: list[tuple[Renderer, str, bool]], row: Mapping[str, Any]) -> bool:
    """Whether the conditions of a task keep a row."""
    return all((render(row) == value) == keep for render, value, keep in filters)
