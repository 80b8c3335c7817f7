"""Arrays of whole numbers inside JSON: shape and the bytes of little-endian 32-bit integers, as text.

Content that several places need is written once: `share` moves it out, `restore` puts it back.
"""

import base64
import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(values: NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Plain content from which `unpack` makes the same numbers."""
    return {"shape": list(values.shape), "int32": base64.b64encode(values.astype("<i4").tobytes()).decode("ascii")}


def unpack(content: Mapping[str, Any]) -> NDArray[np.int32]:
    """The numbers that `pack` wrote."""
    values = np.frombuffer(base64.b64decode(content["int32"], validate=True), dtype="<i4")
    return values.reshape(content["shape"]).astype(np.int32)


def share(content: Any, keys: Collection[str], parts: dict[str, Any]) -> Any:
    """The content with everything under one of the keys replaced by its hash; what was there goes into `parts`."""
    if isinstance(content, list):
        return [share(item, keys, parts) for item in content]
    if not isinstance(content, dict):
        return content
    shared = {name: share(item, keys, parts) for name, item in content.items()}
    for key in shared.keys() & set(keys):
        name = hashlib.sha256(json.dumps(shared[key], sort_keys=True).encode()).hexdigest()
        parts[name] = shared[key]
        shared[key] = name
    return shared


def restore(content: Any, keys: Collection[str], parts: Mapping[str, Any]) -> Any:
    """The content before `share`."""
    if isinstance(content, list):
        return [restore(item, keys, parts) for item in content]
    if not isinstance(content, dict):
        return content
    return {name: parts[item] if name in keys else restore(item, keys, parts) for name, item in content.items()}
