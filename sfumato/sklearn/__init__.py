"""The mixture mechanism as a scikit-learn estimator, for people who come with `X, y` arrays.

Needs scikit-learn: pip install "sfumato[sklearn]". `import sfumato` does not load it.
"""

from sfumato.sklearn.estimator import PrivateGaussianMixture
from sfumato.sklearn.public_inputs import DataDependentWarning

__all__ = ["DataDependentWarning", "PrivateGaussianMixture"]
