"""What a release is worth, measured on the private records themselves. The custodian's: its results are private."""

from sfumato.evaluation.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
