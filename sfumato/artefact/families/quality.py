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
    for item in release.measurements:
        asked = item.statistic
        if isinstance(asked, PersonLevel) and asked.view == PERSONS and _counts_columns(asked.statistic):
            return HALF_WRONG * per_person(item).sigma
    return None


def _counts_columns(statistic: Statistic) -> bool:
    """Whether it counts single columns."""
    return isinstance(statistic, Cells) and any(
        len(table) == 1 and table[0] not in statistic.of for table in statistic.tables
    )
