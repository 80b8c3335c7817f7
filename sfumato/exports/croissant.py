"""Croissant metadata (JSON-LD, version 1.0) with the fields of its responsible-AI vocabulary.

It describes the bundle, by its hash, and a table of synthetic records that was drawn from it, where one is given.
See mlcommons.org/croissant: the format's own checker is `mlcroissant validate`.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from sfumato._version import __version__
from sfumato.artefact.about import About
from sfumato.artefact.making import mechanism_of, noise_of
from sfumato.artefact.promise import plain_promise
from sfumato.artefact.questions import quality_of
from sfumato.artefact.release import Release
from sfumato.artefact.verdict import judge
from sfumato.errors import RequestError
from sfumato.trusted.schema import Column
from sfumato.trusted.schema.constraints import describe

_CR = "http://mlcommons.org/croissant/"
_TERMS = (
    *("citeAs", "column", "data", "dataType", "examples", "extract", "field", "fileProperty", "fileObject", "fileSet"),
    *(
        "format",
        "includes",
        "isLiveDataset",
        "jsonPath",
        "key",
        "md5",
        "parentField",
        "path",
        "recordSet",
        "references",
    ),
    *(
        "regex",
        "repeated",
        "replace",
        "separator",
        "source",
        "subField",
        "transform",
        "equivalentProperty",
        "samplingRate",
    ),
)
_TYPED = {"data": "@json", "examples": "@json", "dataType": "@vocab"}
_TYPES = {
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
}
_FORMATS = {".parquet": "application/x-parquet", ".csv": "text/csv"}


def croissant(release: Release, bundle: Path, about: About | None = None, table: Path | None = None) -> dict[str, Any]:
    """The metadata as plain content.

    release   what is described
    bundle    its file, whose hash is written down
    about     what the custodian says beside it
    table     synthetic records that were drawn from it: a Parquet or CSV file with all columns of the schema

    Raises `RequestError` for a file that is not there or a table of another format.

    Example
        >>> release.save(folder / "stays.sfumato")
        >>> croissant(release, folder / "stays.sfumato")["distribution"][0]["name"]
        'stays.sfumato'
    """
    files = [_file(bundle, "application/octet-stream", "the bundle, from which anybody draws synthetic records", about)]
    if table is not None:
        files.append(_file(table, _format_of(table), "synthetic records, drawn from the bundle", about))
    said = _said(about)
    return {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": f"{_CR}1.0",
        "name": said.pop("name", release.statement.dataset),
        "description": _description(release, about),
        "version": "1.0.0",
        "isLiveDataset": False,
        "keywords": ["differential privacy", "synthetic data", "tabular data"],
        **said,
        "distribution": files,
        **({"recordSet": [_records(release, table)]} if table is not None else {}),
        **_responsible(release, about),
    }


def write_croissant(release: Release, bundle: Path, about: About | None = None, table: Path | None = None) -> str:
    """The metadata as JSON."""
    return json.dumps(croissant(release, bundle, about, table), indent=2, ensure_ascii=False) + "\n"


def _context() -> dict[str, Any]:
    terms = {term: {"@id": f"cr:{term}", "@type": _TYPED[term]} if term in _TYPED else f"cr:{term}" for term in _TERMS}
    names = {"sc": "https://schema.org/", "cr": _CR, "rai": f"{_CR}RAI/", "dct": "http://purl.org/dc/terms/"}
    return {"@language": "en", "@vocab": "https://schema.org/", **names, "conformsTo": "dct:conformsTo", **terms}


def _said(about: About | None) -> dict[str, Any]:
    if about is None:
        return {}
    pairs = {
        "name": about.title,
        "license": about.license,
        "url": about.url,
        "citeAs": about.citation,
        "datePublished": None if about.published is None else str(about.published),
        "creator": {"@type": "sc:Organization", "name": about.custodian},
    }
    return {key: value for key, value in pairs.items() if value is not None}


def _description(release: Release, about: About | None) -> str:
    own = f"{about.description.rstrip('.')}. " if about and about.description else ""
    table = f"a private table of {len(release.schema.by_name)} columns"
    promise = plain_promise(release.statement, release.schema.target)
    return f"{own}The distribution of {table}, released once under differential privacy. {promise}"


def _file(path: Path, kind: str, description: str, about: About | None) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path} cannot be read ({error.strerror}); check the path") from None
    base = f"{about.url.rstrip('/')}/" if about and about.url else ""
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "description": description,
        "contentUrl": f"{base}{path.name}",
        "contentSize": f"{len(content)} B",
        "encodingFormat": kind,
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _format_of(table: Path) -> str:
    if table.suffix not in _FORMATS:
        raise RequestError(
            f"{table} is neither .parquet nor .csv; draw one with `sfumato sample B.sfumato --out T.parquet`"
        )
    return _FORMATS[table.suffix]


def _records(release: Release, table: Path) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "records",
        "name": "records",
        "description": "synthetic records; none of them is a record of the private table",
        "field": [_field(name, column, table) for name, column in release.schema.by_name.items()],
    }


def _field(name: str, column: Column, table: Path) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"records/{name}",
        "name": name,
        "description": describe_column(column),
        "dataType": _TYPES.get(column.type, "sc:Text"),
        "source": {"fileObject": {"@id": table.name}, "extract": {"column": name}},
    }


def describe_column(column: Column) -> str:
    """What the schema says of a column, in a few words."""
    bounds, values = getattr(column, "bounds", None), getattr(column, "values", None)
    inside = f" from {bounds[0]} to {bounds[1]}" if bounds else f": {', '.join(map(str, values))}" if values else ""
    return f"{column.type}{inside}{'; may be missing' if column.missing else ''}"


def _responsible(release: Release, about: About | None) -> dict[str, Any]:
    """The fields of the vocabulary for responsible AI."""
    statement, verdict = release.statement, judge(quality_of(release))
    kept = [describe(one) for one in release.schema.constraints]
    pairs = {
        "rai:dataCollection": about.collection if about else None,
        "rai:dataUseCases": [*([about.purpose] if about else []), *(f"good for {one}" for one in verdict.good_for)],
        "rai:dataLimitations": [verdict.headline, *(f"not for {one}" for one in verdict.not_for)],
        "rai:dataBiases": (about.limits if about and about.limits else None)
        or "Noise hides small groups: rare values and their relations are less exact than frequent ones.",
        "rai:personalSensitiveInformation": statement.promise,
        "rai:dataPreprocessingProtocol": [
            mechanism_of(release),
            noise_of(release),
            *(f"holds in every record: {one}" for one in kept),
        ],
        "rai:dataReleaseMaintenancePlan": _maintenance(about),
        "rai:dataSocialImpact": "No record of the private table is published. " + " ".join(statement.not_protected),
        "rai:machineAnnotationTools": f"sfumato {__version__}",
    }
    return {key: value for key, value in pairs.items() if value}


def _maintenance(about: About | None) -> str | None:
    if about is None:
        return None
    review = f"To be reviewed {about.review}." if about.review else ""
    contact = f"Contact: {about.contact}" if about.contact else ""
    return " ".join(part for part in (about.maintenance, review, contact) if part) or None
