"""The layout of a bundle: which member holds what of a release, and how it is read back.

schema.json         the schema, as the custodian wrote it or as what was bought completes it
header.json         kind of frame and type of every column of a sample
statement.json      the privacy statement
plan.json           what was to be measured, what each question could spend, the constants of planning and fitting, and
                    the schema as it was written, where bounds or lists were bought
parts.json          what several members have in common, by hash
measurements.json   the statistics that were measured, in order, with mu and sigma
measurements/*      their noisy values
model.json, model.arrow   the fitted model
"""

import errno
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa

from sfumato.archive.members import from_arrow_file, from_json, read_members, to_arrow_file, to_json, write_members
from sfumato.artefact.release import Release
from sfumato.artefact.shared_parts import check_repeats, restore, share
from sfumato.artefact.statement import PrivacyStatement
from sfumato.errors import BundleError, RequestError
from sfumato.fitting.conditions import Condition
from sfumato.fitting.models.model import read_model
from sfumato.fitting.stored_plan import StoredPlan
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Encoder, Header
from sfumato.trusted.feature_maps.grid import count_stretched
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import FamilySchema, Schema
from sfumato.trusted.statistics import size_of

if TYPE_CHECKING:
    from sfumato.artefact.families.release import FamilyRelease

_JSON = ("schema.json", "header.json", "statement.json", "plan.json", "parts.json", "measurements.json", "model.json")
_FAMILY = 2  # version of the schema of a family of tables
_TIMES_STRETCHED = 4  # numbers of long grids for every value that was measured: opening takes memory as the file does
_MOST_RUNS = 1 << 16  # of the conditions on a release
_ROOM, _ROOM_FOR_A_PAIR = 1 << 26, 24  # bytes that a bundle may need, and more of them for every pair of columns


def room_for(schema: Schema | FamilySchema) -> int:
    """Bytes that a bundle may need; claimed on the disk before a budget is spent.

    A wide table is asked for its second moments, three times at most.
    """
    columns = len(schema.by_name if isinstance(schema, Schema) else schema.columns)
    return _ROOM + _ROOM_FOR_A_PAIR * columns * (columns + 1) // 2


def write_bundle(release: Release, file: BinaryIO) -> None:
    """Write the bundle of a release to an open file."""
    content, table = release.fitted.to_parts()
    parts: dict[str, Any] = {}
    measured, model = (
        share(part, parts)
        for part in (
            {"measurements": [item.to_dict() for item in release.measurements]},
            {
                "fitted": content,
                "given": [asdict(condition) for condition in release.given],
                "constants": release.fit_constants,
            },
        )
    )
    arrays = {
        f"measurements/{number:03d}.arrow": to_arrow_file(pa.table({"value": measurement.values}))
        for number, measurement in enumerate(release.measurements)
    }
    members = {
        "schema.json": to_json(release.schema.to_dict()),
        "header.json": to_json({"frame": release.header.frame, "types": dict(release.header.types)}),
        "statement.json": to_json(release.statement.to_dict()),
        "plan.json": to_json(release.plan.to_dict()),
        "parts.json": to_json(parts),
        "measurements.json": to_json(measured),
        **arrays,
        "model.json": to_json(model),
        "model.arrow": to_arrow_file(table),
    }
    write_members(members, file)


def open_release(path: str | Path) -> "Release | FamilyRelease":
    """Open a bundle: the release of a table, or of a family of tables.

    Edge cases
        Not a path, not there, cut short, changed in any byte, of another format, or with content that does not fit
        together: `BundleError`.
    Example
        >>> release.save(folder / "stays.sfumato")
        >>> sfumato.open(folder / "stays.sfumato").statement.epsilon
        1.0
    """
    if not isinstance(path, str | Path):
        raise BundleError(f"a {type(path).__name__} is not the path of a bundle; give the file that `save` wrote")
    try:
        data = _bytes_of(Path(path))
    except (OSError, ValueError) as error:
        raise BundleError(f"{path} cannot be read ({getattr(error, 'strerror', error)}); check the path") from None
    try:
        return _from_members(read_members(data))
    except BundleError as error:
        raise BundleError(f"{path}: {error}") from None


def open_table(path: str | Path) -> Release:
    """Open a bundle that holds the release of a single table; one of a family raises `RequestError`."""
    found = open_release(path)
    if not isinstance(found, Release):
        raise RequestError(f"{path} holds a family of tables, and this is for single tables")
    return found


def _bytes_of(path: Path) -> bytes:
    """The content of a plain file; a device may have no end."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "a folder, not a file" if path.is_dir() else "not a file")
    return path.read_bytes()


def _from_members(members: dict[str, bytes]) -> "Release | FamilyRelease":
    if from_json(members.get("schema.json", b""), "schema.json").get("sfumato") == _FAMILY:
        return _of_family(members)
    arrays = [name for name in members if name.startswith("measurements/")]
    if list(members) != [*_JSON[:-1], *arrays, _JSON[-1], "model.arrow"]:
        raise BundleError("the bundle lacks a part or has one that is not known; ask for a fresh copy")
    try:
        return _assembled(
            *(from_json(members[name], name) for name in _JSON),
            values=[from_arrow_file(members[name], name).column("value").to_numpy() for name in arrays],
            table=from_arrow_file(members["model.arrow"], "model.arrow"),
        )
    except Exception as error:  # noqa: BLE001 - content from anywhere may fail to fit together in any way
        raise BundleError(f"the bundle's content does not fit together ({type(error).__name__}: {error})") from None


def _of_family(members: dict[str, bytes]) -> "FamilyRelease":
    from sfumato.artefact.families.bundle import read_family

    try:
        return read_family(members)
    except BundleError:
        raise
    except Exception as error:  # noqa: BLE001 - content from anywhere may fail to fit together in any way
        raise BundleError(f"the bundle's content does not fit together ({type(error).__name__}: {error})") from None


def _assembled(
    schema: dict[str, Any],
    header: dict[str, Any],
    statement: dict[str, Any],
    plan: dict[str, Any],
    parts: dict[str, Any],
    measured: dict[str, Any],
    model: dict[str, Any],
    *,
    values: list[IntArray],
    table: pa.Table,
) -> Release:
    """A release from the content of its files; whatever is too little or too much raises."""
    check_repeats(parts, measured, model)
    measured, model = (restore(part, parts) for part in (measured, model))
    if count_stretched([measured, model, plan]) > _TIMES_STRETCHED * sum(map(len, values)):
        raise ValueError("grids of the bundle have more cells than were measured")
    if set(measured) != {"measurements"} or set(model) != {"fitted", "given", "constants"}:
        raise ValueError("measurements or model have parts that are not known")
    public = Schema.from_dict(schema)
    columns = layout_of(public).measured_codes
    claim = PrivacyStatement.from_dict(statement)
    release = Release(
        public,
        Header(**header),
        claim,
        StoredPlan.from_dict(plan),
        tuple(Measurement.from_dict(item, array) for item, array in zip(measured["measurements"], values, strict=True)),
        read_model(model["fitted"], table, columns),
        tuple(Condition(**{**item, "runs": tuple(map(tuple, item["runs"]))}) for item in model["given"]),
        None if model["constants"] is None else dict(model["constants"]),
    )
    _check_sound(release)
    return release


def _check_sound(release: Release) -> None:
    """Refuse a release whose parts do not speak of the same table."""
    columns = Encoder(release.schema).columns
    if set(release.header.types) != set(columns):
        raise ValueError("header and schema have different columns")
    asked = release.schema if release.plan.asked is None else Schema.from_dict(dict(release.plan.asked))
    if not release.schema.is_complete or (asked.is_complete and release.completing):
        raise ValueError("the schema has bounds or values that are still unknown, or none that were bought")
    for place, item in enumerate(release.measurements):
        if not item.statistic.follows(asked if place < len(release.completing) else release.measured):
            raise ValueError("a measurement is of columns that are not in the schema, or are defined differently there")
        if item.values.dtype != np.int64 or item.values.shape != (size_of(item.statistic),):
            raise ValueError("a measurement has more or fewer numbers than its statistic")
    if sum(len(condition.runs) for condition in release.given) > _MOST_RUNS:
        raise ValueError("there are too many conditions on the release")
    for condition in release.given:
        if condition.column not in columns or max(stop for _, stop in condition.runs) > columns[condition.column].size:
            raise ValueError("a condition is on a column or a code that the schema has not")
    _ = release.model  # a condition without probability is refused now
