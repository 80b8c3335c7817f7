"""Made tables with structure that pairs of columns do not show, or show only together. All need a generator's state.

Chains of functions (zip, city, state), stays in hospital with rules, and labels that two columns tell nothing of.
Development has states 0, 1, 2 ..., what is reported others: see `experiments.structure`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd

import sfumato
from sfumato.trusted.arrays import FloatArray, IntArray

Bounds = Mapping[str, tuple[Any, Any]]
TARGET = "label"
YEAR = 2026  # from which ages are counted
_LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


@dataclass(frozen=True)
class Table:
    """Rows, the content of their schema, and the rules that hold in every row, as a schema's `constraints`."""

    rows: pd.DataFrame
    content: Mapping[str, Any]
    rules: tuple[Any, ...] = ()

    def schema(self, *, declared: bool = False) -> sfumato.Schema:
        """With or without the rules."""
        return sfumato.Schema.from_dict({**self.content, **({"constraints": list(self.rules)} if declared else {})})

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that are no categories."""
        return tuple(column["name"] for column in self.content["columns"] if column["type"] != "category")


def described(name: str, rows: pd.DataFrame, bounds: Bounds, rules: Sequence[Any] = ()) -> Table:
    """Whole bounds make an integer column, texts a date, others a number; the rest are categories of text."""
    rows, columns = rows.reset_index(drop=True), []
    for column in rows.columns:
        missing = {"missing": True} if rows[column].isna().any() else {}
        if column in bounds:
            kinds = {int: "integer", float: "number", str: "date"}
            kind = {"type": kinds[type(bounds[column][0])], "bounds": list(bounds[column])}
        else:
            rows[column] = rows[column].map(str, na_action="ignore").astype(object)
            kind = {"type": "category", "values": sorted(rows[column].dropna().unique())}
        columns.append({"name": column, **kind, **missing})
    target = {"target": TARGET} if TARGET in rows else {}
    return Table(rows, {"sfumato": 1, "name": name, "columns": columns, **target}, tuple(rules))


def zips(count: int, state: int, rows: int = 27_000, others: int = 12) -> Table:
    """Zip, its city (three for five zips), the city's state, and columns that depend on the zip and a hidden kind.

    The zips are as frequent as words: the second half as frequent as the first, the third a third as frequent.
    """
    rng = np.random.default_rng(state)
    cities = max(2, 3 * count // 5)
    city_of, state_of = rng.integers(0, cities, count), rng.integers(0, max(2, cities // 6), cities)
    frequency = 1 / np.arange(1, count + 1)
    zip_, kind = rng.choice(count, rows, p=frequency / frequency.sum()), rng.integers(0, 4, rows)
    table = {
        "zip": [f"z{place:03}" for place in zip_],
        "city": [f"c{place:03}" for place in city_of[zip_]],
        "state": [f"s{place:02}" for place in state_of[city_of[zip_]]],
    }
    for place in range(others):
        values = int(rng.integers(2, 9))
        odds = rng.normal(0, 0.7, (count, values))[zip_] + rng.normal(0, 1, (4, values))[kind]
        table[f"other{place}"] = _draw(odds, rng).tolist()
    rules = [{"column": "city", "of": "zip"}, {"column": "state", "of": "city"}]
    return described("zips", pd.DataFrame(table), {}, rules)


def _draw(odds: FloatArray, rng: np.random.Generator) -> IntArray:
    """One of each row's values, by logarithmic odds."""
    gumbel = -np.log(-np.log(rng.random(odds.shape)))
    chosen: IntArray = np.argmax(odds + gumbel, axis=1)
    return chosen


def stays(state: int, rows: int = 20_000) -> Table:
    """Stays that end after they begin, cities in their countries, ages that follow from the year of birth."""
    rng = np.random.default_rng(state)
    country_of = {f"city {place:02}": f"country {number}" for place, number in enumerate(rng.integers(0, 8, 30))}
    frequency = 1 / np.arange(1, 31)
    city = rng.choice(list(country_of), rows, p=frequency / frequency.sum())
    age = np.clip(np.rint(rng.normal(58, 22, rows)), 0, 100).astype(int)
    ward = rng.integers(0, 5, rows) + (age > 70)
    length = rng.geometric(1 / (2 + 2.5 * ward)) - 1
    admitted = np.datetime64("2024-01-01") + rng.integers(0, 700, rows)
    table = pd.DataFrame(
        {
            "admitted": admitted.astype("datetime64[s]"),
            "discharged": (admitted + length).astype("datetime64[s]"),
            "city": city,
            "country": [country_of[name] for name in city],
            "birth_year": YEAR - age,
            "age": age,
            "ward": [f"ward {place}" for place in ward],
            "cost": np.round(300 * (1 + length) * np.exp(rng.normal(0.2 * ward, 0.4)), 2).clip(0, 200_000),
        }
    )
    bounds: Bounds = {
        "admitted": ("2024-01-01", "2025-12-31"),
        "discharged": ("2024-01-01", "2026-12-31"),
        "birth_year": (YEAR - 110, YEAR),
        "age": (0, 110),
        "cost": (0.0, 200_000.0),
    }
    there = {name: country_of[name] for name in sorted(set(city))}
    rules = [
        "discharged >= admitted",
        {"column": "country", "of": "city", "table": there},
        f"age = {YEAR} - birth_year",
    ]
    return described("stays", table, bounds, rules)


def xor(order: int, among: int, state: int, rows: int = 20_000) -> Table:
    """The parity of some columns of coins."""
    rng = np.random.default_rng(state)
    coins = rng.integers(0, 2, (rows, among))
    return _labelled(coins, coins[:, rng.choice(among, order, replace=False)].sum(axis=1) % 2, {})


def checkerboard(state: int, rows: int = 20_000) -> Table:
    """Six numbers, two of which say the colour of a square on a board of four by four."""
    rng = np.random.default_rng(state)
    numbers = rng.random((rows, 6))
    squares = np.floor(4 * numbers[:, rng.choice(6, 2, replace=False)]).astype(int)
    return _labelled(numbers, squares.sum(axis=1) % 2, _alike(6, (0.0, 1.0)))


def random_tree(state: int, rows: int = 20_000, depth: int = 6) -> Table:
    """Eight numbers and four labels, dealt to the leaves of a tree whose cuts are drawn."""
    rng = np.random.default_rng(state)
    numbers, leaf = rng.random((rows, 8)), np.zeros(rows, dtype=int)
    for level in range(depth):
        column, cut = rng.integers(0, 8, 2**level), rng.uniform(0.3, 0.7, 2**level)
        leaf = 2 * leaf + (numbers[np.arange(rows), column[leaf]] > cut[leaf])
    return _labelled(numbers, rng.integers(0, 4, 2**depth)[leaf], _alike(8, (0.0, 1.0)))


def tic_tac_toe(state: int, rows: int = 10_000, changed: float = 0.02) -> Table:
    """Boards at the end of a game, a few squares changed: had x a line?"""
    rng = np.random.default_rng(state)
    ends = np.array([list(board) for board in sorted(_ends(" " * 9, "x"))])
    boards = ends[rng.integers(0, len(ends), rows)]
    label = np.array([_has_line("".join(board), "x") for board in boards]).astype(int)
    noisy = np.where(rng.random(boards.shape) < changed, rng.choice(list("xo "), boards.shape), boards)
    return _labelled(np.where(noisy == " ", "blank", noisy), label, {})


def _ends(board: str, turn: str) -> set[str]:
    """All boards at which a game can end that has come here; of boards of one count of marks only those are played."""
    ends, open_boards = set(), {board}
    while open_boards:
        over = {one for one in open_boards if " " not in one or _has_line(one, "x") or _has_line(one, "o")}
        ends |= over
        open_boards = {
            one[:place] + turn + one[place + 1 :]
            for one, place in product(open_boards - over, range(9))
            if one[place] == " "
        }
        turn = "o" if turn == "x" else "x"
    return ends


def _has_line(board: str, player: str) -> bool:
    return any(all(board[int(place)] == player for place in line) for line in _LINES)


def strokes(state: int, rows: int = 9_000) -> Table:
    """Ten characters of three to six strokes, moved and scaled: a row is one stroke.

    Its number, both ends, its length, and the diagonal of the box around the character.
    """
    rng = np.random.default_rng(state)
    shapes = [rng.integers(0, 5, (rng.integers(4, 8), 2)) for _ in range(10)]
    found: list[list[float]] = []
    while len(found) < rows:
        label = int(rng.integers(10))
        points = shapes[label] * rng.uniform(2, 8) + rng.integers(0, 12, 2) + rng.normal(0, 0.4, shapes[label].shape)
        box = 10 * np.hypot(*np.ptp(points, axis=0))
        for place, (start, end) in enumerate(pairwise(points)):
            found.append([place, *start, *end, 10 * np.hypot(*(end - start)), box, label])
    numbers = np.clip(np.rint(np.array(found[:rows])), 0, 700).astype(int)
    numbers[:, 1:5] = numbers[:, 1:5].clip(0, 60)
    ends = [(0, 6), *[(0, 60)] * 4, (0, 700), (0, 700)]
    return _labelled(numbers[:, :7], numbers[:, 7], {f"x{place}": pair for place, pair in enumerate(ends)})


def blobs(state: int, rows: int = 15_000, classes: int = 26, each: int = 2) -> Table:
    """Every class is a few correlated Gaussians in ten columns, cut to whole numbers from 0 to 15."""
    rng = np.random.default_rng(state)
    label, part = rng.integers(0, classes, rows), rng.integers(0, each, rows)
    centre = rng.uniform(3, 12, (classes, each, 10))[label, part]
    mix = rng.normal(0, 0.72, (classes, each, 10, 10))[label, part]
    numbers = centre + np.einsum("nij,nj->ni", mix, rng.normal(size=(rows, 10)))
    return _labelled(np.clip(np.rint(numbers), 0, 15).astype(int), label, _alike(10, (0, 15)))


def _alike(columns: int, ends: tuple[Any, Any]) -> Bounds:
    return {f"x{place}": ends for place in range(columns)}


def _labelled(columns: Any, label: Any, bounds: Bounds) -> Table:
    rows = pd.DataFrame(columns, columns=[f"x{place}" for place in range(columns.shape[1])])
    return described("made-up", rows.assign(**{TARGET: label}), bounds)


LABELLED: dict[str, Callable[..., Table]] = {
    "xor of 3 among 8": lambda state, **size: xor(3, 8, state, **size),
    "xor of 3 among 20": lambda state, **size: xor(3, 20, state, **size),
    "xor of 4 among 12": lambda state, **size: xor(4, 12, state, **size),
    "checkerboard": checkerboard,
    "random tree": random_tree,
    "tic-tac-toe": tic_tac_toe,
    "strokes": strokes,
    "blobs": blobs,
}
