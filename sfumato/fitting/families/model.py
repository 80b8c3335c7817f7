"""What is fitted to a family of tables: a model of persons with their first rows, and one of every step."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.fitting.families.step_mixture import StepMixture
from sfumato.fitting.models.table_mixture.labeller import Labeller
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.families import FamilyLayout
from sfumato.trusted.families.views import PERSONS


@dataclass(frozen=True, eq=False)
class FamilyModel:
    """The models of all views.

    persons     of persons, their numbers of rows and their first rows
    steps       of every other view, by its name
    labellers   of the targets of every view: what each is, given the other columns
    """

    persons: TableMixture
    steps: Mapping[str, StepMixture]
    labellers: Mapping[str, Mapping[str, Labeller]]

    def __repr__(self) -> str:
        return f"<FamilyModel of about {self.persons.size:,.0f} persons, {len(self.steps)} models of steps>"

    def distance(self, other: "FamilyModel") -> float:
        """How far two models are apart, as a bound of a total variation."""
        if list(self.steps) != list(other.steps) or _targets(self) != _targets(other):
            return 1.0
        apart = [self.persons.distance(other.persons)]
        apart += [model.distance(other.steps[name]) for name, model in self.steps.items()]
        for view, found in self.labellers.items():
            model = self.persons if view == PERSONS else self.steps[view]
            records = model.pool(1_000, np.random.default_rng(0))
            for target, labeller in found.items():
                told = [one.probabilities(records) for one in (labeller, other.labellers[view][target])]
                apart.append(float(np.abs(told[0] - told[1]).sum(axis=1).mean() / 2))
        return float(max(apart))

    def to_parts(self) -> tuple[dict[str, Any], dict[str, pa.Table]]:
        """The models as plain content, and an Arrow table for each."""
        content, table = self.persons.to_parts()
        contents, tables = {PERSONS: content}, {PERSONS: table}
        for name, model in self.steps.items():
            contents[name], tables[name] = model.to_parts()
        labellers = {
            view: {target: one.to_dict() for target, one in found.items()} for view, found in self.labellers.items()
        }
        return {"models": contents, "labellers": labellers}, tables

    @classmethod
    def from_parts(
        cls, content: Mapping[str, Any], tables: Mapping[str, pa.Table], layout: FamilyLayout
    ) -> "FamilyModel":
        """The model that `to_parts` wrote; one that does not fit the family raises."""
        if set(content) != {"models", "labellers"}:
            raise ValueError("a model of a family has models, labellers and nothing else")
        views = {name: view for name, view in layout.views.items() if view.having is None}
        if list(content["models"]) != list(views) or list(tables) != list(views):
            raise ValueError("there are models of other views than the family has")
        codes = {name: Encoder(view.schema).columns for name, view in views.items()}
        persons = TableMixture.from_parts(content["models"][PERSONS], tables[PERSONS], codes[PERSONS])
        steps = {
            name: StepMixture.from_parts(content["models"][name], tables[name], codes[name])
            for name in views
            if name != PERSONS
        }
        labellers: dict[str, dict[str, Labeller]] = {}
        for view, found in content["labellers"].items():
            labellers[view] = {target: Labeller.from_dict(one) for target, one in found.items()}
            for target, one in labellers[view].items():
                if one.target != target or not one.fits(codes[view]):
                    raise ValueError("a labeller looks at other columns than the view has")
        return cls(persons, steps, labellers)


def _targets(model: FamilyModel) -> dict[str, list[str]]:
    return {view: list(found) for view, found in model.labellers.items()}
