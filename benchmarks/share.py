"""Questions about the target asked of all records, and of a share: `python -m benchmarks.share [--rows N] [--seeds S]`.

Tables made by the generator of `benchmarks.scale`, ten columns, epsilon 1. Area under the ROC curve of the release
itself on fresh rows of the same generator, the difference within each seed, and the seconds of both.
"""

import argparse
import tempfile
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow.parquet
from sklearn.metrics import roc_auc_score

import sfumato
from benchmarks import scale_data

COLUMNS, FRESH = 10, 500_000
SHARE = "sfumato.fitting.mechanisms.tables.adaptation.share_of"


def measure(path: Path, fresh: Path, share: bool) -> tuple[float, float]:
    """Area under the curve, and seconds of the release."""
    schema = scale_data.schema_of(COLUMNS)
    begin = time.perf_counter()
    with nullcontext() if share else patch(SHARE, lambda *_: None):
        release = sfumato.release(path, schema, epsilon=1.0, mechanism="tables", ledger=None, types="declared")
    seconds = time.perf_counter() - begin
    table = pyarrow.parquet.read_table(fresh)
    told = release.predict_proba(table.drop_columns([scale_data.TARGET]))
    ill = table.column(scale_data.TARGET).to_numpy()
    return float(roc_auc_score(ill, told[:, release.classes.index(True)])), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[10**6, 2 * 10**6, 10**7])
    parser.add_argument("--seeds", type=int, default=3, help="releases of each kind; each has fresh noise")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", sfumato.errors.ReleaseWarning)
    with tempfile.TemporaryDirectory() as folder:
        path, fresh = Path(folder) / "table.parquet", Path(folder) / "fresh.parquet"
        scale_data.write(fresh, FRESH, COLUMNS, seed=1)
        print("| rows | all records: AUC | share: AUC | difference | seconds |\n|---|---|---|---|---|")
        for rows in asked.rows:
            scale_data.write(path, rows, COLUMNS)
            found = np.array([[measure(path, fresh, share) for share in (False, True)] for _ in range(asked.seeds)])
            (every, some), (slow, quick) = found.mean(axis=0).T
            differences = found[:, 1, 0] - found[:, 0, 0]
            spread = f"{differences.mean():+.5f} ({differences.min():+.5f} to {differences.max():+.5f})"
            print(f"| {rows:,} | {every:.5f} | {some:.5f} | {spread} | {slow:.1f} / {quick:.1f} |", flush=True)


if __name__ == "__main__":
    main()
