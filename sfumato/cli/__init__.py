"""The command line."""

from sfumato.cli.app import main

__all__ = ["main"]
