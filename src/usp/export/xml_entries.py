"""Pages as entries of a ``<urlset>``, extensions included."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from usp._base.dates import as_written
from usp.helpers import html_unescape_strip
from usp.objects.extensions import EACH, EXTENSIONS, OWN, Kind, Table
from usp.objects.page import SITEMAP_PAGE_DEFAULT_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from usp.objects.extensions import Extension, FieldSpec
    from usp.objects.page import SitemapPage

NAMESPACES = {
    "xmlns": "http://www.sitemaps.org/schemas/sitemap/0.9",
    **{f"xmlns:{one.prefix}": one.namespace for one in EXTENSIONS},
}
"""The namespaces that a urlset declares, whether its entries need them or not."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_IN_TEXT = {"\r": "&#13;"}
_IN_ATTRIBUTE = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
_LONGEST_NUMBER = 90


def entry(page: SitemapPage, names: Container[str]) -> str:
    """Return a page as ``<url>…</url>``, with the fields of the selected columns."""
    return f"<url>{''.join(_fields(page, names))}</url>\n"


def _fields(page: SitemapPage, names: Container[str]) -> Iterator[str]:
    loc = escape(_twice(_FORBIDDEN.sub("", page.url)), _IN_TEXT)
    yield f"<loc>{loc}</loc>"
    fields = page.fields()
    if fields.last_modified is not None and "lastmod" in names:
        yield f"<lastmod>{as_written(fields.last_modified)}</lastmod>"
    if fields.change_frequency is not None and "changefreq" in names:
        yield f"<changefreq>{fields.change_frequency.value}</changefreq>"
    if fields.priority != SITEMAP_PAGE_DEFAULT_PRIORITY and "priority" in names:
        yield f"<priority>{_number(fields.priority)}</priority>"
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
    if isinstance(value, str | int):
        return str(value)
    assert isinstance(value, datetime)
    return as_written(value)


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
    text, attributes = _own(table, value)
    inside = [
        (specs[0].within, _field_text(prefix, name, specs, get, value))
        for name, specs in table.elements.items()
        if name != OWN
    ]
    for within, texts in groupby(inside, itemgetter(0)):
        content = "".join(map(itemgetter(1), texts))
        around = f"{prefix}:{within}"
        text += content if within is None or not content else f"<{around}>{content}</{around}>"
    if not text and all(spec.attribute for spec in table.specs):
        return f"<{prefix}:{tag}{attributes}/>"
    return f"<{prefix}:{tag}{attributes}>{text}</{prefix}:{tag}>"


def _own(table: Table, value: Any) -> tuple[str, str]:
    """Return the text and the attributes of the element of a value itself."""
    specs = table.elements.get(OWN, ())
    fixed = "".join(f" {name}={quoteattr(given)}" for name, given in table.fixed.items())
    text, attributes = _text_and_attributes(specs, table.getters, value)
    return text or "", fixed + attributes


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
    text = _FORBIDDEN.sub("", _text(value))
    return text if spec.kind is Kind.VERBATIM else _twice(text)
