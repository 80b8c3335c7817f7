"""Figures 1 to 10, table I, remark 1 and example 3 of Liu, Scaglione and Peisert: `python -m experiments.liu`.

Each carries what the paper proposes, its baselines, the proven mixture of this library at the same budget, and what no
privacy at all would give. Pictures, results and a page of both are written to `docs/liu`; what has been measured is not
measured again. All of it takes some three hours on one core; `--quick` a few minutes, and writes nothing. After a
change of the proven mechanism `--parts whole label --fresh` measures its curves anew and leaves the others as they are.
"""

import argparse
from pathlib import Path

from experiments.liu import (
    example_3,
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    figure_9,
    figure_10,
    remark_1,
    table_1,
)
from experiments.liu.figure import FOLDER, Figure, Request
from experiments.liu.methods import PARTS
from experiments.liu.page import is_picture, page

FIGURES: dict[str, Figure] = {
    one.name: one
    for one in (
        figure_1.FIGURE,
        figure_2.FIGURE,
        figure_3.FIGURE,
        figure_4.FIGURE,
        figure_5.FIGURE,
        figure_6.FIGURE,
        table_1.TABLE,
        figure_7.FIGURE,
        figure_8.FIGURE,
        figure_9.FIGURE,
        figure_10.FIGURE,
        example_3.FIGURE,
        remark_1.TABLE,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few trials; prints numbers and writes nothing")
    parser.add_argument("--only", nargs="*", choices=list(FIGURES), help="some figures; the page is of those there are")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="measure some curves only")
    parser.add_argument("--fresh", action="store_true", help="measure these parts of these figures anew")
    parser.add_argument("--out", type=Path, default=FOLDER, help="another folder for pictures and results")
    asked = parser.parse_args()
    folder = None if asked.quick else asked.out
    for name in asked.only or FIGURES:
        text, shown = FIGURES[name].run(Request(folder, asked.quick, asked.parts, asked.fresh))
        print(f"\n{text}\n", flush=True)
        if folder and is_picture(shown):
            (folder / f"{name}.svg").write_text(str(shown) + "\n", encoding="utf-8")
    if folder:
        (folder / "figures.md").write_text(page(FIGURES.values(), folder), encoding="utf-8")
        print(f"{folder / 'figures.md'} shows them all")


if __name__ == "__main__":
    main()
