"""The public report of a family of tables: one self-contained page, made from a release and what its custodian says."""

from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from sfumato._version import __version__
from sfumato.artefact.about import About
from sfumato.artefact.families.answers import TableAnswers
from sfumato.artefact.families.quality import smallest_family_group
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.figures import Expectation
from sfumato.artefact.making import making_of
from sfumato.artefact.promise import plain_promise, risk_lines
from sfumato.charts import svg
from sfumato.charts.columns import column_chart
from sfumato.charts.listed import listed_chart
from sfumato.charts.ordered import write
from sfumato.errors import RequestError
from sfumato.reports.charts import budget_chart
from sfumato.reports.family_charts import WIDTH, following_chart, histogram_chart, numbers_chart
from sfumato.reports.pages import page_style, page_template
from sfumato.reports.public import about_column, about_rows, risk_picture
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints.numbers import numbers_of
from sfumato.trusted.encoding import CategoricalCodec, Encoder, NumericCodec
from sfumato.trusted.schema.constraints import describe

_MOST_COLUMNS = 40  # of a table that are drawn
_MANY_GROUPS = 10  # of the smallest size that survives must be there before histories are called told; see `warn_of`
_MOST_MEANS = 3
_MOST_FOLLOWING, _MOST_VALUES = 3, 9


def public_family_report(release: FamilyRelease, about: About | None = None) -> str:
    """The page: promise and risk, the tables and how they hang together, every column, how it was made.

    release   from a bundle, or just made; nothing else is looked at
    about     what the custodian says beside it
    """
    statement, smallest = release.statement, smallest_family_group(release)
    return page_template("public_family.html").render(
        style=page_style("public.css"),
        release=release,
        statement=statement,
        title=(about.title if about else None) or statement.dataset,
        plain=plain_promise(statement, None),
        risks=[] if statement.seeded else risk_lines(statement, None),
        risk_picture="" if statement.seeded else risk_picture(statement),
        smallest=smallest,
        drowned=smallest is not None and _MANY_GROUPS * smallest >= release.size,
        questions=_questions(release),
        tables=[_table(release, name) for name in release.schema.in_order],
        constraints=[
            *(describe(one) for one in release.schema.constraints),
            *(f"{name}: {describe(one)}" for name, table in release.schema.tables.items() for one in table.constraints),
        ],
        budget=budget_chart(statement),
        making=making_of(release),
        about=about_rows(about),
        version=__version__,
    )


class _Question(NamedTuple):
    words: str
    answer: str
    low: str
    high: str
    call: str


def _questions(release: FamilyRelease) -> list[_Question]:
    found = []
    for name in release.schema.in_order:
        table = release[name]
        counted = table.count()
        what = "persons" if name == release.schema.root else f"rows of {name}"
        found.append(_asked(f"How many {what}?", counted, f'release["{name}"].count()', 0))
        if name != release.schema.root:
            each = table.per_person()
            found.append(_asked(f"How many rows of {name} per person?", each, f'release["{name}"].per_person()', 2))
        found += _means(table, name, name == release.schema.root)
    return found


def _means(table: TableAnswers, name: str, of_persons: bool) -> list[_Question]:
    found: list[_Question] = []
    for column in table.release.schema.schema_of(name).by_name:
        if len(found) >= _MOST_MEANS * (1 if of_persons else 2):
            break
        ways = ("row",) if of_persons else ("row", "person")
        try:
            answers = {by: table.mean(column, by=by) for by in ways}  # type: ignore[arg-type]
        except RequestError:
            continue  # it has no mean
        for by, answer in answers.items():
            if answer.low != answer.low:  # NaN: it follows from other columns
                continue
            whose = "" if of_persons else f", every {by} alike"
            call = f'release["{name}"].mean("{column}", by="{by}")'
            mean, low, high = (write(end) for end in answer)
            listed = table.release.schema.schema_of(name)[column].type == "boolean"
            what = f"Which share of {name} has {column}" if listed else f"Mean of {column} in {name}"
            found.append(_Question(f"{what}{whose}?", mean, low, high, call))
    return found


def _asked(words: str, answer: Expectation, call: str, digits: int) -> _Question:
    mean, low, high = (f"{end:,.{digits}f}" for end in answer)
    return _Question(words, mean, low, high, call)


class _Chart(NamedTuple):
    name: str
    about: str
    chart: Markup
    is_target: bool


def _table(release: FamilyRelease, name: str) -> dict[str, Any]:
    """What a page shows of one table."""
    schema, own = release.schema.schema_of(name), release.schema.tables[name]
    drawn = len(release.answering[name]) > 0  # a release that knows of nobody draws hardly any rows
    names = list(schema.by_name)[:_MOST_COLUMNS] if drawn else []
    charts = [_Chart(one, about_column(schema[one]), _chart(release, name, one), one == own.target) for one in names]
    rows = "" if own.parent is None else numbers_chart({"synthetic": _numbers(release, name)}, {"synthetic": svg.BAR})
    order = release.layout.tables[name].ordered_by
    return {
        "name": name,
        "parent": own.parent,
        "bounds": release.schema.rows_of(name),
        "order": order,
        "columns": len(schema.by_name),
        "count": release[name].count(),
        "numbers": rows,
        "charts": charts,
        "following": _following(release, name) if order is not None else [],
    }


def _chart(release: FamilyRelease, table: str, column: str) -> Markup:
    """A column of persons with the band of its noise; of other tables as drawn rows have it, every row alike."""
    layout, codes = release.layout.tables[table], Encoder(release.schema.schema_of(table)).columns[column]
    if table == release.schema.root and layout.codes.get(column) is codes:
        persons, name = release.fitted.persons, f"{table}.{column}"
        return column_chart(persons, name, codes, persons.describe(name, codes))
    if isinstance(codes, NumericCodec):
        values = release.answering[table].values.column(column).combine_chunks()
        return histogram_chart(numbers_of(codes, values), codes)
    rows = release[table].marginal(column, output="arrow").to_pylist()
    height, marks = listed_chart(rows, WIDTH)
    return svg.picture(WIDTH, height, marks, f"Distribution of {column}")


def _numbers(release: FamilyRelease, table: str) -> FloatArray:
    parent, most = release.schema.tables[table].parent or "", release.schema.rows_of(table)[1]
    drawn = release.answering
    held = np.bincount(drawn[table].parent, minlength=len(drawn[parent]))
    shares: FloatArray = np.bincount(held, minlength=most + 1) / max(len(held), 1)
    return shares


def _following(release: FamilyRelease, table: str) -> list[tuple[str, Markup]]:
    """What follows what, of the first listed columns that have few values."""
    rows, layout = release.answering[table], release.layout.tables[table]
    later = np.flatnonzero(rows.place > 0)
    found: list[tuple[str, Markup]] = []
    for column in layout.measured:
        codes = layout.codes[column]
        if not isinstance(codes, CategoricalCodec) or codes.size > _MOST_VALUES or not len(later):
            continue
        if len(found) >= _MOST_FOLLOWING:
            break
        labels = [*codes.texts, *(["missing"] if codes.nullable else [])]
        held = rows.codes[column].astype(np.int64)
        counts = np.bincount(held[later - 1] * codes.size + held[later], minlength=codes.size**2)
        found.append((column, following_chart(counts.reshape(codes.size, codes.size), labels)))
    return found
