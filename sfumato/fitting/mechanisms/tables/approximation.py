"""Approximate: the mixture of products that explains the noisy tables best. Post-processing.

`evidence` stacks the tables, and `approximate` fits a `ProductMixture` to them.
"""

import itertools
from dataclasses import replace

import numpy as np

from sfumato.fitting.devices import CPU
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.tables.coarse_map import coarse_map
from sfumato.fitting.mechanisms.tables.empty_cells import Tuning as Empty
from sfumato.fitting.mechanisms.tables.empty_cells import empty_cells
from sfumato.fitting.mechanisms.tables.product_mixture import Evidence, ProductMixture, Tuning, WholeRecords
from sfumato.fitting.mechanisms.tables.start import Start
from sfumato.fitting.mechanisms.tables.torch_fit import fit_by_torch
from sfumato.fitting.mechanisms.tables.triple_evidence import TripleEvidence
from sfumato.fitting.models.table_mixture.ties import family_of
from sfumato.fitting.public_rng import public_rng
from sfumato.trusted.arrays import FloatArray

_STARTS = 100  # the first of the public seeds that are of other starts than the usual


def evidence(
    one_way: OneWays, pairs: PairTables | None, whole: WholeRecords | None = None, *, paired_only: bool = False
) -> Evidence:
    """Stack the tables. Sampling variance is added to that of noise, so that a large budget does not chase counts.

    paired_only   without the columns that are in no table of two or three
    """
    size = one_way.size
    paired = [] if pairs is None else [name for name in one_way.columns if name in set(itertools.chain(*pairs.tables))]
    bound = {*paired, *(name for triple in (pairs.triples if pairs else ()) for name in triple.names)}
    columns = {name: column for name, column in one_way.columns.items() if name in bound or not (bound and paired_only)}
    sizes = [len(column.grouped) for column in columns.values()]
    variance = np.concatenate([c.variance + c.grouped.mean(axis=1).clip(1) for c in columns.values()]) / size**2
    levels = [] if pairs is None else [int(pairs.coarse[name].max()) + 1 for name in paired]
    starts = dict(zip(paired, np.cumsum([0, *levels]).tolist(), strict=False))
    tables = np.zeros((one_way.classes.count, sum(levels), sum(levels)), dtype=np.float32)
    precision = np.zeros((sum(levels), sum(levels)), dtype=np.float32)
    if pairs is not None:
        for (one, other), table in pairs.tables.items():
            if other in family_of(pairs.ties, one):  # no product, given the component
                continue
            rows = slice(starts[one], starts[one] + table.shape[1])
            across = slice(starts[other], starts[other] + table.shape[2])
            empty = empty_cells(one_way, pairs, (one, other))
            held = np.where(empty, 0.0, table) / size
            tables[:, rows, across], tables[:, across, rows] = held, held.transpose(0, 2, 1)
            surer = np.where(empty.all(axis=0), Empty.surer, 1.0) * (size / pairs.sigma[one, other]) ** 2
            precision[rows, across], precision[across, rows] = surer, surer.T
    told = replace(one_way, columns=columns)
    stacked = np.concatenate([column.grouped for column in columns.values()]) / size
    groups = dict(zip(columns, told.spans, strict=True))
    return Evidence(
        stacked.astype(np.float32),
        (1 / variance).astype(np.float32)[:, None],
        coarse_map(told, pairs, starts, sum(levels)),
        tables,
        precision,
        np.cumsum([0, *sizes])[:-1],
        np.concatenate([np.full(len(column.grouped), name in columns) for name, column in one_way.columns.items()]),
        () if pairs is None else tuple(TripleEvidence.of(triple, groups, size) for triple in pairs.triples),
        whole,
    )


def _without_prior(mixture: ProductMixture, held: FloatArray) -> FloatArray:
    """Theta less what the prior gave it, some times over: where components hold nothing, marginals would leak in.

    held   the records of each component
    """
    theta = mixture.theta.astype(np.float64)
    share = np.minimum(Tuning.taken_off * Tuning.prior / np.maximum(held, 1.0), Tuning.most_taken_off)
    less: FloatArray = np.maximum(theta - share[:, None] * mixture.marginals, Tuning.left * theta)
    return less


def approximate(
    one_way: OneWays, seen: Evidence, start: Start, steps: int, number: int = 0, device: str = CPU
) -> tuple[FloatArray, list[FloatArray]]:
    """Fit the components: their weights, and theta by column (components x groups), 0 outside of their box.

    number   another one is another jitter around the start
    device   where the steps are computed
    """
    rng = public_rng(0 if number == 0 else _STARTS + number)  # it breaks the tie between components
    owner, marginals = start.owner, start.marginals.astype(np.float32)
    jitter = np.where(start.siblings > 1, Tuning.jitter, 0.0)[:, None]
    with np.errstate(divide="ignore"):
        logits = (np.log(start.base.astype(np.float32)) + jitter * rng.normal(size=start.base.shape)).astype(np.float32)
    weights = np.log(start.weights).astype(np.float32)
    held = [part.compress(seen.held, axis=1) for part in (logits, marginals)]
    families = start.families and replace(start.families, closed=start.families.closed.compress(seen.held, axis=1))
    mixture = ProductMixture(held[0], weights, owner, held[1], seen.offsets, families)
    if device == CPU:
        mixture.fit(seen, steps)
    else:
        fit_by_torch(mixture, seen, steps, device)
    pi = mixture.pi.astype(np.float64)
    # the classes' totals are known better than the fit knows them
    pi *= (one_way.totals / one_way.size)[owner] / np.bincount(owner, weights=pi)[owner]
    theta = start.marginals.copy()
    theta[:, seen.held] = _without_prior(mixture, one_way.size * pi)
    return pi / pi.sum(), [theta[:, at] / theta[:, at].sum(axis=1, keepdims=True) for at in one_way.spans]
