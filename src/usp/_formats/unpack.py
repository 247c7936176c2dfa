"""Removes compression, recognised by the bytes themselves and not by names or headers."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator

from usp._base.reason import Reason
from usp.limits import DEFAULT, Limits
from usp.objects.problem import FailureCode, ProblemCode, Problems

MAX_LAYERS = 4
"""How many compressions around each other are removed."""

_BREAKS_OFF = Reason(FailureCode.GZIP_CUT_OFF, "the compressed data breaks off")
MAGIC = b"\x1f\x8b\x08"
_SLICE = 8 * 1024  # unpacks to 8 MiB at most: what a bomb can make us hold
_LARGE = 16 * 1024 * 1024  # up to here, anything may unpack to however much
GZIP, _ZLIB, _RAW = 31, 15, -15
_ZEROS = re.compile(rb"\0*+")
_DEFLATE_HEAD = 16  # so many printable bytes in a row are text, not a raw deflate stream
_PRINTABLE = frozenset(b"\t\n\r") | frozenset(range(0x20, 0x7F))


class Inflater:
    """Decompresses one layer of gzip or deflate: ``feed`` compressed bytes, get plain ones.

    Everything before the first broken byte is returned, however the input is split. Consecutive
    members are one stream; zeros after the last one are padding, anything else is ignored.
    """

    def __init__(self, window: int, problems: Problems, limits: Limits = DEFAULT) -> None:
        self._window = window
        self._problems = problems
        self._limits = limits
        self._taken = self._given = 0  # bytes, compressed and plain
        self._inflate = zlib.decompressobj(window)
        self._head = b""  # what follows a finished member and may be the head of the next
        self._over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what ``data`` decompresses to, in bounded pieces."""
        at = 0
        while at < len(data) and not self._over:
            if self._inflate.eof:
                at = self._next_member(data, at)
                continue
            # Pieces end at the same places of the stream however it is cut.
            piece = self._head + data[at : at + _SLICE - self._taken % _SLICE]
            taken = len(piece) - len(self._head)
            self._head = b""
            before = self._inflate.copy()
            try:
                plain = self._inflate.decompress(piece)
            except zlib.error as error:
                yield _replay(before, piece)
                text = f"the compressed data is broken ({str(error).rpartition(': ')[2]})"
                self._problems.end(Reason(FailureCode.GZIP_BROKEN, text))
                self._over = True
                return
            taken -= len(self._inflate.unused_data)
            at += taken
            self._taken += taken
            self._given += len(plain)
            yield plain
            self._check_ratio()

    def _check_ratio(self) -> None:
        """Stop if the compression ratio is that of a decompression bomb."""
        ratio = self._limits.ratio
        if ratio is None or self._taken % _SLICE or self._given <= _LARGE:
            return
        if self._given > self._taken * ratio:
            self._problems.end(self._limits.reached("ratio"))
            self._over = True

    def close(self) -> None:
        """Note whether the data broke off."""
        if not self._over and not self._inflate.eof:
            self._problems.end(_BREAKS_OFF)
            self._over = True
        elif self._head and not self._over:
            self._junk()

    def _next_member(self, data: bytes, at: int) -> int:
        """Check what follows a member; return the position up to which that was checked."""
        if self._window != GZIP:
            self._junk()
            return at
        if not self._head:
            zeros = _ZEROS.match(data, at)
            at = zeros.end() if zeros else at
        head = self._head + data[at : at + len(MAGIC) - len(self._head)]
        at += len(head) - len(self._head)
        self._head = head
        if not MAGIC.startswith(head):
            self._junk()
        elif head == MAGIC:
            self._inflate = zlib.decompressobj(self._window)
        return at

    def _junk(self) -> None:
        self._problems.add(ProblemCode.TRAILING_DATA)
        self._over = True


def _replay(inflate: zlib._Decompress, piece: bytes) -> bytes:
    """Return what a failing call had decompressed before it failed, which zlib discards."""
    saved = bytearray()
    for at in range(len(piece)):
        try:
            saved += inflate.decompress(piece[at : at + 1])
        except zlib.error:
            break
    return bytes(saved)


class Unpacker:
    """Removes every layer of gzip, and deflate where HTTP announced it, from a stream of bytes."""

    is_plain = False  # whether there is nothing to remove
    _head = b""
    _inflater: Inflater | None = None
    _inner: Unpacker | None = None

    def __init__(
        self,
        problems: Problems,
        *,
        content_encoding: str | None = None,
        limits: Limits = DEFAULT,
        layer: int = 0,
    ) -> None:
        self._problems = problems
        self._content_encoding = (content_encoding or "").lower()
        # Of several encodings the last one is outside; one alone has nothing inside.
        self._deflated = "deflate" in self._content_encoding and (
            not layer or "," in self._content_encoding
        )
        self._limits = limits
        self._room = limits.unpacked_bytes
        self._layer = layer

    @property
    def full(self) -> bool:
        """Whether the limit was reached, so that there will be no more data."""
        return (self._room is not None and self._room < 0) or bool(self._inner and self._inner.full)

    @property
    def layers(self) -> int:
        """How many compressions around each other were removed, as far as that is known."""
        return 0 if self._inner is None else 1 + self._inner.layers

    def feed(self, data: bytes, *, final: bool = False) -> Iterable[bytes]:
        """Return the plain bytes that are complete so far.

        The first bytes of a layer decide what it is.
        """
        if self._inner is None and not self.is_plain:
            data = self._head + data
            if len(data) < (_DEFLATE_HEAD if self._deflated else len(MAGIC)) and not final:
                self._head = data
                return ()
            window = GZIP if data.startswith(MAGIC) else None
            if window is None and self._deflated:
                window = _deflate_window(data)
            if window is None or self._layer >= MAX_LAYERS:
                self.is_plain = True
            else:
                self._inflater = Inflater(window, self._problems, self._limits)
                self._inner = Unpacker(
                    self._problems,
                    content_encoding=self._content_encoding,
                    limits=self._limits,
                    layer=self._layer + 1,
                )
        if self._inflater is None or self._inner is None:
            return self._count(data)
        return self._inflated(self._inflater, self._inner, data)

    def close(self) -> Iterable[bytes]:
        """Return what is left, and note a stream that broke off."""
        return () if self.is_plain else self._rest()

    def _rest(self) -> Iterator[bytes]:
        if self._inflater is None:
            yield from self.feed(b"", final=True)
        if self._inflater and self._inner:
            if not self.full:
                self._inflater.close()
            yield from self._inner.close()

    def _inflated(self, inflater: Inflater, inner: Unpacker, data: bytes) -> Iterator[bytes]:
        for piece in inflater.feed(data):
            for counted in self._count(piece):
                yield from inner.feed(counted)
            if self.full:
                return

    def _count(self, data: bytes) -> tuple[bytes, ...]:
        """Return what there is room for, if there is any."""
        room = self._room
        if room is None:
            return (data,)
        self._room = left = room - len(data)
        if left < 0:
            if room >= 0:
                self._problems.end(self._limits.reached("unpacked_bytes"))
            data = data[: max(room, 0)]
        return (data,) if data else ()


def _deflate_window(head: bytes) -> int | None:
    """Return how zlib reads what HTTP announced as deflate; None if it is not compressed."""
    if len(head) < 2:  # noqa: PLR2004 - a zlib header has two bytes
        return None
    if head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0:
        return _ZLIB
    return None if _PRINTABLE.issuperset(head[:_DEFLATE_HEAD]) else _RAW
