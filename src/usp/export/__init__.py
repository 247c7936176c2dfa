"""Pages as tables and files.

``write`` writes the pages of a tree or a stream to a file; :mod:`usp.export.arrow` turns them into
Arrow tables. Neither needs more memory for a large site than for a small one.

A new format is a function that writes blocks of pages, and a line in :data:`FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from usp._base.files import suffix_of
from usp._base.names import PAGE_COLUMNS, PAGE_FORMATS
from usp.export import xml_file
from usp.export.arrow import write_parquet
from usp.export.schema import COLUMNS, CSV_COLUMNS, MissingExtraError, chosen, pyarrow
from usp.export.text_formats import opened, write_pages
from usp.export.xml_file import TooLargeError
from usp.objects.sitemap import AbstractSitemap
from usp.selection import Selection

if TYPE_CHECKING:
    from usp.selection import Blocks, Pages

__all__ = [
    "COLUMNS",
    "FORMATS",
    "MissingExtraError",
    "TooLargeError",
    "format_of",
    "write",
    "write_blocks",
]

_Write: TypeAlias = "Callable[[Blocks, IO[bytes], Sequence[str]], None]"

_WRITERS: Mapping[str, _Write] = {"parquet": write_parquet, "xml": xml_file.write}
FORMATS: Mapping[str, _Write] = {
    form: _WRITERS.get(form) or partial(write_pages, form=form) for form in PAGE_FORMATS
}
"""The formats with their writers."""


def write(
    pages: Pages,
    target: str | os.PathLike[str] | IO[Any],
    format: str | None = None,  # noqa: A002 - the word for it
    columns: Iterable[str] | None = None,
    selection: Selection | None = None,
    *,
    site: str | None = None,
    location: str | None = None,
) -> None:
    """Write the pages of a tree, or of an iterable, while they are parsed.

    ``target`` is a path, or a binary or text stream. A file is replaced once the new one is complete;
    if anything goes wrong, the old one is kept. ``format`` is one of :data:`FORMATS`; by default it
    is taken from the file's suffix, after which ``.gz`` compresses the file. ``columns`` are some of
    :data:`COLUMNS`, or ``path``, ``section``, ``news.title``, ``news.date``, ``image_count`` and
    ``resource``; ``selection`` selects the pages.

    ``site`` is the URL of the website, needed for ``same_host`` if ``pages`` is not a tree.
    ``location`` is the URL at which an XML sitemap will be published, which matters if it has to be
    split; by default, that is the root of the website.

    Raises ``ValueError`` for unknown names, ``MissingExtraError`` if ``parquet`` lacks pyarrow,
    ``TooLargeError`` if the pages do not fit into one XML sitemap and ``target`` is a stream, and
    ``OSError`` if writing fails.
    """
    if isinstance(pages, AbstractSitemap):
        site = site or pages.url
    blocks = (selection or Selection()).blocks(pages, site)
    write_blocks(blocks, target, format, columns, location=location or site)


def write_blocks(
    blocks: Blocks,
    target: str | os.PathLike[str] | IO[Any],
    format: str | None = None,  # noqa: A002 - the word for it
    columns: Iterable[str] | None = None,
    *,
    location: str | None = None,
) -> None:
    """Write pages given as blocks, each with the URL of its sitemap, as :func:`write` does."""
    path = os.fspath(target) if isinstance(target, str | os.PathLike) else None
    form = format or (path is not None and format_of(path)) or ""
    if form not in FORMATS:
        known = ", ".join(FORMATS)
        wrong = f"unknown format {form!r}" if form else "no format given"
        raise ValueError(f"{wrong}; choose from {known}")
    names = chosen(columns, usual=CSV_COLUMNS if form == "csv" else PAGE_COLUMNS)
    if form == "parquet":
        pyarrow(".parquet")
    if form == "xml" and path and (os.path.isfile(path) or not os.path.exists(path)):  # noqa: PTH110, PTH113
        xml_file.write_files(blocks, path, names, location)
        return
    with opened(target, form) as stream:
        FORMATS[form](blocks, stream, names)


def format_of(path: str | os.PathLike[str]) -> str | None:
    """Return the format for the suffix of a file; None if there is none."""
    suffix = suffix_of(path).removeprefix(".")
    return suffix if suffix in FORMATS else None
