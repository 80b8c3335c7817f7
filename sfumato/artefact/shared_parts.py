"""What several members of a bundle have in common is written once, and found again by its hash."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_SHARED = ("features", "damping", "places", "hashed")
_MOST_SHARED, _TIMES_SHARED = 1 << 24, 32  # characters that shared parts may take when all are put back


def share(content: Any, parts: dict[str, Any]) -> Any:
    """The content with every shared part replaced by its hash; what was there goes into `parts`."""
    if isinstance(content, list):
        return [share(item, parts) for item in content]
    if not isinstance(content, dict):
        return content
    shared = {name: share(item, parts) for name, item in content.items()}
    for key in shared.keys() & set(_SHARED):
        name = hashlib.sha256(json.dumps(shared[key], sort_keys=True).encode()).hexdigest()
        parts[name] = shared[key]
        shared[key] = name
    return shared


def restore(content: Any, parts: Mapping[str, Any]) -> Any:
    """The content before `share`."""
    if isinstance(content, list):
        return [restore(item, parts) for item in content]
    if not isinstance(content, dict):
        return content
    return {name: parts[item] if name in _SHARED else restore(item, parts) for name, item in content.items()}


def check_repeats(parts: Mapping[str, Any], *contents: Any) -> None:
    """Refuse contents in which parts would be put back so often that they take far more room than the file."""
    lengths = {name: len(json.dumps(part)) for name, part in parts.items()}

    def length(item: Any) -> int:
        if isinstance(item, list):
            return sum(map(length, item))
        if not isinstance(item, dict):
            return 0
        return sum(lengths[one] if name in _SHARED else length(one) for name, one in item.items())

    if sum(map(length, contents)) > _MOST_SHARED + _TIMES_SHARED * sum(lengths.values()):
        raise ValueError("the parts of the bundle repeat each other too often")
