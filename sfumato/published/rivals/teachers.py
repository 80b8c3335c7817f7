"""The teachers of PATE-GAN: many logistic regressions, each of which tells its own part of the records from others.

They are trained side by side as one: weights have a first axis over teachers. Each has a row of weights for each class,
so that it can tell that a feature goes with a label; a few records are too few to find that out by a hidden layer.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.published.rivals.interface import FloatArray, Tensor
from sfumato.published.rivals.networks import device, tensor


def apart(rows: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Features of encoded rows with a 1 after them, and their labels as zeros and ones."""
    import torch

    features, labels = rows[..., :-classes], rows[..., -classes:]
    return torch.cat((features, torch.ones_like(labels[..., :1])), dim=-1), labels


@dataclass(eq=False)
class Teachers:
    """Parts of the records that have none in common, and the weights of a teacher for each.

    records, labels   teacher, record, place; a part that is one record short has zeros, whose label is no class
    sizes             records of each teacher
    weights           teacher, class, feature; they begin at 0
    """

    records: Tensor
    labels: Tensor
    sizes: Tensor
    weights: Tensor
    rate: float
    decay: float

    @classmethod
    def of(
        cls, rng: np.random.Generator, rows: FloatArray, classes: int, count: int, rate: float, decay: float
    ) -> "Teachers":
        """So many teachers; records are dealt out at random, and parts differ in size by 1 at most."""
        import torch

        most = -(-len(rows) // count)
        dealt = np.zeros((most * count, rows.shape[1]))
        dealt[: len(rows)] = rows[rng.permutation(len(rows))]
        parts = tensor(dealt.reshape(most, count, -1).swapaxes(0, 1))
        records, labels = apart(parts, classes)
        weights = torch.zeros(count, classes, records.shape[-1], device=device())
        return cls(records, labels, labels.sum((1, 2)), weights, rate, decay)

    def opinions(self, rows: Tensor) -> Tensor:
        """A row of logits for each teacher, the larger the more it takes a row for a record."""
        features, labels = apart(rows, self.weights.shape[1])
        found = (self.weights.flatten(0, 1) @ features.T).unflatten(0, self.weights.shape[:2])
        return (found * labels.T).sum(1)

    def learn(self, made: Tensor) -> None:
        """One step of each, with all of its records and made-up rows that are the same for all."""
        import torch

        features, labels = apart(made, self.weights.shape[1])
        missed = torch.sigmoid(-((self.records @ self.weights.mT) * self.labels).sum(2, keepdim=True))
        up = (missed * self.labels).mT @ self.records / self.sizes[:, None, None]
        down = (torch.sigmoid(self.opinions(made))[:, None] * labels.T) @ features / len(made)
        self.weights = (1 - self.rate * self.decay) * self.weights + self.rate * (up - down)

    def votes(self, rows: Tensor) -> FloatArray:
        """How many teachers take each row for a record rather than others: at most half of the rows, for each.

        Made-up rows are easy to tell at first: teachers who say what they think call all of them made up, and the
        student has nothing to learn from that.
        """
        opinions = self.opinions(rows)
        found: FloatArray = (opinions > opinions.median(1, keepdim=True)[0]).sum(0).cpu().numpy().astype(np.float64)
        return found
