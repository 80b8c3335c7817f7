"""`python -m tests.flow`: which files one table passes through, in `release` by each mechanism, `sample` and `verify`.

Prints the number of files of the library in which a function was called, and how often the folder changes from one file
to the next, in the order in which files are first entered. One thread, so that calls have an order; everything is done
once before, so that what is loaded on demand is not counted. `--paths` prints the files.
"""

import inspect
import itertools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import sfumato

ROOT = Path(sfumato.__file__).parent
SCHEMA = """
{sfumato: 1, name: flow, target: y, columns: [
  {name: a, type: number, bounds: [0, 1]}, {name: b, type: number, bounds: [0, 1]},
  {name: y, type: category, values: ["no", "yes"]}]}
"""


def traced(work: Callable[[], Any]) -> tuple[Any, list[Path]]:
    """What the work returns, and the files of the library in the order in which they are first entered."""
    seen: dict[str, None] = {}
    work()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # functions, not bodies of classes
            seen.setdefault(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(None)
    return result, [Path(name) for name in seen if Path(name).is_relative_to(ROOT)]


def describe(files: list[Path]) -> str:
    """Files, and changes of folder between one and the next."""
    folders = [file.parent for file in files]
    counts = f"{len(files):3d} files, {sum(a != b for a, b in itertools.pairwise(folders)):3d} changes of folder"
    if "--paths" not in sys.argv:
        return counts
    steps = itertools.groupby(files, lambda file: file.parent)
    lines = [f"    {folder.relative_to(ROOT)}: {' '.join(file.stem for file in step)}" for folder, step in steps]
    return "\n".join([counts, *lines])


def main() -> None:
    """See the top."""
    try:
        from sfumato.artefact.verify import verify
    except ModuleNotFoundError:  # the house before its second plan
        from sfumato.verification import verify  # type: ignore[import-not-found, no-redef]
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.5
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        columns = {"a": rng.random(500), "b": rng.random(500), "y": np.where(y, "yes", "no")}
        pyarrow.parquet.write_table(pa.table(columns), path)
        schema = sfumato.Schema.from_yaml(SCHEMA)
        for mechanism in ("tables", "mixture", "subspace", "slices"):
            release, files = traced(
                lambda m=mechanism: sfumato.release(path, schema, epsilon=4, mechanism=m, ledger=None)
            )
            print(f"release by {mechanism:9s} {describe(files)}")
            if mechanism == "tables":
                release.save(Path(folder) / "b.sfumato")
        opened, _ = traced(lambda: sfumato.open(Path(folder) / "b.sfumato"))
        print(f"sample               {describe(traced(lambda: opened.sample(10))[1])}")
        print(f"verify               {describe(traced(lambda: verify(opened))[1])}")


if __name__ == "__main__":
    main()
