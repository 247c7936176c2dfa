"""Local files as trees: a document, which may come through a pipe, or a folder of sitemaps."""

from __future__ import annotations

import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from functools import cache, partial
from itertools import chain, takewhile
from pathlib import Path
from typing import IO

from usp._base.files import is_ready, open_pipe
from usp._base.reason import Reason
from usp._base.urls import MEDIA, unquote, url_parts
from usp._crawl.receiver import parse_document, parse_file
from usp._formats.decode import Decoder
from usp._formats.document import Role
from usp._formats.html import PAGE_START
from usp._inputs.table_input import table_form, tree_of_table
from usp._store import CHUNK, Store
from usp.limits import DEFAULT, LimitReached, Limits
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
)

_TIMES = ("seconds", "document_seconds")
_HEAD = 1024  # bytes of a file that are examined
_HEAD_OF_DOCUMENT = 64 * 1024  # the same of one that may be a robots.txt
_ROBOTS = re.compile(
    r"^[^\S\n]*(?:user-agent|(?:dis)?allow|sitemap)\s*:", re.IGNORECASE | re.MULTILINE
)


def tree_of_folder(path: Path, limits: Limits | None) -> AbstractSitemap:
    """Return the tree of all sitemaps in a folder; children of an index are the files named so."""
    return _Folder(path, limits).tree()


class _Folder:
    def __init__(self, path: Path, limits: Limits | None) -> None:
        self._path = path
        inside = path.resolve()  # really: a link may point anywhere
        files = (file for file in path.rglob("*") if file.is_file())
        self._order = sorted(file for file in files if file.resolve().is_relative_to(inside))
        self._files: defaultdict[str, list[Path]] = defaultdict(list)
        for file in self._order:
            self._files[file.name].append(file)
        store = Store()  # one for all: a store of many large files is one temporary file
        self._read = cache(partial(parse_file, limits=limits, store=store))
        self._nodes: dict[Path, AbstractSitemap] = {}
        self._begun: set[Path] = set()

    def tree(self) -> AbstractSitemap:
        read = {file: self._read(file) for file in self._order if not _is_other(file)}
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
        tops = [self._top(file) for file in (*first, *found) if file not in self._begun]
        return IndexWebsiteSitemap(f"{self._path.resolve().as_uri()}/", tops)

    def _top(self, top: Path) -> AbstractSitemap:
        """Return the node of a file, with those of the files that it lists below it.

        Files are started from the top down and finished from the bottom up, with a stack instead of
        recursion, since indexes may be nested deeply.
        """
        waiting = [(top, False)]
        while waiting:
            file, is_finished = waiting.pop()
            if is_finished:
                node = self._read(file)
                if isinstance(node, AbstractIndexSitemap):
                    below = [self._node_of(child) for child in node.sub_sitemaps]
                    node._sub_sitemaps = below  # noqa: SLF001 - nobody else has the node yet
                self._nodes[file] = node
            elif file not in self._begun:
                self._begun.add(file)
                files = [self._file_of(child) for child in self._read(file).sub_sitemaps]
                waiting.append((file, True))
                waiting += [(child, False) for child in reversed(files) if child is not None]
        return self._nodes[top]

    def _node_of(self, child: AbstractSitemap) -> AbstractSitemap:
        """Return the node of a child's file, or the child itself if it has none."""
        file = self._file_of(child)
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
        parts = unquote(url_parts(child.url).path).split("/")

        def in_common(file: Path) -> int:
            pairs = zip(reversed(file.parts), reversed(parts), strict=False)
            return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

        return max(self._files[parts[-1]], key=in_common, default=None)


def _is_other(file: Path) -> bool:
    """Return whether a file is a page, media or a table: a website has thousands of them."""
    if _is_named_as_sitemap(file):
        return False
    if file.suffix.lower() in MEDIA:
        return True
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    return bool(PAGE_START.match(head)) or table_form(head, head_text(head), file.name) is not None


def _is_named_as_sitemap(file: Path) -> bool:
    return file.name.lower().removesuffix(".gz").endswith((".xml", ".rss", ".atom"))


# A document: a file, a pipe, the standard input -----------------------------------------------------


def tree_of_document(path: Path | None, limits: Limits) -> AbstractSitemap:
    """Return the tree of a file, a pipe, or the standard input: a sitemap, a robots.txt, a table."""
    name = "-"
    if path is not None:  # a pipe has no other name
        name = (path.resolve() if path.is_file() else path.absolute()).as_uri()
    with ExitStack() as files:
        if path is not None and path.is_file():
            chunks = iter(partial(files.enter_context(path.open("rb")).read, CHUNK), b"")
        else:
            chunks = piped(path or sys.stdin.buffer, limits)
        begun = bytearray()
        try:
            while len(begun) < _HEAD_OF_DOCUMENT and (chunk := next(chunks, b"")):
                begun += chunk
        except LimitReached as limit:
            chunks = _raising(limit)
        head = bytes(begun[:_HEAD_OF_DOCUMENT])
        text, own_name = head_text(head, limits), "" if path is None else path.name
        chunks = chain([bytes(begun)], chunks)
        form = table_form(head, text, own_name)
        if form is not None:
            return tree_of_table(chunks, form, name, limits)
        is_markup = text.lstrip("\ufeff \t\r\n").startswith("<")
        is_robots = own_name == "robots.txt" or (not is_markup and _ROBOTS.search(text))
        role = Role.ROBOTS if is_robots else Role.SITEMAP
        return parse_document(chunks, None, role=role, name=name, limits=limits)


def _raising(limit: LimitReached) -> Iterator[bytes]:
    yield from ()
    raise limit


def head_text(head: bytes, limits: Limits = DEFAULT) -> str:
    """Return the text with which a document begins."""
    decoder = Decoder(limits=limits)
    return decoder.feed(head) + decoder.close()


# Pipes, which may be endless or slow, like a website -------------------------------------------


def piped(source: IO[bytes] | Path, limits: Limits) -> Iterator[bytes]:
    """Yield data as it arrives; raise ``LimitReached`` at the first limit, also before any came."""
    times = [(value, name) for name in _TIMES if (value := getattr(limits, name)) is not None]
    allowed, name = min(times, default=(None, ""))
    deadline = None if allowed is None else time.monotonic() + allowed
    received = 0
    with open_pipe(source) if isinstance(source, Path) else nullcontext(source) as file:
        read = getattr(file, "read1", file.read)  # what is available, without waiting for more
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if (left is not None and left <= 0) or not is_ready(file, left):
                raise LimitReached(name)
            chunk = bytes(read(CHUNK))
            if not chunk:
                return
            most = limits.document_bytes
            if most is not None and received + len(chunk) > most:
                yield chunk[: most - received]
                raise LimitReached("document_bytes")
            received += len(chunk)
            yield chunk
