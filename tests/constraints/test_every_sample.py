"""Whatever the schema, whatever the rows: no sample ever breaks a constraint."""

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.errors import RequestError, SchemaError
from sfumato.fitting.breaches import find_breaches
from tests.constraints.random_schemas import constrained_schemas, random_table


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(constrained_schemas(), st.sampled_from([0.1, 2.0, 50.0]), st.integers(0, 5), st.data())
def test_no_sample_ever_breaks_a_constraint(content, epsilon, seed, data):
    try:
        schema = sfumato.Schema.from_dict(content)
        release = sfumato.release(
            random_table(content, 80, seed), schema, epsilon=epsilon, ledger=None, types="declared", seed=seed
        )
    except SchemaError:
        assume(False)  # it contradicts itself
    sample = release.sample(400, seed=seed)
    assert {rule: int(broken.sum()) for rule, broken in find_breaches(schema, sample).items() if broken.any()} == {}
    assert np.isfinite(release.log_prob(sample.select(list(schema.by_name)))).all()
    wanted = data.draw(st.sampled_from(sample.to_pylist()))
    name = data.draw(st.sampled_from(list(schema.by_name)))
    try:
        chosen = release.condition({name: wanted[name]}).sample(60, seed=seed)
    except RequestError:
        return  # too rare to be found by drawing
    assert not any(broken.any() for broken in find_breaches(schema, chosen).values())
    if name not in ("lat", "lon"):  # a place is known to its cell
        assert set(chosen.column(name).to_pylist()) == {wanted[name]}
