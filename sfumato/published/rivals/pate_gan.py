"""PATE-GAN: a student who sees made-up rows alone, with labels by the noisy votes of teachers, judges the generator."""

import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import DataError
from sfumato.privacy.accounting import Budget
from sfumato.published.rivals.interface import BOUNDS, FloatArray, Generated, Table, Tensor, claim
from sfumato.published.rivals.layout import Layout, largest
from sfumato.published.rivals.networks import (
    ROWS_AT_ONCE,
    Network,
    descend,
    device,
    network,
    noise,
    seeded,
    tensor,
)
from sfumato.published.rivals.teachers import Teachers, apart
from sfumato.published.rivals.votes import ORDERS, affordable, moments, spent

FAULTS = (
    BOUNDS,
    (
        "Where lambda is given, what the votes cost is computed from their exact counts, and training stops when it "
        "reaches epsilon: for how long it went on depends on the records, and is not paid for."
    ),
    "The number of records is taken as public: it sets how many teachers there are and how many rows are made up.",
)


@dataclass(frozen=True)
class PATEGAN:
    """Training goes on to the last of `rounds`, or until the votes have spent epsilon.

    teachers         at most, and
    records_each     at least for each of them
    lam              lambda: a count of votes gets Laplace noise of scale 1 / lambda; if not given, the largest at
                     which all rounds stay within epsilon however the teachers vote
    batch            made-up rows that are voted on in a round
    teacher_steps    before the votes, and
    student_steps    after them, on the votes of the last `remembered` rounds, which cost nothing to use again
    teacher_rate and teacher_decay, student_rate and student_decay, rate
                     of learning, and by how much weights shrink; the generator's falls to 0 with the last round
    averaged         share of the old in each round's mean of generators, the last of which makes the rows

    Epsilon 1 buys few labels: on Adult (24,421 records, delta 1 / 24,421) 16,000 votes of 4,884 teachers need noise of
    scale 1,165 on each count. Table 1 of `experiments.clustmix` has what comes of it. The settings were chosen on ACS
    coverage.

    What differs from the paper, where its own words led to nothing: teachers are logistic regressions with weights for
    each class, and compare rows with each other, because those who judged each by itself called all of them made up to
    the end; the student uses the votes of several rounds again; lambda is set before, by the votes that are wanted;
    the generator's rate falls, and its weights are averaged.

    Formal guarantees
        As claimed: (epsilon, delta) by the data-dependent moments accountant, for one replaced record. Votes that
        would go beyond epsilon are not used; the paper uses the last batch that does.
    Edge cases
        Fewer records than two teachers need: `DataError`. An epsilon that the first votes exceed: the
        generator stays as it began. No record anchors the student, so that rows can end up in one class.
    """

    teachers: int = 5_000
    records_each: int = 5
    lam: float | None = None
    rounds: int = 500
    batch: int = 32
    teacher_steps: int = 1
    teacher_rate: float = 0.5
    teacher_decay: float = 0.3
    student_steps: int = 4
    student_rate: float = 3e-3
    student_decay: float = 0.03
    remembered: int = 10
    rate: float = 2e-3
    averaged: float = 0.98
    hidden: int = 64
    noise: int = 32
    rows: int | None = None

    name: ClassVar[str] = "PATE-GAN"
    paper: ClassVar[str] = (
        "Jordon, Yoon and van der Schaar, PATE-GAN: Generating synthetic data with differential privacy guarantees, "
        "2019"
    )
    accounting: ClassVar[str] = (
        "Data-dependent moments of Laplace-noised votes, summed over all votes that the student learns from."
    )

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:
        """Rows of the mean of the last generators."""
        Budget(epsilon, delta)
        if len(table) < 2 * self.records_each:
            raise DataError(f"two teachers need {2 * self.records_each} records: lower `records_each`")
        layout = Layout.of(table)
        rows = len(table) if self.rows is None else self.rows
        with seeded(rng):
            X, y = self._trained(rng, layout, layout.encode(table), epsilon, delta).rows(rows)
        return Generated(X, y, claim(self.name, epsilon, delta, "one replaced record"), FAULTS)

    def _trained(
        self, rng: np.random.Generator, layout: Layout, rows: FloatArray, epsilon: float, delta: float
    ) -> "Generator":
        import torch
        from torch.nn.functional import softplus

        generator = Generator.of(layout, self.noise, self.hidden)
        mean = copy.deepcopy(generator)
        lam = affordable(self.rounds * self.batch, epsilon, delta) if self.lam is None else self.lam
        if lam <= 0:
            return generator
        student = Student.of(layout, self.hidden, self.student_rate, self.student_decay)
        optimizer = torch.optim.Adam(generator.parameters, lr=self.rate, betas=(0.5, 0.99))
        count = min(self.teachers, len(rows) // self.records_each)
        teachers = Teachers.of(rng, rows, layout.classes, count, self.teacher_rate, self.teacher_decay)
        moment = np.zeros(len(ORDERS))
        seen: list[tuple[Tensor, Tensor]] = []
        for step in range(self.rounds):
            with torch.no_grad():
                for _ in range(self.teacher_steps):
                    teachers.learn(generator(2 * self.batch))
                judged = generator(self.batch)
                votes = teachers.votes(judged)
            moment = moment + moments(np.abs(2 * votes - count), lam)
            if spent(moment, delta) > epsilon:
                break
            seen = [*seen, (judged, tensor(noisy_majority(rng, votes, count, lam)))][-self.remembered :]
            student.learn(self.student_steps, *(torch.cat(parts) for parts in zip(*seen, strict=True)))
            optimizer.param_groups[0]["lr"] = self.rate * (1 - step / self.rounds)
            descend(optimizer, softplus(-student(generator(8 * self.batch))).mean())
            mean.follow(generator, min(self.averaged, step / (step + 1)))
        return mean


@dataclass(frozen=True, eq=False)
class Generator:
    """A label is drawn first, and the features follow from it and noise. What it begins with is the same for all."""

    layout: Layout
    width: int
    label: Tensor
    features: Network

    @classmethod
    def of(cls, layout: Layout, width: int, hidden: int) -> "Generator":
        """Labels begin as likely as each other, and features spread over all that they can be."""
        import torch
        from torch import nn

        features = network((width + layout.classes, hidden, hidden, layout.label.start))
        layers = [layer for layer in features if isinstance(layer, nn.Linear)]
        for layer in layers:
            nn.init.kaiming_normal_(layer.weight, a=0.2 if layer is not layers[-1] else 1.0)
            nn.init.zeros_(layer.bias)
        return cls(layout, width, torch.zeros(layout.classes, device=device(), requires_grad=True), features)

    @property
    def parameters(self) -> list[Tensor]:
        """All that is trained."""
        return [self.label, *self.features.parameters()]

    def __call__(self, rows: int) -> Tensor:
        """Encoded rows."""
        import torch
        from torch.nn.functional import gumbel_softmax

        labels = gumbel_softmax(self.label.expand(rows, -1), hard=True)
        raw = self.features(torch.cat((noise(rows, self.width), labels), dim=1))
        features = self.layout.sample(torch.cat((raw, labels), dim=1))[:, : self.layout.label.start]
        return torch.cat((features, labels), dim=1)

    def rows(self, count: int) -> tuple[FloatArray, Any]:
        """Features and labels of so many rows."""
        import torch

        with torch.no_grad():
            sizes = [min(ROWS_AT_ONCE, count - start) for start in range(0, count, ROWS_AT_ONCE)]
            made = np.concatenate([self(size).cpu().numpy() for size in sizes])
        return self.layout.decode(made.astype(np.float64), largest)

    def follow(self, other: "Generator", share: float) -> None:
        """A mean of this share of itself and the rest of the other."""
        import torch

        with torch.no_grad():
            for own, new in zip(self.parameters, other.parameters, strict=True):
                own.lerp_(new, 1 - share)


@dataclass(frozen=True, eq=False)
class Student:
    """A network that sees the features of a row in the places of its class."""

    classes: int
    judge: Network
    optimizer: Any

    @classmethod
    def of(cls, layout: Layout, hidden: int, rate: float, decay: float) -> "Student":
        """Who has learnt nothing yet."""
        import torch

        judge = network((layout.classes * (layout.label.start + 1), hidden, 1))
        return cls(layout.classes, judge, torch.optim.Adam(judge.parameters(), lr=rate, weight_decay=decay))

    def __call__(self, rows: Tensor) -> Tensor:
        """Logits, above 0 where the teachers would take a row for a record."""
        features, labels = apart(rows, self.classes)
        return self.judge((labels[:, :, None] * features[:, None]).flatten(1)).squeeze(1)

    def learn(self, steps: int, rows: Tensor, votes: Tensor) -> None:
        """So many steps towards what the teachers said."""
        from torch.nn.functional import binary_cross_entropy_with_logits

        for _ in range(steps):
            descend(self.optimizer, binary_cross_entropy_with_logits(self(rows), votes))


def noisy_majority(rng: np.random.Generator, votes: FloatArray, count: int, lam: float) -> FloatArray:
    """1 where more of `count` teachers take a row for a record than do not, after Laplace noise on both counts."""
    noisy = np.stack((votes, count - votes)) + rng.laplace(0, 1 / lam, (2, len(votes)))
    labels: FloatArray = (noisy[0] > noisy[1]).astype(np.float64)
    return labels
