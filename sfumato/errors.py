"""What can go wrong, as types. A message says the value, the rule and the cure, and never anything of a row.

SfumatoError
├── SchemaError           the schema file or a column of it
├── DataError             the private table cannot be opened, or lacks a column that the schema names
├── BudgetError           an epsilon, delta or limit that is not one
├── BudgetExceededError   the budget or the dataset's limit does not allow it (command line: exit 3)
├── RequestError          a question that the released model cannot answer as it was put
├── BundleError           a bundle that is cut short, changed, or of a format that this version does not read
│   └── EarlierDesignError   a bundle that opens, and that only the version which made it can fit anew
├── LedgerError           a ledger that cannot be opened, or whose chain is broken
└── OutputError           a result that cannot be written

ReleaseWarning            a release that promises, or tells, next to nothing; it is made all the same
"""


class SfumatoError(Exception):
    """The root of all errors that this library raises on purpose."""


class SchemaError(SfumatoError):
    """The schema file or a column of it."""


class DataError(SfumatoError):
    """The private table cannot be opened, or lacks a column that the schema names."""


class BudgetError(SfumatoError):
    """An epsilon, delta or limit that is not one."""


class BudgetExceededError(SfumatoError):
    """The budget or the dataset's limit does not allow it. The message speaks of epsilon.

    `requested` and `remaining` are exact sums for programs: numbers of mu squared, which add up where epsilons do not.
    """

    def __init__(self, message: str, *, requested: float, remaining: float) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class RequestError(SfumatoError):
    """A question that the released model cannot answer as it was put."""


class BundleError(SfumatoError):
    """A bundle that is cut short, changed, or of a format that this version does not read."""


class EarlierDesignError(BundleError):
    """A bundle that opens, and that only the version which made it can fit anew."""


class LedgerError(SfumatoError):
    """A ledger that cannot be opened, or whose chain is broken."""


class OutputError(SfumatoError):
    """A result that cannot be written."""


class ReleaseWarning(UserWarning):
    """A release that promises, or tells, next to nothing; it is made all the same."""
