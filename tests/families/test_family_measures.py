"""Distances between families are what slow counts of joined frames say."""

import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import ks_2samp

from sfumato.evaluation.families.measures import Cells, compare_linked, number_shares
from sfumato.evaluation.families.reading import link_tables
from tests.families.hospital import schema, tables

REAL, TEST = tables(1_500), tables(1_500, 6)


def frames(content: dict[str, pa.Table]) -> dict[str, pd.DataFrame]:
    return {name: table.to_pandas() for name, table in content.items()}


def shares_of(first: pd.Series, second: pd.Series, weight: pd.Series | None = None) -> pd.Series:
    weights = pd.Series(1.0, first.index) if weight is None else weight
    return weights.groupby([first.astype(str), second.astype(str)]).sum() / weights.sum()


def apart(one: pd.Series, other: pd.Series) -> float:
    return float(one.sub(other, fill_value=0).abs().sum() / 2)


@pytest.fixture(scope="module")
def linked():
    real, other = (link_tables(content, schema()) for content in (REAL, TEST))
    return real, other, compare_linked(real, other, Cells(real), "stays")


def test_distances_to_rows_above_are_what_slow_counts_say(linked):
    by_row, by_person = [], []
    for content in (REAL, TEST):
        held = frames(content)
        rows = held["stays"].merge(held["patients"], on="patient_id")
        weight = 1 / rows.groupby("patient_id").ward.transform("size")
        by_row.append(shares_of(rows.region, rows.ward))
        by_person.append(shares_of(rows.region, rows.ward, weight))
    assert linked[2].above_by_row["patients.region", "ward"] == pytest.approx(apart(*by_row))
    assert linked[2].above_by_person["patients.region", "ward"] == pytest.approx(apart(*by_person))
    assert apart(*by_row) != pytest.approx(apart(*by_person))


def test_distances_to_the_row_before_are_what_slow_counts_say(linked):
    """But for stays that begin on the same day: which of them comes first is drawn by lot."""
    found = []
    for content in (REAL, TEST):
        stays = frames(content)["stays"].sort_values(["patient_id", "admitted"], kind="stable")
        before = stays.groupby("patient_id")[["ward"]].shift(1)
        later = stays.groupby("patient_id").cumcount() > 0
        found.append(shares_of(before.ward[later], stays.emergency[later]))
    assert linked[2].steps["ward", "emergency"] == pytest.approx(apart(*found), abs=0.005)


def test_numbers_of_rows_and_figures_of_persons_are_what_slow_counts_say(linked):
    held, means = [], []
    for content in (REAL, TEST):
        stays, patients = frames(content)["stays"], frames(content)["patients"]
        size = stays.groupby("patient_id").size()
        held.append(size.reindex(patients.patient_id, fill_value=0).value_counts(normalize=True))
        several = stays[stays.patient_id.isin(size[size > 1].index)]
        means.append(several.groupby("patient_id").emergency.mean())
    assert linked[2].numbers == pytest.approx(apart(*held))
    assert number_shares(linked[0], "stays")[1] == pytest.approx(held[0][1])
    figure = linked[2].persons["emergency", "share of the commonest value"]
    assert figure == pytest.approx(ks_2samp(*means).statistic)
