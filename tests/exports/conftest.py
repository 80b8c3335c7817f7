import datetime as dt

import pytest

import sfumato
from sfumato.artefact.about import About
from tests.conftest import MIXED, make_table


@pytest.fixture(scope="session")
def release():
    schema = sfumato.Schema.from_yaml(MIXED)
    return sfumato.release(make_table(2_000), schema, epsilon=1.0, ledger=None, types="declared")


@pytest.fixture
def about():
    return About(
        custodian="Example | Hospital <b>",
        purpose="research",
        published=dt.date(2026, 1, 31),
        review=dt.date(2028, 1, 31),
        region="Exampleland",
        sector="Healthcare",
        custodian_kind="Nonprofit",
        author="The data office",
        license="CC-BY-4.0",
        url="https://example.org/mixed",
        citation="Example Hospital (2026). Mixed.",
        contact="data@example.org",
        collection="Admissions of 2024.",
    )
