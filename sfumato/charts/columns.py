"""The distribution of a column as a picture, with the band of its noise."""

from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.listed import listed_chart
from sfumato.charts.ordered import ordered_chart
from sfumato.fitting.models.model import Model
from sfumato.trusted.encoding import Codes, NumericCodec

WIDTH = 340.0


def column_chart(model: Model, name: str, codes: Codes) -> Markup:
    """The distribution of a column with the band of its noise.

    Numbers and dates on an axis that shows where the records are; a list with its values by name.
    """
    title = f"Distribution of {name}"
    if isinstance(codes, NumericCodec):
        height, marks = ordered_chart(model, name, codes, WIDTH)
    else:
        height, marks = listed_chart(model.describe(name, codes).to_pylist(), WIDTH)
    return svg.picture(WIDTH, height, marks, title)
