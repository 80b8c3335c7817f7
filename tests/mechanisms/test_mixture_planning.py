"""What a mixture will ask: a function of schema, budget and adjacency alone, and never more than the budget."""

import pytest

from sfumato.errors import BudgetError, RequestError, SchemaError
from sfumato.fitting.mechanisms.mixture.plan import MOST_CLASSES, MOST_COMPONENTS, plan_mixture
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.privacy_filter import units_of
from sfumato.trusted.schema import Schema

BUDGET = Budget(1.0, 1e-6)


def schema_of(columns=2, classes=3, **more) -> Schema:
    """Columns of numbers, and a category as target unless there are no classes."""
    numbers = [{"name": f"x{j}", "type": "number", "bounds": [0, 1]} for j in range(columns)]
    label = [{"name": "y", "type": "category", "values": [f"v{k}" for k in range(classes)]}] if classes else []
    target = {"target": "y"} if classes else {}
    return Schema.from_dict({"sfumato": 1, "name": "t", "columns": [*numbers, *label], **target, **more})


def mus(rounds) -> tuple[float, ...]:
    return (*rounds.waves, *rounds.scores, rounds.probe, *rounds.last)


def spent(plan) -> list[float]:
    """The mu of every question of a plan."""
    if plan.labels is not None:
        return [*plan.labels]
    search = plan.search
    if search is None:
        return [*mus(plan.rounds)]
    return [*search.waves, search.shells, search.boxes, *mus(search.first), *mus(plan.rounds), search.radii]


PLANS = {
    "by target": (schema_of(), Adjacency.ADD_REMOVE),
    "by target, replace": (schema_of(), Adjacency.REPLACE),
    "by target, label": (schema_of(), Adjacency.LABEL),
    "label table": (schema_of(public_features=True), Adjacency.LABEL),
    "unlabelled": (schema_of(classes=0), Adjacency.ADD_REMOVE),
    "unlabelled, replace": (schema_of(classes=0), Adjacency.REPLACE),
}


@pytest.mark.parametrize(("schema", "adjacency"), PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 7.3, 100.0])
def test_the_whole_budget_is_planned_and_nothing_beyond_it(schema, adjacency, epsilon):
    budget = Budget(epsilon, 1e-6)
    asked = spent(plan_mixture(schema, budget, adjacency))
    assert min(asked) > 0
    units = sum(map(units_of, asked))
    assert budget.units - 2 * len(asked) <= units <= budget.units


@pytest.mark.parametrize(("schema", "adjacency"), PLANS.values(), ids=PLANS)
def test_a_plan_says_what_parts_the_records(schema, adjacency):
    plan = plan_mixture(schema, BUDGET, adjacency)
    assert plan.places.names == ("x0", "x1")
    assert plan.adjacency == adjacency
    assert (plan.target is None) == (plan.search is not None)
    assert plan.classes == (3 if plan.target else 1)


def test_public_features_count_under_label_adjacency_alone():
    schema = schema_of(public_features=True)
    assert len(plan_mixture(schema, BUDGET, Adjacency.LABEL).labels) == 3
    for adjacency in (Adjacency.ADD_REMOVE, Adjacency.REPLACE):
        plan = plan_mixture(schema, BUDGET, adjacency)
        assert plan.labels is None
        assert plan == plan_mixture(schema_of(), BUDGET, adjacency)


def test_a_number_as_target_is_a_column_like_the_others():
    schema = schema_of(classes=0, target="x1")
    plan = plan_mixture(schema, BUDGET, Adjacency.ADD_REMOVE)
    assert plan.target is None
    assert plan.places.names == ("x0", "x1")


@pytest.mark.parametrize("components", [None, 1, 7, MOST_COMPONENTS])
def test_the_number_of_components_costs_nothing(components):
    plan = plan_mixture(schema_of(classes=0), BUDGET, Adjacency.ADD_REMOVE, components)
    assert plan.search.components == components
    assert spent(plan) == spent(plan_mixture(schema_of(classes=0), BUDGET, Adjacency.ADD_REMOVE))


REFUSED = {
    "no components": (schema_of(classes=0), 0, RequestError, "0 components are asked for; ask for 1 to 50"),
    "too many components": (schema_of(classes=0), 51, RequestError, "51 components .* or leave it out"),
    "components and a target": (schema_of(), 2, RequestError, "target 'y' says which .* leave components out"),
    "too many columns": (schema_of(33), None, SchemaError, "33 columns of numbers.*1 to 32; use mechanism subspace"),
    "no columns": (schema_of(0), None, SchemaError, "0 columns of numbers"),
    "too many classes": (schema_of(classes=MOST_CLASSES + 1), None, SchemaError, "'y' has more than 1000 classes"),
}


@pytest.mark.parametrize(("schema", "components", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_plan_is_refused(schema, components, error, message):
    with pytest.raises(error, match=message):
        plan_mixture(schema, BUDGET, Adjacency.ADD_REMOVE, components)


def test_the_most_that_is_allowed_is_planned():
    plan = plan_mixture(schema_of(32, MOST_CLASSES), BUDGET, Adjacency.ADD_REMOVE)
    assert (len(plan.places.names), plan.classes) == (32, MOST_CLASSES)


def test_label_adjacency_needs_a_category():
    with pytest.raises(SchemaError, match="protects a category, and the target is none; use mechanism tables"):
        plan_mixture(schema_of(classes=0, target="x1"), BUDGET, Adjacency.LABEL)


def test_a_budget_too_small_for_the_lattice_is_refused():
    with pytest.raises(BudgetError, match="too small to split over the measurements; raise epsilon"):
        plan_mixture(schema_of(), Budget(2e-5, 1e-12), Adjacency.ADD_REMOVE)
