"""PATE-GAN to the letter: algorithm 1 of its paper, line by line; `PATEGAN` repairs what does not learn."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import DataError, RequestError
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import Budget
from sfumato_papers.baselines.interface import BOUNDS, Generated, Table, Tensor, claim
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.baselines.networks import Network, descend, device, made_up, network, noise, seeded, tensor
from sfumato_papers.baselines.pate_gan import noisy_majority
from sfumato_papers.baselines.votes import ORDERS, moments, spent

FAULTS = (
    BOUNDS,
    (
        "What the votes cost is computed from their exact counts, and training stops when it reaches epsilon: for how "
        "long it went on depends on the records, and is not paid for."
    ),
    "The last round goes beyond epsilon, and what it taught is kept: what is spent is more than what is claimed.",
    "The number of records is taken as public: it sets how many teachers there are and how many rows are made up.",
)


@dataclass(frozen=True)
class LiteralPATEGAN:
    """Rounds of teachers, student and generator, until the votes have cost epsilon.

    records_each     of a teacher: N / 1,000 teachers are the best of the paper's
    lam              lambda: a count of votes gets Laplace noise of scale 1 / lambda
    teacher_steps, student_steps
                     in a round, n_T and n_S; one of the generator follows
    batch            rows in each step
    rate             of Adam, for all networks
    hidden           width of all hidden layers: two of the generator, one of teachers and student
    rounds           at most. The paper has no such bound, but where the teachers agree votes cost nothing, and a run
                     that learns nothing would never end

    As algorithm 1 has it, and `PATEGAN` has not: teachers are networks that go on learning from round to round, each
    from its own part of the records and from made-up rows; they judge every row by itself; the label is made up as all
    columns are; the student sees each vote once; the generator takes log(1 - S) for its loss, which has no slope where
    the student is sure; the round that goes beyond epsilon counts. Sizes, rates and lambda are searched for in the
    paper, and are settings here. Columns are laid out as for all rivals, categories and the label by a softmax.

    Formal guarantees
        As claimed: (epsilon, delta) by the data-dependent moments accountant, for one replaced record.
    Edge cases
        Fewer records than one teacher has: one teacher has them all. An epsilon below ln(1 / delta) / 100, which no
        vote can keep: the generator stays as it began.
    """

    records_each: int = 1_000
    lam: float = 1.0
    teacher_steps: int = 5
    student_steps: int = 5
    batch: int = 64
    rate: float = 1e-3
    hidden: int = 64
    noise: int = 32
    rounds: int = 200
    rows: int | None = None

    name: ClassVar[str] = "PATE-GAN to the letter"
    paper: ClassVar[str] = (
        "Jordon, Yoon and van der Schaar, PATE-GAN: Generating synthetic data with differential privacy guarantees, "
        "2019"
    )
    accounting: ClassVar[str] = "Data-dependent moments of Laplace-noised votes, summed over all votes."

    def __post_init__(self) -> None:
        for name in ("records_each", "teacher_steps", "student_steps", "batch", "rounds"):
            if getattr(self, name) < 1:
                raise RequestError(f"{name} is {getattr(self, name)!r}; it must be 1 or more")
        if not self.lam > 0:
            raise RequestError(f"lam is {self.lam!r}; it must be above 0")

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:
        """Rows of the last generator."""
        Budget(epsilon, delta)
        if len(table) < 2:
            raise DataError("a teacher needs two records at least")
        layout = Layout.of(table)
        rows = len(table) if self.rows is None else self.rows
        with seeded(rng):
            generator = self._trained(rng, layout, layout.encode(table), epsilon, delta)
            X, y = made_up(rng, layout, generator, noise(rows, self.noise))
        return Generated(X, y, claim(self.name, epsilon, delta, "one replaced record"), FAULTS)

    def _trained(
        self, rng: np.random.Generator, layout: Layout, records: FloatArray, epsilon: float, delta: float
    ) -> Network:
        import torch

        generator = network((self.noise, self.hidden, self.hidden, layout.width))
        student = network((layout.width, self.hidden, 1))
        by_generator, by_student = (torch.optim.Adam(net.parameters(), lr=self.rate) for net in (generator, student))
        teachers = NetworkTeachers.of(rng, records, max(1, len(records) // self.records_each), self.hidden, self.rate)
        moment = np.zeros(len(ORDERS))

        def made() -> Tensor:
            return layout.squash(generator(noise(self.batch, self.noise)))

        for _ in range(self.rounds):
            if spent(moment, delta) >= epsilon:
                break
            for _ in range(self.teacher_steps):
                teachers.learn(rng, made().detach())
            for _ in range(self.student_steps):
                rows = made().detach()
                votes = teachers.votes(rows)
                moment = moment + moments(np.abs(2 * votes - teachers.count), self.lam)
                labels = tensor(noisy_majority(rng, votes, teachers.count, self.lam))
                descend(by_student, _cross_entropy(student(rows).squeeze(1), labels))
            descend(by_generator, -_cross_entropy(student(made()).squeeze(1), torch.zeros(self.batch, device=device())))
        return generator


@dataclass(frozen=True, eq=False)
class NetworkTeachers:
    """Networks of one hidden layer side by side, each with a part of the records of its own.

    parts     teacher, place: numbers of records; parts are alike in size, and what is left over teaches nobody
    weights   of both layers, the first axis for the teacher
    """

    records: Tensor
    parts: Tensor
    weights: tuple[Tensor, ...]
    optimizer: Any

    @classmethod
    def of(cls, rng: np.random.Generator, rows: FloatArray, count: int, hidden: int, rate: float) -> "NetworkTeachers":
        """So many teachers who have learnt nothing yet."""
        import torch

        width, each = rows.shape[1], len(rows) // count
        parts = tensor(rng.permutation(len(rows))[: count * each].reshape(count, each))
        first = torch.randn(count, width, hidden, device=device()) * (2 / width) ** 0.5
        last = torch.randn(count, hidden, 1, device=device()) * (1 / hidden) ** 0.5
        zeros = (torch.zeros(count, 1, size, device=device()) for size in (hidden, 1))
        weights = tuple(one.requires_grad_() for one in (first, last, *zeros))
        return cls(tensor(rows), parts, weights, torch.optim.Adam(weights, lr=rate))

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.parts)

    def __call__(self, rows: Tensor) -> Tensor:
        """Teacher, row: logits, above 0 for a record. The same rows for all of them, or some for each."""
        import torch

        first, last, shift, offset = self.weights
        return (torch.relu(rows @ first + shift) @ last + offset).squeeze(2)

    def learn(self, rng: np.random.Generator, made: Tensor) -> None:
        """One step: every teacher tells as many of its own records from these made-up rows."""
        import torch

        chosen = tensor(rng.integers(self.parts.shape[1], size=(self.count, len(made))))
        own = self(self.records[self.parts.gather(1, chosen)])
        others = self(made[None])
        real, false = torch.ones_like(own), torch.zeros_like(others)
        descend(self.optimizer, self.count * (_cross_entropy(own, real) + _cross_entropy(others, false)))

    def votes(self, rows: Tensor) -> FloatArray:
        """How many teachers take each row for a record."""
        import torch

        with torch.no_grad():
            votes: FloatArray = (self(rows[None]) > 0).sum(0).cpu().numpy().astype(np.float64)
        return votes


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(logits, labels)
