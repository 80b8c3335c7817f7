"""What each kind of job does: a call of the library, its files, and a few plain values for the pages."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.archive.whole_files import whole_file
from sfumato.artefact.bundle import open_release
from sfumato.artefact.families.release import FamilyRelease
from sfumato.studio.locations import open_location
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.file import AnySchema, read_schema

Ask = Mapping[str, Any]
Progress = Callable[[str], None]
Result = dict[str, Any]
BUNDLE, REPORT, PRIVATE, AUDIT = "release.sfumato", "report.html", "private.html", "audit.html"


def _schema_of(ask: Ask) -> AnySchema:
    return read_schema(ask["schema"])


def check(_: Path, ask: Ask, progress: Progress) -> Result:
    """What of the private table the schema does not take as it is. The result is private."""
    from sfumato.custodian.checking import look_at_table
    from sfumato.evaluation.families.checking import check_family

    schema, data = _schema_of(ask), open_location(ask["location"])
    progress("reading the private table")
    if isinstance(schema, FamilySchema):
        found = check_family(data, schema)
        tables = {name: [_told(one) for one in checks if one.is_told] for name, checks in found.columns.items()}
        links = [f"{one.table}: {one.describe()}" for one in found.links if one.describe()]
        return {"tables": tables, "columns": sum(map(len, found.columns.values())), "hints": links}
    table = look_at_table(data, schema)
    hints = [*table.format_hints, *table.undecided.hints()]
    return {"tables": {"": [_told(one) for one in table.strange]}, "columns": len(table.columns), "hints": hints}


def _told(one: Any) -> Result:
    return {
        "column": one.column,
        "share": one.misread_share,
        "parts": {
            name: getattr(one, name) / max(one.rows, 1)
            for name in ("nulls", "unread", "outside", "unlisted", "off_step", "words")
        },
        "words": one.describe(),
        "hints": list(one.hints),
    }


def release(folder: Path, ask: Ask, progress: Progress) -> Result:
    """The bundle, its report, and what the pages say of them."""
    from sfumato.bookkeeping.accounts import describe_accounts
    from sfumato.custodian.release import write_release
    from sfumato.reports.write import report as write_report

    schema, book = _schema_of(ask), Ledger(ask["ledger"])
    progress("opening the table")
    released = write_release(
        lambda: open_location(ask["location"]),
        schema,
        folder / BUNDLE,
        book,
        epsilon=ask["epsilon"],
        delta=ask["delta"],
        adjacency=ask["adjacency"],
        mechanism=ask["mechanism"],
        purpose=ask["purpose"],
        who=ask["who"],
        progress=progress,
    )
    statement = released.statement
    progress("writing the report")
    with suppress(Exception):  # the release is made and paid for, whatever becomes of its report
        write_report(released, folder / REPORT)
    return {
        "dataset": statement.dataset,
        "promise": statement.promise,
        "remainder": statement.remainder,
        "size": released.size,
        "target": getattr(schema, "target", None),
        "accounts": describe_accounts(book, statement.dataset),
        "items": [
            [item.what, item.units / statement.units_budget, item.sigma / item.sensitivity] for item in statement.items
        ],
    }


def report(folder: Path, ask: Ask, progress: Progress) -> Result:
    """The public report, with what the custodian says beside it."""
    from sfumato.reports.write import report as write_report

    progress("writing the report")
    about = folder / "about.yaml"
    with whole_file(folder / REPORT) as file:
        file.write(write_report(Path(ask["bundle"]), about=about if about.exists() else None).encode())
    return {}


def verify(_: Path, ask: Ask, progress: Progress) -> Result:
    """Every check of a bundle, and whether its statement is in the ledger."""
    from sfumato.artefact.verify import verify as recompute

    progress("fitting the model anew")
    found = recompute(Path(ask["bundle"]), ledger=Ledger(ask["ledger"]))
    checks = [[str(one.outcome), one.what, one.detail] for one in found]
    return {"verdict": found.verdict, "holds": bool(found), "checks": checks}


def sample(folder: Path, ask: Ask, progress: Progress) -> Result:
    """A synthetic table; of a family a database file."""
    from sfumato.fitting.conditions import parse_given
    from sfumato.fitting.families.conditions import by_table
    from sfumato.table_files.family import write_family
    from sfumato.table_files.single import write

    released, given = open_release(Path(ask["bundle"])), parse_given(ask["given"]) if ask["given"] else None
    rows = released.size if ask["rows"] is None else ask["rows"]
    file = folder / f"synthetic.{ask['form']}"
    progress(f"drawing {rows:,} rows")
    if isinstance(released, FamilyRelease):
        wanted = by_table(given) if given else None
        parts = released.sample_tables(rows, given=wanted)
        written = write_family(parts, released, file, ".parquet", lambda _: None)
        return {"file": file.name, "rows": sum(written.values())}
    write(released.sample_tables(rows, given=given), released, file, lambda _: None)
    return {"file": file.name, "rows": rows}


def evaluate(folder: Path, ask: Ask, progress: Progress) -> Result:
    """The custodian's comparison with private rows. The result is private."""
    from sfumato.custodian.evaluation import write_evaluation
    from sfumato.evaluation.evaluation import Evaluation

    real, test = open_location(ask["location"]), open_location(ask["test"])
    found = write_evaluation(Path(ask["bundle"]), real, test, folder / PRIVATE, progress=progress)
    return {"headline": found.verdict.headline if isinstance(found, Evaluation) else found.headline}


def audit(folder: Path, ask: Ask, progress: Progress) -> Result:
    """Attacks on the mechanism, on invented tables."""
    from sfumato.auditing.audit import audit as attack
    from sfumato.reports.audit_page import audit_page

    schema = _schema_of(ask)
    with whole_file(folder / AUDIT) as file:
        result = attack(
            schema,
            epsilon=ask["epsilon"],
            delta=ask["delta"],
            adjacency=ask["adjacency"],
            mechanism=ask["mechanism"],
            quick=ask["quick"],
            progress=progress,
        )
        file.write(audit_page(result).encode())
    return {"verdict": result.verdict, "passes": result.passes}


KINDS: Mapping[str, Callable[[Path, Ask, Progress], Result]] = {
    "check": check,
    "release": release,
    "report": report,
    "verify": verify,
    "sample": sample,
    "evaluate": evaluate,
    "audit": audit,
}
