"""Invented tables: of every type, within the schema or beyond it, without a look at any data."""

import numpy as np
import pytest

import sfumato
from sfumato.auditing.invention import corner_rows, invent_rows, known_values, middle_row, other_targets, strange_values
from sfumato.auditing.table_setting import TableSetting as Setting
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.sources import open_source
from tests.conftest import MIXED
from tests.mechanisms.every import every_case

UNKNOWN = sfumato.Schema.from_yaml("""
{sfumato: 1, name: u, columns: [{name: x, type: number, bounds: estimate}, {name: w, type: category, values: discover},
  {name: d, type: date, bounds: [0001-01-01, 9999-12-31]}, {name: s, type: boolean, words: ["n", "j"], missing: true}]}
""")
SCHEMAS = {"mixed": sfumato.Schema.from_yaml(MIXED), "unknown": UNKNOWN} | {
    name: case.schema for name, case in every_case().items() if name in ("tables, constraints", "subspace")
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_invented_tables_can_be_released(schema):
    rng = np.random.default_rng(0)
    for rows in (invent_rows(schema, 9, rng, strange=True), corner_rows(schema), middle_row(schema)):
        open_source(rows, schema, declared=True)
        Encoder(schema).encode(rows.combine_chunks().to_batches()[0])


def test_known_values_are_known_and_strange_ones_are_not():
    schema = SCHEMAS["mixed"]
    for name, codes in Encoder(schema).columns.items():
        column = schema[name]
        for value in known_values(column):
            if value is not None:
                assert codes.code_of(value) is not None
        assert any(value is None or codes.code_of(value) is None for value in strange_values(column))


def test_other_targets_change_the_target_alone():
    schema = SCHEMAS["mixed"]
    rows = invent_rows(schema, 3, np.random.default_rng(0))
    changed, origin = other_targets(schema, rows)
    assert set(origin) == {0, 1, 2}
    assert changed.drop_columns(["ill"]).equals(rows.take(origin).drop_columns(["ill"]))
    with pytest.raises(ValueError, match="target"):
        other_targets(UNKNOWN, rows)


def test_a_setting_by_person_invents_a_column_of_its_own():
    content = {"sfumato": 1, "name": "t", "columns": [{"name": "person", "type": "boolean"}]}
    setting = Setting(sfumato.Schema.from_dict(content), 1.0, 1e-6, Adjacency.ADD_REMOVE, "auto")
    by_person = setting.with_unit(3)
    assert by_person.schema.unit.column == "person_"
    assert by_person.records == 3
    assert by_person.with_unit(5) is by_person
    assert by_person.claim == setting.claim
