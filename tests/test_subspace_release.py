"""A wide table on its whole way: files of any cut, rows that nobody would choose, and the command line."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.artefact.bundle import room_for
from sfumato.artefact.verify import verify
from sfumato.cli.app import app
from tests.mechanisms.test_subspace import NAMES, records, table, wide_schema

RNG = np.random.default_rng(0)


def released(data, schema: sfumato.Schema | None = None, **more) -> sfumato.Release:
    settings = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "mechanism": "subspace",
        "ledger": None,
        "seed": 1,
        "types": "declared",
        **more,
    }
    return sfumato.release(data, schema or wide_schema(), **settings)


def same_answers(one: sfumato.Release, other: sfumato.Release) -> bool:
    return len(one.measurements) == len(other.measurements) and all(
        mine.statistic.to_dict() == theirs.statistic.to_dict() and np.array_equal(mine.values, theirs.values)
        for mine, theirs in zip(one.measurements, other.measurements, strict=True)
    )


def test_any_file_and_any_cut_give_the_same_answers_to_the_last_bit(tmp_path):
    x, y = records(3_000)
    rows = table(x, y)
    whole = released(rows)
    pyarrow.parquet.write_table(rows, tmp_path / "a.parquet", row_group_size=257)
    folder = tmp_path / "parts"
    folder.mkdir()
    for place, start in enumerate(range(0, 3_000, 700)):
        pyarrow.parquet.write_table(rows.slice(start, 700), folder / f"{place}.parquet")
    pyarrow.csv.write_csv(rows, tmp_path / "a.csv")
    shuffled = rows.take(pa.array(np.random.default_rng(1).permutation(3_000)))
    for data in (tmp_path / "a.parquet", folder, tmp_path / "a.csv", shuffled, rows.to_pandas()):
        assert same_answers(released(data), whole), data


def hostile() -> dict[str, pa.Table]:
    x, y = records(400)
    label = np.array(["a", "b", "c"])[y]
    usual = {name: x[:, j] for j, name in enumerate(NAMES)} | {"y": label}
    return {
        "nulls": pa.table(usual | {"x_0": pa.nulls(400, pa.float64()), "y": pa.nulls(400, pa.string())}),
        "not numbers": pa.table(usual | {"x_1": np.full(400, np.nan), "x_2": np.full(400, np.inf)}),
        "far outside": pa.table(usual | {"x_3": np.full(400, 1e300), "x_4": np.full(400, -1e300)}),
        "words": pa.table(usual | {"x_5": ["word"] * 400}),
        "labels not listed": pa.table(usual | {"y": ["z"] * 400}),
        "one value everywhere": pa.table({name: np.full(400, 0.5) for name in NAMES} | {"y": label}),
        "all at the bounds": pa.table({name: RNG.integers(0, 2, 400).astype(float) for name in NAMES} | {"y": label}),
        "columns alike": pa.table(dict.fromkeys(NAMES, x[:, 0]) | {"y": label}),
        "integers": pa.table({name: np.ones(400, dtype=np.int8) for name in NAMES} | {"y": label}),
        "no rows": pa.table(usual).slice(0, 0),
    }


@pytest.mark.parametrize("kind", hostile())
@pytest.mark.parametrize("epsilon", [0.1, 5.0])
def test_whatever_the_rows_hold_it_is_released_and_can_be_drawn_from(kind, epsilon):
    made = released(hostile()[kind], epsilon=epsilon)
    assert len(made.measurements) == 10
    assert [one.what for one in verify(made) if not one.holds] == ["noise from a cryptographic source"]
    sample = made.sample(100, seed=0, output="arrow")
    numbers = np.column_stack([sample.column(name).to_numpy() for name in NAMES])
    assert numbers.min() >= 0
    assert numbers.max() <= 1
    assert set(sample.column("y").to_pylist()) <= {"a", "b", "c"}
    told = made.predict_proba(sample)
    assert np.allclose(told.sum(axis=1), 1)


def test_a_scale_of_logarithms_and_mixed_types_are_released():
    columns = [
        {"name": "x_{0..9}", "type": "number", "bounds": [0.1, 1000], "scale": "log"},
        {"name": "day", "type": "date", "bounds": ["2020-01-01", "2024-12-31"]},
        {"name": "n_{0..4}", "type": "integer", "bounds": [0, 1]},
        {"name": "y", "type": "boolean"},
    ]
    schema = sfumato.Schema.from_dict({"sfumato": 1, "name": "m", "columns": columns, "target": "y"})
    rows = {f"x_{j}": RNG.lognormal(2, 1, 500) for j in range(10)}
    rows["day"] = [dt.date(2021, 1, 1) + dt.timedelta(days=int(n)) for n in RNG.integers(0, 900, 500)]
    rows |= {f"n_{j}": RNG.integers(0, 2, 500) for j in range(5)}
    rows["y"] = RNG.random(500) < 0.3
    made = released(pa.table(rows), schema, epsilon=3.0)
    sample = made.sample(200, seed=1, output="arrow")
    assert sample.schema.field("day").type == pa.date32()
    assert sample.schema.field("y").type == pa.bool_()
    assert min(sample.column("x_0").to_pylist()) >= 0.1
    assert set(sample.column("n_0").to_pylist()) <= {0, 1}


class TestCommandLine:
    @pytest.fixture
    def place(self, tmp_path):
        pyarrow.parquet.write_table(table(*records(2_000)), tmp_path / "t.parquet")
        (tmp_path / "s.yaml").write_text(wide_schema().to_yaml())
        return tmp_path

    def run(self, *words):
        return CliRunner().invoke(app, [str(word) for word in words])

    def test_the_whole_path(self, place):
        bundle = place / "b.sfumato"
        words = ["release", place / "t.parquet", "--schema", place / "s.yaml", "--epsilon", "2", "--out", bundle]
        done = self.run(*words, "--mechanism", "subspace", "--ledger", place / "l.sqlite")
        assert done.exit_code == 0, done.output
        assert "second moments of records in 30 directions" in " ".join(done.output.split())
        assert self.run("verify", bundle).exit_code == 0
        drawn = self.run("sample", bundle, "-n", 30, "--given", "x_0=0.5,y=a", "--out", place / "p.csv")
        assert drawn.exit_code == 0, drawn.output
        rows = pyarrow.csv.read_csv(place / "p.csv")
        assert rows.column_names == [*NAMES, "y"]
        assert set(rows.column("y").to_pylist()) == {"a"}
        assert self.run("report", bundle, "--out", place / "r.html").exit_code == 0
        assert "x_29" in (place / "r.html").read_text()
        assert self.run("inspect", bundle).exit_code == 0

    def test_a_range_is_refused_with_a_reason(self, place):
        words = ["release", place / "t.parquet", "--schema", place / "s.yaml", "--epsilon", "2"]
        self.run(*words, "--mechanism", "subspace", "--out", place / "b.sfumato", "--ledger", place / "l.sqlite")
        failed = self.run("sample", place / "b.sfumato", "--given", "x_0=0.2..0.4", "--out", place / "p.csv")
        assert failed.exit_code == 2
        assert "single values" in " ".join(failed.stderr.split())
        assert not (place / "p.csv").exists()


def test_room_is_claimed_for_second_moments():
    """Two triangles of 8-byte numbers at least, before a budget is spent."""
    assert room_for(wide_schema(4_096)) > 2 * 8 * 4_096 * 4_097 // 2
