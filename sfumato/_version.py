"""The version of the package; the bundle format has one of its own (`sfumato.archive.members.FORMAT_VERSION`)."""

__version__ = "0.1.0"
