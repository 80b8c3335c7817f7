"""Small mixtures of steps, and their law written out cell by cell and code by code."""

import itertools
from collections.abc import Mapping

import numpy as np

from sfumato.fitting.families.step_mixture import Factor, Shape, StepMixture
from sfumato.fitting.models.table_mixture.model import Pieces
from sfumato.trusted.feature_maps import Grid

CELLS = {"s": [0, 0, 1, 2, 2], "previous x": [0, 0, 1, 1], "x": [0, 1, 1, 2], "y": [0, 0, 0, 1, 1, 1]}
"""The coarse cell of every code, by column."""


def random_mixture(seed: int = 0, components: int = 3) -> StepMixture:
    """Two single columns, and one with its previous value, all distributions drawn at random."""
    rng = np.random.default_rng(seed)
    shapes = {name: _shape(np.array(cells), rng) for name, cells in CELLS.items()}
    factors = []
    for names in (("s",), ("y",), ("previous x", "x")):
        sizes = [shapes[name].grid.size for name in names]
        theta = rng.dirichlet(np.full(int(np.prod(sizes)), 0.7), components) + 1e-3
        theta /= theta.sum(axis=1, keepdims=True)
        factors.append(Factor(names, theta.reshape(components, *sizes)))
    return StepMixture(rng.dirichlet(np.ones(components)), tuple(factors), shapes, 100.0, {})


def _shape(cells: np.ndarray, rng: np.random.Generator) -> Shape:
    """Every code is a piece."""
    count = len(cells)
    starts = np.arange(count)
    held = rng.dirichlet(np.ones(count))
    return Shape.of(Grid.of_cells(cells), Pieces(starts, starts + 1, starts, np.zeros(count), held[None]))


def law_of_cells(model: StepMixture) -> dict[tuple[int, ...], np.ndarray]:
    """The probability of every combination of cells in each component, in the order of `CELLS`."""
    by_name = {factor.names: factor.theta for factor in model.factors}
    found = {}
    for s, old, x, y in itertools.product(*(range(model.shapes[name].grid.size) for name in CELLS)):
        theta = by_name["s",][:, s] * by_name["y",][:, y] * by_name["previous x", "x"][:, old, x]
        found[s, old, x, y] = model.weights * theta
    return found


def law_of_codes(model: StepMixture) -> np.ndarray:
    """The probability of every combination of codes: cells, and the share of each code in its cell."""
    cells = law_of_cells(model)
    shares = {name: share_in_cell(model, name) for name in CELLS}
    found = np.zeros([len(codes) for codes in CELLS.values()])
    for codes in np.ndindex(*found.shape):
        at = tuple(CELLS[name][code] for name, code in zip(CELLS, codes, strict=True))
        inside = np.prod([shares[name][code] for name, code in zip(CELLS, codes, strict=True)])
        found[codes] = cells[at].sum() * inside
    return found


def share_in_cell(model: StepMixture, name: str) -> np.ndarray:
    """How likely each code is among those of its cell."""
    held, cells = model.shapes[name].pieces.theta[0], np.array(CELLS[name])
    return held / np.array([held[cells == cell].sum() for cell in cells])


def given(law: np.ndarray, known: Mapping[str, int], name: str) -> np.ndarray:
    """The distribution of a column's codes given the codes of some others."""
    at = tuple(known.get(one, slice(None)) for one in CELLS)
    left = [one for one in CELLS if one not in known]
    summed = law[at].sum(axis=tuple(place for place, one in enumerate(left) if one != name))
    return summed / summed.sum()
