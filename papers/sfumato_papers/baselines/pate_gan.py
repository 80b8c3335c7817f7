"""PATE-GAN: a student who sees made-up rows alone, with labels by the noisy votes of teachers, judges the generator."""

import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import DataError, RequestError
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.budget import Budget
from sfumato_papers.baselines.interface import BOUNDS, Generated, Table, Tensor, claim
from sfumato_papers.baselines.layout import Layout, largest
from sfumato_papers.baselines.networks import ROWS_AT_ONCE, Network, descend, device, network, noise, seeded, tensor
from sfumato_papers.baselines.teachers import Teachers
from sfumato_papers.baselines.votes import ORDERS, affordable, moments, spent

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
    """Training goes on to the last of `rounds`, or until the votes have spent what is left of epsilon.

    teachers         at most, and
    records_each     at least for each of them
    labels           share of epsilon, above 0, that goes to a noisy count of the labels
    lam              lambda: a count of votes gets Laplace noise of scale 1 / lambda; if not given, the largest at
                     which all rounds stay within epsilon however the teachers vote
    batch            made-up rows that are voted on in a round, as many of each class, and one at least
    compared         made-up rows of each class that those are compared with
    student_steps    after the votes, on those of the last `remembered` rounds, which cost nothing to use again
    student_rate and student_decay, rate
                     of learning, and by how much weights shrink; the generator's falls to 0 with the last round
    averaged         share of the old in each round's mean of generators, the last of which makes the rows

    Epsilon 1 buys few labels: on Adult (24,421 records, delta 1 / 24,421) 16,000 votes of 4,884 teachers need noise of
    scale 1,225 on each count. Table 1 of `experiments.clustmix` has what comes of it. The settings and what differs
    from the paper were chosen on ACS coverage and on toys.

    What differs from the paper, where its own words led to nothing:

    * Teachers are no networks: each compares the mean of its records of a class with that of made-up rows of the same
      class, anew in every round. Logistic regressions on rows of all classes, which went on from round to round, let
      features make up for a wrong share of labels: where a class is rare, features went the wrong way.
    * They compare rows with the mean of other made-up rows, because those who judged each by itself called all of them
      made up to the end. A teacher without a record of a class tosses a coin about its rows.
    * The generator is given labels and makes features alone. How frequent the labels are is a count with Laplace noise,
      which takes a twentieth of epsilon; in the paper they are made up as features are. Votes are on as many rows of
      each class.
    * The student uses the votes of several rounds again, and sees how far rows are from the mean of made-up ones.
    * Lambda is set before, by the votes that are wanted; the generator's rate falls, and its weights are averaged.

    Formal guarantees
        As claimed: (epsilon, delta) by the data-dependent moments accountant and, for the count of labels, by basic
        composition, for one replaced record. Votes that would go beyond epsilon are not used; the paper uses the last
        batch that does.
    Edge cases
        Fewer records than two teachers need: `DataError`. An epsilon that the first votes exceed: the
        generator stays as it began. Teachers know means alone: how a number spreads around that of its class is not
        learnt.
    """

    teachers: int = 5_000
    records_each: int = 5
    labels: float = 0.05
    lam: float | None = None
    rounds: int = 500
    batch: int = 32
    compared: int = 256
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
        "Data-dependent moments of Laplace-noised votes, summed over all votes that the student learns from, after a "
        "share of epsilon for a Laplace-noised count of labels."
    )

    def __post_init__(self) -> None:
        if not 0 < self.labels < 1:
            raise RequestError(f"labels is {self.labels!r}; it must be a share of epsilon, between 0 and 1")
        for name in ("teachers", "records_each", "rounds", "batch", "compared", "student_steps", "remembered"):
            if getattr(self, name) < 1:
                raise RequestError(f"{name} is {getattr(self, name)!r}; it must be 1 or more")

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:
        """Rows of the mean of the last generators, with labels as frequent as a noisy count of them."""
        Budget(epsilon, delta)
        if len(table) < 2 * self.records_each:
            raise DataError(f"two teachers need {2 * self.records_each} records: lower `records_each`")
        layout = Layout.of(table)
        for_labels = self.labels * epsilon
        shares = noisy_shares(rng, table, for_labels)
        y = rng.choice(layout.classes, len(table) if self.rows is None else self.rows, p=shares)
        with seeded(rng):
            X = self._trained(rng, layout, layout.encode(table), epsilon - for_labels, delta).rows(y)
        return Generated(X, y, claim(self.name, epsilon, delta, "one replaced record"), FAULTS)

    def _trained(
        self, rng: np.random.Generator, layout: Layout, rows: FloatArray, epsilon: float, delta: float
    ) -> "Generator":
        import torch
        from torch.nn.functional import softplus

        generator = Generator.of(layout, self.noise, self.hidden)
        mean = copy.deepcopy(generator)
        each = max(1, self.batch // layout.classes)
        lam = affordable(self.rounds * each * layout.classes, epsilon, delta) if self.lam is None else self.lam
        if lam <= 0:
            return generator
        student = Student.of(layout, self.hidden, self.student_rate, self.student_decay)
        optimizer = torch.optim.Adam(generator.parameters, lr=self.rate, betas=(0.5, 0.99))
        count = min(self.teachers, len(rows) // self.records_each)
        teachers = Teachers.of(rng, rows, layout.classes, count)
        moment = np.zeros(len(ORDERS))
        seen: list[tuple[Tensor, Tensor]] = []
        for step in range(self.rounds):
            with torch.no_grad():
                made = generator.each(each + self.compared)
                usual = made[:, each:].mean(1, keepdim=True)
                judged = made[:, :each] - usual
                votes = teachers.votes(judged, usual)
            moment = moment + moments(np.abs(2 * votes.ravel() - count), lam)
            if spent(moment, delta) > epsilon:
                break
            seen = [*seen, (judged, tensor(noisy_majority(rng, votes, count, lam)))][-self.remembered :]
            student.learn(self.student_steps, *(torch.cat(parts, dim=1) for parts in zip(*seen, strict=True)))
            optimizer.param_groups[0]["lr"] = self.rate * (1 - step / self.rounds)
            descend(optimizer, softplus(-student(generator.each(8 * each) - usual)).mean())
            mean.follow(generator, min(self.averaged, step / (step + 1)))
        return mean


@dataclass(frozen=True, eq=False)
class Generator:
    """Features that follow from a label and noise. What it begins with is the same for all."""

    layout: Layout
    width: int
    features: Network

    @classmethod
    def of(cls, layout: Layout, width: int, hidden: int) -> "Generator":
        """Features begin spread over all that they can be."""
        from torch import nn

        features = network((width + layout.classes, hidden, hidden, layout.label.start))
        layers = [layer for layer in features if isinstance(layer, nn.Linear)]
        for layer in layers:
            nn.init.kaiming_normal_(layer.weight, a=0.2 if layer is not layers[-1] else 1.0)
            nn.init.zeros_(layer.bias)
        return cls(layout, width, features)

    @property
    def parameters(self) -> list[Tensor]:
        """All that is trained."""
        return list(self.features.parameters())

    def __call__(self, y: Tensor) -> Tensor:
        """Encoded features of rows with these labels."""
        import torch
        from torch.nn.functional import one_hot

        labels = one_hot(y, self.layout.classes).float()
        raw = self.features(torch.cat((noise(len(labels), self.width), labels), dim=1))
        return self.layout.sample(torch.cat((raw, labels), dim=1))[:, : self.layout.label.start]

    def each(self, rows: int) -> Tensor:
        """Class, row, feature: so many rows of each class."""
        import torch

        y = torch.arange(self.layout.classes, device=device()).repeat_interleave(rows)
        return self(y).unflatten(0, (-1, rows))

    def rows(self, y: IntArray) -> FloatArray:
        """The columns of rows with these labels."""
        import torch

        with torch.no_grad():
            made = np.concatenate([self(part).cpu().numpy() for part in tensor(y).split(ROWS_AT_ONCE)])
        labels = np.zeros((len(made), self.layout.classes))
        return self.layout.decode(np.column_stack((made, labels)).astype(np.float64), largest)[0]

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

        judge = network((layout.classes * layout.label.start, hidden, 1))
        return cls(layout.classes, judge, torch.optim.Adam(judge.parameters(), lr=rate, weight_decay=decay))

    def __call__(self, rows: Tensor) -> Tensor:
        """Class, row: logits, above 0 where the teachers would take a row for a record."""
        import torch

        places = torch.eye(self.classes, device=rows.device)[:, None, :, None]
        return self.judge((places * rows[:, :, None]).flatten(2)).squeeze(2)

    def learn(self, steps: int, rows: Tensor, votes: Tensor) -> None:
        """So many steps towards what the teachers said."""
        from torch.nn.functional import binary_cross_entropy_with_logits

        for _ in range(steps):
            descend(self.optimizer, binary_cross_entropy_with_logits(self(rows), votes))


def noisy_shares(rng: np.random.Generator, table: Table, epsilon: float) -> FloatArray:
    """How frequent each class is, one record at least: counts, which a replaced record changes by 2, and noise."""
    noisy = np.bincount(table.y, minlength=table.classes) + rng.laplace(0, 2 / epsilon, table.classes)
    counts = np.clip(noisy, 1, None)
    shares: FloatArray = counts / counts.sum()
    return shares


def noisy_majority(rng: np.random.Generator, votes: FloatArray, count: int, lam: float) -> FloatArray:
    """1 where more of `count` teachers take a row for a record than do not, after Laplace noise on both counts."""
    noisy = np.stack((votes, count - votes)) + rng.laplace(0, 1 / lam, (2, *votes.shape))
    labels: FloatArray = (noisy[0] > noisy[1]).astype(np.float64)
    return labels
