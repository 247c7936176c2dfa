"""The formats that are text (``csv``, ``jsonl``, ``json``), and the streams tables are written to.

On a terminal, text of websites is escaped in the way of each format.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, repeat
from json.encoder import encode_basestring
from operator import length_hint
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any, cast

from usp._base.dates import known_utc_text, precision_of_text, utc_text
from usp._base.display import printable
from usp._base.files import replacing
from usp._formats.batches import read_frequency, read_priority
from usp.export.schema import ALL_COLUMNS, NOTHING, OF_URLS, Kind, row_values
from usp.objects.extension_values import FieldSpec, Table

if TYPE_CHECKING:
    from usp.objects.page import PageBlock
    from usp.selection import Blocks

_INFINITE = float("inf")
_QUOTED = re.compile(r'[",\r\n]')
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNUSUAL = ('"', ",", "\r", *(f"\n{sign}" for sign in _FORMULA))


def guarded(text: str) -> str:
    """Return text that spreadsheets do not run as a formula: prefixed with an apostrophe if needed."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def quoted(text: str) -> str:
    """Return a cell for a text, in quotes if it needs them."""
    if not _QUOTED.search(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def json_list(begin: str, items: Iterable[str], end: Callable[[], str]) -> Iterator[str]:
    """Yield a JSON document with a list in it, a line for each item; ``end`` is called after them."""
    for item in items:
        yield begin + item
        begin = ","
    yield f"{'' if begin == ',' else begin}]{end()}"


_number_text = lru_cache(maxsize=1024)(repr)  # priorities repeat


def _csv_cells(values: Sequence[Any], kind: Kind | Table) -> Iterable[str]:
    """Return cells, an empty one where there is no value; nested values are JSON."""
    write = (
        _CSV_VALUES.get(kind) if isinstance(kind, Kind) else lambda value: quoted(to_json(value))
    )
    if write is not None:
        return ["" if value is None else write(value) for value in values]
    texts = [value or "" for value in values]
    # Most URLs and words need no quotes; one check of all of them at once tells.
    joined = "\n" + "\n".join(texts)
    usual = joined.count("\n") == len(texts) and not any(sign in joined for sign in _UNUSUAL)
    return texts if usual else [quoted(guarded(text)) for text in texts]


def _json_cells(values: Sequence[Any], kind: Kind | Table) -> Iterable[str]:
    encode = _JSON_VALUES.get(kind, to_json) if isinstance(kind, Kind) else to_json
    return ["null" if value is None else encode(value) for value in values]


def _cells(column: Sequence[Any] | repeat[Any], kind: Kind | Table, form: str) -> Iterable[str]:
    """Return the cells of a column; a value that all of its rows have is written once."""
    cells = _csv_cells if form == "csv" else _json_cells
    if isinstance(column, repeat):
        count = length_hint(column)
        return [*cells([*islice(column, 1)], kind)] * count
    return cells(column, kind)


_CSV_VALUES: Mapping[Kind, Callable[[Any], str]] = {
    Kind.NUMBER: _number_text,
    Kind.WHOLE: str,
    Kind.FLAG: to_json,
    Kind.TIME: str,
}
_JSON_VALUES: Mapping[Kind, Callable[[Any], str]] = {
    Kind.TEXT: encode_basestring,
    Kind.WORD: encode_basestring,
    Kind.TIME: encode_basestring,
    Kind.NUMBER: _number_text,
}


def write_rows(
    rows: Iterable[Sequence[Any]], stream: IO[bytes], form: str, kinds: Mapping[str, Kind]
) -> None:
    """Write rows of plain values, each as soon as it comes.

    ``csv`` is a header and a line per row (RFC 4180), ``json`` one array, ``jsonl`` an object per line.
    """
    _write(([[value] for value in row] for row in rows), stream, form, kinds)


def write_pages(blocks: Blocks, stream: IO[bytes], names: Sequence[str], *, form: str) -> None:
    """Write pages, a block at a time."""
    kinds = {name: ALL_COLUMNS[name].kind for name in names}
    tables = (_plain_columns(names, url, block) for url, block in blocks)
    _write(tables, stream, form, kinds)


def _write(
    tables: Iterable[Iterable[Sequence[Any] | repeat[Any]]],
    stream: IO[bytes],
    form: str,
    kinds: Mapping[str, Kind | Table],
) -> None:
    """Write the columns of some rows at a time."""
    begin = between = end = ""
    if form == "csv":
        row = ",".join(["%s"] * len(kinds)) + "\r\n"
        stream.write((row % tuple(kinds)).encode())
    else:
        members = ",".join(f'"{name}":%s' for name in kinds)
        row = f"{{{members}}}\n" if form == "jsonl" else f"{{{members}}}"
    if form == "json":
        begin, between, end = "[\n", ",\n", "[]\n"
    for columns in tables:
        written = (_cells(*given, form) for given in zip(columns, kinds.values(), strict=True))
        rows = zip(*written, strict=True)
        text = between.join(map(row.__mod__, rows))
        stream.write(f"{begin}{text}".encode("utf-8", "replace"))
        begin, end = between, "\n]\n" if form == "json" else ""
    stream.write(end.encode())


# Columns of pages -----------------------------------------------------------------------------------


def _plain_columns(
    names: Iterable[str], sitemap_url: str | None, block: PageBlock
) -> Iterator[Sequence[Any] | repeat[Any]]:
    """Yield columns; one whose rows are all the same is a ``repeat``."""
    texts, count = block.texts(), len(block.urls)
    rows = block.rows() if texts is None else ()
    for name in names:
        spec = ALL_COLUMNS[name]
        if name in OF_URLS:
            yield list(map(OF_URLS[name], block.urls))
        elif name in ("url", "sitemap"):
            yield block.urls if name == "url" else repeat(sitemap_url, count)
        elif texts is None:
            yield list(map(plain, row_values(rows, name), repeat(spec)))
        elif (written := texts.get(spec.element or "")) is not None:
            yield list(map(_READ[name], written))
        else:
            yield repeat(NOTHING.get(spec.kind) if spec.element is None else _READ[name](""), count)


def rows_of_block(
    names: Sequence[str], sitemap_url: str | None, block: PageBlock
) -> Iterator[tuple[Any, ...]]:
    """Return the rows of pages, with plain values."""
    return zip(*_plain_columns(names, sitemap_url, block), strict=True)


_READ: Mapping[str, Callable[[str], Any]] = {
    "lastmod": known_utc_text,
    "lastmod_precision": precision_of_text,
    "changefreq": read_frequency,
    "priority": read_priority,
}


def plain(value: Any, spec: FieldSpec) -> Any:
    """Return a value for JSON; None for an empty list."""
    if value is None:
        return None
    if spec.many is not None:
        return list(map(plain, value, repeat(spec.item))) or None
    if isinstance(spec.kind, Table):
        get = spec.kind.getters
        return {
            one.column or one.name: plain(get[one.name](value), one) for one in spec.kind.in_order
        }
    if spec.kind is Kind.TIME:
        return utc_text(value)
    if spec.kind is Kind.NUMBER:
        number = float(value)
        return number if abs(number) < _INFINITE else None
    return value


# Where tables are written to -----------------------------------------------------------------------


@contextlib.contextmanager
def opened(target: str | os.PathLike[str] | IO[Any], form: str) -> Iterator[IO[bytes]]:
    """Yield a binary stream; a file takes its place when the block ends without an exception."""
    if not isinstance(target, str | os.PathLike):
        yield bytes_of(target, form)
        return
    with replacing(target) as file, compressing(target, file) as stream:
        yield stream


@contextlib.contextmanager
def compressing(path: str | os.PathLike[str], stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield a stream that compresses what is written to another, if the file name ends in ``.gz``."""
    if not os.fspath(path).lower().endswith(".gz"):
        yield stream
        return
    # Without a name and a time: the same pages give the same bytes.
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as compressed:
        yield compressed  # type: ignore[misc]


# Line ends and tabs are shown as they are. All other invisible characters could control a terminal;
# spaces of any width could not.
_SUSPECT = re.compile(r"\r(?!\n)|[^\S\r\n\t ]|[^\w\s]")


def bytes_of(stream: Any, form: str) -> IO[bytes]:
    """Return a stream for bytes: the stream itself, its buffer, or an adapter that decodes for it.

    A terminal gets no control characters.
    """
    if not isinstance(stream, io.TextIOBase):
        return cast("IO[bytes]", stream)
    stream.flush()
    if not hasattr(stream, "buffer"):
        if form == "parquet":
            raise ValueError(
                "parquet cannot be written to a text stream; use a file or a binary stream"
            )
        return _decoding(stream.write, "strict")
    below = cast("IO[bytes]", stream.buffer)
    if not stream.isatty():
        return below
    escape = _ESCAPES.get(form, printable)

    def escaped(found: re.Match[str]) -> str:
        return found[0] if found[0].isprintable() else escape(found[0])

    def show(text: str) -> None:
        below.write(_SUSPECT.sub(escaped, text).encode("utf-8", "replace"))

    return _decoding(show, "replace")


def _decoding(write: Callable[[str], object], errors: str) -> IO[bytes]:
    """Return a binary stream that writes text, as far as its characters and line ends are complete."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    lines = io.IncrementalNewlineDecoder(decoder, translate=False)

    def accept(data: bytes) -> int:
        write(lines.decode(data))
        return len(data)

    return cast("IO[bytes]", SimpleNamespace(write=accept))


def _in_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


_ESCAPES: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("json", "jsonl"), _in_json),
    "xml": lambda char: f"&#x{ord(char):X};",
}
