"""Family bundles that somebody made up: valid hashes, and content that lies; see `tests.fuzzing.bundles`.

`python -m tests.families.fuzzing SECONDS SEED [MOST]` opens as many as it can and prints what went wrong.
"""

import io
import random
import resource
import sys
import warnings
from random import Random

import pyarrow as pa

import sfumato
from sfumato.archive import members as archive
from sfumato.artefact import bundle as layout
from sfumato.artefact import verify as verification
from sfumato.artefact.families import prediction
from sfumato.artefact.families import release as drawing
from sfumato.errors import ReleaseWarning
from sfumato.reports.public_family import public_family_report
from tests.families.making import Child, draw_rows, family_of, few_bins, storage_of, to_arrow
from tests.fuzzing.bundles import MEMORY, Found, forge_and_use

FAMILY = family_of(
    (
        ("stays", Child("people", (0, 4), "day", target=True)),
        ("notes", Child("stays", (1, 3), "number", values=3)),
        ("calls", Child("people", (0, 2), "running")),
    )
)


def made_up(persons: int = 40) -> tuple[dict[str, bytes], dict[str, pa.Table]]:
    """The members of a sound bundle, and rows to be told by it."""
    rows = to_arrow(draw_rows(Random(0), FAMILY, persons, 80), storage_of(FAMILY))
    with few_bins(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ReleaseWarning)
        made = sfumato.release(rows, FAMILY, epsilon=50.0, types="declared", ledger=None, seed=1)
    file = io.BytesIO()
    made.write(file)
    return archive.read_members(file.getvalue()), rows


def use(data: bytes, rows: dict[str, pa.Table], stages: list[str], thorough: bool) -> None:
    """All that a receiver does with a bundle."""
    stages.append("open")
    release = layout._from_members(archive.read_members(data))
    stages.append("inspect")
    _ = release.statement.promise, release.statement.remainder, release.size, repr(release), release._repr_html_()
    stages.append("sample")
    release.sample(5)
    release.sample(5, output="arrow")
    stages.append("answer")
    for name in release.schema.tables:
        release[name].count()
        for column in release.schema.schema_of(name).by_name:
            release[name].marginal(column)
    stages.append("predict")
    for name in release.targets:
        release.predict_proba(rows, name)
    stages.append("save")
    release.write(io.BytesIO())
    if thorough:
        stages.append("verify")
        verification.verify(release)
        stages.append("report")
        public_family_report(release)


def fuzz(seconds: float, seed: int, most: int = 10**9) -> Found:
    """How many bundles were tried and opened, and what went wrong, by stage and kind."""
    random.seed(seed)
    members, rows = made_up()
    warnings.simplefilter("error")
    drawing._ANSWERING, prediction._DRAWN = 1 << 9, 1 << 9
    drawing._TRIED, drawing._MOST_DRAWN = 1 << 12, 1 << 16
    return forge_and_use(members, lambda data, stages, thorough: use(data, rows, stages, thorough), seconds, most)


def main() -> None:
    """See the top."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    tried, opened, wrong = fuzz(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 10**9)
    print(f"family: {tried} bundles, {opened} opened")
    for kind, examples in wrong.items():
        print(f"WRONG {kind} {len(examples)}: {examples[0]}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
