"""``xml``: a sitemap of the pages, extensions included, or several with an index."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from decimal import Decimal
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from usp._base.dates import as_written
from usp._base.display import size
from usp._base.files import NewFile
from usp._base.urls import quote, urljoin
from usp._formats.xml.references import FORBIDDEN
from usp.exceptions import SitemapException
from usp.export.text_formats import compressing
from usp.helpers import html_unescape_strip
from usp.limits import PROTOCOL_BYTES, PROTOCOL_URLS
from usp.objects.extension_values import EACH, SELF, FieldSpec, Kind, Table
from usp.objects.extensions import EXTENSIONS, NAMESPACES, PROTOCOL, Extension
from usp.objects.page import fields_of

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from usp.objects.page import SitemapPage
    from usp.selection import Blocks

_IN_TEXT = {"\r": "&#13;"}
_IN_ATTRIBUTE = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
_LONGEST_NUMBER = 90


def entry(page: SitemapPage, names: Container[str]) -> str:
    """Return a page as ``<url>…</url>``, with the fields of the selected columns."""
    return f"<url>{''.join(_fields(page, names))}</url>\n"


def _fields(page: SitemapPage, names: Container[str]) -> Iterator[str]:
    loc = escape(_twice(FORBIDDEN.sub("", page.url)), _IN_TEXT)
    yield f"<loc>{loc}</loc>"
    fields = fields_of(page)
    if fields.last_modified is not None and "lastmod" in names:
        yield f"<lastmod>{as_written(fields.last_modified)}</lastmod>"
    if fields.change_frequency is not None and "changefreq" in names:
        yield f"<changefreq>{fields.change_frequency.value}</changefreq>"
    if (priority := fields.declared_priority) is not None and "priority" in names:
        yield f"<priority>{_number(priority)}</priority>"
    for extension in EXTENSIONS:
        value = getattr(fields, extension.field)
        if value and (extension.column is None or extension.column in names):
            yield extension_text(extension, value)


def _twice(text: str) -> str:
    """Return text that survives being decoded twice, as our parser and many others do."""
    return text.replace("&", "&amp;") if html_unescape_strip(text) != text.strip() else text


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        return _number(value)
    return as_written(value) if isinstance(value, datetime) else str(value)


def _number(value: Decimal) -> str:
    """Return a number without an exponent, unless that would be very long."""
    written = format(value, "f") if abs(value.adjusted()) < _LONGEST_NUMBER else str(value)
    return written if len(written) <= _LONGEST_NUMBER else str(value)


# Extensions, as their tables say --------------------------------------------------------------------


def extension_text(extension: Extension, value: Any) -> str:
    """Return the elements of an extension for the field of a page that it fills."""
    prefix, table = extension.prefix, extension.table
    records = value if extension.many else [value]
    written = "".join(record_text(prefix, table.element, table, one) for one in records)
    if extension.around is None:
        return written
    return f"<{prefix}:{extension.around}>{written}</{prefix}:{extension.around}>"


def record_text(prefix: str, tag: str, table: Table, value: Any) -> str:
    """Return the element of a value; nothing if the value lacks a required field.

    A feed's story may have no date: in a sitemap that is not a story.
    """
    get = table.getters
    if any(spec.required and get[spec.name](value) is None for spec in table.specs):
        return ""
    own, attributes = _text_and_attributes(table.elements.get(SELF, ()), get, value)
    fixed = "".join(f" {name}={quoteattr(given)}" for name, given in table.fixed.items())
    text, attributes = own or "", fixed + attributes
    others = {name: specs for name, specs in table.elements.items() if name != SELF}
    written = {name: _field_text(prefix, name, others[name], get, value) for name in others}
    beside = "".join(written[name] for name in others if others[name][0].beside)
    inside = [
        (specs[0].within, written[name]) for name, specs in others.items() if not specs[0].beside
    ]
    for within, texts in groupby(inside, itemgetter(0)):
        content = "".join(map(itemgetter(1), texts))
        around = f"{prefix}:{within}"
        text += content if within is None or not content else f"<{around}>{content}</{around}>"
    if not text and all(spec.attribute or spec.beside for spec in table.specs):
        return f"<{prefix}:{tag}{attributes}/>{beside}"
    return f"<{prefix}:{tag}{attributes}>{text}</{prefix}:{tag}>{beside}"


def _field_text(
    prefix: str, name: str, specs: Sequence[FieldSpec], get: Mapping[str, Any], value: Any
) -> str:
    """Return the element, or the elements, of fields that share one."""
    first = specs[0]
    held = get[first.name](value)
    if isinstance(first.kind, Table):
        items = held if first.many == EACH else [] if held is None else [held]
        return "".join(record_text(prefix, name, first.kind, item) for item in items)
    tag = f"{prefix}:{name}"
    if first.many == EACH:
        return "".join(f"<{tag}>{_escaped(item, first)}</{tag}>" for item in held)
    text, attributes = _text_and_attributes(specs, get, value)
    if text is None and not attributes and not first.always:
        return ""
    return f"<{tag}{attributes}>{text or ''}</{tag}>"


def _text_and_attributes(
    specs: Sequence[FieldSpec], get: Mapping[str, Any], value: Any
) -> tuple[str | None, str]:
    text, attributes = None, ""
    for spec in specs:
        held = get[spec.name](value)
        if spec.many:
            held = _SEPARATED[spec.many].join(held) or None
        if held is None:
            continue
        if spec.attribute is None:
            text = _escaped(held, spec)
        else:
            written = quoteattr(_saved(held, spec), _IN_ATTRIBUTE)
            attributes += f" {spec.attribute}={written}"
    return text, attributes


_SEPARATED = {",": ", ", " ": " "}


def _escaped(value: object, spec: FieldSpec) -> str:
    return escape(_saved(value, spec), _IN_TEXT)


def _saved(value: object, spec: FieldSpec) -> str:
    text = FORBIDDEN.sub("", _text(value))
    return text if spec.kind is Kind.VERBATIM else _twice(text)


# Files of them ------------------------------------------------------------------------------------


_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
# All namespaces are declared, whether the entries need them or not.
_DECLARED = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
_BEGIN = f'{_DECLARATION}<urlset xmlns="{PROTOCOL}"{_DECLARED}>\n'.encode()
_END = b"</urlset>\n"


class TooLargeError(SitemapException, ValueError):
    """The pages do not fit into one sitemap, and a stream cannot hold several."""


def write(blocks: Blocks, stream: IO[bytes], names: Sequence[str]) -> None:
    """Write one sitemap; raises ``TooLargeError``, and writes nothing, if it would be too large."""
    with tempfile.SpooledTemporaryFile(max_size=1 << 20) as held:
        parts = _parts(_entries(blocks, names))
        held.writelines(next(parts))
        if next(parts, None) is not None:
            raise TooLargeError(
                f"the pages do not fit into one sitemap of {PROTOCOL_URLS:,} URLs and "
                f"{size(PROTOCOL_BYTES)}; write to a file (-o sitemap.xml) to split them into several"
            )
        held.seek(0)
        shutil.copyfileobj(held, stream)


def write_files(
    blocks: Blocks, path: str | PathLike[str], names: Sequence[str], location: str | None = None
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
            file = stack.enter_context(NewFile(path))
            files.append(file)
            with compressing(path, file.stream) as stream:
                stream.writelines(pieces)
        if len(files) == 1:
            files[0].take_place()
            return
        target = files[0].path
        paths = [_numbered(target, number) for number in range(1, len(files) + 1)]
        index = stack.enter_context(NewFile(path))
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
            if count and (count == PROTOCOL_URLS or size > PROTOCOL_BYTES):
                waiting.append(one)
                break
            yield one
        yield _END

    while waiting:
        yield part()


def _numbered(path: Path, number: int) -> Path:
    gz = path.suffix if path.suffix.lower() == ".gz" else ""
    stem, dot, suffix = path.name.removesuffix(gz).rpartition(".")
    return path.with_name(f"{stem if dot else suffix}-{number}{dot + suffix if dot else ''}{gz}")


def _index(paths: Iterable[Path], location: str) -> bytes:
    locs = (escape(urljoin(location, quote(path.name))) for path in paths)
    entries = "".join(f"<sitemap><loc>{loc}</loc></sitemap>\n" for loc in locs)
    begin = f'<sitemapindex xmlns="{PROTOCOL}">\n'
    return f"{_DECLARATION}{begin}{entries}</sitemapindex>\n".encode()
