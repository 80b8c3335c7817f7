"""The mathematics of the promise: accounting, noise, ledger and the statement that a release carries."""
