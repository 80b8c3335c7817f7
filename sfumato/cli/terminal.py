"""What a person sees on a terminal: words, errors with their exit codes, progress, tables."""

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from sfumato.errors import BudgetExceededError, ReleaseWarning, SfumatoError

if TYPE_CHECKING:
    from sfumato.artefact.check import Check
    from sfumato.artefact.families.release import FamilyRelease
    from sfumato.artefact.release import Release
    from sfumato.evaluation import Evaluation
    from sfumato.evaluation.checking import ColumnCheck
    from sfumato.evaluation.families.evaluation import FamilyEvaluation
    from sfumato.evaluation.families.reading import LinkFacts

Command = TypeVar("Command", bound=Callable[..., None])

TERMINATED = 143
"""The exit code of a program that was terminated by a signal."""
_MOST_COLUMNS = 12
_screen = Console()
_aside = Console(stderr=True)


def report_errors(command: Command) -> Command:
    """Turn our errors into a line on the error stream and an exit code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with _warnings_as_lines():
                command(*args, **kwargs)
        except SfumatoError as error:
            fail(_with_notes(str(error), error), 3 if isinstance(error, BudgetExceededError) else 2)
        except KeyboardInterrupt as stop:
            fail(_with_notes("stopped by Ctrl-C.", stop), 130)
        except SystemExit as stop:
            if stop.code != TERMINATED:  # whoever reads what we print has gone
                raise
            fail(_with_notes("terminated by SIGTERM.", stop), TERMINATED)

    return run  # type: ignore[return-value]


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """What a release is warned of, on the error stream; other warnings as ever."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", ReleaseWarning)
        show = warnings.showwarning

        def say_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, ReleaseWarning):
                show(message, category, *where, **more)
                return
            _aside.print("warning: ", style="bold yellow", end="")
            say(str(message), console=_aside)

        warnings.showwarning = say_warning
        yield


def _with_notes(message: str, error: BaseException) -> str:
    return "\n".join([message, *getattr(error, "__notes__", ())])


def fail(message: str, code: int) -> NoReturn:
    """Say what is wrong, and end with an exit code."""
    _aside.print("error: ", style="bold red", end="")
    say(message, console=_aside)
    raise typer.Exit(code)


def say(words: str, style: str = "", console: Console = _screen) -> None:
    """Print words as they are, without the control characters that a foreign bundle may hold."""
    console.print(printable(words), style=style, markup=False, highlight=False, soft_wrap=True)


def printable(words: str) -> str:
    """Words in which a mark stands for every control character but line breaks."""
    return "".join(character if character.isprintable() or character == "\n" else "\ufffd" for character in words)


def print_wrapped(words: Table | Text) -> None:
    """Print a table, or words, as wide as the terminal at most."""
    _screen.print(words)


@contextmanager
def working(words: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is going on, on a terminal; silence in a pipe."""
    if not _aside.is_terminal:
        yield lambda _: None
        return
    with _aside.status(words) as status:
        yield lambda stage: status.update(stage + " ...")


def bar() -> Progress:
    """A bar that fills, on a terminal; silence in a pipe."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeRemainingColumn(),
        console=_aside,
        transient=True,
        disable=not _aside.is_terminal,
    )


def print_statement(released: "Release | FamilyRelease") -> None:
    """The promise, and what every measurement took of the budget."""
    statement = released.statement
    say(statement.promise, "bold red" if statement.seeded else "")
    say(f"{statement.remainder}\n")
    for item in statement.items:
        share = item.units / statement.units_budget
        effect = f"the largest effect of one {'person' if statement.unit else 'record'}"
        say(f"  {share:6.1%} of the budget  {item.what}; noise is {item.sigma / item.sensitivity:.3g} times {effect}")


_GRADES = {"good": "green", "fair": "yellow", "poor": "bold red"}
_MARKS = {
    "holds": ("ok", "green"),
    "fails": ("NO", "bold red"),
    "not checked": ("NOT CHECKED", "bold yellow"),
    "differs": ("note  ", "yellow"),
}


def print_check(check: "Check") -> None:
    """One line of a verification."""
    mark, style = _MARKS[check.outcome]
    _screen.print(f"  {mark}  ", style=style, end="")
    say(f"{check.what}: {check.detail}")


def print_column_checks(found: "Sequence[ColumnCheck]") -> None:
    """What of each column is not as the schema expects; columns that are, in one line."""
    strange = [one for one in found if one.is_told]
    for one in sorted(strange, key=lambda one: -one.misread):
        say(f"{one.column}: {one.describe()}", "bold")
        for hint in one.hints:
            say(f"    {hint}")
    rest = sum(not one.misread and not one.off_step for one in found)
    say(f"{rest} of {len(found)} columns {'is' if rest == 1 else 'are'} as the schema says.")


def print_links(facts: "Sequence[LinkFacts]") -> None:
    """Which rows of a family do not count, and why."""
    told = [one for one in facts if one.describe()]
    say("")
    for one in told:
        say(f"{one.table}: {one.describe()}", "yellow")
    if not told:
        say("All rows are linked, and no parent row has more than the schema allows.")


def print_family_evaluation(result: "FamilyEvaluation") -> None:
    """The custodian's comparison of a family: the verdict, topic by topic, and what learners reach."""
    from sfumato.evaluation.families.evaluation import NOTICE

    say(NOTICE, "bold red")
    say(f"\n{result.headline}", "bold")
    for finding in result.findings:
        say(f"  {finding.grade}  {finding.topic}: {finding.words}", _GRADES[finding.grade])
    print_links(result.facts)


def print_evaluation(result: "Evaluation") -> None:
    """The custodian's comparison: the verdict, learners, marginals, and the sub-groups that lose most."""
    from sfumato.evaluation.evaluation import COMPARED_NOTE, LEARNERS_NOTE, NOTICE

    say(NOTICE, "bold red")
    say(f"\n{result.verdict.headline}", "bold")
    for finding in result.verdict.findings:
        say(f"  {finding.grade}  {finding.topic}: {finding.words}", _GRADES[finding.grade])
    for words in result.verdict.cautions:
        say(words, "bold red")
    for name, remark in result.remarks.items():
        say(f"{name}: {remark}", "bold")
    if result.scores:
        table = Table(title=f"learning {result.target}: {result.measure} on the real test rows", title_justify="left")
        table.add_column("learner")
        table.add_column("trained on")
        table.add_column("score", justify="right")
        for item in result.scores:
            table.add_row(item.learner, item.trained_on, "-" if item.value is None else f"{item.value:.4f}")
        _screen.print(table)
        say(LEARNERS_NOTE)
    _print_distances(result)
    say(COMPARED_NOTE)
    _print_library(result)
    if result.violations:
        _print_violations(result)
    worst = sorted(result.groups, key=lambda group: -group.loss)[:5]
    if worst:
        table = Table(title="sub-groups that lose most: mean error of LightGBM", title_justify="left")
        for name in ("group", "test rows", "from real rows", "from synthetic rows"):
            table.add_column(name, justify="left" if name == "group" else "right")
        for group in worst:
            name = f"{group.column} = {group.value}"
            table.add_row(Text(name), str(group.rows), f"{group.error_real:.4f}", f"{group.error_synthetic:.4f}")
        _screen.print(table)
    say(f"The comparison took {sum(result.seconds.values()):.1f} seconds.")


def _print_library(result: "Evaluation") -> None:
    """The headline numbers of SDMetrics, or how to get them."""
    from sfumato.evaluation.metrics_library import HOW_TO_GET

    if result.library is None:
        say(HOW_TO_GET)
        return
    found = vars(result.library.synthetic)
    names = {"overall": "overall score", "shapes": "Column Shapes", "trends": "Column Pair Trends"}
    told = [f"{label} {'not told' if found[name] is None else f'{found[name]:.3f}'}" for name, label in names.items()]
    say(f"Quality report of {result.library.library}: {', '.join(told)}; 1 is best.")


def _print_violations(result: "Evaluation") -> None:
    """The rules of the schema, and how many rows break them."""
    table = Table(title="constraints of the schema: share of the rows that break them", title_justify="left")
    for name in ("constraint", "real rows", "synthetic rows"):
        table.add_column(name, justify="left" if name == "constraint" else "right")
    for item in result.violations:
        table.add_row(Text(item.rule), f"{item.real:.2%}", f"{item.synthetic:.2%}")
    _screen.print(table)


def _print_distances(result: "Evaluation") -> None:
    """The means, and the columns that are farthest from the real rows."""
    table = Table(title="how far from the real rows; 0 is equal, 1 has nothing in common", title_justify="left")
    for name in ("", "synthetic rows", "test rows, by chance", "moved", "misread"):
        table.add_column(name, justify="right" if name else "left")
    near, floor = result.fidelity, result.floor
    table.add_row("pairs of columns, mean", f"{near.mean_pair:.4f}", f"{floor.mean_pair:.4f}", "", "")
    table.add_row("columns, mean", f"{near.mean_column:.4f}", f"{floor.mean_column:.4f}", "", "", end_section=True)
    for check in sorted(result.checks, key=lambda one: -near.columns[one.column].share)[:_MOST_COLUMNS]:
        here, there = (found.columns[check.column] for found in (near, floor))
        moved = "" if here.moved is None else f"{here.moved:.4f}"
        state = result.state(check.column)
        table.add_row(
            Text(check.column if state == "near" else f"{check.column} ({state})"),
            f"{here.share:.4f}",
            f"{there.share:.4f}",
            moved,
            f"{check.misread_share:.1%}",
        )
    _screen.print(table)
    if (more := len(result.checks) - _MOST_COLUMNS) > 0:
        say(f"{more} more columns are nearer; the page and the JSON file have them.")
