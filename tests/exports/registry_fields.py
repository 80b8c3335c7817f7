"""The fields of the public registry of deployments, as a JSON schema in our own words.

Source: `schemas/deployments-schema.yaml` of github.com/opendp/deployments-registry-data, as of late 2025: which fields
there are, which are required, and which words are allowed. Descriptions are left out.
"""

from typing import Any


def fields(required: str = "", **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": properties,
    }


def words(*allowed: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(allowed)}


TEXT = {"type": "string"}
TEXT_OR_NUMBER = {"anyOf": [TEXT, {"type": "number"}]}
CURATOR = {
    "type": "object",
    "required": ["data_curator_name", "data_curator_type"],
    "properties": {"data_curator_name": TEXT, "data_curator_type": words("Government", "Industry", "Nonprofit")},
}
BIBLIOGRAPHY = fields(
    **dict.fromkeys(
        [
            "address",
            "annote",
            "author",
            "booktitle",
            "doi",
            "editor",
            "email",
            "howpublished",
            "institution",
            "journal",
            "note",
            "organization",
            "publisher",
            "school",
            "type",
            "series",
            "title",
            "url",
        ],
        TEXT,
    ),
    **dict.fromkeys(
        ["chapter", "edition", "issn", "isbn", "month", "number", "pages", "volume", "year"], TEXT_OR_NUMBER
    ),
)
EVIDENCE = words(
    "Peer-reviewed publication",
    "Formal publication by the deploying organization",
    "Authorized organizational attestation",
    "Other public source",
)
KINDS_OF_EVIDENCE = [
    "article",
    "book",
    "booklet",
    "conference",
    "inbook",
    "incollection",
    "inproceedings",
    "manual",
    "mastersthesis",
    "misc",
    "phdthesis",
    "proceedings",
    "techreport",
    "unpublished",
]
SOURCE = {"oneOf": [fields(evidence_source_type=EVIDENCE, **{kind: BIBLIOGRAPHY}) for kind in KINDS_OF_EVIDENCE]}

ENTRY = fields(
    "url_slug deployment",
    url_slug=TEXT,
    deployment=fields(
        "basic administrative",
        basic=fields(
            "name data_curators description intended_use data_product_type data_product_region publication_date",
            name=TEXT,
            data_curators={"type": "array", "items": CURATOR, "minItems": 1},
            description=TEXT,
            intended_use=TEXT,
            data_product_type=words(
                "Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API",
                "SQL queries",
            ),
            data_product_region=TEXT,
            data_product_sector=words("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
            publication_date={"type": "string", "format": "date"},
        ),
        dp_variant=fields(
            variant_name=words("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
            data_domain=TEXT,
            unprotected_quantities=TEXT,
        ),
        privacy_loss=fields(
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            number_of_privacy_units={"type": "integer"},
            privacy_parameters=fields(
                epsilon={"type": "number"}, delta={"type": ["number", "string"]}, rho={"type": "number"}
            ),
            privacy_parameters_details={},
        ),
        deployment_model=fields(
            model_name=words("Local", "Central", "Shuffle", "Federated", "Varies"),
            model_name_details=TEXT,
            trust_assumptions=TEXT,
            actors={},
            release_type=words("One release", "Many releases"),
            release_type_details=TEXT,
            data_source_type=words("Static", "Dynamic"),
            data_source_type_details=TEXT,
            access_type=words("Interactive", "Non-interactive"),
            access_type_details=TEXT,
        ),
        implementation=fields(
            preprocessing_and_hyperparameter_tuning=TEXT,
            mechanisms=TEXT,
            composition=TEXT,
            post_processing=TEXT,
            justification=TEXT,
            utility={},
            additional_information={},
        ),
        administrative=fields(
            "status registry_authors tier",
            evidence_sources={"type": "object", "patternProperties": {r"^\w+$": SOURCE}},
            status=words(
                "Converted", "Draft", "Pending", "Changes Required", "Approved", "Approved (Update Requested)",
                "Approved (Pending)",
            ),
            registry_authors={"type": "array", "items": TEXT, "minItems": 1},
            tier={"type": "integer", "enum": [1, 2, 3]},
        ),
    ),
)  # fmt: skip
