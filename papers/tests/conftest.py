"""The profiles of hypothesis, a ledger of each test's own, and the real data where it is at hand."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from sfumato.trusted import noise

settings.register_profile("default", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("long", deadline=None, max_examples=5_000)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(PROFILE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """The same noise in every run of a test, as in the tests of the library; `make slow` draws fresh noise."""
    with pytest.MonkeyPatch.context() as patch:
        if PROFILE == "default":
            patch.setattr(noise, "secure_words", noise.SeededNoise(zlib.crc32(item.nodeid.encode()))._words)
        return (yield)


@pytest.fixture(autouse=True)
def _own_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test writes into the user's ledger."""
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path / "ledger.sqlite"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real data, by a path that can be set."""
    folder = Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set SFUMATO_DATA to a folder that holds it")
    return folder
