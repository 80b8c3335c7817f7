"""The public designs of the mixture's scores, found anew: `python -m experiments.designs` writes designs_1.json."""

import json
from importlib.resources import files
from pathlib import Path

from sfumato.fitting.mechanisms.mixture.design import LEVELS, MOST_COLUMNS, Kind, best_weights


def table(kind: Kind) -> list[list[list[float]]]:
    """The best weights of every dimension and level, to six digits."""
    return [
        [[float(f"{weight:.6g}") for weight in best_weights(kind, d, level)] for level in range(LEVELS)]
        for d in range(1, MOST_COLUMNS + 1)
    ]


def main() -> None:
    path = Path(str(files("sfumato.fitting.mechanisms.mixture").joinpath("designs_1.json")))
    tables = {"hampel": table("hampel"), "lift": table("lift")}
    path.write_text(json.dumps(tables).replace("]], [[", "]],\n[[") + "\n", encoding="utf-8")
    print(f"wrote {path.name}: {LEVELS} levels of {MOST_COLUMNS} dimensions for {len(tables)} maps")


if __name__ == "__main__":
    main()
