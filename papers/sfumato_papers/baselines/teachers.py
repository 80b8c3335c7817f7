"""The teachers of PATE-GAN: each tells its own part of the records from made-up rows, class by class.

A few records are too few to fit anything but means. A teacher draws, for each class, the line from the mean of the
made-up rows to the mean of its own records, and takes those rows for records that lie on its own side of the former.
What it thinks of features comes from rows of one class alone, so that how frequent a class is never shows in it.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato_papers.baselines.interface import Tensor
from sfumato_papers.baselines.networks import tensor


@dataclass(frozen=True, eq=False)
class Teachers:
    """Parts of the records that have none in common, and what a teacher knows of each.

    means   class, teacher, feature: of a teacher's records of a class; zeros where it has none
    sizes   class, teacher: how many those are
    """

    means: Tensor
    sizes: Tensor

    @classmethod
    def of(cls, rng: np.random.Generator, rows: FloatArray, classes: int, count: int) -> "Teachers":
        """So many teachers; encoded records are dealt out at random, and parts differ in size by 1 at most."""
        import torch

        features, labels = tensor(rows[:, :-classes]), tensor(rows[:, -classes:].argmax(axis=1))
        places = labels * count + tensor(rng.permutation(len(rows)) % count)
        sizes = torch.bincount(places, minlength=classes * count)
        sums = features.new_zeros((classes * count, features.shape[1])).index_add_(0, places, features)
        means = sums / sizes.clamp(min=1)[:, None]
        return cls(means.unflatten(0, (classes, count)), sizes.unflatten(0, (classes, count)))

    def votes(self, away: Tensor, usual: Tensor) -> FloatArray:
        """Class, row: how many teachers take a row for a record.

        away    class, row, feature: how far rows are from
        usual   class, 1, feature: the means of made-up rows. About half of all rows lie on either side of it, so that
                teachers who can tell all made-up rows still have something to say of them

        A teacher without a record of the class tosses a coin.
        """
        import torch

        sides = self.means @ away.mT - usual @ away.mT
        coins = torch.rand_like(sides) - 0.5
        found = torch.where(self.sizes[:, :, None] > 0, sides, coins) > 0
        votes: FloatArray = found.sum(1).cpu().numpy().astype(np.float64)
        return votes
