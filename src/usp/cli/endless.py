"""What comes through a pipe: it may be endless or slow, as what a website sends."""

from __future__ import annotations

import io
import os
import select
import time
from typing import IO, TYPE_CHECKING

from usp.limits import LimitReached

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.limits import Limits

_CHUNK = 128 * 1024
_TIMES = ("seconds", "document_seconds")


def piped(file: IO[bytes], limits: Limits) -> Iterator[bytes]:
    """Yield what comes, as it comes; raise ``LimitReached`` at the first limit of a document."""
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
    """Wait until something can be read; where that cannot be known, say that it can."""
    if os.name == "nt":  # only sockets can be waited for
        return True
    try:
        # What is in the buffer of a file is read at once: a chunk is larger than any buffer.
        return bool(select.select([file], [], [], seconds)[0])
    except (io.UnsupportedOperation, TypeError, ValueError):  # not a file of the system
        return True


def _read(file: IO[bytes]) -> bytes:
    """Read what is there, without waiting for more."""
    read = getattr(file, "read1", file.read)
    return bytes(read(_CHUNK))
