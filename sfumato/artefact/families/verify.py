"""Recompute what only a family's release has: its views, its questions, and the models that follow from the answers."""

import json

from sfumato.artefact.check import SAME, Check, Outcome
from sfumato.artefact.families.bundle import follows_family
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.same_parts import same_content, same_table
from sfumato.errors import BundleError, EarlierDesignError, SfumatoError
from sfumato.fitting.families.model import FamilyModel
from sfumato.fitting.families.plan import FamilyPlan, plan_family
from sfumato.fitting.families.release import refit_family
from sfumato.fitting.families.tuning import FAMILY_TUNING
from sfumato.fitting.tuning import changed_constants, read_constants, stored_constants

_SHOWN = 3  # changes that are named
_TROUBLES = (SfumatoError, LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RuntimeError)


def check_family_schema(release: FamilyRelease) -> Check:
    """Whether every measurement is of a view of the family, and the statement of its persons and tables."""
    statement = release.statement
    fits = all(follows_family(item, release) for item in release.measurements)
    named = statement.dataset == release.schema.name and statement.unit == release.schema.unit
    told = statement.tables == tuple(release.schema.tables)
    detail = f"{len(release.schema.tables)} tables, {len(release.layout.views)} views"
    return Check.of("measurements follow the schema", fits and named and told, detail)


def check_family_model(release: FamilyRelease) -> Check:
    """Whether questions and models follow from schema, budget and answers alone."""
    what = "model follows from the measurements"
    try:
        again = refit(release)
    except EarlierDesignError as error:
        return Check(what, Outcome.UNCHECKED, str(error))
    except _TROUBLES as error:
        return Check.of(what, holds=False, detail=str(error))
    off = again.distance(release.fitted)
    if off > SAME:
        return Check.of(what, holds=False, detail=f"fitted anew; farthest off by {off:.1g}")
    if not _same_models(again, release.fitted):
        detail = f"fitted anew; off by {off:.1g}, more than rounding: another kind of processor, or a change by hand"
        return Check(what, Outcome.UNCHECKED, detail)
    return Check.of(what, holds=True, detail="fitted anew; the same to rounding")


def refit(release: FamilyRelease) -> FamilyModel:
    """The models, fitted anew from the stored plan with the constants of its day."""
    constants = read_constants(release.plan.constants, FAMILY_TUNING)
    with stored_constants(constants):
        try:
            plan = FamilyPlan.from_dict(release.plan.plan, release.layout, release.statement.adjacency)
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            raise BundleError(f"the plan does not fit the schema ({type(error).__name__}: {error})") from None
        return refit_family(release.measurements, plan, release.layout)


def _same_models(one: FamilyModel, other: FamilyModel) -> bool:
    (content, tables), (others, there) = one.to_parts(), other.to_parts()
    return same_content(content, others) and all(same_table(tables[name], there[name]) for name in tables)


def check_family_plan(release: FamilyRelease) -> Check:
    """Whether this version would plan the same. If not, nothing is wrong: a later version may know better."""
    what, statement = "this version would plan the same", release.statement
    try:
        plan = plan_family(release.layout, statement.budget, statement.adjacency)
    except (SfumatoError, TypeError, ValueError) as error:
        return Check(what, Outcome.DIFFERS, f"it would refuse: {error}")
    changes = changed_constants(release.plan.constants, FAMILY_TUNING)
    if json.dumps(plan.to_dict()) != json.dumps(release.plan.plan):
        changes.append("it would ask or spend otherwise")
    if not changes:
        return Check.of(what, holds=True, detail=f"{len(FAMILY_TUNING)} sets of constants")
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    return Check(what, Outcome.DIFFERS, "; ".join(changes[:_SHOWN]) + more)
