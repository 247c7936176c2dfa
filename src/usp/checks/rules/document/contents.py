"""Rules about what documents contain, and whether they are XML at all."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError, ParserCreate, errors

from usp.checks.registry import site_rule, sitemap_rule
from usp.checks.rules.document.namespaces import undeclared_prefixes
from usp.checks.rules.parsed import rule_of
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.checks.facts import Site, Sitemap

_XML = frozenset({"urlset", "index", "rss", "atom"})
_PIECE = 8 * 1024 * 1024  # bytes; a token that spans many pieces is read again for each
_SEPARATOR = "\x1f"  # of names in the parser: no namespace may contain it
_UNBOUND = errors.codes[errors.XML_ERROR_UNBOUND_PREFIX]  # there is a rule about elements


@sitemap_rule("SM307", "not-well-formed", Severity.ERROR)
def not_well_formed(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap is not well-formed XML.

    XML parsers must stop at the first error, and so do most search engines: what follows is lost. What
    is wrong is often invisible, such as an empty line before the XML declaration.

    Source: https://www.w3.org/TR/xml/#dt-fatal
        https://support.google.com/webmasters/answer/7451001

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <!-- The tea shop -->
        <?xml version="1.0" encoding="UTF-8"?>
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Good:

        <?xml version="1.0" encoding="UTF-8"?>
        <!-- The tea shop -->
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Fix: Let a library write the XML, and look for what is printed before it.
    """
    examination, stored = sitemap.examination, sitemap.node.stored
    if examination is None or stored is None or sitemap.kind not in _XML or sitemap.failure:
        return
    if any(rule_of(problem.code).code.startswith("SM3") for problem in sitemap.problems):
        return  # it is said already, and better
    if examination.is_vouched and sitemap.pages:
        error = _first_error([sitemap.beginning], final=False)
    else:
        error = _first_error(stored.texts(), final=True)
    if error is None or sitemap.xml is None:
        return
    if error.code != _UNBOUND or not undeclared_prefixes(sitemap.xml):
        message = str(error).partition(":")[0]
        yield Hit(
            f"an XML parser stops here: {message}", line=error.lineno, column=error.offset + 1
        )


def _first_error(texts: Iterable[str], *, final: bool) -> ExpatError | None:
    """Return the first error of a document; what it says about its encoding is ignored."""
    parser = ParserCreate("utf-8", namespace_separator=_SEPARATOR)
    try:
        held = bytearray()
        for text in texts:
            held += text.encode("utf-8", "replace")
            if len(held) >= _PIECE:
                parser.Parse(bytes(held), False)
                held.clear()
        parser.Parse(bytes(held), final)
    except ExpatError as error:
        return error
    return None


@site_rule("SM308", "index-in-index", Severity.ERROR)
def index_in_index(site: Site) -> Iterator[Hit]:
    """An index lists another index.

    An index may list sitemaps only. Search engines do not follow a second level: all pages below it are
    lost.

    Source: https://www.sitemaps.org/protocol.html#index
        https://support.google.com/webmasters/answer/7451001

    Bad:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/index.xml
        --- /index.xml
        <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <sitemap><loc>https://example.org/teas.xml</loc></sitemap>
        </sitemapindex>
        --- /teas.xml
        <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <sitemap><loc>https://example.org/green.xml</loc></sitemap>
        </sitemapindex>
        --- /green.xml
        <url><loc>https://example.org/green</loc></url>

    Good:

        --- /robots.txt
        User-agent: *
        Allow: /
        Sitemap: https://example.org/index.xml
        Sitemap: https://example.org/teas.xml
        --- /index.xml
        <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <sitemap><loc>https://example.org/cups.xml</loc></sitemap>
        </sitemapindex>
        --- /cups.xml
        <url><loc>https://example.org/cup</loc></url>
        --- /teas.xml
        <sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <sitemap><loc>https://example.org/green.xml</loc></sitemap>
        </sitemapindex>
        --- /green.xml
        <url><loc>https://example.org/green</loc></url>

    Fix: List the sitemaps themselves, or declare both indexes in robots.txt.
    """
    for sitemap in site.sitemaps:
        parent = sitemap.parent
        if sitemap.kind == "index" and parent is not None and parent.kind == "index":
            message = f"an index is inside another index{sitemap.declared_in}"
            yield Hit(message, sitemap=sitemap.url)


@sitemap_rule("SM309", "empty-sitemap", Severity.WARNING)
def empty_sitemap(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap or an index has no entries.

    At least one is required. Search engines report an empty sitemap as an error, and often it is one:
    whatever writes it has found nothing.

    Source: https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd
        https://support.google.com/webmasters/answer/7451001

    Bad:

        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        </urlset>

    Good:

        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>

    Fix: Look at what writes the sitemap; do not declare sitemaps that have nothing to list.
    """
    if sitemap.markup is None or sitemap.pages or sitemap.children or sitemap.failure:
        return
    if not any(problem.lost for problem in sitemap.problems):
        what = "sitemaps" if sitemap.kind == "index" else "pages"
        yield Hit(f"<{sitemap.markup.root_tag[0]}> lists no {what}")
