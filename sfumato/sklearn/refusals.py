"""What `fit` refuses before it looks at a row: what nobody said, and what contradicts itself."""

from numbers import Integral
from typing import TYPE_CHECKING, Any

from sfumato.fitting.models.gaussian_mixture.model import ACTIONS
from sfumato.trusted.adjacency import Adjacency

if TYPE_CHECKING:
    from sfumato.sklearn.estimator import PrivateGaussianMixture


def refuse(asked: "PrivateGaussianMixture", *, labelled: bool) -> None:
    """Raise `ValueError` with the cure; `labelled` says whether `y` was given."""
    _refuse_untold(asked, labelled=labelled)
    _refuse_words(asked, labelled=labelled)
    components: Any = asked.n_components
    if components is not None and not isinstance(components, Integral):
        raise ValueError(f"n_components is {components!r}; it must be a whole number or None")


def _refuse_untold(asked: "PrivateGaussianMixture", *, labelled: bool) -> None:
    """Refuse to guess what only the user can know."""
    if asked.bounds is None:
        raise ValueError(
            "bounds are not given and are never read off the rows; say between which values the features lie, "
            "bounds=(low, high), or bounds='estimate' to spend a part of the budget on finding them"
        )
    if asked.classes is not None and not labelled:
        raise ValueError("requires y to be passed, but the target y is None; classes says that there are labels")
    if asked.ledger is not None and asked.dataset is None:
        raise ValueError("a ledger is given and the records have no name there; give dataset='...'")


def _refuse_words(asked: "PrivateGaussianMixture", *, labelled: bool) -> None:
    """Refuse a word that is not known, or does not go with another."""
    if isinstance(asked.classes, str) and asked.classes != "observed":
        raise ValueError(f"classes is {asked.classes!r}; list the labels, or say 'observed'")
    if isinstance(asked.bounds, str) and asked.bounds != "estimate":
        raise ValueError(f"bounds is {asked.bounds!r}; give numbers, or say 'estimate'")
    if asked.estimate not in ACTIONS:
        raise ValueError(f"estimate is {asked.estimate!r}; use one of {', '.join(ACTIONS)}")
    if asked.adjacency not in list(Adjacency):
        raise ValueError(f"adjacency is {asked.adjacency!r}; use one of {', '.join(Adjacency)}")
    if asked.adjacency == Adjacency.LABEL and (not labelled or isinstance(asked.bounds, str)):
        raise ValueError(
            "label adjacency protects the labels and takes the features as public: give y, and bounds as numbers, "
            "which cost nothing there"
        )
