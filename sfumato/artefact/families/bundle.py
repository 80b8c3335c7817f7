"""The layout of a bundle that holds the release of a family of tables.

schema.json         the family's schema
header.json         kind of frame and type of every column of a sample, table by table
statement.json      the privacy statement
plan.json           what was to be measured of every view, what each question could spend, the constants of its day
parts.json          what several members have in common, by hash
measurements.json   the statistics that were measured, in order, with mu and sigma
measurements/*      their noisy values
model.json, model/* the fitted models, one for each view
"""

import json
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from sfumato.archive.members import from_arrow_file, from_json, to_arrow_file, to_json, write_members
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.shared_parts import check_repeats, restore, share
from sfumato.artefact.statement import PrivacyStatement
from sfumato.errors import BundleError
from sfumato.fitting.families.model import FamilyModel
from sfumato.fitting.stored_plan import StoredPlan
from sfumato.trusted.encoding import Header
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.feature_maps.grid import count_stretched
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.statistics import PersonLevel, size_of

_JSON = ("schema.json", "header.json", "statement.json", "plan.json", "parts.json", "measurements.json", "model.json")
_TIMES_STRETCHED = 4  # numbers of long grids for every value that was measured: opening takes memory as the file does
_MOST_STRETCHED = 1 << 16  # of models of small tables


def write_family_bundle(release: FamilyRelease, file: BinaryIO) -> None:
    """Write the bundle of a family to an open file."""
    content, tables = release.fitted.to_parts()
    parts: dict[str, Any] = {}
    measured = share({"measurements": [item.to_dict() for item in release.measurements]}, parts)
    model = share(content, parts)
    header = {name: {"frame": one.frame, "types": dict(one.types)} for name, one in release.header.items()}
    members = {
        "schema.json": to_json(release.schema.to_dict()),
        "header.json": to_json({"tables": header}),
        "statement.json": to_json(release.statement.to_dict()),
        "plan.json": to_json(release.plan.to_dict()),
        "parts.json": to_json(parts),
        "measurements.json": to_json(measured),
    }
    for number, measurement in enumerate(release.measurements):
        members[f"measurements/{number:03d}.arrow"] = to_arrow_file(pa.table({"value": measurement.values}))
    members["model.json"] = to_json(model)
    for number, table in enumerate(tables.values()):
        members[f"model/{number:03d}.arrow"] = to_arrow_file(table)
    write_members(members, file)


def read_family(members: dict[str, bytes]) -> FamilyRelease:
    """A release from the members of its bundle; whatever is too little or too much raises."""
    arrays = [name for name in members if name.startswith("measurements/")]
    models = [name for name in members if name.startswith("model/")]
    if list(members) != [*_JSON[:-1], *arrays, _JSON[-1], *models]:
        raise BundleError("the bundle lacks a part or has one that is not known; ask for a fresh copy")
    schema, header, statement, plan, parts, measured, model = (from_json(members[name], name) for name in _JSON)
    check_repeats(parts, measured, model)
    measured, model = restore(measured, parts), restore(model, parts)
    values = [from_arrow_file(members[name], name).column("value").to_numpy() for name in arrays]
    if count_stretched([measured, model, plan]) > _TIMES_STRETCHED * sum(map(len, values)) + _MOST_STRETCHED:
        raise ValueError("grids of the bundle have more cells than were measured")
    if set(measured) != {"measurements"} or set(header) != {"tables"}:
        raise ValueError("measurements or header have parts that are not known")
    family = FamilySchema.from_dict(schema)
    layout = family_layout_of(family)
    tables = [from_arrow_file(members[name], name) for name in models]
    views = [name for name, view in layout.views.items() if view.having is None]
    items = zip(measured["measurements"], values, strict=True)
    release = FamilyRelease(
        family,
        {name: Header(**content) for name, content in header["tables"].items()},
        PrivacyStatement.from_dict(statement),
        StoredPlan.from_dict(plan),
        tuple(Measurement.from_dict(item, array) for item, array in items),
        FamilyModel.from_parts(model, dict(zip(views, tables, strict=True)), layout),
    )
    _check_sound(release)
    return release


def _check_sound(release: FamilyRelease) -> None:
    """Refuse a release whose parts do not speak of the same tables."""
    if list(release.header) != list(release.schema.tables):
        raise ValueError("header and schema have different tables")
    for name, header in release.header.items():
        schema = release.schema.schema_of(name)
        if set(header.types) != {*schema.by_name, *schema.linking}:
            raise ValueError("header and schema have different columns")
    for item in release.measurements:
        if not follows_family(item, release):
            raise ValueError("a measurement is of columns that are not in the schema, or are defined differently there")
        if item.values.dtype != np.int64 or item.values.shape != (size_of(item.statistic),):
            raise ValueError("a measurement has more or fewer numbers than its statistic")
    json.dumps(release.plan.to_dict())


def follows_family(item: Measurement, release: FamilyRelease) -> bool:
    """Whether a measurement is of a view of the family, as the schema has it."""
    asked = item.statistic
    view = release.layout.views.get(asked.view) if isinstance(asked, PersonLevel) else None
    if view is None:
        return False
    targets = [None, *view.targets]
    return any(asked.follows(view.schema.model_copy(update={"target": target})) for target in targets)
