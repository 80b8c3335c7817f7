"""Where records live, and how a statistic is summed there."""

from sfumato.sources.opening import open_source
from sfumato.sources.source import Source

__all__ = ["Source", "open_source"]
