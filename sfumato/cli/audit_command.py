"""The command that attacks what a schema and a budget would use. It needs no private table."""

import json
import math
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfumato.cli.options import Adapt, Anonymize, Approximate, Components, Mechanism, Share
from sfumato.cli.terminal import report_errors, say, working
from sfumato.trusted.adjacency import Adjacency

if TYPE_CHECKING:
    from sfumato.auditing.findings import Finding, NotRun
    from sfumato.auditing.result import AuditResult

_screen = Console()
FAILED = 2
"""The exit code where a bound exceeds the claim, or a fault goes unseen."""


@report_errors
def audit(
    schema: Annotated[
        Path, typer.Argument(help="the YAML file that describes a table or a family", show_default=False)
    ],
    epsilon: Annotated[float, typer.Option(help="the privacy budget epsilon of the release", show_default=False)],
    delta: Annotated[float, typer.Option(help="additive failure probability delta")] = 1e-6,
    adjacency: Annotated[Adjacency, typer.Option(help="what counts as one change")] = Adjacency.ADD_REMOVE,
    mechanism: Mechanism = "auto",
    components: Components = None,
    anonymize: Anonymize = None,
    approximate: Approximate = None,
    adapt: Adapt = None,
    share: Share = None,
    quick: Annotated[bool, typer.Option("--quick", help="in two minutes instead of ten")] = False,
    out: Annotated[Path | None, typer.Option(help="an HTML page to write")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of tables")] = False,
) -> None:
    """Attack the mechanism that a schema and a budget would use, on invented tables, and compare with the claim.

    Every attack also runs with faults injected that it must catch. Exit 0: no lower bound exceeds its claim and every
    injected fault was caught; exit 2 otherwise.

    Example: `sfumato audit stays.yaml --epsilon 1 --quick --out audit.html`

    Parts by name: `sfumato audit stays.yaml --epsilon 1 --mechanism 3a --anonymize kernel --adapt leaves --quick`
    """
    from sfumato.archive.whole_files import whole_file
    from sfumato.auditing.audit import audit as attack
    from sfumato.reports.audit_page import audit_page

    with ExitStack() as opened:
        file = opened.enter_context(whole_file(out)) if out else None  # nothing is computed that cannot be written
        with working("inventing tables ...") as progress:
            result = attack(
                schema,
                epsilon=epsilon,
                delta=delta,
                adjacency=adjacency,
                mechanism=mechanism,
                components=components,
                anonymize=anonymize,
                approximate=approximate,
                adapt=adapt,
                share=share,
                quick=quick,
                progress=progress,
            )
        if file:
            file.write(audit_page(result).encode())
    if as_json:
        print(json.dumps(result.to_dict(), indent=1))  # noqa: T201 - for another program, as it is
    else:
        print_audit(result)
    if not result.passes:
        raise typer.Exit(FAILED)


def print_audit(result: "AuditResult") -> None:
    """Two tables and a verdict."""
    whose = "one person, all of their records" if result.by_person else "one record"
    say(
        f"{result.dataset}: mechanism {result.mechanism_words}, {result.adjacency} adjacency. "
        f"Epsilon {result.epsilon:g} at delta {result.delta:g} claims mu {result.claim:.4g} for {whose}.\n"
    )
    attacks = _table(
        "lower bounds on what the library gives away", "attack", "claimed mu", "lower bound", "epsilon", ""
    )
    for one in result.findings:
        attacks.add_row(Text(one.attack), *_numbers(one, result.delta), _mark(one, good="holds", bad="EXCEEDED"))
    _screen.print(attacks)
    faults = _table("the same attacks with a fault injected", "fault", "claimed mu", "lower bound", "epsilon", "")
    for trial in result.trials:
        name = Text(f"{trial.fault.name} ({trial.fault.place})")
        faults.add_row(name, *_numbers(trial.found, result.delta), _mark(trial.found, good="MISSED", bad="caught"))
    _screen.print(faults)
    for one in result.not_run:
        say(f"{one.attack}: not run; {one.reason}.", "yellow")
    say(result.verdict, "bold green" if result.passes else "bold red")
    say(
        f"{result.seconds:.0f} s. An honest library fails with probability {result.false_alarm:.1g} at most. Lower "
        "bounds show what an attack found; that no attack can find more is the proof's part."
    )


def _table(title: str, *names: str) -> Table:
    table = Table(title=title, title_justify="left")
    for place, name in enumerate(names):
        table.add_column(name, justify="right" if 0 < place < len(names) - 1 else "left")
    return table


def _numbers(one: "Finding | NotRun", delta: float) -> tuple[str, str, str]:
    from sfumato.auditing.findings import NotRun

    if isinstance(one, NotRun):
        return "", "not run", ""
    if math.isinf(one.bound):
        return f"{one.claim:.4g}", "no limit", "no limit"
    return f"{one.claim:.4g}", f"{one.bound:.4g}", f"{one.epsilon(delta):.3g}"


def _mark(one: "Finding | NotRun", good: str, bad: str) -> Text:
    from sfumato.auditing.findings import NotRun

    if isinstance(one, NotRun):
        return Text("")
    word = good if one.holds else bad
    return Text(word, "bold red" if word.isupper() else "green")
