"""The mechanism itself: directions, clipped shadows, noise; and how well the best test tells two records apart."""

import numpy as np

from sfumato.trusted.random_directions import OrthonormalFrame

BATCH = 20_000


def draw_frames(frame: OrthonormalFrame, count: int, rng: np.random.Generator) -> np.ndarray:
    """So many d x m matrices."""
    blocks = [np.linalg.qr(rng.normal(size=(count, frame.dimension, frame.block)))[0] for _ in range(frame.blocks)]
    return np.concatenate(blocks, axis=2)


def clipped(shadow: np.ndarray, radius: float) -> np.ndarray:
    return shadow * np.minimum(1.0, radius / np.linalg.norm(shadow, axis=1, keepdims=True))


def simulated_delta(frame, sigma, epsilon, clip=None, count=100_000, seed=0, fixed=None, along=None):
    """The mean of (1 - e^(epsilon - loss))_+ for opposite records of norm 1/2, and its standard error.

    `along` is the record's direction, any one if not given; `fixed` are directions that were known before.
    """
    rng = np.random.default_rng(seed)
    record = rng.normal(size=frame.dimension) if along is None else along
    record = record / np.linalg.norm(record) / 2
    found = []
    for _ in range(count // BATCH):
        directions = draw_frames(frame, BATCH, rng) if fixed is None else np.broadcast_to(fixed, (BATCH, *fixed.shape))
        here = np.einsum("d,ndm->nm", record, directions)
        there = -here
        if clip is not None:
            here, there = clipped(here, np.sqrt(clip) / 2), clipped(there, np.sqrt(clip) / 2)
        seen = here + sigma * rng.normal(size=here.shape)
        loss = (((seen - there) ** 2).sum(axis=1) - ((seen - here) ** 2).sum(axis=1)) / (2 * sigma**2)
        found.append(np.maximum(0.0, -np.expm1(epsilon - loss)))
    every = np.concatenate(found)
    return every.mean(), every.std() / np.sqrt(every.size)
