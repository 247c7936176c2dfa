"""Cases of one test: cheaper than a test for each, and as easy to tell apart when one of them fails."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def cases(values: Iterable[T]) -> Iterator[T]:
    """Yield each case, and print it: pytest shows the last one if the test fails."""
    for value in values:
        print(f"case: {value!r}")
        yield value
