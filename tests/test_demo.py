import pyarrow.parquet
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.demo import SCHEMA, TABLE
from sfumato.demo.make_clinic import make_clinic


def test_the_embedded_table_is_what_its_script_makes():
    assert pyarrow.parquet.read_table(TABLE).equals(make_clinic())


def test_the_demo_runs_twice(tmp_path):
    for _ in range(2):
        done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "tour")])
        assert done.exit_code == 0, done.output
    made = sorted(path.name for path in (tmp_path / "tour").iterdir())
    assert made == ["clinic.sfumato", "ledger.sqlite", "report.html", "synthetic.csv"]
    assert "in 2 releases" in " ".join(done.output.split())


def test_the_family_runs_too(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--family", "--out", str(tmp_path / "tour")])
    assert done.exit_code == 0, done.output
    made = sorted(path.name for path in (tmp_path / "tour").iterdir())
    assert made == ["hospital.sfumato", "ledger.sqlite", "report.html", "synthetic.sqlite"]
    assert "all of their rows in all tables" in " ".join(done.output.split())


def test_the_schema_holds_every_value_of_the_table():
    """The demonstration's schema was written from the script, so nothing is clamped or unlisted."""
    schema = sfumato.Schema.load(SCHEMA)
    for name, column in pyarrow.parquet.read_table(TABLE).to_pydict().items():
        present = [value for value in column if value is not None]
        if hasattr(schema[name], "values"):
            assert set(present) <= set(schema[name].values)
        elif hasattr(schema[name], "bounds"):
            assert schema[name].bounds[0] <= min(present)
            assert max(present) <= schema[name].bounds[1]
        assert schema[name].missing == (None in column)
