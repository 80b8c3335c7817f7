"""Schemas as YAML files."""

import csv
import io
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from sfumato.errors import SchemaError
from sfumato.trusted.schema.family import FamilySchema
from sfumato.trusted.schema.messages import LineOf, Location
from sfumato.trusted.schema.schema import Schema
from sfumato.trusted.schema.yaml_text import load_yaml

AnySchema = Schema | FamilySchema


def read_schema(given: AnySchema | Mapping[str, Any] | str | Path) -> AnySchema:
    """The schema of a table or of a family of tables: as it is, of a dictionary, or of a YAML file.

    Raises `SchemaError` for anything that is neither.
    """
    if isinstance(given, Schema | FamilySchema):
        return given
    if isinstance(given, Mapping):
        return _of_content(dict(given), "schema")
    if not isinstance(given, str | Path):
        raise SchemaError(f"a {type(given).__name__} is no schema; give a path, a dictionary or a sfumato.Schema")
    return load_schema(Path(given))


def _of_content(content: Any, where: str, line_of: LineOf = lambda _: None) -> AnySchema:
    """A file with tables is of a family; any other is of one table."""
    family = isinstance(content, dict) and "tables" in content
    return (FamilySchema if family else Schema).from_dict(content, where, line_of)


def load_schema(path: Path) -> AnySchema:
    """The schema of a YAML file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"{path}: cannot be read as a text file ({type(error).__name__}); check the path") from None
    return parse_schema(text, str(path), path.parent)


def parse_schema(text: str, where: str, folder: Path = Path()) -> AnySchema:
    """The schema of a YAML text; `where` names it in errors. Lists of values may stand in files, from `folder` on."""
    root, content = load_yaml(text, where)
    return _of_content(with_lists(content, where, folder), where, partial(_line_of, root))


def with_lists(content: Any, where: str, folder: Path) -> Any:
    """The content with `values: {file: ..., column: ...}` and `table: {file: ...}` replaced by what the files hold."""
    filled = dict(content) if isinstance(content, dict) else {}
    for key, fill in (("columns", _with_list), ("constraints", _with_table)):
        if isinstance(filled.get(key), list):
            filled[key] = [fill(item, where, folder) for item in filled[key]]
    if isinstance(filled.get("tables"), dict):
        filled["tables"] = {name: with_lists(table, where, folder) for name, table in filled["tables"].items()}
    return filled or content


def _with_table(constraint: Any, where: str, folder: Path) -> Any:
    """A constraint with the rows of a CSV file in the place of its name."""
    asked = constraint.get("table") if isinstance(constraint, dict) else None
    if not isinstance(asked, dict) or set(asked) != {"file"}:
        return constraint
    names = constraint.get("allow") or [constraint.get("of"), constraint.get("column")]
    place = f"{where}: constraints, table"
    text = _read(folder, asked["file"], place)
    rows = csv.DictReader(io.StringIO(text))
    lacking = [name for name in names if name not in (rows.fieldnames or ())]
    if lacking:
        raise SchemaError(
            f"{place}: {asked['file']} has no column {lacking[0]!r}; it has {', '.join(rows.fieldnames or ['none'])}"
        )
    return constraint | {"table": [[row[name] or None for name in names] for row in rows]}


def _read(folder: Path, name: object, place: str) -> str:
    try:
        return (folder / str(name)).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"{place}: {name} cannot be read ({type(error).__name__}); check the path") from None


def _with_list(column: Any, where: str, folder: Path) -> Any:
    asked = column.get("values") if isinstance(column, dict) else None
    if not isinstance(asked, dict):
        return column
    place = f"{where}: column {column.get('name')!r}, values"
    if set(asked) - {"column"} != {"file"} or not all(isinstance(word, str) for word in asked.values()):
        raise SchemaError(
            f"{place}: say {{file: NAME.csv, column: NAME}}, or {{file: NAME.txt}} with a value in each line"
        )
    text = _read(folder, asked["file"], place)
    return column | {"values": _listed(text, asked.get("column"), f"{place}: {asked['file']}")}


def _listed(text: str, column: str | None, place: str) -> list[str]:
    """Every value of a column of a CSV file, or of the lines of a text, once, in order."""
    if column is None:
        return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    rows = csv.DictReader(io.StringIO(text))
    if column not in (rows.fieldnames or ()):
        raise SchemaError(f"{place} has no column {column!r}; it has {', '.join(rows.fieldnames or ['none'])}")
    return list(dict.fromkeys(row[column] for row in rows if row[column]))


def write_schema(schema: AnySchema) -> str:
    """The YAML file that `parse_schema` reads back to an equal schema."""
    return yaml.safe_dump(schema.to_dict(), sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)


def _line_of(root: yaml.Node | None, location: Location) -> int | None:
    """The line of the deepest part of a place that stands in the file."""
    node, line = root, None
    for part in location:
        node = _child(node, part)
        line = node.start_mark.line + 1 if node is not None else line
    return line


def _child(node: yaml.Node | None, part: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int):
        child: yaml.Node = node.value[part]
        return child
    return None
