"""``xml``: a sitemap of the pages, or several with an index if they do not fit into one."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from itertools import chain, islice
from typing import IO, TYPE_CHECKING
from urllib.parse import quote, urljoin
from xml.sax.saxutils import escape

from usp._base.display import size
from usp.export.atomic import NewFile, compressing, new_file
from usp.export.xml_entries import NAMESPACES, entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike
    from pathlib import Path

    from usp.selection import Blocks

MAX_URLS = 50_000
MAX_BYTES = 50 * 1024 * 1024
"""The maximum size of one sitemap, according to the protocol."""

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_BEGIN = "".join(
    (_DECLARATION, "<urlset", *(f' {name}="{uri}"' for name, uri in NAMESPACES.items()), ">\n")
).encode()
_END = b"</urlset>\n"


class TooLargeError(ValueError):
    """The pages do not fit into one sitemap, and a stream cannot hold several."""


def write(blocks: Blocks, stream: IO[bytes], names: Sequence[str]) -> None:
    """Write one sitemap; raises ``TooLargeError``, and writes nothing, if it would be too large."""
    with tempfile.SpooledTemporaryFile(max_size=1 << 20) as held:
        parts = _parts(_entries(blocks, names))
        held.writelines(next(parts))
        if next(parts, None) is not None:
            raise TooLargeError(
                f"the pages do not fit into one sitemap of {MAX_URLS:,} URLs and {size(MAX_BYTES)}; "
                "write to a file (-o sitemap.xml) to split them into several"
            )
        held.seek(0)
        while piece := held.read(1 << 18):
            stream.write(piece)


def write_files(
    blocks: Blocks,
    path: str | PathLike[str],
    names: Sequence[str],
    location: str | None = None,
) -> None:
    """Write a file; if it would be too large, numbered ones beside it, and an index in its place.

    ``location`` is the address of the folder that the files will have on the web: the index must
    name them by it. Without, it is that of the host of the first page. Files take their places when
    all of them are complete, the index last.
    """
    remaining = iter(blocks)
    first = list(islice(remaining, 1))
    if location is None and first:
        location = urljoin(first[0][1].urls[0], "/")
    with ExitStack() as stack:
        files: list[NewFile] = []
        for pieces in _parts(_entries(chain(first, remaining), names)):
            file = stack.enter_context(new_file(path))
            files.append(file)
            with compressing(path, file.stream) as stream:
                stream.writelines(pieces)
        if len(files) == 1:
            files[0].take_place()
            return
        target = files[0].path
        paths = [_numbered(target, number) for number in range(1, len(files) + 1)]
        index = stack.enter_context(new_file(path))
        with compressing(path, index.stream) as stream:
            stream.write(_index(paths, location or ""))
        for file, part in zip(files, paths, strict=True):
            file.take_place(part)
        index.take_place()


def _entries(blocks: Blocks, names: Sequence[str]) -> Iterator[bytes]:
    for _, block in blocks:
        for page in block.pages():
            yield entry(page, names).encode("utf-8", "replace")


def _parts(entries: Iterator[bytes]) -> Iterator[Iterator[bytes]]:
    """Yield sitemaps, each as an iterator of chunks that must be consumed before the next one."""
    waiting = [next(entries, b"")]

    def part() -> Iterator[bytes]:
        yield _BEGIN
        size = len(_BEGIN) + len(_END)
        for count, one in enumerate(chain([waiting.pop()], entries)):
            size += len(one)
            if count and (count == MAX_URLS or size > MAX_BYTES):
                waiting.append(one)
                break
            yield one
        yield _END

    while waiting:
        yield part()


def _numbered(path: Path, number: int) -> Path:
    gz = ".gz" if path.suffix == ".gz" else ""
    stem, dot, suffix = path.name.removesuffix(gz).rpartition(".")
    return path.with_name(f"{stem if dot else suffix}-{number}{dot + suffix if dot else ''}{gz}")


def _index(paths: Iterable[Path], location: str) -> bytes:
    locs = (escape(urljoin(location, quote(path.name))) for path in paths)
    entries = "".join(f"<sitemap><loc>{loc}</loc></sitemap>\n" for loc in locs)
    begin = f'<sitemapindex xmlns="{NAMESPACES["xmlns"]}">\n'
    return f"{_DECLARATION}{begin}{entries}</sitemapindex>\n".encode()
