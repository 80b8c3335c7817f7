"""The neural tangent kernel of a fully connected network with ReLUs, without end in width.

A recursion over layers (Jacot, Gabriel and Hongler 2018, with the arc-cosine kernels of Cho and Saul): S is the
covariance of what a layer puts out, T the tangent kernel.
"""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

HIDDEN = 3  # layers; the paper gives neither depth nor variances
WEIGHTS, BIASES = 2.0, 0.01  # variances at the start
_ALMOST = 1 - 1e-6  # a cosine of 1 has no gradient


def tangent_kernel(A: "torch.Tensor", B: "torch.Tensor") -> "torch.Tensor":  # noqa: N803
    """T for all pairs of rows of A and of B."""
    import torch

    features = A.shape[1]
    S = WEIGHTS * (A @ B.T) / features + BIASES
    of_a, of_b = (WEIGHTS * (rows * rows).sum(dim=1) / features + BIASES for rows in (A, B))
    T = S
    for _ in range(HIDDEN):
        length = torch.sqrt(of_a[:, None] * of_b[None, :])
        cosine = (S / length).clamp(-_ALMOST, _ALMOST)
        angle = torch.arccos(cosine)
        S = WEIGHTS * length * (torch.sin(angle) + (math.pi - angle) * cosine) / (2 * math.pi) + BIASES
        T = S + T * (WEIGHTS * (math.pi - angle) / (2 * math.pi))
        of_a, of_b = WEIGHTS * of_a / 2 + BIASES, WEIGHTS * of_b / 2 + BIASES
    return T
