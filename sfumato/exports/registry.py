"""An entry for the public registry of deployments of differential privacy, as a draft that its editors review.

The fields are those of `schemas/deployments-schema.yaml` in github.com/opendp/deployments-registry-data, as of late
2025. The registry takes one YAML file for each deployment, with a name in lowercase letters, digits and underscores.
"""

import re
import unicodedata
from typing import Any

import yaml

from sfumato.artefact.about import About
from sfumato.artefact.making import (
    FLOATING_POINT,
    POST_PROCESSING,
    TIMING,
    composition_of,
    mechanism_of,
    noise_of,
    trust_in,
)
from sfumato.artefact.promise import plain_promise, risk_lines
from sfumato.artefact.questions import quality_of
from sfumato.artefact.release import Release
from sfumato.artefact.verdict import judge
from sfumato.errors import RequestError
from sfumato.trusted.adjacency import Adjacency

_UNSAID = "Not stated by the custodian."
_NEEDED = ("custodian_kind", "region", "published", "author")
_UNIT = {
    Adjacency.ADD_REMOVE: "two tables are adjacent if one has one {unit} more",
    Adjacency.REPLACE: "two tables are adjacent if they differ in the values of one {unit}; their size is public",
    Adjacency.LABEL: "two tables are adjacent if they differ in the target of one {unit}; all else is public",
}


def registry_entry(release: Release, about: About) -> dict[str, Any]:
    """The entry as plain content.

    release   what is registered; a seeded one is refused
    about     what the custodian says: kind, region, date of publication and author are needed

    Returns the fields of the registry. Raises `RequestError` that names what is missing.

    Example
        >>> entry = registry_entry(release, about)
        >>> entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"]
        1.0
    """
    _must_be_complete(release, about)
    return {
        "url_slug": _slug(about, release),
        "deployment": {
            "basic": _basic(release, about),
            "dp_variant": _variant(release),
            "privacy_loss": _privacy_loss(release),
            "deployment_model": _model(release, about),
            "implementation": _implementation(release, about),
            "administrative": _administrative(about, _title(about, release)),
        },
    }


def write_registry_entry(release: Release, about: About) -> str:
    """The entry as YAML."""
    return yaml.safe_dump(registry_entry(release, about), sort_keys=False, allow_unicode=True, width=1_000_000)


def _must_be_complete(release: Release, about: About) -> None:
    if release.statement.seeded:
        raise RequestError("a seeded release is not private and has no place in a registry; release without a seed")
    missing = [key for key in _NEEDED if getattr(about, key) is None]
    if missing:
        raise RequestError(
            f"the registry needs {', '.join(missing)}; add {'them' if missing[1:] else 'it'} to about.yaml"
        )


def _title(about: About, release: Release) -> str:
    return about.title or release.statement.dataset


def _slug(about: About, release: Release) -> str:
    year = about.published.year if about.published else ""
    words = unicodedata.normalize("NFKD", f"{_title(about, release)} {about.custodian} {year}".lower())
    without_accents = "".join(letter for letter in words if not unicodedata.combining(letter))
    return re.sub(r"[^a-z0-9]+", "-", without_accents).strip("-")


def _basic(release: Release, about: About) -> dict[str, Any]:
    columns = len(release.schema.by_name)
    first = about.description or f"The distribution of a table of {columns} columns"
    return {
        "name": _title(about, release),
        "data_curators": [{"data_curator_name": about.custodian, "data_curator_type": about.custodian_kind}],
        "description": f"{first.rstrip('.')}. Receivers draw synthetic records from it, predict, and ask for means and "
        "shares.",
        "intended_use": about.purpose,
        "data_product_type": "Synthetic data",
        "data_product_region": about.region,
        **({"data_product_sector": about.sector} if about.sector else {}),
        "publication_date": str(about.published),
    }


def _variant(release: Release) -> dict[str, Any]:
    return {
        "variant_name": "Approximate DP",
        "data_domain": f"All tables with {len(release.schema.by_name)} columns of a public schema, whatever they hold.",
        "unprotected_quantities": " ".join(release.statement.not_protected),
    }


def _privacy_loss(release: Release) -> dict[str, Any]:
    statement = release.statement
    unit = "person, with all of their records" if statement.unit else "record"
    return {
        "privacy_unit": "User-level" if statement.unit else "Record-level",
        "privacy_unit_details": f"{_UNIT[statement.adjacency].format(unit=unit).capitalize()}.",
        **({} if statement.unit else {"number_of_privacy_units": release.size}),
        "privacy_parameters": {"epsilon": statement.epsilon, "delta": statement.delta},
        "privacy_parameters_details": f"{statement.promise} All measurements together are {statement.mu:.4g}-GDP.",
    }


def _model(release: Release, about: About) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "trust_assumptions": trust_in(release),
        "actors": f"{about.custodian} holds the records and makes the release. All others see the release alone.",
        "release_type": "One release",
        "release_type_details": about.maintenance or "No further release is announced.",
        "data_source_type": "Static",
        "access_type": "Non-interactive",
        "access_type_details": "The release is one file. Nobody asks the records again.",
    }


def _implementation(release: Release, about: About) -> dict[str, Any]:
    verdict, target = judge(quality_of(release)), release.schema.target
    uses = [*(f"Good for: {one}." for one in verdict.good_for), *(f"Not for: {one}." for one in verdict.not_for)]
    risks = "; ".join(f"{one.before} to {one.after}: {one.words}" for one in risk_lines(release.statement, target))
    return {
        "preprocessing_and_hyperparameter_tuning": f"Earlier looks at the data: {about.earlier_looks or _UNSAID} "
        "What is measured follows from the schema, the budget and earlier noisy answers.",
        "mechanisms": " ".join((mechanism_of(release), noise_of(release), FLOATING_POINT, TIMING)),
        "composition": composition_of(release),
        "post_processing": POST_PROCESSING,
        "justification": about.justification or _UNSAID,
        "utility": " ".join((verdict.headline, *uses)),
        "additional_information": f"{plain_promise(release.statement, target)} What an attacker gains at most, without "
        f"and with the release: {risks}.",
    }


def _administrative(about: About, title: str) -> dict[str, Any]:
    source = {
        "evidence_source_type": "Formal publication by the deploying organization",
        "misc": {"title": title, "url": about.url, "year": about.published.year if about.published else ""},
    }
    return {
        **({"evidence_sources": {"release": source}} if about.url else {}),
        "status": "Draft",
        "registry_authors": [about.author],
        "tier": 3,
    }
