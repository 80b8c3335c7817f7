"""The command that looks ahead: what a release would be worth and what it would risk. It opens no private table."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from sfumato.cli.options import Adapt, Anonymize, Approximate, Components, Mechanism, Share
from sfumato.cli.terminal import report_errors, say, working
from sfumato.trusted.adjacency import Adjacency

if TYPE_CHECKING:
    from sfumato.artefact.verdict import Quality
    from sfumato.planning.families import PlannedFamily
    from sfumato.planning.plan import Plan

_MOST_COLUMNS = 12
_ERRORS = {
    "column_error": "one column: records in the wrong cell",
    "pair_error": "two columns: records in the wrong cell",
    "mean_error": "means: off by, of the range between bounds",
    "prediction_gap": "predictor: loses, in {measure}",
}


@report_errors
def plan(
    schema: Annotated[
        Path, typer.Argument(help="the YAML file that describes a table or a family", show_default=False)
    ],
    rows: Annotated[
        int,
        typer.Option(help="your public estimate of the number of records; of a family, of persons", show_default=False),
    ],
    epsilon: Annotated[float | None, typer.Option(help="total privacy budget epsilon", show_default=False)] = None,
    delta: Annotated[float, typer.Option(help="additive failure probability delta")] = 1e-6,
    mechanism: Mechanism = "auto",
    adjacency: Annotated[Adjacency, typer.Option(help="what counts as one change of the table")] = Adjacency.ADD_REMOVE,
    components: Components = None,
    anonymize: Anonymize = None,
    approximate: Approximate = None,
    adapt: Adapt = None,
    share: Share = None,
    target_gap: Annotated[
        float | None, typer.Option(help="choose epsilon: what the predictor may lose, say 0.02", show_default=False)
    ] = None,
    smallest_group: Annotated[
        float | None, typer.Option(help="choose epsilon: records of a group that must survive", show_default=False)
    ] = None,
    max_advantage: Annotated[
        float | None, typer.Option(help="choose epsilon: what an attacker may gain, 0 to 1", show_default=False)
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="a bundle of an earlier release or a public proxy, or a public sample as Parquet or CSV: forecasts by "
            "simulation. It counts as public",
            show_default=False,
        ),
    ] = None,
    repetitions: Annotated[int, typer.Option(help="of the simulation")] = 5,
    risk: Annotated[bool, typer.Option("--risk", help="say first what an attacker gains")] = False,
    out: Annotated[Path | None, typer.Option(help="an HTML page to write", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the plan as JSON and nothing else")] = False,
) -> None:
    """Say what a release would be worth and what it would risk, before it is made. No private table is read.

    Example: `sfumato plan stays.yaml --rows 50000 --epsilon 1 --out plan.html`

    Which epsilon? `sfumato plan stays.yaml --rows 50000 --target-gap 0.02`; by risk: `--max-advantage 0.1`. By
    simulation: `sfumato plan stays.yaml --rows 50000 --epsilon 1 --like last_year.sfumato`

    Parts by name: `sfumato plan stays.yaml --rows 50000 --epsilon 1 --mechanism 3a --anonymize kernel --adapt leaves`
    """
    from contextlib import nullcontext

    from sfumato.archive.whole_files import whole_file
    from sfumato.errors import RequestError
    from sfumato.planning.families import PlannedFamily
    from sfumato.planning.plan import plan as make_plan
    from sfumato.reports.plan_page import plan_page

    with whole_file(out) if out else nullcontext() as file:
        with working("planning ...") as progress:
            made = make_plan(
                schema,
                rows=rows,
                epsilon=epsilon,
                delta=delta,
                mechanism=mechanism,
                adjacency=adjacency,
                components=components,
                anonymize=anonymize,
                approximate=approximate,
                adapt=adapt,
                share=share,
                like=like,
                repetitions=repetitions,
                target_gap=target_gap,
                smallest_group=smallest_group,
                max_advantage=max_advantage,
                progress=progress,
            )
        if file:
            if isinstance(made, PlannedFamily):
                raise RequestError("there is no page for the plan of a family; leave out --out, or use --json")
            file.write(plan_page(made).encode())
    if as_json:
        typer.echo(json.dumps(made.to_dict(), indent=1))
        return
    if isinstance(made, PlannedFamily):
        _print_family(made, risk)
        return
    _print_plan(made, risk)
    if out:
        say(f"\n{out} holds the plan.")


def _print_plan(made: "Plan", risk: bool) -> None:
    say(made.statement)
    for words in made.warnings:
        say(f"warning: {words}", "bold yellow")
    if risk:
        _print_risk(made)
    say(f"\n{made.verdict.headline}", "bold")
    for title, lines in (("good for", made.verdict.good_for), ("not for", made.verdict.not_for)):
        for line in lines:
            say(f"  {title:>8}  {line}")
    _print_errors(made)
    say("")
    for question in made.questions:
        say(f"  {question.share:6.1%} of the budget  {question.words}{' (typical)' if question.typical else ''}")
    _print_columns(made)
    _print_curve(made)
    if not risk:
        say(f"\nRisk: {made.risk_sentence} More with --risk.")
    for note in made.notes:
        say(note)


def _print_family(made: "PlannedFamily", risk: bool) -> None:
    say(made.statement)
    for words in made.warnings:
        say(f"warning: {words}", "bold yellow")
    if risk:
        _print_risk(made)
    say("")
    for question in made.questions:
        say(f"  {question.share:6.1%} of the budget  {question.words}{' (typical)' if question.typical else ''}")
    table = Table(title="smallest group of persons that survives, by what is measured", title_justify="left")
    for name in ("epsilon", *made.groups, "attacker"):
        table.add_column(name, justify="right")
    for point in made.curve:
        mark = "bold" if point.epsilon == made.epsilon else ""
        groups = (f"{point.groups[view]:,.0f}" for view in made.groups)
        table.add_row(f"{point.epsilon:g}", *groups, f"{point.advantage:.2g}", style=mark)
    _show(table)
    if not risk:
        say(f"\nRisk: {made.risk_sentence} More with --risk.")
    say("Every figure follows from the schema and the budget; no private table was read. Errors are not forecast.")


def _print_risk(made: "Plan | PlannedFamily") -> None:
    say("\nWhat an attacker gains, at most:", "bold")
    for line in made.risk_words:
        say(f"  {line}")


def _print_errors(made: "Plan") -> None:
    quality = made.quality
    table = Table(title=f"errors to be expected; {made.interval_words}", title_justify="left")
    for name in ("", "expected", "interval"):
        table.add_column(name, justify="right" if name else "left")
    table.add_row("smallest group that survives", f"{quality.smallest_group:,.0f} records", "")
    for name, words in _ERRORS.items():
        value = getattr(quality, name)
        if value is not None:
            low, high = quality.intervals[name]
            table.add_row(words.format(measure=made.measure), f"{value:.2g}", f"{low:.2g} to {high:.2g}")
    _show(table)


def _print_columns(made: "Plan") -> None:
    if not made.columns:
        return
    say("")
    for column in made.columns[:_MOST_COLUMNS]:
        say(f"  {column.words}")
    say(f"  ± is one standard deviation of the noise; of means, {made.formula_words}")
    if len(made.columns) > _MOST_COLUMNS:
        say(f"  {len(made.columns) - _MOST_COLUMNS} more columns: see --out or --json")


def _print_curve(made: "Plan") -> None:
    table = Table(title="other epsilons: errors as above, and the attacker's advantage", title_justify="left")
    for name in ("epsilon", "smallest group", "one column", "two columns", "means", "predictor", "attacker"):
        table.add_column(name, justify="right")
    for point in made.curve:
        mark = "bold" if point.epsilon == made.epsilon else ""
        table.add_row(f"{point.epsilon:g}", *_figures(point.quality), f"{point.advantage:.2g}", style=mark)
    _show(table)


def _figures(quality: "Quality") -> list[str]:
    errors = (quality.column_error, quality.pair_error, quality.mean_error, quality.prediction_gap)
    return [f"{quality.smallest_group:,.0f}", *("-" if one is None else f"{one:.2g}" for one in errors)]


def _show(table: Table) -> None:
    from rich.console import Console

    Console().print(Text(""), table)
