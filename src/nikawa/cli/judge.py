"""`nikawa judge`: a language model answers the questions of an annotation form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli.run import parse_setting
from nikawa.cli.terminal.options import Data, Json, Quiet, parse_value
from nikawa.cli.terminal.output import echo, print_json, print_table, progress

if TYPE_CHECKING:
    from nikawa.judging.job import JudgeReport
    from nikawa.judging.position import PositionBias

PANEL = "Build"
NOTED_P = 0.05
"""Copies with a lower p-value are printed."""
EXAMPLE = "Example: nikawa judge my-project --model chat:NAME --base-url http://127.0.0.1:8000/v1 --out judged"


def judge(
    tasks: Annotated[
        str,
        typer.Argument(
            help="A project of nikawa collect, a task sheet (tasks.jsonl), or examples with --form."
        ),
    ],
    model: Annotated[
        str, typer.Option(help="chat:NAME (a server) or lm:PATH (a model on this machine).")
    ],
    out: Annotated[
        Path, typer.Option(help="The folder for judgements.jsonl, replies.jsonl and judge.json.")
    ],
    copies: Annotated[
        int,
        typer.Option(
            help="Number of workers; they differ by seed, temperature, order and wording.", min=1
        ),
    ] = 3,
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = 0,
    tries: Annotated[
        int,
        typer.Option(
            help="Maximum replies per answer; an answer that breaks a rule is asked again.", min=1
        ),
    ] = 3,
    form: Annotated[str, typer.Option(help="The form, if TASKS has none.")] = "",
    form_set: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of that form; may be repeated."),
    ] = None,
    language: Annotated[
        str, typer.Option(help="ja, ko or en; by default that of the project or the texts.")
    ] = "",
    base_url: Annotated[
        str | None,
        typer.Option(help="The server of a chat model, such as http://localhost:8000/v1."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the model; may be repeated."),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(help="The budget, in the unit of price_in and price_out.", min=0),
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Send items with personal data to a server elsewhere too."
        ),
    ] = False,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let a language model answer the questions of a form, under the rules that people work by."""
    from nikawa.api import judge
    from nikawa.io.processes import hide_arguments
    from nikawa.judging.job import JudgeOptions
    from nikawa.models.secrets import find_secrets

    chosen = {name: parse_value(text) for name, text in map(parse_setting, settings or ())}
    hide_arguments(find_secrets(chosen))
    if base_url:
        chosen["base_url"] = base_url
    with progress(quiet or json) as bar:
        task = bar.add_task("asking", total=None)

        def on_progress(what: str, done: int, total: int | None) -> None:
            bar.update(task, description=what, completed=done, total=total)

        options = JudgeOptions(
            copies=copies,
            seed=seed,
            tries=tries,
            form=form,
            form_settings={
                name: parse_value(text) for name, text in map(parse_setting, form_set or ())
            },
            language=language,
            settings=chosen,
            max_cost=max_cost,
            allow_remote=allow_remote,
            data=data,
            progress=on_progress,
        )
        report = judge(tasks, model, out=out, options=options)
    if json:
        print_json(report)
    elif not quiet:
        print_report(report)
    if not any(one.answered for one in report.copies):
        echo(f"nikawa: no answer was written: {explain_no_answers(report)}", err=True)
        raise typer.Exit(1)


def explain_no_answers(report: JudgeReport) -> str:
    """Why a job has no answer at all, and what to do."""
    from nikawa.judging.job import REPLIES

    if len(report.personal) == report.items:
        return "all items have personal data; use a model on this machine, or pass --allow-remote and another --out"
    replies = Path(report.out).with_name(REPLIES)
    return f"{replies} has each question with the replies; try another model or form, with another --out"


def print_report(report: JudgeReport) -> None:
    """Print the copies, what has no answer, what the order decides and what it took."""
    rows = [
        (one.worker, f"{one.temperature:g}", one.wording, one.items, one.answered, one.asked_again)
        for one in report.copies
    ]
    columns = ("worker", "temperature", "wording", "items", "answered", "asked again")
    print_table(columns, rows, numbers=columns[1:])
    for reason, count in report.without_answer.items():
        echo(f"{count:,} without an answer: {reason}")
    if report.personal:
        echo(
            f"{len(report.personal):,} items have personal data and were not sent; --allow-remote sends them"
        )
    if repeated := sum(one.repeated for one in report.copies):
        echo(
            f"{repeated:,} answers repeat that of an earlier copy, which was asked the same in the same words at temperature 0:"
            " count them once"
        )
    if report.same_answer is not None:
        echo(f"all copies give the same answer on {report.same_answer:.1%} of the items")
    for bias in report.position:
        echo(describe_bias(bias))
        for copy in bias.copies:
            if copy.p is not None and copy.p < NOTED_P:
                echo(describe_bias(copy))
    cost = f", cost {report.cost:g}" if report.cost else ""
    echo(f"{report.tokens_in:,} tokens in, {report.tokens_out:,} out{cost}")
    echo(f"{report.judgements:,} judgements written to {report.out}")


def describe_bias(bias: PositionBias) -> str:
    """One line about the order of the options."""
    who = f"{bias.worker} alone, " if bias.worker else ""
    interval = "" if bias.low is None else f" (95% interval {bias.low:.2f} to {bias.high:.2f})"
    if bias.difference is not None:
        return (
            f"{who}order of {bias.question!r}: shown upwards, answers are {bias.difference:+.2f} higher"
            f"{interval}, p = {bias.p:.4f}"
        )
    return (
        f"{who}order of {bias.question!r}: the first option is chosen {bias.first:.2f} times as often as by chance"
        f"{interval}, chi-square {bias.chi_square:.1f}, p = {bias.p:.4f}"
    )
