"""How small a group of persons survives the noise of a family's release."""

from typing import TYPE_CHECKING

from sfumato.artefact.quality import HALF_WRONG
from sfumato.fitting.families.view_curator import per_person
from sfumato.trusted.families.views import PERSONS
from sfumato.trusted.statistics import Cells, PersonLevel, Statistic

if TYPE_CHECKING:
    from sfumato.artefact.families.release import FamilyRelease


def smallest_family_group(release: "FamilyRelease") -> float | None:
    """The number of persons below which a count of them may be wrong by half; None where nothing was counted."""
    counting = [
        item
        for item in release.measurements
        if isinstance(item.statistic, PersonLevel) and item.statistic.view == PERSONS and _columns_of(item.statistic)
    ]
    if not counting:
        return None
    widest = max(counting, key=lambda item: len(_columns_of(item.statistic)))  # others look where the mass lies
    return HALF_WRONG * per_person(widest).sigma


def _columns_of(asked: Statistic) -> set[str]:
    """The columns that it counts by themselves."""
    inner = asked.statistic if isinstance(asked, PersonLevel) else asked
    if not isinstance(inner, Cells):
        return set()
    return {table[0] for table in inner.tables if len(table) == 1 and table[0] not in inner.of}
