"""Places: every code has one, in whole numbers, in the order of the values, on every kind of scale."""

import json

import numpy as np
import pytest

from sfumato.trusted.encoding import Batch, Encoder
from sfumato.trusted.feature_maps import ScaledColumns
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from sfumato.trusted.schema import Schema

END = 2**PLACE_BITS
SCHEMA = Schema.from_yaml("""
{sfumato: 1, name: t, columns: [
  {name: share, type: number, bounds: [0, 1]}, {name: pay, type: number, bounds: [-5, 1000], atoms: [0, 250]},
  {name: debt, type: number, bounds: [1, 1000000], scale: log}, {name: gain, type: number, bounds: [0, 50], scale: log},
  {name: age, type: integer, bounds: [0, 99], otherwise: 40}, {name: cents, type: integer, bounds: [1, 10000000000]},
  {name: born, type: date, bounds: [1920-01-01, 2020-12-31]},
  {name: seen, type: datetime, bounds: ["2024-01-01T00:00:00", "2024-12-31T23:59:59"]},
  {name: job, type: category, values: [x, y]}, {name: wage, type: number, bounds: [0, 1], missing: true}]}
""")
NAMES = ["share", "pay", "debt", "gain", "age", "cents", "born", "seen"]
PLACES = ScaledColumns.of(SCHEMA.by_name, NAMES)
COLUMNS = Encoder(SCHEMA).columns


def places_of(name: str, codes: np.ndarray) -> np.ndarray:
    return ScaledColumns.of(SCHEMA.by_name, [name])(Batch(len(codes), {name: codes.astype(np.int32)}))[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_code_has_a_place_and_steps_are_in_order(name):
    places = places_of(name, np.arange(COLUMNS[name].size))
    assert np.array_equal(places, np.rint(places))
    assert places.min() >= 0
    assert places.max() <= END
    steps = places[: COLUMNS[name].steps]
    assert (np.diff(steps) >= 0).all()


def test_the_middle_of_a_step_is_a_whole_number():
    assert places_of("share", np.arange(2**20)).tolist() == list(range(1, END, 2))
    assert places_of("age", np.arange(100)).tolist() == [round((age + 0.5) / 100 * END) for age in range(100)]


def test_an_atom_lies_where_its_value_does():
    codes = COLUMNS["pay"]
    atoms = places_of("pay", np.arange(codes.steps, codes.size))
    assert atoms.tolist() == [round((atom + 5) / 1005 * END) for atom in (-5, 0, 250, 1000)]


def test_the_places_of_records_are_those_of_their_codes():
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, COLUMNS[name].size, 50).astype(np.int32) for name in NAMES}
    places = PLACES(Batch(50, codes))
    assert places.shape == (len(NAMES), 50)
    for row, name in zip(places, NAMES, strict=True):
        assert np.array_equal(row, places_of(name, codes[name]))


@pytest.mark.parametrize("name", ["job", "wage"])
def test_a_column_with_values_that_have_no_place_is_refused(name):
    with pytest.raises(ValueError, match=name):
        ScaledColumns.of(SCHEMA.by_name, [name])


def test_places_survive_json():
    again = ScaledColumns.from_dict(json.loads(json.dumps(PLACES.to_dict())))
    assert again == PLACES
    assert again.names == tuple(NAMES)
    assert all(again.columns[name] == SCHEMA.by_name[name] for name in NAMES)
