"""Schemas as YAML files."""

from functools import partial
from pathlib import Path

import yaml

from sfumato.errors import SchemaError
from sfumato.trusted.schema.messages import Location
from sfumato.trusted.schema.schema import Schema


def load_schema(path: Path) -> Schema:
    """The schema of a YAML file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"{path}: cannot be read as a text file ({type(error).__name__}); check the path") from None
    return parse_schema(text, str(path))


def parse_schema(text: str, where: str) -> Schema:
    """The schema of a YAML text; `where` names it in errors."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        _refuse_repeated_keys(root, where)
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise SchemaError(f"{where}: is not YAML: {' '.join(str(error).split())}") from None
    return Schema.from_dict(content, where, partial(_line_of, root))


def write_schema(schema: Schema) -> str:
    """The YAML file that `parse_schema` reads back to an equal schema."""
    return yaml.safe_dump(schema.to_dict(), sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)


def _refuse_repeated_keys(node: yaml.Node | None, where: str) -> None:
    """YAML keeps the last of two equal keys without a word; in a file about privacy that is an error."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise SchemaError(f"{where}, line {key.start_mark.line + 1}: key {key.value!r} stands twice; keep one")
            seen.add(key.value)
            _refuse_repeated_keys(value, where)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_repeated_keys(item, where)


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
