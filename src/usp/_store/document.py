"""A stored document and what was said when it was fetched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp._base.reason import Reason
    from usp._store.store import Store


@dataclass(frozen=True, slots=True)
class Exchange:
    """What an HTTP exchange said beside the body.

    ``received`` counts the bytes of the body as they came, still compressed; ``broken`` says why the
    body is incomplete, if it is. ``status`` is None for a file.
    """

    url: str
    final_url: str
    status: int | None = 200
    headers: tuple[tuple[str, str], ...] = ()
    redirects: tuple[str, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    received: int = 0
    content_type: str | None = None
    content_encoding: str | None = None
    charset: str | None = None
    broken: Reason | None = None


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
