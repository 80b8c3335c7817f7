"""Measure a family of tables as planned, and fit its model: persons with their first rows, then every kind of step."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfumato.errors import BundleError
from sfumato.fitting.families.labelling import ClassedTable, TargetCounts, measure_labeller, refit_labeller
from sfumato.fitting.families.model import FamilyModel
from sfumato.fitting.families.plan import FamilyPlan, ViewPlan, targets_of, totals_of
from sfumato.fitting.families.smoothing import measure_totals, rake_row_numbers, smooth_columns
from sfumato.fitting.families.step_fit import fit_steps
from sfumato.fitting.families.step_mixture import StepMixture
from sfumato.fitting.families.view_curator import ViewCurator, per_person
from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.measure import Counted
from sfumato.fitting.mechanisms.counts.one_way import measure_one_way
from sfumato.fitting.mechanisms.counts.pairs import measure_pairs
from sfumato.fitting.mechanisms.counts.plan import DESIGN
from sfumato.fitting.mechanisms.counts.ties import add_ties
from sfumato.fitting.mechanisms.counts.zoom import zoom
from sfumato.fitting.mechanisms.tables.adaptation import TargetModel
from sfumato.fitting.mechanisms.tables.fit import Fit, fit_mixture
from sfumato.fitting.models.table_mixture.labeller import Labeller
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.replay import Replay
from sfumato.fitting.stored_plan import check_design
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.families import FamilyLayout, View
from sfumato.trusted.families.views import PERSONS
from sfumato.trusted.measurement import CuratorLike, Measurement

Progress = Callable[[str], None]


def release_family(
    curator: CuratorLike, plan: FamilyPlan, layout: FamilyLayout, progress: Progress = lambda _: None
) -> FamilyModel:
    """Measure every view and fit its model, in order."""

    def label(
        view: str, target: str, counts: TargetCounts, model: TargetModel, mu: tuple[float, ...]
    ) -> Labeller | None:
        return measure_labeller(ViewCurator(curator, view), counts, target, model, mu)

    return _Release(curator, plan, layout, label, progress).run()


def refit_family(measurements: tuple[Measurement, ...], plan: FamilyPlan, layout: FamilyLayout) -> FamilyModel:
    """Fit the models anew to what was once released.

    Every table must be the one that plan and earlier answers ask for. Gradients and trees are taken as they were asked:
    which directions they look along, and where they cut, depends on the last digits of a fit.
    """
    record = Replay(measurements)

    def label(
        view: str, target: str, counts: TargetCounts, model: TargetModel, mu: tuple[float, ...]
    ) -> Labeller | None:
        answers = [] if counts.is_constant else [record.left.pop(0) for _ in mu if record.left]
        if not counts.is_constant and tuple(answer.mu for answer in answers) != tuple(mu):
            raise BundleError("there are other measurements than the budget asks for; use the one that made the bundle")
        for answer in answers:
            if getattr(answer.statistic, "view", None) != view:
                raise BundleError("a question about a target was asked of another view; ask for a fresh copy")
        return refit_labeller([per_person(answer) for answer in answers], counts, target, model)

    model = _Release(record, plan, layout, label, lambda _: None).run()
    record.must_be_left(())
    return model


Label = Callable[[str, str, TargetCounts, TargetModel, tuple[float, ...]], "Labeller | None"]


class _Release:
    """One release, from a curator or from a record of what one answered."""

    def __init__(
        self, curator: CuratorLike, plan: FamilyPlan, layout: FamilyLayout, label: Label, progress: Progress
    ) -> None:
        self._curator, self._plan, self._layout = curator, plan, layout
        self._label, self._progress = label, progress

    def run(self) -> FamilyModel:
        labellers: dict[str, dict[str, Labeller]] = {}
        steps: dict[str, StepMixture] = {}
        first: Counted[ViewPlan] | None = None
        for name, plan in self._plan.views.items():
            view = self._layout.views[name]
            counted = self._measure_counts(view, plan)
            self._progress(f"{name}: fitting the model to the noisy counts")
            if first is None:
                first = counted
                persons = fit_mixture(counted.plan, counted.one_way, counted.pairs, Fit())
                persons = rake_row_numbers(persons, counted.one_way, totals_of(self._layout, view))
                persons, found = self._label_persons(view, counted, persons)
            else:
                assert counted.pairs is not None  # noqa: S101 - a step has columns before and after it
                steps[name] = fit_steps(view, counted.one_way, counted.pairs, first.one_way)
                found = self._label_steps(view, counted, steps[name])
            if found:
                labellers[name] = found
        return FamilyModel(persons, steps, labellers)

    def _measure_counts(self, view: View, plan: ViewPlan) -> Counted[ViewPlan]:
        """Single columns, the number of all rows, and pairs."""
        curator = ViewCurator(self._curator, view.name)
        check_design(plan.design, DESIGN)
        self._progress(f"{view.name}: measuring single-column counts, with noise")
        everything = Classes(np.zeros(1, dtype=np.int64), np.ones(1))
        plan, shapes = zoom(curator, plan, everything)
        one_way = measure_one_way(curator, plan, everything, shapes)
        names, mu = totals_of(self._layout, view), plan.mu_totals
        totals = {} if mu is None else measure_totals(curator, plan, names, mu)
        one_way = smooth_columns(plan, one_way, totals)
        self._progress(f"{view.name}: measuring two-column counts, with noise")
        pairs = measure_pairs(curator, plan, one_way)
        if view.name == PERSONS and pairs is not None:
            pairs = add_ties(plan.functions, one_way, pairs, () if plan.support is None else plan.support.names)
        return Counted(plan, one_way, pairs)

    def _label_steps(self, view: View, counted: Counted[ViewPlan], model: StepMixture) -> dict[str, Labeller]:
        found = {}
        for target, mu in counted.plan.mu_labels.items():
            assert counted.pairs is not None  # noqa: S101 - a target has other columns beside it
            counts = TargetCounts.of(counted.one_way, counted.pairs, target, absent=False)
            self._progress(f"{view.name}: measuring corrections to the predictor of {target}, with noise")
            if (labeller := self._label(view.name, target, counts, model, mu)) is not None:
                found[target] = labeller
        return found

    def _label_persons(
        self, view: View, counted: Counted[ViewPlan], model: TableMixture
    ) -> tuple[TableMixture, dict[str, Labeller]]:
        """The labellers, and the model in which the groups of a labelled target are its classes."""
        found, columns = {}, dict(model.columns)
        views = targets_of(self._layout, view)
        for target, mu in counted.plan.mu_labels.items():
            if counted.pairs is None:
                continue
            having = self._layout.views[views[target]].having
            counts = TargetCounts.of(counted.one_way, counted.pairs, target, absent=having is not None)
            known = model if having is None else _with_rows(self._layout, model, having)
            classes = classes_of_pieces(counted, target, having is not None)
            self._progress(f"{view.name}: measuring corrections to the predictor of {target}, with noise")
            labeller = self._label(views[target], target, counts, ClassedTable(known, classes), mu)
            if labeller is not None:
                found[target] = labeller
                columns[target] = replace(columns[target], groups=np.where(classes < 0, classes.max() + 1, classes))
        return replace(model, columns=columns), found


def classes_of_pieces(counted: Counted[ViewPlan], target: str, absent: bool) -> IntArray:
    """The class of every piece of the target, in the order of its codes; -1: of rows that are not there."""
    assert counted.pairs is not None  # noqa: S101 - a target has other columns beside it
    grid = counted.pairs.grids[target]
    cells = grid.cells_of(np.array(counted.one_way.columns[target].grid.starts, dtype=np.int32)).astype(np.int64)
    return np.where(cells == grid.size - 1, -1, cells) if absent else cells


def _with_rows(layout: FamilyLayout, model: TableMixture, child: str) -> TableMixture:
    """The model of persons who have rows in a child table."""
    root = layout.tables[layout.family.root]
    count = root.counts[child]
    return model.restrict([(f"{root.name}.{count}", ((1, root.codes[count].size),))])
