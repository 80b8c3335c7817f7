"""A mark for tests that read the real data."""

import pytest

pytest.importorskip("pandas")

from experiments.tasks import data_folder


def data_is_there() -> bool:
    try:
        return data_folder().is_dir()
    except SystemExit:
        return False


needs_data = pytest.mark.skipif(not data_is_there(), reason="no real data; set SFUMATO_DATA")
