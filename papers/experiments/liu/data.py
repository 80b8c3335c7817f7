"""The tables of the paper: its synthetic classes, Iris, load profiles and digits."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from sfumato_papers.liu import Mixture, labels_by_kmeans

from experiments.mixture_data import Records, gaussian_classes, iris
from experiments.tasks import data_folder
from sfumato.trusted.arrays import FloatArray, IntArray

__all__ = ["CLUSTERS", "METERS", "Digits", "Units", "digits", "iris", "load_profiles", "standardised", "synthetic"]

METERS = {"Scottish and Swiss": ("Scottish", "Swiss"), "Scottish": ("Scottish",), "Swiss": ("Swiss",)}
CLUSTERS = 6
_MORNING = [f"h{hour:02d}" for hour in range(12)]
_OFFSET_KWH, _MOST_KWH = 0.05, 50.0  # so that nothing is a number; far above what the fuse of a household lets pass
_TRAINING_IMAGES, _OWN_IMAGES, _DIRECTIONS = 5_000, 100, 5
_LONGEST_IMAGE = 28.0  # of 28 x 28 pixels between 0 and 1


def synthetic(seed: int, rows: int = 1000, classes: int = 5, columns: int = 3) -> Records:
    """Section V-A, drawn again until every class has d + 2 records, of which the paper says nothing."""
    rng = np.random.default_rng([6, seed, rows, classes, columns])
    return gaussian_classes(rng, rows, columns, classes, least=columns + 2)


class Units(NamedTuple):
    """What the paper's records are in: (x - middle) / spread."""

    middle: FloatArray
    spread: FloatArray

    @classmethod
    def standard(cls, records: Records) -> "Units":
        """Columns of mean 0 and variance 1, as the paper has Iris: one more thing that is told and not paid for."""
        return cls(records.numbers.mean(axis=0), records.numbers.std(axis=0))

    @classmethod
    def own(cls, records: Records) -> "Units":
        """As they are."""
        return cls(np.zeros(records.columns), np.ones(records.columns))

    def of_records(self, records: Records) -> Records:
        numbers, low, high = (
            (part - self.middle) / self.spread for part in (records.numbers, records.low, records.high)
        )
        return records._replace(numbers=numbers, low=low, high=high)

    def of_mixture(self, mixture: Mixture) -> Mixture:
        covariances = mixture.covariances / np.outer(self.spread, self.spread)
        return Mixture(mixture.weights, (mixture.means - self.middle) / self.spread, covariances)


def standardised(records: Records) -> Records:
    return Units.standard(records).of_records(records)


@cache
def load_profiles(meters: str = "Scottish and Swiss") -> Records:
    """Logarithms of a house's consumption in the first 12 hours of a Wednesday, in 6 classes found by k-means.

    The paper's 1,409 houses are not public; these are 622 of Scotland and 537 of Switzerland.
    """
    read = {"Scottish": _scottish_morning, "Swiss": _swiss_morning}
    kwh = np.concatenate([read[country]() for country in METERS[meters]])
    numbers = np.log(np.clip(kwh, 0, _MOST_KWH) + _OFFSET_KWH)
    label = labels_by_kmeans(np.random.default_rng(0), numbers, CLUSTERS).astype(np.int64)
    low, high = (np.full(numbers.shape[1], np.log(end + _OFFSET_KWH)) for end in (0, _MOST_KWH))
    return Records.clamped(numbers, label, CLUSTERS, low, high)


def _scottish_morning() -> FloatArray:
    rows = pd.read_parquet(data_folder() / "smartmeter_edrp_scotland.parquet")
    return np.asarray(rows.loc[rows["date"] == "2009-03-04", _MORNING], dtype=np.float64)


def _swiss_morning() -> FloatArray:
    rows = pd.read_parquet(data_folder() / "smartmeter_swiss.parquet")
    return np.asarray(rows.loc[(rows["week"] == "w45") & (rows["day_of_week"] == 2), _MORNING], dtype=np.float64)


class Digits(NamedTuple):
    """5,000 private images in 5 directions; 100 others, of somebody who wants to learn; the test images."""

    training: Records
    own: Records
    test: Records


@cache
def _images() -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    with np.load(data_folder() / "mnist.npz") as file:
        parts = [file[name] for name in ("x_train", "y_train", "x_test", "y_test")]
    pixels = [part.reshape(len(part), -1) / 255 for part in parts[::2]]
    return pixels[0], parts[1].astype(np.int64), pixels[1], parts[3].astype(np.int64)


def digits(seed: int) -> Digits:
    """Random training images of MNIST by their principal components, as in section V-D.

    The components are those of the images drawn, in every mechanism here as in the paper: nobody pays for them.
    """
    from sklearn.decomposition import PCA

    pixels, label, test, test_label = _images()
    rng = np.random.default_rng([10, seed])
    chosen = rng.choice(len(label), _TRAINING_IMAGES, replace=False)
    own = rng.choice(np.setdiff1d(np.arange(len(label)), chosen), _OWN_IMAGES, replace=False)
    directions = PCA(_DIRECTIONS, svd_solver="covariance_eigh").fit(pixels[chosen])
    end = np.full(_DIRECTIONS, _LONGEST_IMAGE)
    sets = ((pixels[chosen], label[chosen]), (pixels[own], label[own]), (test, test_label))
    return Digits(*(Records.clamped(directions.transform(images), kind, 10, -end, end) for images, kind in sets))
