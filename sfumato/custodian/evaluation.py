"""From a bundle and private rows to the custodian's page and its numbers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.archive.whole_files import whole_file
from sfumato.artefact.bundle import open_release
from sfumato.artefact.families.release import FamilyRelease
from sfumato.errors import RequestError
from sfumato.evaluation.evaluation import Evaluation, evaluate_table
from sfumato.evaluation.families.evaluation import FamilyEvaluation, evaluate_family
from sfumato.reports.private import private_report
from sfumato.reports.private_family import private_family_report


def write_evaluation(
    bundle: Path,
    real: Any,
    test: Any,
    out: Path,
    *,
    rows: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Evaluation | FamilyEvaluation:
    """Compare a bundle with private rows, and write the page and, beside it, its numbers as a JSON file.

    Both files are claimed first: nothing is computed that cannot be written.
    """
    if out.suffix == ".json":
        raise RequestError(f"{out} must be the name of the page; the JSON file goes beside it")
    released = open_release(bundle)
    with whole_file(out) as file, whole_file(out.with_suffix(".json")) as numbers:
        progress("opening the bundle")
        if isinstance(released, FamilyRelease):
            linked = evaluate_family(released, real, test, persons=rows, seed=seed, progress=progress)
            _write(file, numbers, private_family_report(linked, released), linked.to_dict())
            return linked
        result = evaluate_table(released, real, test, rows=rows, seed=seed, progress=progress)
        _write(file, numbers, private_report(result, released), result.to_dict())
        return result


def _write(file: Any, numbers: Any, page: str, content: dict[str, Any]) -> None:
    file.write(page.encode())
    numbers.write(json.dumps(content, indent=1).encode())
