"""What many tests need: small schemas, small tables, and the real data where it is at hand."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

from sfumato.trusted import noise
from sfumato.trusted.schema import Schema
from tests.extras import pytest_make_collect_report, pytest_runtest_call, pytest_runtest_setup  # noqa: F401 - hooks

settings.register_profile("default", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("long", deadline=None, max_examples=5_000)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(PROFILE)

MIXED = """
sfumato: 1
name: mixed
columns:
  - {name: age, type: integer, bounds: [0, 99]}
  - {name: job, type: category, values: [nurse, cook, clerk], missing: true}
  - {name: wage, type: number, bounds: [0, 1000], atoms: [0, 100]}
  - {name: debt, type: number, bounds: [1, 1e6], scale: log, missing: true}
  - {name: born, type: date, bounds: [1920-01-01, 2020-12-31]}
  - {name: seen, type: datetime, bounds: [2024-01-01T00:00:00, 2024-12-31T23:59:59]}
  - {name: member, type: boolean}
  - {name: ill, type: category, values: ["no", "yes"]}
target: ill
"""


def without_dates(text: str = MIXED) -> Schema:
    """The schema less its dates, which a frame with inferred types may not hold."""
    whole = Schema.from_yaml(text)
    return whole.model_copy(update={"columns": tuple(column for column in whole.columns if "date" not in column.type)})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """The same noise in every run of a test, as with the examples of a property: a red test is red for whoever looks.

    `make slow` draws fresh examples and fresh noise, and so does every process that a test starts.
    """
    with pytest.MonkeyPatch.context() as patch:
        if PROFILE == "default" and not item.get_closest_marker("fresh_noise"):
            words = noise.SeededNoise(zlib.crc32(item.nodeid.encode()))._words
            patch.setattr(noise, "secure_words", words)
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The scheduler of `--dist loadfile`, with one worker for Spark."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.one_spark import OneSpark

    return OneSpark(config, log)


@pytest.fixture(autouse=True)
def _own_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test writes into the user's ledger."""
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path / "ledger.sqlite"))


@pytest.fixture
def schema() -> Schema:
    return Schema.from_yaml(MIXED)


@pytest.fixture
def table() -> pa.Table:
    return make_table(400)


def make_table(rows: int, seed: int = 0) -> pa.Table:
    """Rows for the mixed schema, some of them missing, some out of bounds."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.3
    days = rng.integers(-18_000, 18_600, rows)
    return pa.table(
        {
            "ill": pa.array(np.where(ill, "yes", "no")),
            "age": pa.array(rng.normal(45 + 15 * ill, 15, rows).astype(int)),
            "job": pa.array(
                np.array(["nurse", "cook", "clerk", "pilot"])[rng.integers(0, 4, rows)], mask=rng.random(rows) < 0.1
            ),
            "wage": pa.array(np.where(rng.random(rows) < 0.2, 0.0, rng.normal(400, 250, rows))),
            "debt": pa.array(np.exp(rng.normal(6, 3, rows)), mask=rng.random(rows) < 0.15),
            "born": pa.array(days.astype(np.int32)).cast(pa.date32()),
            "seen": pa.array(1_704_067_200 + rng.integers(0, 31_000_000, rows)).cast(pa.timestamp("s")),
            "member": pa.array(rng.random(rows) < 0.5),
            "not_in_the_schema": pa.array([f"secret {row}" for row in range(rows)]),
        }
    )


def in_pandas(table: pa.Table) -> Any:
    """The table as a frame that declares its types: pandas keeps dates as objects by default."""
    return table.to_pandas(date_as_object=False)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real data, by a path that can be set."""
    folder = Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set SFUMATO_DATA to a folder that holds it")
    return folder
