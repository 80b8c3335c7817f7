"""The gallery: the pages that the library writes, made from its embedded demonstrations while the site is built."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

import sfumato
from sfumato.demo import FAMILY, FAMILY_SCHEMA, SCHEMA, TABLE
from sfumato.reports.audit_page import audit_page
from sfumato.reports.plan_page import plan_page
from sfumato.reports.private import private_report

_LITTLE = "{sfumato: 1, name: little, columns: [{name: ill, type: boolean}, {name: old, type: boolean}]}"
_FAULTS = ["sensitivity understated by sqrt(2)", "every record counted twice"]  # all of them would take a minute


def gallery_pages() -> dict[str, str]:
    """Each page of the gallery, by where it lies in the site."""
    return {f"gallery/{name}.html": page for name, page in _pages()}


def _pages() -> Iterator[tuple[str, str]]:
    table = pq.read_table(TABLE)
    released, kept = table.slice(0, 3_200), table.slice(3_200)
    release = sfumato.release(released, SCHEMA, epsilon=1.0, ledger=None, types="declared")
    yield "report", sfumato.report(release)
    yield "plan", plan_page(sfumato.plan(sfumato.Schema.load(SCHEMA), rows=3_200, epsilon=1.0))
    yield "audit", audit_page(sfumato.audit(sfumato.Schema.from_yaml(_LITTLE), epsilon=1.0, quick=True, faults=_FAULTS))
    yield "comparison", private_report(sfumato.evaluate(release, released, kept), release)
    with tempfile.TemporaryDirectory() as folder:
        family = sfumato.release(FAMILY, FAMILY_SCHEMA, epsilon=1.0, ledger=Path(folder) / "ledger.sqlite")
    yield "family", sfumato.report(family)
