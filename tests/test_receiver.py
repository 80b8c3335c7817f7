"""What a receiver can ask, and what they need for it."""

import datetime as dt
import itertools
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.integrate import trapezoid

import sfumato
from sfumato.artefact.requests import refuse_misspelt
from sfumato.errors import BundleError, OutputError, RequestError
from sfumato.fitting.conditions import check_column, parse_given
from tests.conftest import MIXED, make_table


@pytest.fixture(scope="module")
def release():
    return sfumato.release(
        make_table(5_000), sfumato.Schema.from_yaml(MIXED), epsilon=2.0, ledger=None, types="declared"
    )


def test_a_sample_stays_within_the_schema(release):
    frame = release.sample(5_000).to_pandas()
    assert frame["age"].between(0, 99).all()
    assert frame["wage"].between(0, 1000).all()
    assert frame["debt"].dropna().between(1, 1e6).all()
    assert set(frame["job"].dropna()) <= {"nurse", "cook", "clerk"}
    assert frame["born"].between(dt.date(1920, 1, 1), dt.date(2020, 12, 31)).all()
    assert frame["debt"].isna().mean() == pytest.approx(0.15, abs=0.05)


def test_samples_of_any_size(release):
    assert len(release.sample()) == release.size
    assert len(release.sample(0)) == 0
    assert release.sample(0).schema == release.sample(3).schema
    assert len(release.sample(300_001)) == 300_001
    for rows in (3.0, np.int8(3), np.float32(3), np.array([3])[0]):
        assert len(release.sample(rows)) == 3


@pytest.mark.parametrize("what", ["rows", "seed"])
@pytest.mark.parametrize("value", [-1, 2.5, "10", True, math.nan, math.inf, [3], 1j, -1.0])
def test_numbers_of_rows_and_seeds_are_integers(release, what, value):
    with pytest.raises(RequestError, match=r"is .*; it must (be an integer from 0 on|not be below 0)"):
        release.sample(**{"rows": 3, what: value})


def test_a_seed_may_be_any_kind_of_integer(release):
    assert release.sample(5, seed=np.int64(3)).equals(release.sample(5, seed=3.0))


def test_seeds_repeat_a_sample(release):
    assert release.sample(20, seed=5).equals(release.sample(20, seed=5))
    assert not release.sample(20, seed=5).equals(release.sample(20, seed=6))
    assert not release.sample(20).equals(release.sample(20))


def test_a_sample_does_not_depend_on_cores_or_on_how_it_is_asked(release, monkeypatch):
    monkeypatch.setattr("sfumato.artefact.sampling._ROWS_AT_ONCE", 1_000)
    whole = release.sample(4_500, seed=5, output="arrow")
    for threads in (1, 3):
        monkeypatch.setattr("sfumato.artefact.part_workers.cores", lambda threads=threads: threads)
        parts = list(release.sample_tables(4_500, seed=5))
        assert [part.num_rows for part in parts] == [1_000] * 4 + [500]
        assert pa.concat_tables(parts).equals(pa.concat_tables(list(release.sample_tables(4_500, seed=5))))
        assert release.sample(4_500, seed=5, output="arrow").equals(whole)


def test_parts_that_nobody_asks_for_are_not_drawn(release, monkeypatch):
    monkeypatch.setattr("sfumato.artefact.sampling._ROWS_AT_ONCE", 10)
    parts = release.sample_tables(10_000_000, seed=5)
    assert next(parts).num_rows == 10
    parts.close()


def test_listed_texts_may_come_as_dictionaries(release):
    plain, referred = (
        pa.concat_tables(release.sample_tables(500, seed=5, dictionaries=asked)) for asked in (False, True)
    )
    assert pa.types.is_dictionary(referred.schema.field("job").type)
    assert referred.cast(plain.schema).equals(plain)


def test_predictions_do_not_depend_on_parts(release, monkeypatch):
    drawn = release.sample(1_000, seed=1)
    whole = release.predict_proba(drawn)
    monkeypatch.setattr("sfumato.artefact.prediction._PREDICTED_AT_ONCE", 64)
    assert np.array_equal(release.predict_proba(drawn), whole)


CONDITIONS = {
    "a range": ({"age": (40, 60)}, lambda row: 40 <= row["age"] <= 60),
    "an open range": ({"age": (90, None)}, lambda row: row["age"] >= 90),
    "a value": ({"job": "cook"}, lambda row: row["job"] == "cook"),
    "a set": ({"job": {"cook", "nurse"}}, lambda row: row["job"] in ("cook", "nurse")),
    "a missing value": (
        {"debt": None, "job": [None, "cook"]},
        lambda row: row["debt"] is None and row["job"] in (None, "cook"),
    ),
    "an atom": ({"wage": 0}, lambda row: row["wage"] == 0.0),
    "a number that is no atom": ({"wage": 512.5}, lambda row: abs(row["wage"] - 512.5) < 0.01),
    "atoms in a range": ({"wage": (0, 0.001)}, lambda row: row["wage"] <= 0.002),
    "truth": ({"member": True}, lambda row: row["member"] is True),
    "days": ({"born": (dt.date(1990, 1, 1), "1999-12-31")}, lambda row: 1990 <= row["born"].year <= 1999),
    "between whole numbers": ({"age": (40.5, 60.2)}, lambda row: 41 <= row["age"] <= 60),
    "a narrow range": ({"wage": (10.2, 10.20001)}, lambda row: 10.2 <= row["wage"] <= 10.20001),
    "two seconds": (
        {"seen": ("2024-03-01T00:00:00", "2024-03-01T00:00:01")},
        lambda row: row["seen"] in (dt.datetime(2024, 3, 1), dt.datetime(2024, 3, 1, 0, 0, 1)),
    ),
    "moments": ({"seen": ("2024-03-01", "2024-03-31T23:59:59")}, lambda row: row["seen"].month == 3),
    "text for everything": (
        {"age": ("40", "60"), "member": "yes"},
        lambda row: 40 <= row["age"] <= 60 and row["member"],
    ),
}


@pytest.mark.parametrize(("given", "holds"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_conditioned_sample_keeps_the_condition(release, given, holds):
    rows = release.sample(300, given=given).to_pylist()
    assert all(holds(row) for row in rows)


def test_conditions_update_the_target(release):
    young, old = (
        release.condition({"age": ages}).marginal("ill").to_pylist()[1]["probability"] for ages in ((0, 30), (70, 99))
    )
    assert old > young + 0.1
    assert release.condition({"age": (0, 30)}).size < release.size


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"agee": 3}, "no column 'agee' \\(did you mean 'age'\\?\\)"),
        ({"age": 300}, "'age' has no value 300"),
        ({"age": (60, 40)}, "60 to 40 is no range"),
        ({"age": (200, 300)}, "lies outside of the bounds"),
        ({"age": ("a", "b")}, "no range"),
        ({"job": "pilot"}, "no value 'pilot'; it has nurse, cook, clerk"),
        ({"job": ("a", "b")}, "no order"),
        ({"age": None}, "no missing values"),
        ({"age": object()}, "no value"),
        ({"age": (40.6, 40.9)}, "no range"),
        ({"job": "\ud800"}, "no value"),
        ({3: 4}, "no column 3"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(release, given, message):
    with pytest.raises(RequestError, match=message):
        release.condition(given)


def test_conditions_on_the_command_line():
    assert parse_given("age=40..60,sex=F|M,ward=,born=..1999-12-31,x=3") == {
        "age": ("40", "60"),
        "sex": {"F", "M"},
        "ward": None,
        "born": (None, "1999-12-31"),
        "x": "3",
    }
    assert parse_given("age=40..60", "sex=F") == parse_given("age=40..60,sex=F")
    for text in ("age", "=3", "age=1,,b=2"):
        with pytest.raises(RequestError, match="is not a condition"):
            parse_given(text)
    for twice in (("sex=F,sex=M",), ("sex=F", "age=3", "sex=M")):
        with pytest.raises(RequestError, match=r"'sex' stands in two conditions; .*sex=a\|b"):
            parse_given(*twice)


@pytest.mark.slow
def test_log_prob_is_a_density_in_the_users_units(release):
    """Whole numbers: probabilities that add up; numbers: a density that integrates."""
    ages = pa.table({"age": np.arange(0, 100)})
    assert np.exp(release.log_prob(ages)).sum() == pytest.approx(1)
    wages = np.linspace(1e-3, 1000 - 1e-3, 400_001)
    density = np.exp(release.log_prob(pa.table({"wage": wages})))
    atoms = np.exp(release.log_prob(pa.table({"wage": [0.0, 100.0, 1000.0]}))).sum()
    assert trapezoid(density, wages) + atoms == pytest.approx(1, abs=0.01)
    debts = np.geomspace(1.0001, 999_999, 200_000)
    density = np.exp(release.log_prob(pa.table({"debt": debts})))
    single = np.exp(release.log_prob(pa.table({"debt": [1.0, 1e6, None]}))).sum()
    assert trapezoid(density, debts) + single == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_log_prob_of_long_ranges_of_whole_numbers_adds_up(scale):
    schema = sfumato.Schema.from_yaml(
        f"{{sfumato: 1, name: t, columns: [{{name: n, type: integer, bounds: [0, 2000000], scale: {scale}}}]}}"
    )
    rng = np.random.default_rng(0)
    table = pa.table({"n": rng.geometric(0.02, 5_000)})
    release = sfumato.release(table, schema, epsilon=2.0, ledger=None, types="declared")
    mass = np.exp(release.log_prob(pa.table({"n": np.arange(2_000_001)})))
    assert mass.sum() == pytest.approx(1)
    drawn = release.sample(50_000, seed=1).column("n").to_numpy()
    assert (drawn < 50).mean() == pytest.approx(mass[:50].sum(), abs=0.01)


def test_predictions_take_any_frame(release):
    table = make_table(50)
    reference = release.predict_proba(table)
    assert release.classes == ["no", "yes"]
    assert reference.shape == (50, 2)
    assert np.allclose(release.predict_proba(table.to_pandas()), reference)
    assert np.allclose(release.predict_proba(pl.from_arrow(table)), reference)
    assert np.allclose(release.predict_proba(table.drop(["ill"])), reference)
    assert release.predict_proba(table.slice(0, 0)).shape == (0, 2)
    with pytest.raises(RequestError, match="a list is not a table"):
        release.predict_proba([1, 2])
    for ask in (release.predict_proba, release.log_prob):
        for stranger in (
            pd.DataFrame({"x": [1]}),
            pa.table({"x": [1]}),
            table.append_column("age", table.column("age")),
        ):
            with pytest.raises(RequestError, match="no column of the schema, or has one twice"):
                ask(stranger)


QUESTIONS = {
    "marginal": lambda release, name: release.marginal(name),
    "mean": lambda release, name: release.mean(name),
    "mean given": lambda release, name: release.mean("age", given={name: 3}),
    "summary": lambda release, name: release.summary(name),
    "quantile": lambda release, name: release.quantile(name, 0.5),
    "cdf": lambda release, name: release.cdf(name, 0.5),
    "condition": lambda release, name: release.condition({name: 3}),
    "sample": lambda release, name: release.sample(3, given={name: 3}),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_a_misspelt_column_is_an_error_that_names_the_nearest(release, ask):
    with pytest.raises(RequestError, match=r"no column 'wgae' \(did you mean 'wage'\?\); there are age, job, wage"):
        ask(release, "wgae")
    with pytest.raises(RequestError, match="no column 7; there are age"):
        ask(release, 7)


def test_an_error_lists_no_more_columns_than_a_person_reads():
    columns = {f"x_{place}": None for place in range(100_000)}
    with pytest.raises(RequestError, match="x_19 and 99980 more"):
        check_column("y", columns)


@pytest.mark.parametrize("name", ["wgae", "Wage", "wages", " wage", "w-age", "WAGE"])
def test_a_misspelt_column_of_a_table_is_an_error(release, name):
    table = make_table(5).rename_columns({"wage": name})
    for ask in (release.predict_proba, release.predict, release.log_prob):
        with pytest.raises(RequestError, match=f"no column 'wage', but one named '{name}'; rename it"):
            ask(table)


def test_columns_that_are_strangers_or_absent_are_no_error(release):
    table = make_table(5)
    few = table.select(["age", "job"])
    for name in ("wage_2", "salary", "page_of_wages", "3", ""):
        assert np.array_equal(release.log_prob(few.append_column(name, few.column("age"))), release.log_prob(few))
    aside = table.append_column("wages", table.column("wage"))  # beside the column itself it is just another
    assert np.array_equal(release.predict_proba(aside), release.predict_proba(table))
    no_target = table.rename_columns({"ill": "Ill"})  # nobody needs the target to predict it
    assert np.array_equal(release.predict_proba(no_target), release.predict_proba(table))
    with pytest.raises(RequestError, match="no column 'ill', but one named 'Ill'"):
        release.log_prob(no_target)


def test_numbered_columns_are_not_taken_for_each_other():
    refuse_misspelt([f"x_{place}" for place in range(1_000)], [], [f"x_{place}" for place in range(1_000, 2_000)])
    with pytest.raises(RequestError, match="no column 'x_7', but one named 'X7'"):
        refuse_misspelt(["X7"], ["x_7"], ["x_7"])


@pytest.mark.parametrize("given", ["age=40..60", [("age", 3)], 3, {"age"}])
def test_a_condition_is_a_dictionary(release, given):
    with pytest.raises(RequestError, match=f"dictionary such as .*; a {type(given).__name__} was given"):
        release.sample(3, given=given)


@pytest.mark.parametrize("share", ["0.5", None, 1.5, -0.1, math.nan, 1j])
def test_a_share_is_a_number_from_0_to_1(release, share):
    with pytest.raises(RequestError, match="a share from 0 to 1"):
        release.quantile("age", share)


def test_paths_that_lead_nowhere(release, tmp_path):
    for path, message in (
        (None, "a NoneType is not the path of a bundle"),
        (release, "a Release is not the path"),
        (tmp_path, "a folder, not a file"),
        (tmp_path / "no", "No such file or directory.*check the path"),
    ):
        with pytest.raises(BundleError, match=message):
            sfumato.open(path)
    with pytest.raises(OutputError, match=rf"there is no folder {tmp_path / 'no'}; make it"):
        release.save(tmp_path / "no" / "b.sfumato")
    with pytest.raises(OutputError, match="is there already"):
        release.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_predictions_know_the_missing_class():
    schema = sfumato.Schema.from_yaml(MIXED.replace("target: ill", "target: job"))
    release = sfumato.release(make_table(2_000), schema, epsilon=1.0, ledger=None, types="declared")
    assert release.classes == ["nurse", "cook", "clerk", None]
    given = release.condition({"job": ["nurse", "cook"]})
    proba = given.predict_proba(make_table(5))
    assert proba.shape == (5, 4)
    assert np.allclose(proba[:, 2:], 0)


def test_without_a_target_nothing_can_be_predicted():
    schema = sfumato.Schema.from_yaml(MIXED.replace("target: ill", ""))
    release = sfumato.release(make_table(100), schema, epsilon=1.0, ledger=None, types="declared")
    with pytest.raises(RequestError, match="names no target"):
        release.predict_proba(make_table(5))


def test_marginals_are_tables(release):
    wage = release.marginal("wage").to_pylist()
    assert all(row["first"] <= row["last"] for row in wage)
    assert all(left["last"] <= right["first"] + 1e-2 for left, right in itertools.pairwise(wage))
    assert sum(row["probability"] for row in wage) == pytest.approx(1)
    assert all(row["low"] <= row["probability"] <= row["high"] for row in wage)
    debt = release.marginal("debt").to_pylist()
    assert debt[-1]["first"] is None
    assert isinstance(release.marginal("ill", output="pandas"), pd.DataFrame)
    with pytest.raises(RequestError, match="no column 'x'"):
        release.marginal("x")


def test_a_conditioned_release_can_be_saved(release, tmp_path):
    given = release.condition({"age": (40, 60), "debt": None})
    given.save(tmp_path / "given.sfumato")
    again = sfumato.open(tmp_path / "given.sfumato")
    assert again.sample(50, seed=2).equals(given.sample(50, seed=2))
    assert again.statement == release.statement


RECEIVE = """
import sys
ABSENT = {"scipy", "pandas", "polars", "mpmath", "typer", "rich", "jinja2", "sqlite3", "yaml", "sklearn", "lightgbm"}
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ABSENT:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NotInstalled())
import sfumato
release = sfumato.open(sys.argv[1])
rows = release.sample(10)
release.log_prob(rows), release.predict_proba(rows), release.marginal("age"), release.condition({"age": (20, 30)})
private = ("trusted.curator", "trusted.sources", "trusted.noise", "trusted.ledger", "api", "fitting.mechanisms")
print(len(rows), [name for name in private if f"sfumato.{name}" in sys.modules])
"""


def test_a_receiver_needs_numpy_pyarrow_and_pydantic_and_no_private_side(release, tmp_path):
    release.save(tmp_path / "b.sfumato")
    run = subprocess.run(
        [sys.executable, "-c", RECEIVE, str(tmp_path / "b.sfumato")], capture_output=True, text=True, check=False
    )
    assert run.stdout == "10 []\n", run.stderr


def test_statements_speak_plainly(release):
    statement = release.statement
    assert (
        "changes by a factor of at most e^2 = 7.389, except with an additional probability of at most 1e-06"
        in statement.promise
    )
    assert statement.remainder == "The whole budget of this release is spent."
    assert len(statement.not_protected) == 5
    assert statement.mu == pytest.approx(math.hypot(*(item.mu for item in release.measurements)))
