"""`nikawa probe`: what gives a dataset's labels away, and whether a model has seen a dataset.

`probe artifacts` tests each token against each label. `probe giveaways` tests the other fields: metadata
values, tags, groups and ids. With `--fail-over N`, the exit status is 1 if more than N pairs or fields
are over the line. `probe memory` tests whether a language model was trained on the dataset.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nikawa.cli.terminal.options import (
    ClusterAddress,
    Data,
    ExecutorName,
    Json,
    Processes,
    Quiet,
)
from nikawa.cli.terminal.output import (
    echo,
    format_count,
    print_result,
    print_table,
    progress_bar,
    status,
)

if TYPE_CHECKING:
    from nikawa.analysis.memory.job import MemoryReport
    from nikawa.checks.probe import ArtifactReport, GiveawayReport

PANEL = "Probe"

OVER = ("token", "label", "examples", "with label", "share", "line", "p")
LENGTHS = ("side", "unit", "label", "mean", "sd", "median", "least", "most")


def register(app: typer.Typer) -> None:
    """Attach the command and its subcommands."""
    probe = typer.Typer(
        help="Test whether tokens or fields give the labels away, and whether a model has seen a dataset.",
        no_args_is_help=True,
    )
    probe.command(
        "artifacts",
        epilog="Example: nikawa probe artifacts jamp:train-wakati --without template=20 --plot figure.svg",
    )(artifacts)
    probe.command("giveaways", epilog="Example: nikawa probe giveaways mini-ja")(giveaways)
    probe.command(
        "memory",
        epilog="Example: nikawa probe memory jnli:dev --model lm:my-model --unseen new.jsonl",
    )(memory)
    app.add_typer(probe, name="probe", rich_help_panel=PANEL)


def artifacts(
    dataset: Annotated[
        str,
        typer.Argument(
            help="A dataset (jamp:train), a dataset folder, a records file, or jamp@FILE."
        ),
    ],
    tokeniser: Annotated[
        str | None,
        typer.Option(
            "--tokeniser",
            "--tokenizer",
            "-t",
            help="whitespace, ipadic, unidic, kiwi, characters, …; default: the language's.",
        ),
    ] = None,
    side: Annotated[
        str, typer.Option(help="The input to test: premise, hypothesis (any text input), or both.")
    ] = "both",
    without: Annotated[
        list[str] | None,
        typer.Option(help="Exclude examples by metadata: template=20; may be repeated."),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(help="The question whose gold is the label, if there are several."),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Significance level, before division by the vocabulary size.")
    ] = 0.01,
    top: Annotated[int, typer.Option(help="Tokens to list per label by PMI.", min=0)] = 10,
    smoothing: Annotated[float, typer.Option(help="Added to every count for PMI.", min=0)] = 100.0,
    rows: Annotated[
        int, typer.Option("-n", help="How many pairs over the line to show.", min=0)
    ] = 50,
    fail_over: Annotated[
        int | None,
        typer.Option(
            help="Exit with status 1 if more than N pairs are over the line.", metavar="N", min=0
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot share against number of examples to this SVG file.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing plot.")
    ] = False,
    workers: Processes = 1,
    executor: ExecutorName = "",
    address: ClusterAddress = "",
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test whether tokens predict the label: one-sided binomial test, Bonferroni, PMI, lengths."""
    from nikawa.checks.probe import ProbeOptions
    from nikawa.checks.probe import probe_artifacts as run

    if plot is not None and plot.suffix.lower() != ".svg":
        from nikawa.errors import BadInput

        raise BadInput(
            "the plot must be an SVG file",
            file=plot,
            cure=f"pass --plot {plot.with_suffix('.svg')}",
        )
    options = ProbeOptions(
        side=side,
        tokeniser=tokeniser,
        without=tuple(without or ()),
        question=question,
        alpha=alpha,
        top=top,
        smoothing=smoothing,
        workers=workers,
        executor=executor,
        address=address,
    )
    with progress_bar(f"testing the tokens of {dataset}", quiet or json) as bar:
        report = run(dataset, data, options, bar.update)
    if plot is not None:
        from nikawa.reporting.scatter import write_scatter

        write_scatter(
            plot,
            report.table,
            report.report.over,
            title=f"{report.report.dataset}: {' and '.join(report.report.sides)}, tokens by {report.report.tokeniser}",
            overwrite=overwrite,
        )
    print_result(
        report.report,
        lambda report: show_artifacts(report, rows, fail_over),
        json=json,
        quiet=quiet,
    )
    raise typer.Exit(int(fail_over is not None and len(report.report.over) > fail_over))


def giveaways(
    dataset: Annotated[
        str,
        typer.Argument(
            help="A dataset (jnli:dev), a dataset folder, a records file, or jnli@FILE."
        ),
    ],
    fail_over: Annotated[
        int | None,
        typer.Option(
            help="Exit with status 1 if more than N fields give labels away.", metavar="N", min=0
        ),
    ] = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test whether metadata values, tags, groups or ids predict the label: mutual information, shuffled labels."""
    from nikawa.checks.probe import probe_giveaways

    with status(f"testing the fields of {dataset}", quiet or json):
        report = probe_giveaways(dataset, data)
    print_result(report, show_giveaways, json=json, quiet=quiet)
    strong = sum(giveaway.is_strong for giveaway in report.fields)
    raise typer.Exit(int(fail_over is not None and strong > fail_over))


def memory(
    dataset: Annotated[
        str,
        typer.Argument(help="A split (jnli:dev), a dataset folder, a records file, or jnli@FILE."),
    ],
    model: Annotated[str, typer.Option(help="lm:PATH, a causal language model on this machine.")],
    unseen: Annotated[
        str | None,
        typer.Option(
            help="A dataset of comparable items that cannot have been in the training data."
        ),
    ] = None,
    permutations: Annotated[
        int, typer.Option(help="Number of shuffled orders.", min=1, max=100_000)
    ] = 199,
    limit: Annotated[
        int, typer.Option(help="Use the first N items; 0: all.", metavar="N", min=0)
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed for the shuffled orders.", min=0)] = 1,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the model: dtype=float32; may be repeated."),
    ] = None,
    data: Data = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test whether a language model has seen a dataset: order of items, perturbed twins, completions."""
    from nikawa.analysis.memory.job import MemoryOptions, probe_memory
    from nikawa.cli.run import parse_setting
    from nikawa.cli.terminal.options import parse_value

    values = {key: parse_value(text) for key, text in map(parse_setting, settings or ())}
    options = MemoryOptions(permutations=permutations, limit=limit, seed=seed, settings=values)
    with progress_bar(f"probing {model}", quiet or json) as bar:
        report = probe_memory(
            dataset,
            model,
            unseen=unseen,
            data=data,
            options=options,
            on_progress=lambda _what, done, total: bar.update(done, total),
        )
    print_result(report, show_memory, json=json, quiet=quiet)


def show_memory(report: MemoryReport) -> None:
    """Print the tests, the verdict and its limits."""
    rows = [
        (
            test.test,
            test.items,
            test.value,
            test.compared_with,
            "" if test.p is None else f"{test.p:.3g}",
        )
        for test in report.tests
    ]
    columns = ("test", "items", "value", "compared with", "p")
    print_table(columns, rows, numbers=("items", "p"))
    echo(report.verdict)
    for line in report.limits:
        echo(f"- {line}")


def show_giveaways(report: GiveawayReport) -> None:
    """Print the fields that predict labels, strongest first."""
    rows = [
        (
            giveaway.field,
            giveaway.split,
            "gives labels away" if giveaway.is_strong else "predicts labels",
            f"{100 * giveaway.strength:.1f}%",
            giveaway.what,
        )
        for giveaway in sorted(report.fields, key=lambda each: (not each.is_strong, -each.strength))
    ]
    if rows:
        columns = ("field", "split", "verdict", "errors avoided", "how")
        print_table(columns, rows, numbers=("errors avoided",))
    strong = sum(giveaway.is_strong for giveaway in report.fields)
    echo(
        f"{format_count(report.examples, 'example')}: {format_count(strong, 'field')} of a split "
        f"{'gives' if strong == 1 else 'give'} labels away, {len(report.fields) - strong:,} more predict "
        "them in part."
    )


def show_artifacts(report: ArtifactReport, rows: int, fail_over: int | None) -> None:
    """Print the tokens that give labels away, and the verdict."""
    if report.over:
        pairs = [
            (
                p.token,
                p.label,
                p.n,
                p.count,
                f"{p.share:.3f}",
                f"{p.critical / p.n:.3f}",
                f"{p.p:.1e}",
            )
            for p in report.over[:rows]
        ]
        print_table(OVER, pairs, title="Over the line", numbers=OVER[2:])
    show_pmi(report)
    show_lengths(report)
    echo(format_verdict(report))
    for label in report.uneven:
        share = 100 * report.labels[label] / report.examples
        echo(
            f"{label} is the label of {share:.1f}% of all examples; that alone puts frequent tokens over the line."
        )
    if len(report.over) > rows:
        echo(f"{len(report.over) - rows:,} more pairs are not shown; -n shows more, --json all.")
    if fail_over is not None:
        passed = len(report.over) <= fail_over
        echo(f"Gate: {'passed' if passed else 'failed'}, at most {fail_over:,} pairs are allowed.")


def show_pmi(report: ArtifactReport) -> None:
    """Print the tokens with the highest pointwise mutual information, label by label."""
    rows = [
        (label, a.token, f"{a.pmi:.2f}", a.count, f"{100 * a.share:.1f}")
        for label, tokens in report.pmi.items()
        for a in tokens
    ]
    if rows:
        columns = ("label", "token", "PMI, bits", "examples", "% of label")
        print_table(columns, rows, title="Highest PMI", numbers=columns[2:])


def show_lengths(report: ArtifactReport) -> None:
    """Print lengths by label, and how much of their variance the label explains."""
    rows = [
        (x.side, x.unit, x.label, f"{x.mean:.2f}", f"{x.sd:.2f}", f"{x.median:g}", x.least, x.most)
        for x in report.lengths
    ]
    print_table(LENGTHS, rows, title="Lengths", numbers=LENGTHS[3:])
    parts = [f"{100 * e.share:.1f}% of {e.side} {e.unit}" for e in report.explained]
    echo(f"The label explains {', '.join(parts)} (share of variance).")


def format_verdict(report: ArtifactReport) -> str:
    """Return the result in one sentence."""
    line = f"p < {report.alpha:g}/{report.vocabulary:,} = {report.threshold:.3g}"
    pairs, tokens = (
        format_count(len(report.over), "pair"),
        format_count(report.tokens_over, "token"),
    )
    count = f"{pairs} over {tokens}" if report.over else "no pair"
    return (
        f"{format_count(report.examples, 'example')}, {format_count(report.vocabulary, 'token')} by {report.tokeniser}: "
        f"{count} over the line ({line})."
    )
