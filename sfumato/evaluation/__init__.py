"""What a release is worth, measured on the private records themselves. The custodian's: its results are private."""

from sfumato.evaluation.evaluate import evaluate
from sfumato.evaluation.evaluation import Evaluation

__all__ = ["Evaluation", "evaluate"]
