"""Bounds are bought from a Spark frame as from memory."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import RequestError
from sfumato.trusted.schema import Schema

COLUMNS = [{"name": "x", "type": "number", "bounds": "estimate"}, {"name": "y", "type": "boolean"}]
PERSONS = {"column": "who", "records": 2}


def table() -> pa.Table:
    rng = np.random.default_rng(0)
    who = [f"p{place // 3}" for place in range(3_000)]
    return pa.table({"x": rng.normal(50, 5, 3_000), "y": rng.random(3_000) < 0.5, "who": who})


@pytest.mark.parametrize("unit", [None, PERSONS], ids=["by record", "by person"])
def test_the_same_answers_and_bounds(spark, unit):
    schema = Schema.from_dict({"sfumato": 1, "name": "t", "columns": COLUMNS, "unit": unit})
    made = [
        sfumato.release(data, schema, epsilon=2.0, ledger=None, types=types, seed=1)
        for data, types in ((table(), "declared"), (spark.createDataFrame(table()).repartition(3), None))
    ]
    assert made[0].schema == made[1].schema
    for here, there in zip(made[0].measurements, made[1].measurements, strict=True):
        assert here.values.tobytes() == there.values.tobytes()


def test_lists_are_refused_before_anything_is_spent(spark, tmp_path):
    columns = [*COLUMNS, {"name": "who", "type": "category", "values": "discover"}]
    schema = Schema.from_dict({"sfumato": 1, "name": "t", "columns": columns})
    book = sfumato.Ledger(tmp_path / "ledger")
    with pytest.raises(RequestError, match="not for Spark"):
        sfumato.release(spark.createDataFrame(table()), schema, epsilon=2.0, ledger=book)
    assert book.entries() == []
