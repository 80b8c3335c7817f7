"""Plans: the questions that a release then asks, forecasts that improve with what is spent, and clear errors."""

import inspect
import json
import math
from collections import Counter

import pytest

import sfumato
from sfumato.errors import BudgetError, RequestError, SchemaError
from sfumato.planning.curve import EPSILONS
from sfumato.planning.stages import stages_of
from sfumato.trusted.schema import Schema
from tests.conftest import MIXED
from tests.mechanisms.every import every_case

CASES = [name for name in every_case() if name != "subspace of pictures"]  # see below
INCOMPLETE = MIXED.replace("bounds: [0, 99]", "bounds: estimate").replace(
    "values: [nurse, cook, clerk]", "values: discover"
)


def plan(schema, **more):
    return sfumato.plan(schema, **{"rows": 20_000, "epsilon": 1.0, **more})


KNOWN = {"tables": {}, "no formula": {"mechanism": "3a", "adapt": "none"}}


@pytest.mark.parametrize("name", CASES)
def test_the_planned_questions_are_those_that_a_release_asks(name):
    """As often, in the order and with the mu and, where their form is sure, with the noise."""
    case = every_case()[name]
    planned = plan(case.schema, epsilon=4.0, delta=1e-5, rows=1_500, **case.settings)
    asked = case.release().measurements
    assert [stage.mu for stage in stages_of(planned.request.mechanism_plan)] == [one.mu for one in asked]
    for question, one in zip(planned.questions, asked, strict=True):
        assert question.typical or (question.what, question.sigma) == (one.statistic.title, one.sigma)
    assert sum(question.share for question in planned.questions) == pytest.approx(1, abs=1e-6)


def test_of_pictures_no_more_is_asked_than_planned():
    """Some questions are left out where earlier answers say so, and the order differs."""
    case = every_case()["subspace of pictures"]
    planned = plan(case.schema, epsilon=4.0, delta=1e-5, rows=1_500, **case.settings)
    mus = Counter(stage.mu for stage in stages_of(planned.request.mechanism_plan))
    assert Counter(one.mu for one in case.release().measurements) <= mus


def test_the_usual_parts_of_the_framework_are_planned_as_tables_are():
    planned, usual = (plan(Schema.from_yaml(MIXED), mechanism=mechanism) for mechanism in ("3a", "tables"))
    assert planned.questions == usual.questions
    assert planned.quality == usual.quality
    assert planned.notes == usual.notes
    assert "by 3a (anonymize tables, approximate mixture, adapt gradients)," in planned.statement


@pytest.mark.parametrize(
    ("mechanism", "settings"),
    [
        ("3a", {"anonymize": "kernel"}),
        ("3a", {"adapt": "none"}),
        ("3a", {"share": 0.5}),
        ("3a", {"anonymize": "slices", "approximate": "generator", "adapt": "released"}),
        ("slices", {}),
    ],
)
def test_where_no_formula_was_fitted_no_interval_is_promised(mechanism, settings):
    planned = plan(Schema.from_yaml(MIXED), mechanism=mechanism, **settings)
    assert planned.request.choices.items() >= settings.items()
    (note,) = (words for words in planned.notes if "No formula was fitted" in words)
    assert all(f"{name} {choice}" in note for name, choice in settings.items())
    assert "was not tried" in planned.interval_words
    assert not any("four tables out of five" in words for words in planned.notes)


def test_an_epsilon_that_was_chosen_without_a_formula_promises_no_reach():
    chosen = {
        name: plan(Schema.from_yaml(MIXED), epsilon=None, target_gap=0.03, **more) for name, more in KNOWN.items()
    }
    assert any("one time in ten" in words for words in chosen["tables"].notes)
    assert not any("one time in ten" in words for words in chosen["no formula"].notes)


def test_a_share_is_what_adapt_spends_at_every_epsilon():
    planned = plan(Schema.from_yaml(MIXED), mechanism="3a", anonymize="kernel", adapt="leaves", share=0.2)
    leaves = [question.share for question in planned.questions if "leaves of a tree" in question.what]
    assert sum(leaves) == pytest.approx(0.2, rel=1e-3)
    assert planned.request.at(3.0).settings == planned.request.settings
    assert [question.share for question in planned.questions if "embedding" in question.what] == [
        pytest.approx(0.8 * 0.6, rel=1e-3)
    ]


@pytest.mark.parametrize("name", ["plan", "audit", "release"])
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"adapt": "none"}, "adapt: for mechanism 3a alone"),
        ({"mechanism": "slices", "share": 0.1}, "share: for mechanism 3a alone"),
        ({"mechanism": "3a", "components": 3}, "components are for mechanism mixture"),
        ({"mechanism": "3a", "anonymize": "masks"}, "anonymize is 'masks'; use one of tables, slices, kernel"),
        ({"mechanism": "3a", "adapt": "released", "share": 0.1}, "costs nothing; leave out share"),
        ({"mechanism": "3a", "share": 1.0}, "above 0 and below 1"),
    ],
)
def test_a_plan_and_an_audit_refuse_what_a_release_refuses(name, settings, words, schema, table):
    call = {
        "plan": lambda: plan(schema, **settings),
        "audit": lambda: sfumato.audit(schema, epsilon=1.0, **settings),
        "release": lambda: sfumato.release(table, schema, epsilon=1.0, ledger=None, **settings),
    }[name]
    with pytest.raises(RequestError, match=words):
        call()


def test_pairs_have_the_noise_of_a_release_without_a_target():
    """Where a target decides no weights, those of pairs differ by their cells alone."""
    case = every_case()["tables, constraints"]
    planned = plan(case.schema, epsilon=4.0, delta=1e-5)
    assert planned.questions[1].sigma == pytest.approx(case.release().measurements[1].sigma, rel=0.5)


@pytest.mark.parametrize("name", ["tables", "tables, constraints", "mixture", "subspace"])
def test_more_epsilon_or_more_rows_never_worsen_a_forecast(name):
    case = every_case()[name]
    by_epsilon = [point.quality for point in plan(case.schema, **case.settings).curve]
    by_rows = [plan(case.schema, rows=rows, **case.settings).expected for rows in (300, 1_000, 10_000, 10**6)]
    for found in (by_epsilon, by_rows):
        for name in ("smallest_group", "column_error", "pair_error", "mean_error", "prediction_gap"):
            values = [getattr(one, name) or 0.0 for one in found]
            assert values == sorted(values, reverse=True)


def test_risk_grows_with_epsilon_and_knows_persons(schema):
    planned = plan(schema)
    gains = [point.advantage for point in planned.curve]
    assert gains == sorted(gains)
    assert len(gains) == len(EPSILONS)
    person = every_case()["tables"].by_person(3).schema
    by_person = plan(person)
    assert by_person.risk.mu == pytest.approx(planned.risk.mu, rel=1e-6)  # the budget is a person's
    assert by_person.questions[1].sigma == pytest.approx(3 * planned.questions[1].sigma, rel=1e-6)
    assert "a given person, with all of their records, is in the table" in by_person.risk_sentence


@pytest.mark.parametrize(
    ("adjacency", "words"),
    [
        ("add-remove", "whether a given record is in the table"),
        ("replace", "which of two possible contents a given record has"),
        ("label", "which of two target values a given record has"),
    ],
)
def test_the_risk_is_worded_for_what_is_protected(schema, adjacency, words):
    assert words in plan(schema, adjacency=adjacency).risk_sentence


def test_noise_is_told_in_the_units_of_a_column(schema):
    planned = plan(schema)
    columns = {one.name: one for one in planned.columns}
    assert columns["age"].records == pytest.approx(planned.questions[1].records * math.sqrt(2))
    assert columns["age"].cells == 100
    wide = schema.to_dict()
    wide["columns"][0]["bounds"] = [0, 990]
    assert columns["job"].mean is None
    assert columns["debt"].mean is None
    assert plan(Schema.from_dict(wide)).columns[0].mean > 5 * columns["age"].mean
    assert "its mean off by about " in columns["age"].words


def test_what_is_to_be_found_is_paid_for_and_said():
    planned = plan(Schema.from_yaml(INCOMPLETE))
    whats = [question.what for question in planned.questions]
    assert whats[0] == "the list of values of job"
    assert whats[1] == "bounds of age"
    assert sum(question.share for question in planned.questions) == pytest.approx(1, abs=1e-6)
    assert any("job" in note and "20 values" in note for note in planned.notes)
    assert {one.name: one for one in planned.columns}["age"].mean is None
    assert planned.expected.mean_error is None
    assert planned.risk.delta_keys > 0


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"rows": 0}, RequestError, "1 or more"),
        ({"rows": -5}, RequestError, "rows is -5"),
        ({"rows": 2.5}, RequestError, "must be an integer"),
        ({"rows": True}, RequestError, "must be an integer"),
        ({"rows": float("nan")}, RequestError, "must be an integer"),
        ({"rows": "many"}, RequestError, "must be an integer"),
        ({"epsilon": "much"}, BudgetError, "epsilon is 'much'"),
        ({"epsilon": -1.0}, BudgetError, "above 0"),
        ({"delta": 0.0}, BudgetError, "delta is 0.0"),
        ({"mechanism": "magic"}, RequestError, "use one of auto, tables"),
        ({"mechanism": "mixture"}, SchemaError, "job"),
        ({"adjacency": "nobody"}, RequestError, "add-remove"),
        ({"epsilon": None}, RequestError, "give either epsilon"),
        ({"target_gap": 0.1}, RequestError, "both are given"),
        ({"epsilon": None, "target_gap": 0.0}, RequestError, "target_gap is 0.0"),
        ({"epsilon": None, "max_advantage": 1.5}, RequestError, "between 0 and 1"),
    ],
)
def test_bad_input_is_refused_in_words(schema, more, error, words):
    with pytest.raises(error, match=words.replace("(", r"\(")):
        plan(schema, **more)


def test_a_plan_has_no_place_for_private_data_and_opens_none(schema, monkeypatch):
    from sfumato.planning import proxies, simulation

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a source was opened")

    monkeypatch.setattr(simulation, "open_session", refuse)
    monkeypatch.setattr(proxies, "open_source", refuse)
    monkeypatch.setattr(proxies, "open_table", refuse)
    assert "data" not in inspect.signature(sfumato.plan).parameters
    assert plan(schema).simulated is None
    with pytest.raises(AssertionError, match="opened"):
        plan(schema, like="public.csv")


def test_a_plan_shows_itself_shortly_and_whole(schema):
    planned = plan(schema)
    assert len(repr(planned)) < 200
    assert "epsilon=1" in repr(planned)
    page = planned._repr_html_()
    assert planned.verdict.headline in page
    assert page.count("<svg") == 5
    assert "<script" not in page
    content = json.loads(json.dumps(planned.to_dict()))
    assert content["expected"]["intervals"]["pair_error"][0] < content["expected"]["pair_error"]
    assert len(content["curve"]) == len(EPSILONS)
    assert content["risk"]["advantage"] == planned.risk.advantage


@pytest.mark.parametrize(
    ("more", "beyond"),
    [
        ({"rows": 2_000}, False),
        ({"rows": 1_999}, True),
        ({"rows": 20_000}, False),
        ({"rows": 20_001}, True),
        ({"epsilon": 0.29}, True),
    ],
)
def test_extrapolation_is_said(schema, more, beyond):
    assert any("extrapolated" in note for note in plan(schema, **more).notes) is beyond


def test_an_epsilon_of_its_own_is_a_point_of_the_curve(schema):
    planned = plan(schema, epsilon=0.77)
    assert [point.quality for point in planned.curve if point.epsilon == 0.77] == [planned.expected]
    assert plan(schema, epsilon=40.0).warnings


NUMBERS = {"sfumato": 1, "name": "t", "columns": [{"name": n, "type": "number", "bounds": [0, 1]} for n in "abc"]}
CATEGORY = {"name": "k", "type": "category", "values": ["u", "v"]}


@pytest.mark.parametrize(
    ("content", "rows", "mechanism", "advised"),
    [
        (NUMBERS, 1_000, "auto", True),
        (NUMBERS, 10_000, "auto", False),
        (NUMBERS, 1_000, "mixture", False),
        ({**NUMBERS, "columns": [*NUMBERS["columns"], CATEGORY]}, 1_000, "auto", False),
        ({**NUMBERS, "columns": NUMBERS["columns"][:1]}, 1_000, "auto", False),
        ({**NUMBERS, "target": "a"}, 1_000, "auto", False),
    ],
)
def test_few_rows_of_numbers_alone_are_told_of_mixture(content, rows, mechanism, advised):
    planned = plan(Schema.from_dict(content), rows=rows, epsilon=1, mechanism=mechanism)
    assert any("mechanism mixture" in note for note in planned.notes) is advised
