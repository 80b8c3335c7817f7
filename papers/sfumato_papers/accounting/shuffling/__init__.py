"""What it gains to shuffle the records before they are shown.

Every record's shadow is clipped to radius c, gets noise, and the shadows are shown in a random order. The gain is
counted in kappa = 2 c / sigma, the number of deviations that one record can move: more is better.

    unshuffled    the Gaussian mechanism                                               proven
    clones        some of the others look like the record that changed                 proven; a stronger form is not
    blanket       part of every record's noise does not depend on it                   not proven
    unlinked      every slice in an order of its own                                   not proven
    ceiling       the curve of the worst others that are known: no account passes it   no promise at all
"""

from sfumato_papers.accounting.shuffling.blanket import blanket, blanket_delta
from sfumato_papers.accounting.shuffling.ceiling import ceiling, ceiling_delta
from sfumato_papers.accounting.shuffling.clones import Clone, clones, clones_delta
from sfumato_papers.accounting.shuffling.unlinked import unlinked, unlinked_delta
from sfumato_papers.accounting.shuffling.verdict import Shuffled, unshuffled

__all__ = [
    "Clone",
    "Shuffled",
    "blanket",
    "blanket_delta",
    "ceiling",
    "ceiling_delta",
    "clones",
    "clones_delta",
    "unlinked",
    "unlinked_delta",
    "unshuffled",
]
