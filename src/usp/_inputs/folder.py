"""A folder of sitemaps as a tree."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._base.urls import unquote, url_parts
from usp._crawl.given_documents import parse_file
from usp._inputs import head_text
from usp._inputs.table_input import table_form
from usp._store import Store
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
)

if TYPE_CHECKING:
    from pathlib import Path

    from usp.limits import Limits

_HEAD = 1024
MEDIA = frozenset(
    f".{suffix}"
    for suffix in (
        *("avif", "bmp", "gif", "heic", "ico", "jpeg", "jpg", "png", "svg", "tif", "tiff", "webp"),
        *("flac", "m4a", "m4v", "mov", "mp3", "mp4", "ogg", "wav", "webm"),
        *("css", "eot", "js", "map", "mjs", "otf", "pdf", "ttf", "wasm", "woff", "woff2", "zip"),
    )
)
"""Suffixes of what else a website has, much of it large; it is read only if an index lists it."""

PAGE_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*+<(?:!doctype html|html)[\s>]", re.IGNORECASE)


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
