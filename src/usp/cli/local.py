"""Sitemaps that are here already: a file, a folder of files, the standard input."""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
)
from usp.store import Store
from usp.tree import sitemap_from_bytes, sitemap_from_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from usp.limits import Limits


def tree_of_stdin(limits: Limits) -> AbstractSitemap:
    """Read one sitemap from the standard input."""
    return sitemap_from_bytes(sys.stdin.buffer.read(), limits=limits)


def tree_of(path: Path, limits: Limits) -> AbstractSitemap:
    """Read a file, or every file of a folder that is a sitemap.

    What an index in a folder declares is taken from the files of that name beside it.
    """
    if path.is_dir():
        return _Folder(path, limits).tree()
    return sitemap_from_file(path, limits=limits)


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
        """Tell whether a file is in the folder itself: a link in it may lead anywhere."""
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
        # Files that only declare each other stand at the top as well, the first of them.
        tops = [
            self._filled(file, found[file]) for file in (*first, *found) if file not in self._begun
        ]
        return IndexWebsiteSitemap(f"{self._path.resolve().as_uri()}/", tops)

    def _filled(self, file: Path, node: AbstractSitemap) -> AbstractSitemap:
        """Give an index with the files that it declares in the place of their names."""
        self._begun.add(file)
        if isinstance(node, AbstractIndexSitemap):
            node = type(node)(
                node.url,
                [self._child(child) for child in node.sub_sitemaps],
                last_modified=node.last_modified,
                problems=node.problems,
                failure=node.failure,
                size=node.size,
            )
        self._nodes[file] = node
        return node

    def _child(self, child: AbstractSitemap) -> AbstractSitemap:
        file = self._file_of(child)
        if file is None:
            return child
        if file not in self._begun:
            return self._filled(file, self._read(file))
        if file in self._nodes:
            return self._nodes[file]
        reason = f"Recursion detected in URL {child.url}"  # begun, and not done: it stands above
        return InvalidSitemap(child.url, reason, last_modified=child.last_modified, missing=False)

    def _file_of(self, child: AbstractSitemap) -> Path | None:
        """Give the file that a child is: of several of that name the one whose folders are alike."""
        if not isinstance(child, InvalidSitemap):
            return None
        parts = unquote(urlsplit(child.url).path).split("/")
        return max(self._files[parts[-1]], key=lambda file: _alike(file.parts, parts), default=None)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Count how many parts of two paths are the same, from their ends."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _is_named_as_sitemap(file: Path) -> bool:
    return file.name.removesuffix(".gz").endswith((".xml", ".rss", ".atom"))
