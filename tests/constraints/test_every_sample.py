"""Whatever the schema, whatever the rows: no sample ever breaks a constraint."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import RequestError, SchemaError
from sfumato.fitting.violating_rows import find_violating_rows
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.encoding.lists import CategoricalCodec
from tests.constraints.random_schemas import constrained_schemas, random_table

SCHEMAS = given(constrained_schemas(), st.sampled_from([0.1, 2.0, 50.0]), st.integers(0, 5), st.data())
SLOW_CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much]


@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=SLOW_CHECKS)
@SCHEMAS
def test_no_sample_ever_breaks_a_constraint(content, epsilon, seed, data):
    samples_keep_constraints(content, epsilon, seed, data)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, phases=[Phase.generate], suppress_health_check=SLOW_CHECKS)
@SCHEMAS
def test_no_sample_of_new_schemas_ever_breaks_a_constraint(content, epsilon, seed, data):
    samples_keep_constraints(content, epsilon, seed, data)


def samples_keep_constraints(content, epsilon, seed, data) -> None:
    try:
        schema = sfumato.Schema.from_dict(content)
        release = sfumato.release(
            random_table(content, 80, seed), schema, epsilon=epsilon, ledger=None, types="declared", seed=seed
        )
    except SchemaError:
        assume(False)  # it contradicts itself
    sample = release.sample(400, seed=seed)
    assert {
        rule: int(broken.sum()) for rule, broken in find_violating_rows(schema, sample).items() if broken.any()
    } == {}
    assert np.isfinite(release.log_prob(sample.select(list(schema.by_name)))).all()
    wanted = data.draw(st.sampled_from(sample.to_pylist()))
    name = data.draw(st.sampled_from(list(schema.by_name)))
    try:
        chosen = release.condition({name: wanted[name]}).sample(60, seed=seed)
    except RequestError:
        return  # too rare to be found by drawing
    assert not any(broken.any() for broken in find_violating_rows(schema, chosen).values())
    if keeps_exact_values(schema, name):  # a continuous number or a place is known to its cell
        assert set(chosen.column(name).to_pylist()) == {wanted[name]}


def keeps_exact_values(schema: sfumato.Schema, name: str) -> bool:
    codes = codes_of(schema.by_name[name])
    return isinstance(codes, CategoricalCodec) or codes.exact
