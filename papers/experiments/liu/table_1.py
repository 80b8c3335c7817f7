"""Table I: how many houses k-means puts into each class of the load profiles."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.cells import table
from experiments.liu.data import CLUSTERS, METERS, load_profiles
from experiments.liu.figure import Request

PAPER = "Californian, the paper's"
SIZES_OF_THE_PAPER = (687, 428, 102, 147, 14, 31)


@dataclass(frozen=True)
class SizesTable:
    """Class sizes of the paper's houses and of those at hand."""

    name: str = "table_1"
    title: str = "Houses in each class of the load profiles"

    def run(self, request: Request) -> tuple[str, str]:
        folder = request.folder
        sizes = {PAPER: list(SIZES_OF_THE_PAPER)}
        sizes |= {name: np.bincount(load_profiles(name).label).tolist() for name in METERS}
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            content = {"seed of k-means": 0, "sizes": sizes}
            (folder / f"{self.name}.json").write_text(json.dumps(content) + "\n")
        head = ["houses", *(f"class {k + 1}" for k in range(CLUSTERS)), "total"]
        rows = [[name, *map(str, counts), str(sum(counts))] for name, counts in sizes.items()]
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
        return f"table I: {self.title}\n" + table(head, rows), "\n".join(lines)

    def sentences(self, folder: Path) -> tuple[str, str]:
        sizes = json.loads((folder / f"{self.name}.json").read_text())["sizes"]["Scottish and Swiss"]
        shows = (
            f"K-means with six centres on the logarithms of 12 hourly readings puts {min(sizes)} to {max(sizes)} of "
            f"the {sum(sizes):,} houses into a class; figures 7 and 8 use both sets together."
        )
        differs = (
            "The paper's houses fall into much less even classes, down to 14 houses of 12 readings, for whose "
            "covariance two houses fewer would be too few."
        )
        return shows, differs


TABLE = SizesTable()
