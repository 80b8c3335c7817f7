"""A subspace model, with and without marginals."""

import pytest

from tests.models.subspaces import make


@pytest.fixture(params=[False, True], ids=["clipped", "marginals"])
def model(request):
    return make(marginals=request.param)
