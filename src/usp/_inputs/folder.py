"""A folder of sitemaps as a tree."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._base.urls import unquote, url_parts
from usp._store import Store
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import AbstractIndexSitemap, IndexWebsiteSitemap, InvalidSitemap
from usp.tree import sitemap_from_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from usp.limits import Limits
    from usp.objects.sitemap import AbstractSitemap

_HEAD = 512
_MEDIA = frozenset(
    f".{suffix}"
    for suffix in (
        *("avif", "bmp", "gif", "heic", "ico", "jpeg", "jpg", "png", "svg", "tif", "tiff", "webp"),
        *("flac", "m4a", "m4v", "mov", "mp3", "mp4", "ogg", "wav", "webm"),
        *("css", "eot", "js", "map", "mjs", "otf", "pdf", "ttf", "wasm", "woff", "woff2", "zip"),
    )
)
"""Suffixes of what else a website has, much of it large; it is read only if an index lists it."""

_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*+<(?:!doctype html|html)[\s>]", re.IGNORECASE)


def tree_of_folder(path: Path, limits: Limits | None) -> AbstractSitemap:
    """Return the tree of all sitemaps in a folder.

    The children of an index are taken from the files of the same name.
    """
    return _Folder(path, limits).tree()


class _Folder:
    def __init__(self, path: Path, limits: Limits | None) -> None:
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
        parts = unquote(url_parts(child.url).path).split("/")
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


def _is_other(file: Path) -> bool:
    """Return whether a file is a page or media at first glance: a website has thousands of them."""
    if _is_named_as_sitemap(file):
        return False
    if file.suffix.lower() in _MEDIA:
        return True
    with file.open("rb") as opened:
        return bool(_PAGE.match(opened.read(_HEAD)))


def _is_named_as_sitemap(file: Path) -> bool:
    return file.name.lower().removesuffix(".gz").endswith((".xml", ".rss", ".atom"))
