"""Where records live, and how a statistic is summed there."""

from sfumato.trusted.sources.opening import open_source
from sfumato.trusted.sources.source import Source

__all__ = ["Source", "open_source"]
