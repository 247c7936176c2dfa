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
        files = sorted(file for file in path.rglob("*") if file.is_file())
        self._files = {file.name: file for file in reversed(files)}
        self._order = files
        self._used: set[Path] = set()

    def tree(self) -> AbstractSitemap:
        nodes = [(file, sitemap_from_file(file)) for file in self._order]
        found = [
            (file, self._filled(node, {file}))
            for file, node in nodes
            if not isinstance(node, InvalidSitemap)
        ]
        tops = [node for file, node in found if file not in self._used]
        return IndexWebsiteSitemap(f"{self._path.resolve().as_uri()}/", tops)

    def _filled(self, node: AbstractSitemap, above: set[Path]) -> AbstractSitemap:
        """Give an index with the files that it declares in the place of their names."""
        if not isinstance(node, AbstractIndexSitemap):
            return node
        children = [self._child(child, above) for child in node.sub_sitemaps]
        return type(node)(
            node.url,
            children,
            last_modified=node.last_modified,
            problems=node.problems,
            size=node.size,
        )

    def _child(self, child: AbstractSitemap, above: set[Path]) -> AbstractSitemap:
        if not isinstance(child, InvalidSitemap):
            return child
        file = self._files.get(unquote(urlsplit(child.url).path.rpartition("/")[2]))
        if file is None or file in above:
            return child
        self._used.add(file)
        return self._filled(sitemap_from_file(file), above | {file})
