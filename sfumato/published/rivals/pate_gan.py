"""PATE-GAN: a student who sees made-up rows alone, with labels by the noisy votes of teachers, judges the generator."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import DataError
from sfumato.privacy.accounting import Budget
from sfumato.published.rivals.interface import BOUNDS, FloatArray, Generated, Table, Tensor, claim
from sfumato.published.rivals.layout import Layout
from sfumato.published.rivals.networks import Network, descend, made_up, network, noise, seeded, tensor
from sfumato.published.rivals.teachers import Teachers
from sfumato.published.rivals.votes import ORDERS, moments, spent

FAULTS = (
    BOUNDS,
    (
        "What the votes cost is computed from their exact counts, and training stops when it reaches epsilon: for how "
        "long it went on depends on the records, and is not paid for."
    ),
    "The number of records is taken as public: it sets how many teachers there are and how many rows are made up.",
)


@dataclass(frozen=True)
class PATEGAN:
    """Training goes on until the votes have spent epsilon, or to the last of `rounds`.

    teachers         at most, and
    records_each     at least for each of them
    lam              lambda: a count of votes gets Laplace noise of scale 1 / lambda; if not given, 2 over the number
                     of teachers, so that the noise is about as large as the votes and labels come in shades
    teacher_steps    before the student learns, and
    student_steps    before the generator does, in each round
    batch            made-up rows in a step, and votes in one of the student's

    Formal guarantees
        As claimed: (epsilon, delta) by the data-dependent moments accountant, for one replaced record. Votes that
        would go beyond epsilon are not used; the paper uses the last batch that does.
    Edge cases
        Fewer records than two teachers need: `DataError`. An epsilon that the first votes exceed: the
        generator stays as it began. No record anchors the student, so that rows can end up in one class.
    """

    teachers: int = 2_500
    records_each: int = 10
    lam: float | None = None
    teacher_steps: int = 1
    student_steps: int = 2
    batch: int = 32
    rounds: int = 500
    hidden: int = 64
    teacher_hidden: int = 8
    noise: int = 32
    rate: float = 3e-4
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
        """Rows of the last generator."""
        Budget(epsilon, delta)
        if len(table) < 2 * self.records_each:
            raise DataError(f"two teachers need {2 * self.records_each} records: lower `records_each`")
        layout = Layout.of(table)
        rows = len(table) if self.rows is None else self.rows
        with seeded(rng):
            generator = self._trained(rng, layout, layout.encode(table), epsilon, delta)
            X, y = made_up(rng, layout, generator, noise(rows, self.noise))
        return Generated(X, y, claim(self.name, epsilon, delta, "one replaced record"), FAULTS)

    def _trained(
        self, rng: np.random.Generator, layout: Layout, rows: FloatArray, epsilon: float, delta: float
    ) -> Network:
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits, softplus

        generator = network((self.noise, self.hidden, self.hidden, layout.width))
        student = network((layout.width, self.hidden, self.hidden, 1))
        by_generator, by_student = (torch.optim.Adam(net.parameters(), lr=self.rate) for net in (generator, student))
        count = min(self.teachers, len(rows) // self.records_each)
        lam = 2 / count if self.lam is None else self.lam
        teachers = Teachers.of(rng, rows, count, self.teacher_hidden, self.rate)
        moment = np.zeros(len(ORDERS))

        def made() -> Tensor:
            return layout.sample(generator(noise(self.batch, self.noise)))

        for _ in range(self.rounds):
            for _ in range(self.teacher_steps):
                teachers.learn(rng, made().detach())
            for _ in range(self.student_steps):
                rows_to_judge = made().detach()
                votes = teachers.votes(rows_to_judge)
                moment = moment + moments(np.abs(2 * votes - count), lam)
                if spent(moment, delta) > epsilon:
                    return generator
                labels = tensor(noisy_majority(rng, votes, count, lam))
                descend(by_student, binary_cross_entropy_with_logits(student(rows_to_judge).squeeze(1), labels))
            descend(by_generator, softplus(-student(made())).mean())
        return generator


def noisy_majority(rng: np.random.Generator, votes: FloatArray, count: int, lam: float) -> FloatArray:
    """1 where more of `count` teachers take a row for a record than do not, after Laplace noise on both counts."""
    noisy = np.stack((votes, count - votes)) + rng.laplace(0, 1 / lam, (2, len(votes)))
    labels: FloatArray = (noisy[0] > noisy[1]).astype(np.float64)
    return labels
