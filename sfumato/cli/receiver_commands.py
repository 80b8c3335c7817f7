"""Commands that need a bundle and nothing private: sample, retrain, translate, inspect, verify, report."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import Bundle, Device
from sfumato.cli.terminal import bar, fail, print_check, print_statement, report_errors, say
from sfumato.errors import RequestError

if TYPE_CHECKING:
    from sfumato.artefact.families.release import FamilyRelease

_MOST_CLAIMED = 1 << 36  # records of a sample that nobody asked to be so large


@report_errors
def sample(
    bundle: Bundle,
    out: Annotated[
        Path,
        typer.Option(
            help="the table to write: .parquet or .csv; of a family a folder, or a .duckdb or .sqlite file",
            show_default=False,
        ),
    ],
    rows: Annotated[
        int | None,
        typer.Option("-n", "--rows", help="how many, of a family persons; by default the noisy number of records"),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            help="a condition, such as `age=40..60,sex=F|M,ward=`, of a family `stays.ward=surgery`; of several "
            "`--given` all must hold"
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="makes the sample repeatable; it does no harm to privacy")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="add columns with the predicted probabilities of the target")
    ] = False,
    estimate: Annotated[
        str | None,
        typer.Option(help="of a Gaussian mixture: mixture, wide (covers uncertainty), detailed (tails)"),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="of a family: CSV files in the folder, not Parquet")] = False,
) -> None:
    """Draw a synthetic table from a bundle. More rows train better learners and are no less private.

    Of a family of tables: persons with all their rows, whose keys match.

    Example: `sfumato sample stays.sfumato -n 10000 --given "age=40..60" --out some.parquet`

    Example: `sfumato sample hospital.sfumato -n 10000 --given "patients.sex=f" --out hospital.duckdb`
    """
    from sfumato.artefact.bundle import open_release
    from sfumato.artefact.families.release import FamilyRelease
    from sfumato.fitting import conditions
    from sfumato.table_files import single as table_files

    released = open_release(bundle)
    if isinstance(released, FamilyRelease):
        if probabilities or estimate:
            raise RequestError("--probabilities and --estimate are for single tables; leave them out")
        _sample_family(released, out, rows, given, seed, ".csv" if csv else ".parquet")
        return
    if csv:
        raise RequestError("--csv is for families of tables; name the table .csv")
    released = released.estimate(estimate) if estimate else released
    wanted = conditions.parse_given(*given) if given else None
    total = _checked(released.size) if rows is None else rows
    with bar() as progress:
        task = progress.add_task("drawing rows", total=total)
        tables = released.sample_tables(
            total, given=wanted, seed=seed, probabilities=probabilities, dictionaries=out.suffix == ".parquet"
        )
        table_files.write(tables, released, out, lambda done: progress.advance(task, done))
    say(f"{out} holds {total:,} synthetic rows.")


def _checked(size: int) -> int:
    """The number of records that a bundle claims; nobody drew it up who claims so many."""
    if size > _MOST_CLAIMED:
        raise RequestError(
            f"the bundle claims to be of {size:,} records; check where it is from, or say how many by -n"
        )
    return size


def _sample_family(
    released: "FamilyRelease", out: Path, rows: int | None, given: list[str] | None, seed: int | None, suffix: str
) -> None:
    from sfumato.fitting.conditions import parse_given
    from sfumato.fitting.families.conditions import by_table
    from sfumato.table_files.family import write_family

    wanted = by_table(parse_given(*given)) if given else None
    total = _checked(released.size) if rows is None else rows
    with bar() as progress:
        task = progress.add_task("drawing persons", total=total)
        parts = released.sample_tables(total, given=wanted, seed=seed)
        written = write_family(parts, released, out, suffix, lambda done: progress.advance(task, done))
    told = ", ".join(f"{count:,} rows of {name}" for name, count in written.items())
    say(f"{out} holds {total:,} synthetic persons: {told}.")


@report_errors
def retrain(
    bundle: Bundle,
    out: Annotated[Path, typer.Option(help="the bundle to write", show_default=False)],
    generator: Annotated[str, typer.Option(help="mlp, residual, or convolutional for images")] = "mlp",
    epochs: Annotated[int, typer.Option(help="maximum number; training may stop early after half of them")] = 1_000,
    seed: Annotated[int, typer.Option(help="the same seed, the same model")] = 0,
    divergence: Annotated[
        str, typer.Option(help="chi-squared, kl, reverse-kl, jensen-shannon or total-variation")
    ] = "chi-squared",
    device: Device = "cpu",
    curve: Annotated[Path | None, typer.Option(help="a picture of the loss to write: .svg")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="a checkpoint file, from which interrupted training resumes")
    ] = None,
) -> None:
    """Train a generator on what a bundle holds. It costs nothing: any number of times, of any kind.

    Example: `sfumato retrain stays.sfumato --generator residual --epochs 2000 --curve loss.svg --out again.sfumato`
    """
    from sfumato.archive.whole_files import whole_file
    from sfumato.artefact.bundle import open_table
    from sfumato.fitting.generators import Epoch
    from sfumato.reports.training_curve import Curve

    released, drawn = open_table(bundle), Curve()
    with (
        whole_file(out) as file,
        whole_file(curve) if curve else nullcontext() as sheet,
        bar() as progress,
    ):
        task = progress.add_task("training", total=epochs)

        def show(epoch: Epoch) -> None:
            drawn(epoch)
            progress.update(task, completed=epoch.number, description=f"training, loss {epoch.loss:,.1f}")

        trained = released.retrain(
            generator, epochs, seed, divergence=divergence, progress=show, checkpoint=checkpoint, device=device
        )
        trained.write(file)
        if sheet:
            sheet.write(str(drawn.svg()).encode())
    stopped = drawn.epochs[-1].number if drawn.epochs else epochs
    say(f"{out} holds a generator ({generator}) after {stopped:,} epochs. The ledger is as it was: nothing was spent.")


@report_errors
def translate(
    bundle: Bundle,
    source: Annotated[
        Path,
        typer.Argument(
            help="the public table, with labels: Parquet, CSV, .npz, or whatever `release` reads from a file",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="the table to write: .parquet or .csv", show_default=False)],
    steps: Annotated[int, typer.Option(help="of training; the best state counts")] = 300,
    seed: Annotated[int, typer.Option(help="the same seed, the same rows")] = 0,
    divergence: Annotated[
        str, typer.Option(help="chi-squared, kl, reverse-kl, jensen-shannon or total-variation")
    ] = "chi-squared",
    device: Device = "cpu",
) -> None:
    """Move the rows of a public table so that they look like the private ones that a bundle was made of.

    For learning without labels of your own: the public table has labels, the private one need not. All rows are moved
    by one function, and what the schema does not know, such as labels, stays. It costs nothing.

    Example: `sfumato translate letters.sfumato public_digits.parquet --out looking_private.parquet`
    """
    from sfumato.artefact.bundle import open_table
    from sfumato.fitting.generators import Epoch
    from sfumato.table_files import single as table_files

    if out.suffix not in table_files.SUFFIXES:
        raise RequestError(f"{out} must end in .parquet or .csv")
    released, told = open_table(bundle), list[float]()
    rows = table_files.read(source, released.schema)
    with bar() as progress:
        task = progress.add_task("translating", total=steps)

        def show(step: Epoch) -> None:
            told.extend([] if step.held_back is None else [step.held_back])
            progress.update(task, completed=step.number, description=f"translating, off by {told[-1]:,.1f}")

        moved = released.translate(rows, steps, seed, divergence=divergence, progress=show, device=device)
    table_files.write_table(moved, released.schema, out)
    say(
        f"{out} holds {moved.num_rows:,} translated rows. Slices held back are off by {min(told):,.1f} times their "
        f"variance, before it was {told[0]:,.1f}; noise alone leaves 1. The ledger is as it was: nothing was spent."
    )


@report_errors
def inspect(bundle: Bundle) -> None:
    """Show the statement, the schema and each measurement of a bundle.

    Example: `sfumato inspect stays.sfumato`
    """
    from sfumato.artefact.bundle import open_release

    released = open_release(bundle)
    print_statement(released)
    say("\nschema", "bold")
    say(released.schema.to_yaml())
    say("not protected", "bold")
    for line in released.statement.not_protected:
        say(f"  {line}")


@report_errors
def verify(
    bundle: Bundle,
    features: Annotated[
        Path | None, typer.Option(help="the public features, where a release was fitted with them: Parquet or CSV")
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(help="the custodian's ledger, a file or postgresql://host/database: is this statement in it?"),
    ] = None,
) -> None:
    """Recompute hashes, format and the whole claim of a bundle from the bundle alone.

    Exit code 0 says that everything was checked and holds, 2 that something does not hold, 4 that nothing was found
    wrong but something could not be checked.

    Example: `sfumato verify stays.sfumato --ledger ledger.sqlite`
    """
    from sfumato.artefact.bundle import open_release
    from sfumato.artefact.check import Check, Outcome
    from sfumato.artefact.families.release import FamilyRelease
    from sfumato.artefact.verify import verify as recompute
    from sfumato.table_files import single as table_files
    from sfumato.trusted.ledger import Ledger

    released = open_release(bundle)
    if features is not None and isinstance(released, FamilyRelease):
        raise RequestError("--features are for label adjacency, which a family of tables does not have")
    print_check(Check.of("every byte as it was written", holds=True, detail="hashes agree"))
    checks = recompute(
        released,
        None
        if features is None or isinstance(released, FamilyRelease)
        else table_files.read(features, released.schema),
        None if ledger is None else Ledger(ledger),
    )
    for check in checks:
        print_check(check)
    found = {outcome: [one.what for one in checks if one.outcome == outcome] for outcome in Outcome}
    if failed := found[Outcome.FAILS]:
        fail(f"{bundle} does not keep its claim: {', '.join(failed)}", 2)
    if unchecked := found[Outcome.UNCHECKED]:
        fail(f"{bundle} is not verified; this could not be checked: {', '.join(unchecked)}", 4)


@report_errors
def report(
    bundle: Bundle,
    out: Annotated[Path, typer.Option(help="the HTML file to write", show_default=False)],
    about: Annotated[
        Path | None, typer.Option(help="a YAML file in which the custodian says who, why and since when")
    ] = None,
) -> None:
    """Write the public report of a bundle: one page, made from the release and what its custodian says.

    `sfumato about` prints an about.yaml to fill in.

    Example: `sfumato report stays.sfumato --out stays.html`

    Example: `sfumato report stays.sfumato --about about.yaml --out stays.html`
    """
    from sfumato.archive.whole_files import whole_file
    from sfumato.reports.write import report as write_report

    with whole_file(out) as file:
        file.write(write_report(bundle, about=about).encode())
    say(f"{out} holds the public report.")
