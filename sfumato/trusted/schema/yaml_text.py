"""YAML as plain content. What YAML allows and no schema means is refused, so that nothing later stumbles over it."""

from typing import Any

import yaml

from sfumato.errors import SchemaError

_MOST_NODES = 1_000_000  # with what aliases stand for counted each time
_MOST_DIGITS = 400  # more than any number of 64 bits has
_INTEGER = "tag:yaml.org,2002:int"


def load_yaml(text: str, where: str, kind: type[yaml.SafeLoader] = yaml.SafeLoader) -> tuple[yaml.Node | None, Any]:
    """The nodes of a YAML text, which know their lines, and its content.

    where   names the text in errors
    kind    reads its words

    Edge cases
        No YAML, a key that stands twice (YAML keeps the last without a word), an alias inside of what it names, aliases
        that stand for more than a million things, endless numbers: `SchemaError`.
    """
    try:
        loader = kind(text)
        root = loader.get_single_node()
        if root is None:
            return None, None
        _Walk(where).size_of(root)
        return root, loader.construct_document(root)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise SchemaError(f"{where}: is not YAML: {' '.join(str(error).split())}") from None


class _Walk:
    """Visits every node once, however many aliases lead to it."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._sizes: dict[int, int] = {}

    def size_of(self, node: yaml.Node) -> int:
        """How many nodes it stands for."""
        known = self._sizes.get(id(node))
        if known is not None:
            self._need(known, node, "an alias stands inside of what it names; write it out")
            return known
        self._sizes[id(node)] = 0  # until all below it is known
        if isinstance(node, yaml.ScalarNode):
            self._check_scalar(node)
        if isinstance(node, yaml.MappingNode):
            self._check_keys(node)
        below = [one for pair in node.value for one in pair] if isinstance(node, yaml.MappingNode) else node.value
        size = 1 if isinstance(node, yaml.ScalarNode) else 1 + sum(map(self.size_of, below))
        self._need(size <= _MOST_NODES, node, "its aliases stand for more than a million things; write less")
        self._sizes[id(node)] = size
        return size

    def _check_scalar(self, node: yaml.ScalarNode) -> None:
        is_short = node.tag != _INTEGER or len(node.value) <= _MOST_DIGITS
        self._need(is_short, node, f"a number has more than {_MOST_DIGITS} digits; write a smaller one")

    def _check_keys(self, node: yaml.MappingNode) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            self._need(key.value not in seen, key, f"key {key.value!r} stands twice; keep one")
            seen.add(key.value)

    def _need(self, holds: object, node: yaml.Node, cure: str) -> None:
        if not holds:
            raise SchemaError(f"{self._where}, line {node.start_mark.line + 1}: {cure}")
