"""Counting the keys of a column, exactly and in memory."""

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa

from sfumato.trusted.redaction import redact_errors


@redact_errors
def count_all(parts: Iterable[pa.LargeBinaryArray]) -> Counter[bytes]:
    """How often each key occurs in all parts; a null is no key."""
    total: Counter[bytes] = Counter()
    for part in parts:
        found = part.drop_null().value_counts()
        total.update(dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)))
    return total
