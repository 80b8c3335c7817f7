"""Run by an interpreter that has dpmm: AIM on one table. Not part of the library.

`python aim_peer.py TRAIN.parquet DOMAIN.json EPSILON DELTA SEED OUT`
"""

import json
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
from dpmm.pipelines.aim import AIMPipeline

warnings.filterwarnings("ignore")
STEPS = 100  # of each inner fit; the default takes ten times as long


def main() -> None:
    train, domain, epsilon, delta, seed, out = sys.argv[1:]
    rows, domain = pd.read_parquet(train), json.loads(Path(domain).read_text())
    for name, column in domain.items():
        if "categories" in column:
            rows[name] = rows[name].astype("category").cat.set_categories(column["categories"])
    begin = time.process_time()
    # a tenth of the budget for its private cut of the numbers, as bounds alone are public
    pipeline = AIMPipeline(
        epsilon=0.9 * float(epsilon),
        delta=float(delta),
        proc_epsilon=0.1 * float(epsilon),
        n_jobs=1,
        gen_kwargs={"n_iters": STEPS},
    )
    pipeline.fit(rows, domain=domain, random_state=int(seed))
    inner, outward = {}, pipeline.proc.inverse_transform

    def seen(df):
        inner["codes"] = df.copy()
        return outward(df=df)

    pipeline.proc.inverse_transform = seen
    synthetic = pipeline.generate(len(rows), random_state=int(seed))
    seconds = time.process_time() - begin
    synthetic.astype({name: str for name, column in domain.items() if "categories" in column}).to_parquet(f"{out}.rows")
    inner["codes"].to_parquet(f"{out}.codes")
    pipeline.proc.transform(rows).to_parquet(f"{out}.train")
    edges = {name: [float(end) for end in binner.bins] for name, binner in pipeline.proc.binners.items()}
    Path(f"{out}.json").write_text(json.dumps({"cpu seconds": seconds, "edges": edges}))


if __name__ == "__main__":
    main()
