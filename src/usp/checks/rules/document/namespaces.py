"""Rules about namespaces."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from usp._formats.xml.namespaces import Space
from usp._formats.xml.references import attributes as read_attributes
from usp.checks.registry import sitemap_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp._formats.xml.parser import AbstractXMLSitemapParser
    from usp.checks.facts import Sitemap

PROTOCOL = "http://www.sitemaps.org/schemas/sitemap/0.9"
"""The namespace of sitemaps, which is a name and not an address: each character counts."""

EXTENSIONS = {
    Space.IMAGE: "http://www.google.com/schemas/sitemap-image/1.1",
    Space.VIDEO: "http://www.google.com/schemas/sitemap-video/1.1",
    Space.NEWS: "http://www.google.com/schemas/sitemap-news/0.9",
    Space.MOBILE: "http://www.google.com/schemas/sitemap-mobile/1.0",
    Space.PAGEMAP: "http://www.google.com/schemas/sitemap-pagemap/1.0",
    Space.XHTML: "http://www.w3.org/1999/xhtml",
}

UNDECLARED = "undeclared:"
"""How the namespace of a prefix begins that is not declared."""

MOST = 20
"""How many names of one kind are reported, each once: a document may have thousands."""

_PREFIXES = {
    "image": Space.IMAGE,
    "video": Space.VIDEO,
    "news": Space.NEWS,
    "mobile": Space.MOBILE,
    "pagemap": Space.PAGEMAP,
    "xhtml": Space.XHTML,
}
_RESERVED = frozenset({"xml", "xmlns"})


@sitemap_rule("SM301", "no-namespace", Severity.ERROR)
def no_namespace(sitemap: Sitemap) -> Iterator[Hit]:
    """The root of a sitemap has no namespace.

    The namespace says that these are the elements of the sitemap protocol. Search engines report a
    document without it as having an incorrect namespace.

    Source: https://www.sitemaps.org/protocol.html#xmlTagDefinitions
        https://support.google.com/webmasters/answer/7451001

    Bad:

        <urlset>
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Good:

        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Fix: Add xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" to the root element.
    """
    markup = sitemap.markup
    if markup is not None and markup.root is not None and not markup.root.uri:
        yield Hit(f"<{markup.root_tag[0]}> has no namespace", line=_root_line(sitemap))


@sitemap_rule("SM302", "wrong-namespace", Severity.ERROR)
def wrong_namespace(sitemap: Sitemap) -> Iterator[Hit]:
    """The root of a sitemap has another namespace than that of sitemaps.

    A namespace is a name that is compared character by character. One with https, another version or a
    slash at its end is another namespace, whose elements mean nothing to search engines.

    Source: https://www.sitemaps.org/protocol.html#xmlTagDefinitions
        https://www.w3.org/TR/xml-names/#NSNameComparison

    Bad:

        <urlset xmlns="https://www.sitemaps.org/schemas/sitemap/0.9/">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Good:

        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Fix: Write xmlns="http://www.sitemaps.org/schemas/sitemap/0.9", exactly so.
    """
    markup = sitemap.markup
    if markup is None or markup.root is None:
        return
    uri = markup.root.uri
    if uri and uri != PROTOCOL and not uri.startswith(UNDECLARED):
        yield Hit(f"the namespace of <{markup.root_tag[0]}> is {uri!r}", line=_root_line(sitemap))


@sitemap_rule("SM303", "wrong-extension-namespace", Severity.ERROR)
def wrong_extension_namespace(sitemap: Sitemap) -> Iterator[Hit]:
    """The namespace of images, videos, news or links to other languages is not the right one.

    Search engines know these elements by their namespace, not by their prefix. With another one they are
    ignored.

    Source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/combine-sitemap-extensions
        https://developers.google.com/search/docs/specialty/international/localized-versions#sitemap

    Bad:

        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
          xmlns:image="http://www.google.com/schemas/sitemap-images/1.1">
        <url><loc>https://example.org/tea</loc>
          <image:image><image:loc>https://example.org/tea.jpg</image:loc></image:image></url>
        </urlset>

    Good:

        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
          xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
        <url><loc>https://example.org/tea</loc>
          <image:image><image:loc>https://example.org/tea.jpg</image:loc></image:image></url>
        </urlset>

    Fix: Copy the namespace from the documentation of the extension.
    """
    markup = sitemap.markup
    wrong: dict[str, tuple[str, str]] = {}  # by namespace: the first element, what it should be
    for written, name, _, _ in () if markup is None else markup.seen:
        prefix = written.partition(":")[0].lower() if ":" in written else ""
        space = name.space if name.space in EXTENSIONS else _PREFIXES.get(prefix)
        if space is None or not name.uri or name.uri in _KNOWN or name.uri.startswith(UNDECLARED):
            continue
        if len(wrong) < MOST:
            wrong.setdefault(name.uri, (written, EXTENSIONS[space]))
    lines = sitemap.lines_of(written for written, _ in wrong.values())
    for uri, (written, right) in wrong.items():
        message = f"<{written}> has the namespace {uri!r} instead of {right!r}"
        yield Hit(message, line=lines.get(written))


_KNOWN = frozenset({PROTOCOL, *EXTENSIONS.values()})


@sitemap_rule("SM304", "undeclared-prefix", Severity.ERROR)
def undeclared_prefix(sitemap: Sitemap) -> Iterator[Hit]:
    """A prefix is used that no xmlns attribute declares.

    XML parsers stop at the first one: the rest of the sitemap, or all of it, is lost.

    Source: https://www.w3.org/TR/xml-names/#ns-decl
        https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps

    Bad:

        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>https://example.org/tea</loc>
          <image:image><image:loc>https://example.org/tea.jpg</image:loc></image:image></url>
        </urlset>

    Good:

        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
          xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
        <url><loc>https://example.org/tea</loc>
          <image:image><image:loc>https://example.org/tea.jpg</image:loc></image:image></url>
        </urlset>

    Fix: Add an xmlns attribute for the prefix to the root element.
    """
    markup = sitemap.xml
    if markup is None:
        return
    found = dict(islice(undeclared_prefixes(markup).items(), MOST))
    lines = sitemap.lines_of(found.values())
    for prefix, written in found.items():
        yield Hit(f"the prefix {prefix!r} is not declared", line=lines.get(written))


def undeclared_prefixes(markup: AbstractXMLSitemapParser) -> dict[str, str]:
    """Return the prefixes that are not declared, each with the first element that has it."""
    root, attributes = markup.root_tag
    found = {}
    if markup.root is not None:
        if markup.root.uri.startswith(UNDECLARED):
            found[root.partition(":")[0]] = root
        given = read_attributes(attributes, lambda _code, _excerpt: None)
        declared = {*_RESERVED, *(name.removeprefix("xmlns:") for name in given)}
        for name in given:
            prefix, colon, _ = name.partition(":")
            if colon and prefix not in declared:
                found.setdefault(prefix, root)
    for written, element, _, _ in markup.seen:
        prefix, colon, _ = written.partition(":")
        if colon and element.uri.startswith(UNDECLARED):
            found.setdefault(prefix, written)
    return found


def _root_line(sitemap: Sitemap) -> int | None:
    assert sitemap.xml is not None
    root = sitemap.xml.root_tag[0]
    return sitemap.lines_of([root]).get(root)
