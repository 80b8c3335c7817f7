"""The subspace model on its way to a file and back: what is refused, and how far two models are apart."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.archive.members import from_arrow_file, from_json, to_arrow_file, to_json
from sfumato.fitting.models.model import read_model
from sfumato.fitting.models.subspace.model import CELLS, SubspaceModel
from sfumato.fitting.models.subspace.parts import arrays_of
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema import Schema
from tests.models.subspaces import CODES, COLUMNS, SCALES, UNLABELLED, D, K, R, given, make


class TestParts:
    def through_files(self, model):
        content, table = model.to_parts()
        return from_json(to_json(content), "model.json"), from_arrow_file(to_arrow_file(table), "model.arrow")

    @pytest.mark.parametrize("directions", [R, 0])
    def test_go_out_and_come_back(self, model, directions):
        model = replace(make(1, marginals=model.marginals is not None, directions=directions), settings={"a": 1})
        again = read_model(*self.through_files(model), CODES)
        one, other = arrays_of(model), arrays_of(again)
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)
        for name in ("size", "target", "classes", "columns", "count_sd", "marginal_sd", "settings"):
            assert getattr(again, name) == getattr(model, name)
        assert model.distance(again) < 1e-6

    def test_without_classes(self):
        again = read_model(*self.through_files(make(classes=1)), UNLABELLED)
        assert (again.target, again.classes) == (None, 1)

    def test_what_has_been_asked_stays_out(self, model):
        content, table = given(model, x_1=0.3).to_parts()
        again = SubspaceModel.from_parts(content, table, CODES)
        assert again.given == ()
        assert again.distance(model) < 1e-6

    def test_it_is_small(self, model):
        _, table = model.to_parts()
        assert table.nbytes < 8 * (2 * D * R + K * (1 + 2 * D + R + R * R) + D * (1 + CELLS)) + 400

    @pytest.mark.parametrize(
        "change",
        [
            {"kind": "oracle"},
            {"columns": list(SCALES)[:-1]},
            {"columns": list(SCALES)[::-1]},
            {"target": None},
            {"target": "age"},
            {"target": "nobody"},
            {"classes": 2},
            {"classes": 0},
            {"directions": 2},
            {"directions": -3},
            {"size": 0},
            {"size": float("nan")},
            {"size": 2.0**60},
            {"count_sd": -1.0},
            {"marginal_sd": float("inf")},
            {"extra": 1},
        ],
        ids=str,
    )
    def test_unsound_content_is_refused(self, model, change):
        content, table = model.to_parts()
        with pytest.raises((ValueError, LookupError)):
            SubspaceModel.from_parts({**content, **change}, table, CODES)

    @pytest.mark.parametrize(
        ("part", "place", "value"),
        [
            ("weights", 0, 0.9),
            ("weights", 0, 0.0),
            ("weights", 0, math.nan),
            ("means", 5, math.inf),
            ("basis", 0, math.nan),
            ("whitening", 0, None),
            ("centres", 0, -math.inf),
            ("covs", 0, -0.1),
            ("covs", 1, 0.7),
            ("residual", 3, 0.0),
            ("residual", 3, -1e-3),
            ("mean_sds", 2, -1e-3),
            ("mean_sds", 2, math.nan),
            ("marginals", 2, 0.9),
            ("marginals", 2, -0.1),
        ],
    )
    def test_unsound_arrays_are_refused(self, part, place, value):
        content, table = make(marginals=True).to_parts()
        rows = {row["part"]: row["values"] for row in table.to_pylist()}
        rows[part][place] = value
        changed = pa.table({"part": list(rows), "values": pa.array(list(rows.values()), pa.list_(pa.float64()))})
        with pytest.raises(ValueError, match=r"must|whole"):
            SubspaceModel.from_parts(content, changed, CODES)

    def test_tables_of_another_shape_are_refused(self, model):
        content, table = model.to_parts()
        single = table.set_column(1, "values", table.column("values").cast(pa.list_(pa.float32())))
        nulls = table.set_column(1, "values", pa.nulls(len(table), pa.list_(pa.float64())))
        twice = pa.concat_tables([table, table.slice(0, 1)])
        shorter = (table.slice(0, len(table) - 2), table.slice(1), table.slice(0, 0), table.drop(["values"]))
        for other in (*shorter, twice, single, nulls, table.append_column("x", pa.nulls(len(table)))):
            with pytest.raises((ValueError, LookupError)):
                SubspaceModel.from_parts(content, other, CODES)

    def test_unsound_models_are_refused(self, model):
        missing = Encoder(Schema.from_yaml(COLUMNS.replace("atoms: [40]", "missing: true"))).columns
        with pytest.raises(ValueError, match="missing"):
            replace(model, scales={name: missing[name] for name in SCALES})
        with pytest.raises(ValueError, match="one class"):
            replace(model, target=None)
        with pytest.raises(ValueError, match="one class"):
            replace(model, target="age")
        with pytest.raises(ValueError, match="shape"):
            replace(model, basis=model.basis[:, :2])
        with pytest.raises(ValueError, match="shape"):
            replace(model, basis=model.basis[:, 0])
        with pytest.raises(ValueError, match="shape"):
            replace(model, means=model.means.astype(np.float32))


class TestDistance:
    def turned(self, model, seed=7):
        """The same law with the directions of the subspace turned, one of them the other way round."""
        turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((R, R)))[0] * [1, -1, 1]
        return replace(
            model,
            basis=model.basis @ turn,
            whitening=model.whitening @ turn,
            centres=model.centres @ turn,
            covs=turn.T @ model.covs @ turn,
        )

    def test_of_turned_directions_is_nothing(self, model):
        assert model.distance(self.turned(model)) < 1e-5

    def test_of_other_last_digits_is_nothing(self, model):
        rng = np.random.default_rng(0)
        shaken = {
            name: array * (1 + 1e-12 * rng.standard_normal(array.shape)) for name, array in arrays_of(model).items()
        }
        shaken["weights"] /= shaken["weights"].sum()
        shaken["covs"] = (shaken["covs"] + shaken["covs"].transpose(0, 2, 1)) / 2
        assert model.distance(replace(model, **shaken)) < 1e-4

    @pytest.mark.parametrize(
        "name", ["means", "basis", "whitening", "centres", "covs", "residual", "mean_sds", "size", "count_sd"]
    )
    def test_of_anything_else_is_seen(self, model, name):
        part = getattr(model, name)
        moved = np.array(part, dtype=np.float64)
        moved.ravel()[0] += 0.2 * np.abs(moved).max()
        other = replace(model, **{name: moved if moved.ndim else float(moved)})
        assert model.distance(other) > 0.02

    def test_of_weights_and_marginals_is_seen(self):
        model = make(marginals=True)
        assert model.distance(replace(model, weights=model.weights[[1, 2, 0]])) > 0.02
        assert model.distance(replace(model, marginals=model.marginals[:, ::-1])) > 0.02
        assert model.distance(replace(model, marginal_sd=0.02)) > 0.02

    def test_of_another_form_is_1(self, model):
        others = [
            make(classes=1, marginals=model.marginals is not None),
            make(directions=2, marginals=model.marginals is not None),
            make(marginals=model.marginals is None),
            replace(model, scales=dict(reversed(model.scales.items()))),
            replace(model, target="other"),
        ]
        assert [model.distance(other) for other in others] == [1.0] * 5
