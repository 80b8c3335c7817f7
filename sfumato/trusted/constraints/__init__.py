"""What constraints of a schema make of its columns: which are measured, which are computed, what never occurs.

Start at `layout.py`.
"""

from sfumato.trusted.constraints.layout import Layout, layout_of

__all__ = ["Layout", "layout_of"]
