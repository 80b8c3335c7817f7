"""The distribution of a column as a picture, with the band of its noise."""

import pyarrow as pa
from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.listed import listed_chart
from sfumato.charts.ordered import ordered_chart
from sfumato.fitting.models.model import Model
from sfumato.trusted.encoding import Codes, NumericCodec

WIDTH = 340.0


def column_chart(model: Model, name: str, codes: Codes, told: pa.Table) -> Markup:
    """The distribution of a column with the band of its noise, `told` as `Model.describe` tells it.

    Numbers and dates on an axis that shows where the records are; a list with its values by name.
    """
    title = f"Distribution of {name}"
    if isinstance(codes, NumericCodec):
        height, marks = ordered_chart(model, name, codes, told.to_pylist(), WIDTH)
    else:
        height, marks = listed_chart(told.to_pylist(), WIDTH)
    return svg.picture(WIDTH, height, marks, title)
