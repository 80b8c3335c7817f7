"""The reference of the schema's keys, from the JSON schemas that editors use."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).parents[1]
_TITLES = {"schema.json": "One table", "family_schema.json": "A family of tables"}


def schema_reference() -> str:
    """A page with every key of a schema: what it is, and whether it must be there."""
    parts = [
        "# Schema, key by key",
        "What the keys do: [schema](../schema.md), [families](../families.md).",
        "Made from the JSON schemas that editors read: [one table](../schema.json), [a family](../family_schema.json).",
    ]
    shown: set[str] = set()
    for file, title in _TITLES.items():
        content = json.loads((_DOCS / file).read_text(encoding="utf-8"))
        parts += [f"## {title}", _table(content)]
        for name, definition in content["$defs"].items():
            if name not in shown and "properties" in definition:
                shown.add(name)
                parts += [f"### {name}", definition.get("description", ""), _table(definition)]
    return "\n\n".join(parts) + "\n"


def _table(definition: dict[str, Any]) -> str:
    required = set(definition.get("required", ()))
    return "| key | value | what it says |\n|---|---|---|\n" + "\n".join(
        f"| `{name}`{', required' if name in required else ''} | {' or '.join(dict.fromkeys(_kinds(key)))}"
        f" | {_escape(key.get('description', ''))}{_default(key)} |"
        for name, key in definition["properties"].items()
    )


def _kinds(key: dict[str, Any]) -> Iterator[str]:
    if "const" in key:
        yield f"`{key['const']}`"
    elif "enum" in key:
        yield from (f"`{value}`" for value in key["enum"])
    elif "$ref" in key:
        name = key["$ref"].rpartition("/")[2]
        yield f"[{name}](#{name.lower()})" if name[0].isupper() else name
    elif choices := key.get("anyOf") or key.get("oneOf"):
        for choice in choices:
            yield from _kinds(choice)
    elif key.get("type") == "array":
        inner = " or ".join(dict.fromkeys(_kinds(key["items"]))) if isinstance(key.get("items"), dict) else ""
        yield f"list of {inner}" if inner else "list"
    elif key.get("type") != "null":
        yield str(key.get("type", "any value"))


def _default(key: dict[str, Any]) -> str:
    default = key.get("default")
    return "" if default in (None, [], False) or isinstance(default, dict) else f" (default `{default}`)"


def _escape(text: str) -> str:
    return text.replace("|", "&#124;").replace("<", "&lt;")
