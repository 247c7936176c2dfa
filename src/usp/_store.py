"""The store of one tree: documents as the bytes that were received.

Small ones are kept in memory, the rest in one temporary file.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp.objects.exchange import Exchange
    from usp.objects.problem import Problem


@dataclass(slots=True)
class ReadCache:
    """What reading a document has shown, so that it need not be read again for the same.

    ``problems`` are kept while there is room for them (:meth:`Store.remember`), the numbers always.
    ``damage`` is why the document could not be read to its end, if it was not.
    """

    pages: int | None = None
    problem_count: int | None = None
    problems: tuple[Problem, ...] | None = None
    damage: Reason | None = None


class DamagedDocument(Exception):  # noqa: N818 - says what it is
    """A stored document that cannot be read any more, or not to its end."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(slots=True)
class Document:
    """The bytes of a document, in memory or at some places of its store's spool.

    It keeps its store alive, and can be pickled: the copy has a store of its own.
    """

    store: Store = field(repr=False, compare=False)
    exchange: Exchange
    size: int
    data: bytes | None = field(repr=False)
    places: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    known: ReadCache = field(default_factory=ReadCache, repr=False, compare=False)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes from the start, in chunks; ``broken`` says whether all of them came."""
        if self.data is not None:
            for at in range(0, len(self.data) or 1, CHUNK):
                yield self.data[at : at + CHUNK]
            return
        try:
            yield from self.store.read(self.places)
        except DamagedDocument as error:
            self.known.damage = error.reason

    @property
    def broken(self) -> Reason | None:
        """Why the document ends too early, if it does: as it was received, or as it was last read."""
        return self.known.damage or self.exchange.broken

    def has_bytes_of(self, other: Document) -> bool:
        """Return whether another document has the same bytes."""
        if self.size != other.size or self._digest() != other._digest():
            return False
        return self.known.damage is None and other.known.damage is None

    def _digest(self) -> bytes:
        digest = hashlib.blake2b()
        for chunk in self.chunks():
            digest.update(chunk)
        return digest.digest()

    def __reduce__(self) -> tuple[Any, ...]:
        data = b"".join(self.chunks())
        return _restore, (self.store, replace(self.exchange, broken=self.broken), data)


CHUNK = 128 * 1024


def _restore(store: Store, exchange: Exchange, data: bytes) -> Document:
    writer = DocumentWriter(store)
    writer.write(data)
    return writer.finish(exchange)


MEMORY = 4 * 1024 * 1024
"""How many bytes of documents one tree keeps in memory."""

SMALL = 256 * 1024
"""Larger documents go to the spool at once."""

REMEMBERED = 20_000
"""How many problems of its documents one tree keeps in memory."""

_HAS_OFFSETS = hasattr(os, "pread") and hasattr(os, "pwrite")  # Windows has neither


def read_at(file: IO[bytes], lock: threading.Lock, offset: int, size: int) -> bytes:
    """Return bytes of a file, wherever other threads and forked processes read."""
    if _HAS_OFFSETS:
        return os.pread(file.fileno(), size, offset)
    with lock:
        file.seek(offset)
        return file.read(size)


class SpoolFull(Exception):  # noqa: N818 - says what happened
    """The temporary file may not grow any more."""


class Store:
    """Keeps documents as they were received; safe to use from several threads.

    The spool is an unnamed temporary file: it vanishes with the store, and with the process however
    that ends. One file is open however many documents there are.
    """

    _held = 0  # bytes in memory
    _spool: IO[bytes] | None = None
    _end = 0  # of the spool
    _room = REMEMBERED
    _last: ReadCache | None = None  # for whose problems there is no room

    def __init__(
        self, memory: int = MEMORY, small: int = SMALL, *, spool: int | None = None
    ) -> None:
        self._memory = memory
        self._small = small
        self._most = spool
        self._lock = threading.Lock()

    def remember(self, known: ReadCache, problems: Sequence[Problem]) -> None:
        """Keep the problems of a document; those for which there is no room until the next ones."""
        with self._lock:
            if self._last is not None:
                self._last.problems = None
                self._last = None
            known.problems = tuple(problems)
            if len(problems) <= self._room:
                self._room -= len(problems)
            else:
                self._last = known

    def hold(self, more: int, document: int) -> bool:
        """Ask whether a document that has ``document`` bytes by now may keep ``more`` in memory."""
        with self._lock:
            if document > self._small or self._held + more > self._memory:
                return False
            self._held += more
            return True

    def release(self, size: int) -> None:
        """Release the memory of a document that is gone."""
        with self._lock:
            self._held -= size

    def append(self, data: bytes) -> tuple[int, int]:
        """Write to the spool; return the place as offset and length.

        Raises :class:`SpoolFull` if it would become too large.
        """
        with self._lock:
            if self._most is not None and self._end + len(data) > self._most:
                raise SpoolFull
            if self._spool is None:
                self._spool = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - lives as long as the store
                weakref.finalize(self, self._spool.close)
            offset, self._end = self._end, self._end + len(data)
        self._write_at(offset, data)  # its place is reserved: other threads need not wait
        return offset, len(data)

    def _write_at(self, offset: int, data: bytes) -> None:
        assert self._spool is not None
        view = memoryview(data)
        while view:
            if _HAS_OFFSETS:
                count = os.pwrite(self._spool.fileno(), view, offset)
            else:
                with self._lock:
                    self._spool.seek(offset)
                    count = self._spool.write(view)
            view, offset = view[count:], offset + count

    def read(self, places: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        """Yield the bytes at some places of the spool, in chunks."""
        assert self._spool is not None
        for offset, length in places:
            at, end = offset, offset + length
            while at < end:
                data = read_at(self._spool, self._lock, at, min(CHUNK, end - at))
                if not data:
                    raise OSError("the temporary file of the sitemap tree has been cut off")
                at += len(data)
                yield data

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self._memory, self._small)


class DocumentWriter:
    """Takes the chunks of one document; ``finish`` gives it, ``discard`` forgets it.

    Another thread may read what is written so far.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._parts: list[bytes] | None = []
        self._places: list[tuple[int, int]] = []
        self._lock = threading.Lock()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Add a chunk."""
        if not data:
            return
        with self._lock:
            size = self.size + len(data)
            if self._parts is not None and self._store.hold(len(data), size):
                self._parts.append(data)
            else:
                held = b"".join(self._parts or ())
                offset, length = self._store.append(held + data)
                if self._places and sum(self._places[-1]) == offset:
                    self._places[-1] = (self._places[-1][0], self._places[-1][1] + length)
                else:
                    self._places.append((offset, length))
                self._store.release(len(held))
                self._parts = None
            self.size = size

    def read(self, position: int) -> bytes:
        """Return what was written after a position, or a part of it; empty if there is nothing."""
        with self._lock:
            if self._parts is not None:
                return b"".join(self._parts)[position:]
            places = list(self._places)
        for offset, length in places:
            if position < length:
                rest = (offset + position, length - position)
                return next(self._store.read([rest]))
            position -= length
        return b""

    def finish(self, exchange: Exchange) -> Document:
        """Return the document."""
        data = None if self._parts is None else b"".join(self._parts)
        return Document(self._store, exchange, self.size, data, tuple(self._places))

    def discard(self) -> None:
        """Forget what was written; a spool does not shrink."""
        with self._lock:
            if self._parts is not None:
                self._store.release(sum(map(len, self._parts)))
                self._parts = None
