"""What a custodian says about a release beside it: who, why, and since when. A YAML file that is checked.

A bundle knows what was measured and with how much noise. It does not know who is responsible, why this epsilon was
chosen, or whom to write to. `about.yaml` says so, for the public report and for exports.
"""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sfumato.errors import RequestError, SchemaError
from sfumato.trusted.schema.messages import did_you_mean
from sfumato.trusted.schema.yaml_text import load_yaml


def _refuse_template(words: str) -> str:
    if not words.strip("."):
        raise ValueError(
            "is still to be filled in; write a few words, or leave the key out unless it is custodian or purpose"
        )
    return words


Words = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=5_000), AfterValidator(_refuse_template)
]
Address = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^https?://\S+$", max_length=2_000)]
Sector = Literal["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"]


class About(BaseModel):
    """What the custodian says. Plain text; only the first two are required."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    custodian: Words = Field(description="who is responsible for the data: an institution, not a person")
    purpose: Words = Field(description="what the release is meant to be used for")
    title: Words | None = Field(None, description="the name of the data product; by default the schema's name")
    description: Words | None = Field(None, description="what the records are, and where they come from")
    justification: Words | None = Field(None, description="why this epsilon, and this unit of protection")
    earlier_looks: Words | None = Field(
        None, description="who saw the records or statistics of them before, and what schema or plan took from that"
    )
    collection: Words | None = Field(None, description="how, when and of whom the records were collected")
    limits: Words | None = Field(None, description="what readers should know: who is missing, what is skewed")
    contact: Words | None = Field(None, description="an address for questions, such as data@example.org")
    published: dt.date | None = Field(None, description="when the release was published")
    review: dt.date | None = Field(None, description="when this release will be looked at again")
    maintenance: Words | None = Field(None, description="whether more releases will follow, and who keeps this one")
    license: Words | None = Field(None, description="the terms of use: an SPDX name or an address")
    citation: Words | None = Field(None, description="how to cite the release")
    url: Address | None = Field(None, description="where the release is found; http:// or https://")
    region: Words | None = Field(None, description="which region the data describe, or whose laws apply")
    sector: Sector | None = Field(None, description="Technology, Healthcare, Education, Government, Energy or Finance")
    custodian_kind: Literal["Government", "Industry", "Nonprofit"] | None = Field(
        None, description="Government, Industry or Nonprofit"
    )
    author: Words | None = Field(None, description="who filled this in")


def load_about(path: str | Path) -> About:
    """Read and check an `about.yaml`.

    path   a YAML file with the keys that `about_template` lists

    Returns what it says. Raises `RequestError` that names the line, the key and the cure of everything that is wrong.

    Example
        >>> _ = (folder / "about.yaml").write_text("{custodian: Example Hospital, purpose: research}")
        >>> load_about(folder / "about.yaml").custodian
        'Example Hospital'
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(
            f"{path}: cannot be read as a text file ({type(error).__name__}); check the path, or write one with "
            "`sfumato about > about.yaml`"
        ) from None
    return parse_about(text, str(path))


def parse_about(text: str, where: str) -> About:
    """The content of an `about.yaml`; `where` names it in errors."""
    content, lines = _read(text, where)
    try:
        return About.model_validate(content)
    except ValidationError as error:
        found = [f"{where}{_place(item['loc'], lines)}: {_cure(item)}" for item in error.errors()]
        raise RequestError("\n".join(found)) from None


def about_template() -> str:
    """An `about.yaml` to fill in: every key with what belongs there."""
    lines = [
        "# What the custodian says about a release. Only custodian and purpose are required; leave out what is unknown."
    ]
    for name, one in About.model_fields.items():
        lines.append(f"{'' if one.is_required() else '# '}{name}: {_sample(name)}  # {one.description}")
    return "\n".join(lines) + "\n"


def _sample(name: str) -> str:
    samples = {"published": "2026-01-31", "review": "2028-01-31", "url": "https://example.org/release"}
    fixed = {"sector": "Healthcare", "custodian_kind": "Government", "license": "CC-BY-4.0"}
    return {**samples, **fixed}.get(name, '"..."')


class _DatesAsText(yaml.SafeLoader):
    """YAML in which a date is text, so that one that does not exist is named with its line and key."""


_DatesAsText.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _read(text: str, where: str) -> tuple[Any, dict[str, int]]:
    """The content, and the line of every key."""
    try:
        root, content = load_yaml(text, where, _DatesAsText)
    except SchemaError as error:
        raise RequestError(str(error)) from None
    if not isinstance(root, yaml.MappingNode) or not isinstance(content, dict):
        raise RequestError(f"{where}: holds no keys; write `custodian: ...` and `purpose: ...`, one in each line")
    lines = {str(key.value): key.start_mark.line + 1 for key, _ in root.value}
    return {str(key): value for key, value in content.items()}, lines


def _place(location: tuple[int | str, ...], lines: Mapping[str, int]) -> str:
    key = str(location[0]) if location else ""
    return (f", line {lines[key]}" if key in lines else "") + (f", {key}" if key else "")


def _cure(item: Any) -> str:
    key, kind, given = str(item["loc"][0]), item["type"], item["input"]
    if kind == "extra_forbidden":
        known = ", ".join(About.model_fields)
        return f"unknown key{did_you_mean(key, About.model_fields)}; remove it or use one of {known}"
    if kind == "missing":
        return f"is required and not there; add it: {About.model_fields[key].description}"
    if kind.startswith("date"):
        return f"{given!r} is no date; write year, month and day, such as 2026-01-31"
    if kind == "string_pattern_mismatch":
        return f"{given!r} is no address; begin with http:// or https://"
    if kind == "literal_error":
        return f"{given!r} is not allowed here; use {item['ctx']['expected']}"
    if kind == "string_type":
        return f"{given!r} is no text; put it in quotes"
    if kind == "value_error":
        return str(item["ctx"]["error"])
    if kind == "string_too_short":
        return "is empty; say it, or leave the key out"
    return f"{item['msg']}, got {given!r}"
