"""The models that a bundle can hold, by kind. Each is loaded when it is first needed."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sfumato.fitting.models.model import Model
from sfumato.trusted.encoding import Codes

_PLAIN = (str, int, float, type(None))


def model_from_parts(content: Mapping[str, Any], table: pa.Table, columns: Mapping[str, Codes]) -> Model:
    """The model that `to_parts` wrote; an unknown kind is refused."""
    settings = content.get("settings", {})
    if not isinstance(settings, dict) or not all(isinstance(one, _PLAIN) for one in settings.values()):
        raise TypeError("the settings of a model are plain values with names")
    match content.get("kind"):
        case "table-mixture":
            from sfumato.fitting.models.table_mixture.model import TableMixture

            model = TableMixture.from_parts(content, table)
            model.must_fit(columns)
            return model
        case "gaussian-mixture":
            from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture

            return GaussianMixture.from_parts(content, table, columns)
        case "subspace":
            from sfumato.fitting.models.subspace.model import SubspaceModel

            return SubspaceModel.from_parts(content, table, columns)
        case other:
            raise ValueError(f"a model of kind {other!r} is not known to this version; update sfumato")
