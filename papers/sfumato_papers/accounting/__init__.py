"""The privacy of random slices of records, exactly.

frames          which directions, and what to do where they were known before
law             the share T of a change that they see, between two bounds
profile         delta, epsilon and sigma of one release: the exact curve
rdp             the same as a Rényi curve
composition     the same beside other releases
shuffling       the same where the order of the records is hidden
"""

from sfumato.trusted.random_directions import Directions, OrthonormalFrame, require_fresh, sigma_for_fixed
from sfumato_papers.accounting.composition import privacy_loss
from sfumato_papers.accounting.profile import Bracket, SlicingProfile
from sfumato_papers.accounting.rdp import epsilon_by_renyi, log_moment, renyi, sigma_by_renyi

__all__ = [
    "Bracket",
    "Directions",
    "OrthonormalFrame",
    "SlicingProfile",
    "epsilon_by_renyi",
    "log_moment",
    "privacy_loss",
    "renyi",
    "require_fresh",
    "sigma_by_renyi",
    "sigma_for_fixed",
]
