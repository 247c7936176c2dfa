"""Local sitemaps: a file, a folder of files, the standard input."""

from __future__ import annotations

import io
import os
import re
import select
import sys
import time
from collections import defaultdict
from functools import partial
from itertools import chain, takewhile
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from usp._base.reason import Reason
from usp._crawl.look import parse_document
from usp._formats.decode import Decoder
from usp._formats.document import Role
from usp._store import Store
from usp.limits import LimitReached
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
)
from usp.tree import sitemap_from_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from usp.limits import Limits


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
        return _Folder(path, limits).tree()
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


class _Folder:
    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        self._store = Store()  # one for all: a store of many large files is one temporary file
        self._order = sorted(file for file in path.rglob("*") if self._is_inside(file))
        self._files: defaultdict[str, list[Path]] = defaultdict(list)
        for file in self._order:
            self._files[file.name].append(file)
        self._nodes: dict[Path, AbstractSitemap] = {}
        self._begun: set[Path] = set()

    def _is_inside(self, file: Path) -> bool:
        """Return whether a file is really inside the folder: a link may point anywhere."""
        return file.is_file() and file.resolve().is_relative_to(self._path.resolve())

    def _read(self, file: Path) -> AbstractSitemap:
        return sitemap_from_file(file, limits=self._limits, store=self._store)

    def tree(self) -> AbstractSitemap:
        read = {file: self._read(file) for file in self._order}
        found = {
            file: node
            for file, node in read.items()
            if not isinstance(node, InvalidSitemap) or _is_named_as_sitemap(file)
        }
        declared = {
            below
            for file, node in found.items()
            for child in node.sub_sitemaps
            if (below := self._file_of(child)) != file
        }
        first = [file for file in found if file not in declared]
        # Of files that only list each other, the first one is at the top as well.
        tops = [
            self._filled(file, found[file]) for file in (*first, *found) if file not in self._begun
        ]
        return IndexWebsiteSitemap(f"{self._path.resolve().as_uri()}/", tops)

    def _filled(self, top: Path, node: AbstractSitemap) -> AbstractSitemap:
        """Return an index whose children are the files that it lists.

        Files are started from the top down and finished from the bottom up, with a stack instead of
        recursion, since indexes may be nested deeply.
        """
        self._begun.add(top)
        begun = [_Begun(top, node)]
        while begun:
            current = begun[-1]
            child = next(current.children, None)
            if child is None:
                begun.pop()
                self._nodes[current.file] = current.done()
                if begun:
                    begun[-1].below.append(self._nodes[current.file])
                continue
            file = self._file_of(child)
            if file is not None and file not in self._begun:
                self._begun.add(file)
                begun.append(_Begun(file, self._read(file)))
            else:
                current.below.append(self._known(child, file))
        return self._nodes[top]

    def _known(self, child: AbstractSitemap, file: Path | None) -> AbstractSitemap:
        """Return the node of a child that has no file, or whose file was started before."""
        if file is None:
            return child
        if file in self._nodes:
            return self._nodes[file]
        loop = FailureCode.RECURSION  # started and not finished: it is an ancestor
        why = Reason(loop, loop.message, full=f"Recursion detected in URL {child.url}")
        return InvalidSitemap(
            child.url,
            str(why),
            last_modified=child.last_modified,
            failure=Failure.of(child.url, why),
            missing=False,
        )

    def _file_of(self, child: AbstractSitemap) -> Path | None:
        """Return the file of a child: of several with that name, the one in similar folders."""
        if not isinstance(child, InvalidSitemap):
            return None
        parts = unquote(urlsplit(child.url).path).split("/")
        return max(self._files[parts[-1]], key=lambda file: _alike(file.parts, parts), default=None)


class _Begun:
    """A file whose children are being read."""

    def __init__(self, file: Path, node: AbstractSitemap) -> None:
        self.file = file
        self._node = node
        index = isinstance(node, AbstractIndexSitemap)
        self.children = iter(node.sub_sitemaps if index else ())
        self.below: list[AbstractSitemap] = []

    def done(self) -> AbstractSitemap:
        """Return the node, with the children that were found."""
        node = self._node
        if not isinstance(node, AbstractIndexSitemap):
            return node
        filled = type(node)(
            node.url,
            self.below,
            last_modified=node.last_modified,
            problems=node.problems,
            failure=node.failure,
            size=node.size,
            status=node.status,
            exchange=node.exchange,
        )
        filled.read_from(node.stored)
        return filled


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many segments two paths have in common, from the end."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _is_named_as_sitemap(file: Path) -> bool:
    return file.name.removesuffix(".gz").endswith((".xml", ".rss", ".atom"))


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
