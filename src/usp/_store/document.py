"""A stored document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp._store.store import Store
    from usp.objects.exchange import Exchange
    from usp.objects.problem import Problem


@dataclass(slots=True)
class Known:
    """What reading a document has shown, so that it need not be read again for the same.

    ``problems`` are kept while there is room for them (:meth:`Store.remember`), the numbers always.
    """

    pages: int | None = None
    problem_count: int | None = None
    problems: tuple[Problem, ...] | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """The bytes of a document, in memory or at some places of its store's spool.

    It keeps its store alive, and can be pickled: the copy has a store of its own.
    """

    store: Store = field(repr=False, compare=False)
    exchange: Exchange
    size: int
    data: bytes | None = field(repr=False)
    places: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    known: Known = field(default_factory=Known, repr=False, compare=False)

    def chunks(self) -> Iterator[bytes]:
        """Give the bytes from the start, in pieces."""
        if self.data is not None:
            yield from _slices(self.data)
        else:
            yield from self.store.read(self.places)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.store, self.exchange, b"".join(self.chunks()))


_CHUNK = 128 * 1024


def _slices(data: bytes) -> Iterator[bytes]:
    if len(data) <= _CHUNK:
        yield data
        return
    for at in range(0, len(data), _CHUNK):
        yield data[at : at + _CHUNK]


def _restore(store: Store, exchange: Exchange, data: bytes) -> Document:
    writer = store.writer()
    for piece in _slices(data):
        writer.write(piece)
    return writer.finish(exchange)
