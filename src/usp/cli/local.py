"""Sitemaps that are here already: a file, a folder of files, the standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
)
from usp.tree import sitemap_from_bytes, sitemap_from_file

if TYPE_CHECKING:
    from pathlib import Path


def tree_of_stdin() -> AbstractSitemap:
    """Read one sitemap from the standard input."""
    return sitemap_from_bytes(sys.stdin.buffer.read())


def tree_of(path: Path) -> AbstractSitemap:
    """Read a file, or every file of a folder that is a sitemap.

    What an index in a folder declares is taken from the files of that name beside it.
    """
    if path.is_dir():
        return _Folder(path).tree()
    return sitemap_from_file(path)


class _Folder:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._order = sorted(file for file in path.rglob("*") if file.is_file())
        self._files = {file.name: file for file in reversed(self._order)}
        self._nodes: dict[Path, AbstractSitemap] = {}
        self._begun: set[Path] = set()

    def tree(self) -> AbstractSitemap:
        read = {file: sitemap_from_file(file) for file in self._order}
        found = {file: node for file, node in read.items() if not isinstance(node, InvalidSitemap)}
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
                size=node.size,
            )
        self._nodes[file] = node
        return node

    def _child(self, child: AbstractSitemap) -> AbstractSitemap:
        file = self._file_of(child)
        if file is None:
            return child
        if file not in self._begun:
            return self._filled(file, sitemap_from_file(file))
        return self._nodes.get(file, child)  # not there yet: one that declares itself in the end

    def _file_of(self, child: AbstractSitemap) -> Path | None:
        if not isinstance(child, InvalidSitemap):
            return None
        return self._files.get(unquote(urlsplit(child.url).path.rpartition("/")[2]))
