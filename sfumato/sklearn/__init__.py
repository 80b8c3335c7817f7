"""scikit-learn estimators: every mechanism for tables with a schema, and the mixture for plain `X, y` arrays.

Needs scikit-learn: pip install "sfumato[sklearn]". `import sfumato` does not load it.
"""

from sfumato.sklearn.estimator import PrivateGaussianMixture
from sfumato.sklearn.public_inputs import DataDependentWarning
from sfumato.sklearn.synthesizer import PrivateSynthesizer

__all__ = ["DataDependentWarning", "PrivateGaussianMixture", "PrivateSynthesizer"]
