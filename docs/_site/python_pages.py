"""The reference of the Python interface, from signatures and docstrings."""

from collections.abc import Iterator

import griffe

from docs._site.docstrings import to_markdown

PUBLIC = {
    "For the custodian": {
        "sfumato.release": "sfumato.api.release",
        "sfumato.plan": "sfumato.planning.plan.plan",
        "sfumato.audit": "sfumato.auditing.audit.audit",
        "sfumato.evaluate": "sfumato.evaluation.evaluate.evaluate",
        "sfumato.Schema": "sfumato.trusted.schema.schema.Schema",
        "sfumato.FamilySchema": "sfumato.trusted.schema.family.FamilySchema",
        "sfumato.Database": "sfumato.trusted.sources.databases.Database",
        "sfumato.Ledger": "sfumato.trusted.ledger.ledger.Ledger",
        "sfumato.Budget": "sfumato.trusted.budget.Budget",
        "sfumato.Adjacency": "sfumato.trusted.adjacency.Adjacency",
        "sfumato.ProgressBar": "sfumato.progress.ProgressBar",
    },
    "For the receiver": {
        "sfumato.open": "sfumato.artefact.bundle.open_release",
        "sfumato.verify": "sfumato.artefact.verify.verify",
        "sfumato.report": "sfumato.reports.write.report",
        "sfumato.Release": "sfumato.artefact.release.Release",
        "sfumato.FamilyRelease": "sfumato.artefact.families.release.FamilyRelease",
        "sfumato.PrivacyStatement": "sfumato.artefact.statement.PrivacyStatement",
        "sfumato.Measurement": "sfumato.trusted.measurement.Measurement",
    },
    "What plans and audits return": {
        "sfumato.Plan": "sfumato.planning.plan.Plan",
        "sfumato.AuditResult": "sfumato.auditing.result.AuditResult",
    },
    "scikit-learn": {
        "sfumato.sklearn.PrivateSynthesizer": "sfumato.sklearn.synthesizer.PrivateSynthesizer",
        "sfumato.sklearn.PrivateGaussianMixture": "sfumato.sklearn.estimator.PrivateGaussianMixture",
    },
    "Noise without a curator": {"sfumato.local.LocalSlices": "sfumato.local.LocalSlices"},
    "Errors": {f"sfumato.errors.{name}": f"sfumato.errors.{name}" for name in (
        "SfumatoError", "SchemaError", "DataError", "BudgetError", "BudgetExceededError", "RequestError", "BundleError",
        "LedgerError", "ReleaseWarning",
    )},
}  # fmt: skip
"""What users import, and where it is defined, in the order of the page."""

_RETURNED = {
    f"sfumato.{name}" for name in ("Release", "FamilyRelease", "PrivacyStatement", "Measurement", "Plan", "AuditResult")
}
"""Classes that users get and never make: how they are made is no help."""


def python_reference() -> str:
    """A page with the signature and the docstring of everything public."""
    package = griffe.load("sfumato", search_paths=["."])
    parts = ["# Python", "Made from the docstrings. Their examples run in the tests (`tests/test_examples.py`)."]
    for title, names in PUBLIC.items():
        parts.append(f"## {title}")
        for name, home in names.items():
            parts += _entry(name, package[home.removeprefix("sfumato.")], level=3)
    return "\n\n".join(part for part in parts if part) + "\n"


def _entry(name: str, found: griffe.Object | griffe.Alias, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    if isinstance(found, griffe.Function):
        yield _signature(name.rpartition(".")[2] if level > 3 else name, found)
    elif isinstance(found, griffe.Class) and _is_made_by_users(name, found):
        yield _signature(name, found["__init__"])
    yield to_markdown(found.docstring.value) if found.docstring else ""
    if found.is_class:
        for member in found.members.values():
            if member.is_public and member.docstring and (member.is_function or "property" in member.labels):
                yield from _entry(f"{name.rpartition('.')[2]}.{member.name}", member, level + 1)


def _is_made_by_users(name: str, found: griffe.Class) -> bool:
    return name not in _RETURNED and "__init__" in found.members and not found.bases


def _signature(name: str, function: griffe.Function) -> str:
    """The arguments with their types, one in a line where they are many."""
    words: list[str] = []
    starred = False
    for parameter in function.parameters:
        if parameter.name == "self":
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and not starred:
            words, starred = [*words, "*"], True
        starred = starred or parameter.kind is griffe.ParameterKind.var_positional
        words.append(_argument(parameter))
    whole = f"{name}({', '.join(words)})"
    if len(whole) > 90:
        whole = f"{name}(\n    " + ",\n    ".join(words) + ",\n)"
    returns = f" -> {function.returns}" if function.returns and function.name != "__init__" else ""
    return f"```python\n{whole}{returns}\n```"


def _argument(parameter: griffe.Parameter) -> str:
    stars = "*" * {"variadic positional": 1, "variadic keyword": 2}.get(str(parameter.kind and parameter.kind.value), 0)
    kind = f": {parameter.annotation}" if parameter.annotation else ""
    default = f" = {parameter.default}" if parameter.default is not None and not stars else ""
    return f"{stars}{parameter.name}{kind}{default if kind else default.replace(' ', '')}"
