"""A draft as the fields of a form, and the form's answers as a draft."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import yaml

from sfumato.drafting.codebook import FILL
from sfumato.drafting.draft import quoted
from sfumato.errors import SchemaError
from sfumato.studio.presets import PRESETS

Content = dict[str, Any]
TYPES = ("integer", "number", "category", "boolean", "date", "datetime")
_ORDERED = ("integer", "number", "date", "datetime")
_KEYS = {
    "integer": ("bounds", "step", "atoms", "scale", "image"),
    "number": ("bounds", "decimals", "step", "atoms", "scale", "image"),
    "category": ("values",),
    "boolean": ("words",),
    "date": ("bounds",),
    "datetime": ("bounds",),
}
_BEHIND = ("target", "unit", "leave_out", "constraints", "public_features", "types", "text")
_PLACE = re.compile(r"[0-9]{1,6}")
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})")


def show_column(column: Mapping[str, Any]) -> dict[str, str]:
    """What the fields of one column hold: text, empty where something is still open."""
    bounds, values = column.get("bounds"), column.get("values")
    low, high = bounds if isinstance(bounds, list) and len(bounds) == 2 else ("", "")
    words = column.get("words") or ("", "")
    listed = values if isinstance(values, list) else []
    return {
        "name": str(column.get("name", "")),
        "type": str(column.get("type")) if column.get("type") in TYPES else "",
        "low": _shown(low),
        "high": _shown(high),
        "estimate": "on" if bounds == "estimate" else "",
        "values": "\n".join(map(_shown, listed)),
        "discover": "on" if values == "discover" else "",
        "file": str(values.get("file", "")) if isinstance(values, dict) else "",
        "file_column": str(values.get("column", "")) if isinstance(values, dict) else "",
        "false": _shown(words[0]),
        "true": _shown(words[1]),
        "decimals": _shown(column.get("decimals")),
        "step": _shown(column.get("step")),
        "log": "on" if column.get("scale") == "log" else "",
        "atoms": ", ".join(map(_shown, column.get("atoms") or [])),
        "missing": "on" if column.get("missing") else "",
        "otherwise": _shown(column.get("otherwise")),
    }


def _shown(value: Any) -> str:
    if value is None or value == FILL:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def read_column(fields: Mapping[str, str], old: Mapping[str, Any]) -> Content:
    """The definition that the fields of one column say; what the form has no field for stays as it was."""
    kind = fields.get("type", "")
    if kind not in TYPES:
        return {"name": old["name"], "type": FILL}
    found: Content = {"name": old["name"], "type": kind}
    read = _reader(kind)
    if kind == "category":
        found["values"] = _values(fields, old.get("values"))
    if kind in _ORDERED:
        ends = [read(fields.get("low", "")), read(fields.get("high", ""))]
        found["bounds"] = "estimate" if fields.get("estimate") else ends
    spelt = [_plain(fields.get("false", "")), _plain(fields.get("true", ""))]
    more: Content = {
        "words": None if spelt == ["", ""] else spelt,
        "decimals": _optional(fields, "decimals", _integer),
        "step": _optional(fields, "step", read),
        "scale": "log" if fields.get("log") else None,
        "atoms": [read(one) for one in fields.get("atoms", "").split(",") if one.strip()] or None,
        "image": old.get("image"),
    }
    found |= {key: more[key] for key in _KEYS[kind] if more.get(key) is not None}
    if fields.get("missing"):
        found["missing"] = True
    if (otherwise := fields.get("otherwise", "").strip()) != "":
        found["otherwise"] = _truth(otherwise) if kind == "boolean" else read(otherwise)
    return found


def _optional(fields: Mapping[str, str], key: str, read: Callable[[str], Any]) -> Any:
    text = fields.get(key, "").strip()
    return read(text) if text else None


def _reader(kind: str) -> Callable[[str], Any]:
    """How an answer is read for a type; what cannot be read stays as it is, and the schema says what is wrong."""
    readers: Mapping[str, Callable[[str], Any]] = {
        "integer": _integer,
        "number": _number,
        "date": _date,
        "datetime": lambda text: _open(text) or text.strip(),
        "category": _plain,
        "boolean": _plain,
    }
    return readers[kind]


def _open(text: str) -> str | None:
    return None if text.strip() else FILL


def _date(text: str) -> Any:
    try:
        return dt.date.fromisoformat(text.strip())
    except ValueError:
        return _open(text) or text.strip()


def _integer(text: str) -> Any:
    plain = text.strip().replace(" ", "")
    return int(plain) if _PLAIN_NUMBER.fullmatch(plain) else _number(text)


def _number(text: str) -> Any:
    if not text.strip():
        return FILL
    try:
        number = float(text)
    except ValueError:
        return text.strip()
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _plain(text: str) -> Any:
    plain = text.strip()
    return int(plain) if _PLAIN_NUMBER.fullmatch(plain) else plain


def _truth(text: str) -> Any:
    return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)


def _values(fields: Mapping[str, str], old: Any) -> Any:
    """A list, the file that holds one, or `discover`. Values that did not change keep their type."""
    if fields.get("discover"):
        return "discover"
    if name := fields.get("file", "").strip():
        column = fields.get("file_column", "").strip()
        return {"file": name, "column": column} if column else {"file": name}
    listed = [line.strip() for line in fields.get("values", "").splitlines() if line.strip()]
    if isinstance(old, list) and listed == [_shown(value) for value in old]:
        return old
    if listed and all(map(_PLAIN_NUMBER.fullmatch, listed)):
        return [int(value) for value in listed]
    return listed or [FILL]


def read_form(form: Mapping[str, str], old: Content, header: Sequence[str]) -> Content:
    """The draft that a whole form says.

    old      the draft as it was: what the form has no field for stays
    header   the names of the table's columns
    """
    columns = [
        read_column({key.removeprefix(f"c{place}."): text for key, text in _fields(form, place)}, column)
        for place, column in enumerate(columns_of(old))
    ]
    new: Content = {**old, "name": form.get("name", "").strip() or old.get("name"), "columns": columns}
    _set(new, "target", form.get("target", "").strip() or None)
    who = form.get("unit.column", "").strip()
    _set(new, "unit", {"column": who, "records": _integer(form.get("unit.records", ""))} if who else None)
    was = old["unit"].get("column") if isinstance(old.get("unit"), dict) else None
    left = [name for name in [*(old.get("leave_out") or []), *([was] if was else [])] if name != who]
    _set(new, "leave_out", list(dict.fromkeys(left)) or None)  # the unit's column is read, and another is not
    _set(new, "constraints", _constraints(form.get("constraints", "")) or None)
    text = {
        key: form.get(f"text.{key}", "").strip()
        for key in ("separator", "encoding", "decimal", "thousands", "dates", "datetimes")
    }
    kept = old["text"] if isinstance(old.get("text"), dict) else {}
    written = {key: value.replace("\\t", "\t") for key, value in text.items() if value}
    _set(new, "text", {**({"units": kept["units"]} if "units" in kept else {}), **written} or None)
    _move_columns(new, form, header)
    return new


def _fields(form: Mapping[str, str], place: int) -> Iterable[tuple[str, str]]:
    return ((key, text) for key, text in form.items() if key.startswith(f"c{place}."))


def columns_of(content: Content) -> list[Content]:
    """The columns that a draft describes; `SchemaError` where they are not a list of mappings with names."""
    columns = content.get("columns")
    if not isinstance(columns, list) or not all(isinstance(one, dict) and "name" in one for one in columns):
        raise SchemaError("schema: columns must be a list, each with a name; correct the YAML")
    return columns


def has_form(content: Content) -> bool:
    """Whether the fields of a form can hold a draft; one of strange shape is corrected as YAML."""
    lists = [content.get("leave_out"), content.get("constraints")]
    lists += [one.get(key) for one in columns_of(content) for key in ("atoms", "words")]
    pairs = [one["words"] for one in columns_of(content) if isinstance(one.get("words"), list)]
    return all(one is None or isinstance(one, list) for one in lists) and all(len(one) == 2 for one in pairs)


def _move_columns(content: Content, form: Mapping[str, str], header: Sequence[str]) -> None:
    """What the buttons say: leave a column out, describe one that was left out, apply a preset."""
    columns, left = content["columns"], list(content.get("leave_out") or ())
    if name := form.get("leave"):
        columns[:] = [one for one in columns if one["name"] != name]
        left.append(name)
    if (name := form.get("describe")) in header:
        left = [one for one in left if one != name]
        columns.append({"name": name, "type": FILL})
    if preset := form.get("preset"):
        place, _, key = preset.partition(":")
        if _PLACE.fullmatch(place) and int(place) < len(columns) and key in PRESETS:
            kept = {name: columns[int(place)][name] for name in ("name", "missing") if name in columns[int(place)]}
            columns[int(place)] = {"name": kept["name"], **PRESETS[key].make(), **kept}
    _set(content, "leave_out", left or None)


def _set(content: Content, key: str, value: Any) -> None:
    if value is None:
        content.pop(key, None)
    else:
        content[key] = value


def _constraints(text: str) -> list[Any]:
    """One in each line: a relation such as `a >= b`, or YAML in braces."""
    found: list[Any] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        try:
            found.append(yaml.safe_load(line) if line.startswith("{") else line)
        except yaml.YAMLError:
            found.append(line)
    return found


def show_constraints(content: Content) -> str:
    """The constraints, one in each line."""
    constraints = content.get("constraints")
    return "\n".join(one if isinstance(one, str) else quoted(one) for one in constraints or [] if one)


def write_content(content: Content) -> str:
    """A draft as YAML: a line for each column, as `sfumato schema init` writes it."""
    head = [f"sfumato: {quoted(content.get('sfumato', 1))}\n", f"name: {quoted(content.get('name'))}\n", "columns:\n"]
    lines = [
        "  - {" + ", ".join(f"{key}: {quoted(value)}" for key, value in column.items()) + "}\n"
        for column in columns_of(content)
    ]
    behind = [key for key in _BEHIND if key in content]
    others = [key for key in content if key not in ("sfumato", "name", "columns", *_BEHIND)]
    return "".join([*head, *lines, *(_entry(key, content[key]) for key in (*behind, *others))])


def _entry(key: str, value: Any) -> str:
    if key == "constraints" and isinstance(value, list):
        return "constraints:\n" + "".join(f"  - {quoted(one)}\n" for one in value)
    return f"{quoted(key)}: {quoted(value)}\n"
