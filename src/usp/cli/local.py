"""Local sitemaps: a file, a folder of files, the standard input."""

from __future__ import annotations

import io
import os
import re
import select
import sys
import time
from functools import partial
from itertools import chain
from typing import IO, TYPE_CHECKING

from usp._crawl.look import parse_document
from usp._formats.decode import Decoder
from usp._formats.document import Role
from usp.limits import LimitReached

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from usp.limits import Limits
    from usp.objects.sitemap import AbstractSitemap


_CHUNK = 128 * 1024
_TIMES = ("seconds", "document_seconds")
_HEAD = 64 * 1024  # bytes that are examined to recognize a robots.txt
_ROBOTS = re.compile(
    r"^[^\S\n]*(?:user-agent|(?:dis)?allow|sitemap)\s*:", re.IGNORECASE | re.MULTILINE
)


def tree_of_stdin(limits: Limits) -> AbstractSitemap:
    """Return the tree of a sitemap or robots.txt on the standard input."""
    return _document(piped(sys.stdin.buffer, limits), "-", limits)


def tree_of(path: Path, limits: Limits) -> AbstractSitemap:
    """Return the tree of a file or a pipe, or of all sitemaps in a folder.

    The children of an index in a folder are taken from the files of the same name.
    """
    if path.is_dir():
        from usp.changes.folder import tree_of_folder

        return tree_of_folder(path, limits)
    name = path.resolve() if path.is_file() else path.absolute()  # a pipe has no other name
    with path.open("rb") as file:
        chunks = iter(partial(file.read, _CHUNK), b"") if path.is_file() else piped(file, limits)
        return _document(chunks, name.as_uri(), limits, is_robots=path.name == "robots.txt")


def _document(
    chunks: Iterator[bytes], name: str, limits: Limits, *, is_robots: bool = False
) -> AbstractSitemap:
    chunks, begun = _begun(chunks)
    role = Role.ROBOTS if is_robots or _looks_like_robots(begun, limits) else Role.SITEMAP
    return parse_document(chunks, None, role=role, name=name, limits=limits)


def _begun(chunks: Iterator[bytes]) -> tuple[Iterator[bytes], bytes]:
    """Return the same chunks, and their first bytes."""
    taken: list[bytes] = []
    try:
        while sum(map(len, taken)) < _HEAD and (chunk := next(chunks, b"")):
            taken.append(chunk)
    except LimitReached as limit:
        chunks = _raising(limit)
    return chain(taken, chunks), b"".join(taken)[:_HEAD]


def _raising(limit: LimitReached) -> Iterator[bytes]:
    yield from ()
    raise limit


def _looks_like_robots(head: bytes, limits: Limits) -> bool:
    decoder = Decoder(limits=limits)
    text = decoder.feed(head) + decoder.close()
    return not text.lstrip("\ufeff \t\r\n").startswith("<") and bool(_ROBOTS.search(text))


# Pipes, which may be endless or slow, like a website -------------------------------------------


def piped(file: IO[bytes], limits: Limits) -> Iterator[bytes]:
    """Yield data as it arrives; raise ``LimitReached`` at the first limit of a document."""
    times = [(value, name) for name in _TIMES if (value := getattr(limits, name)) is not None]
    allowed, name = min(times, default=(None, ""))
    deadline = None if allowed is None else time.monotonic() + allowed
    received = 0
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and (left <= 0 or not _is_ready(file, left)):
            raise LimitReached(name)
        chunk = _read(file)
        if not chunk:
            return
        most = limits.document_bytes
        if most is not None and received + len(chunk) > most:
            yield chunk[: most - received]
            raise LimitReached("document_bytes")
        received += len(chunk)
        yield chunk


def _is_ready(file: IO[bytes], seconds: float) -> bool:
    """Return whether something can be read in time; True if that cannot be known."""
    if os.name == "nt":  # only sockets can be waited for
        return True
    try:
        # What is in the buffer of a file is read at once: a chunk is larger than any buffer.
        return bool(select.select([file], [], [], seconds)[0])
    except (io.UnsupportedOperation, TypeError, ValueError):  # not a file of the system
        return True


def _read(file: IO[bytes]) -> bytes:
    """Return what is available, without waiting for more."""
    read = getattr(file, "read1", file.read)
    return bytes(read(_CHUNK))
