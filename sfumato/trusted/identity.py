"""Keys of caches that are found by their identity: to compare two long lists takes as long as to read them."""

from typing import Generic, TypeVar

T = TypeVar("T")


class ByIdentity(Generic[T]):
    """A value as a key. It keeps the value alive, so that no other can take its place in memory."""

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.value is other.value
