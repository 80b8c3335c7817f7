"""The measured columns that are not columns of the table, as a schema would describe them."""

from collections.abc import Mapping

from sfumato.trusted.constraints.gaps import Gap
from sfumato.trusted.constraints.joints import Joint
from sfumato.trusted.constraints.places import CELLS, Cell
from sfumato.trusted.constraints.totals import Share
from sfumato.trusted.schema import CategoryColumn, Column, IntegerColumn, NumberColumn
from sfumato.trusted.schema.bounds import least_step, span_of
from sfumato.trusted.schema.steps import written

Made = Gap | Share | Cell | Joint
"""What a measured column is made of."""

_EXACT = 1 << 20  # whole numbers up to which each has a code of its own


def define(name: str, one: Made, columns: Mapping[str, Column]) -> Column:
    """The definition of a measured column, from those of the table's columns."""
    if isinstance(one, Share):
        return NumberColumn(name=name, type="number", bounds=(0.0, 1.0))
    if isinstance(one, Joint):
        return CategoryColumn(name=name, type="category", values=one.texts)
    if isinstance(one, Cell):
        missing = columns[one.names[0]].missing
        return IntegerColumn(name=name, type="integer", bounds=(0, CELLS - 1), missing=missing)
    return _distance(name, one, columns)


def _distance(name: str, gap: Gap, columns: Mapping[str, Column]) -> Column:
    """Of numbers in their step, of dates in days, of datetimes in seconds."""
    child = columns[gap.column]
    most = max(span_of(child)[1] - gap.start, least_step(child))
    if child.type != "number":
        scale = "log" if most >= _EXACT else "linear"  # where not every distance has a code, short ones have
        content = {"name": name, "type": "integer", "bounds": (0, round(most)), "scale": scale}
        return IntegerColumn.model_validate({**content, "missing": child.missing})
    spacings = {getattr(columns[other], "spacing", None) for other in gap.reads}
    spacing = spacings.pop() if len(spacings) == 1 else None
    step = None if spacing is None else float(spacing)
    high = most if spacing is None else float(round(written(most) / spacing) * spacing)
    return NumberColumn(name=name, type="number", bounds=(0.0, high), step=step, missing=child.missing)
