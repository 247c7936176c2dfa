"""What people do with pages elsewhere: tables and files.

``write`` puts the pages of a tree or a stream into a file or a stream; :mod:`usp.export.arrow` gives
them as Arrow tables. Both need no more memory for a large site than for a small one.

A new format is a module with a function ``write``, and a line in :data:`FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from usp.export import csv_file, json_file, parquet_file, xml_file
from usp.export.atomic import packing, replacing
from usp.export.schema import COLUMNS, MissingExtraError, chosen, pyarrow
from usp.export.source import blocks_of
from usp.export.streams import bytes_of
from usp.export.xml_file import TooLargeError
from usp.objects.page import PageBlock
from usp.objects.sitemap import AbstractSitemap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.export.source import Pages
    from usp.selection import Selection

__all__ = [
    "COLUMNS",
    "FORMATS",
    "MissingExtraError",
    "TooLargeError",
    "format_of",
    "write",
    "write_blocks",
]

_Write: TypeAlias = Callable[
    [Iterable[tuple[str | None, PageBlock]], IO[bytes], Sequence[str]], None
]

FORMATS: Mapping[str, _Write] = {
    "csv": csv_file.write,
    "json": json_file.write_array,
    "jsonl": json_file.write_lines,
    "parquet": parquet_file.write,
    "xml": xml_file.write,
}
"""What is written, and what writes it."""


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
    """Write the pages of a tree, or pages that come one by one, while they are read.

    ``target`` is a file or a stream, of bytes or of text. A file takes its place when it is complete;
    if anything goes wrong, what was there before stays. ``format`` is one of :data:`FORMATS`; a
    file's suffix tells it too, and ``.gz`` after that compresses it. ``columns`` are the wanted ones of
    :data:`COLUMNS`, ``selection`` the wanted pages.

    ``site`` is the address of the website, for pages that come without a tree, if the selection asks
    for its host. ``location`` is where on the web an XML sitemap will be, which matters if it has
    to be split: the root of the website unless told.

    Raises ``ValueError`` for names that are none, ``MissingExtraError`` if ``parquet`` lacks pyarrow,
    ``TooLargeError`` if a stream cannot take all in one XML sitemap, ``OSError`` from writing.
    """
    if isinstance(pages, AbstractSitemap):
        site = site or pages.url
    blocks = blocks_of(pages, selection, site)
    write_blocks(blocks, target, format, columns, location=location or site)


def write_blocks(
    blocks: Iterable[tuple[str | None, PageBlock]],
    target: str | os.PathLike[str] | IO[Any],
    format: str | None = None,  # noqa: A002 - the word for it
    columns: Iterable[str] | None = None,
    *,
    location: str | None = None,
) -> None:
    """Write pages that come in blocks, each with the address of its sitemap, as :func:`write` does."""
    path = os.fspath(target) if isinstance(target, str | os.PathLike) else None
    form = format or (path is not None and format_of(path)) or ""
    if form not in FORMATS:
        known = ", ".join(FORMATS)
        wrong = f"{form!r} is no format" if form else "the format is not known"
        raise ValueError(f"{wrong}; there are {known}")
    names = chosen(columns)
    if form == "parquet":
        pyarrow(".parquet")
    if path is None:
        FORMATS[form](blocks, bytes_of(target, form), names)
    elif form == "xml" and (os.path.isfile(path) or not os.path.exists(path)):  # noqa: PTH110, PTH113
        xml_file.write_files(blocks, path, names, location)
    else:
        with replacing(path) as file, packing(path, file) as stream:
            FORMATS[form](blocks, stream, names)


def format_of(path: str | os.PathLike[str]) -> str | None:
    """Tell the format by the suffix of a file; None if there is none of that name."""
    name = PurePath(path).name.lower()
    suffix = PurePath(name.removesuffix(".gz")).suffix.removeprefix(".")
    packed_twice = suffix == "parquet" and name.endswith(".gz")
    return suffix if suffix in FORMATS and not packed_twice else None
