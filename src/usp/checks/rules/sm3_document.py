"""Rules about documents: their namespaces, their elements, what they contain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError, ParserCreate, errors

from usp._formats.xml.references import attributes as read_attributes
from usp.checks.finding import Hit, Severity
from usp.checks.registry import site_rule, sitemap_rule
from usp.objects.extensions import EXTENSIONS, FIRST_PROTOCOL, NAMESPACES, PROTOCOL
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import IndexXMLSitemap, stored_of

if TYPE_CHECKING:
    from usp._formats.xml.raw_entries import SeenElement
    from usp._formats.xml.xml_parser import XmlParser
    from usp.checks.context import CheckedSitemap, Site

UNDECLARED = "undeclared:"  # how the namespace of a prefix begins that is not declared
MOST = 20  # how many names of one kind are reported, each once: a document may have thousands
_RESERVED = frozenset({"xml", "xmlns"})


@sitemap_rule("SM301", Severity.ERROR)
def no_namespace(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The root of a sitemap has no namespace.

    The namespace says that these are the elements of the sitemap protocol. Search engines report a
    document without it as having an incorrect namespace.
    Source: protocol#xmlTagDefinitions support:7451001
    Bad:
        <urlset>
        <url><loc>https://example.org/tea</loc></url>
        </urlset>
    Fix: Add xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" to the root element.
    """
    if (markup := sitemap.markup) and markup.root and not markup.root.uri:
        root = markup.root_tag[0]
        yield from _at_first(sitemap, [(root, f"<{root}> has no namespace")])


@sitemap_rule("SM302", Severity.ERROR)
def wrong_namespace(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The root of a sitemap has another namespace than that of sitemaps.

    A namespace is a name that is compared character by character. One with https, another version or a
    slash at its end is another namespace, whose elements mean nothing to search engines.
    Source: protocol#xmlTagDefinitions w3:xml-names/#NSNameComparison
    Bad:
        <urlset xmlns="https://www.sitemaps.org/schemas/sitemap/0.9/">
        <url><loc>https://example.org/tea</loc></url>
        </urlset>
    Fix: Write xmlns="http://www.sitemaps.org/schemas/sitemap/0.9", exactly so.
    """
    if not (markup := sitemap.markup) or not markup.root:
        return
    uri, root = markup.root.uri, markup.root_tag[0]
    if uri not in ("", PROTOCOL, FIRST_PROTOCOL) and not uri.startswith(UNDECLARED):
        yield from _at_first(sitemap, [(root, f"the namespace of <{root}> is {uri!r}")])


@sitemap_rule("SM303", Severity.ERROR)
def wrong_extension_namespace(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The namespace of images, videos, news or links to other languages is not the right one.

    Search engines know these elements by their namespace, not by their prefix. With another one they are
    ignored.
    Source: w3:xml-names/#NSNameComparison google:crawling-indexing/sitemaps/combine-sitemap-extensions google:specialty/international/localized-versions#sitemap
    Bad:
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
          xmlns:image="http://www.google.com/schemas/sitemap-images/1.1">
        <url><loc>https://example.org/tea</loc>
          <image:image><image:loc>https://example.org/tea.jpg</image:loc></image:image></url>
        </urlset>
    Good: with sitemap-image instead of sitemap-images
    Fix: Copy the namespace from the documentation of the extension.
    """
    markup = sitemap.markup
    wrong: dict[str, tuple[str, str]] = {}  # by namespace
    for written, name, _, _ in () if markup is None else markup.dialect.seen:
        prefix = written.partition(":")[0].lower() if ":" in written else ""
        right = NAMESPACES.get(name.space.name.lower()) or NAMESPACES.get(prefix)
        if right is None or not name.uri or name.uri in _KNOWN or name.uri.startswith(UNDECLARED):
            continue
        message = f"<{written}> has the namespace {name.uri!r} instead of {right!r}"
        wrong.setdefault(name.uri, (written, message))
    yield from _at_first(sitemap, wrong.values())


_KNOWN = frozenset({PROTOCOL, *NAMESPACES.values()})


@sitemap_rule("SM304", Severity.ERROR)
def undeclared_prefix(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A prefix is used that no xmlns attribute declares.

    XML parsers stop at the first one: the rest of the sitemap, or all of it, is lost.
    Source: w3:xml-names/#ns-decl google:crawling-indexing/sitemaps/image-sitemaps
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
    found = {} if sitemap.xml is None else undeclared_prefixes(sitemap.xml)
    said = ((tag, f"the prefix {prefix!r} is not declared") for prefix, tag in found.items())
    yield from _at_first(sitemap, said)


def undeclared_prefixes(markup: XmlParser) -> dict[str, str]:
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
    for written, element, _, _ in markup.dialect.seen:
        prefix, colon, _ = written.partition(":")
        if colon and element.uri.startswith(UNDECLARED):
            found.setdefault(prefix, written)
    return found


def _at_first(sitemap: CheckedSitemap, found: Iterable[tuple[str, str]]) -> Iterator[Hit]:
    """Yield the first messages, each with the place of the first element that is written so."""
    some = list(islice(found, MOST))
    places = sitemap.places_of(written for written, _ in some)
    for written, message in some:
        yield Hit(message, place=places.get(written, (None, None)))


_ROOTS = frozenset({"urlset", "sitemapindex"})
# The elements of the protocol.
NAMES = _ROOTS | {"url", "sitemap", "loc", "lastmod", "changefreq", "priority"}


@sitemap_rule("SM305", Severity.ERROR)
def element_case(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The name of an element is written with the wrong capital letters.

    Names in XML are compared letter by letter: <Loc> is not <loc>, and means nothing to search engines.
    All names of the protocol and of its extensions are in lower case.
    Source: protocol#xmlTagDefinitions w3:xml/#sec-common-syn
    Bad: <url><loc>https://example.org/tea</loc><lastMod>2024-05-06</lastMod></url>
    Good: <url><loc>https://example.org/tea</loc><lastmod>2024-05-06</lastmod></url>
    Fix: Write the names of elements in lower case.
    """
    markup = sitemap.markup
    if markup is None:
        return
    root = markup.root_tag[0]
    wrong = {root: root} if markup.case_insensitive else {}
    for seen, names in _meaningless(markup):
        if _is_miswritten(seen.name.local, names):
            wrong.setdefault(seen.written, seen.written)
    said = ((tag, f"<{name}> should be <{name.lower()}>") for name, tag in wrong.items())
    yield from _at_first(sitemap, said)


@sitemap_rule("SM306", Severity.WARNING)
def unknown_element(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A sitemap has an element that the protocol does not know, or not at this place.

    What is not an element of the protocol must have a namespace of its own. Search engines ignore
    others, or report the sitemap as invalid: mostly, a name is misspelt or a prefix is missing. The
    extensions for images, videos and news have no others than those of their documentation, either.
    Source: protocol#extending https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd
    Bad: <url><loc>https://example.org/tea</loc><lastmodified>2024-05-06</lastmodified></url>
    Good:
        <url><loc>https://example.org/tea</loc><lastmod>2024-05-06</lastmod>
          <shop:price xmlns:shop="https://example.org/ns/shop">5</shop:price></url>
    Fix: Correct the name, add the prefix of its namespace, or remove the element.
    """
    markup = sitemap.markup
    if markup is None:
        return
    after_end = {one.excerpt for one in sitemap.problems if one.code is ProblemCode.MORE_AFTER_END}
    entries = {kind: name for name, kind in markup.entries.items()}
    odd: dict[tuple[str, str], tuple[str, str]] = {}  # by name and place
    for seen, names in _meaningless(markup):
        written, local = seen.written, seen.name.local
        if f"<{written}>" in after_end or local in _ROOTS or _is_miswritten(local, names):
            continue
        if names is NAMES:
            what = "is not allowed in" if local in NAMES else "is unknown in"
            prefix = "; its prefix xhtml: is missing" if local == "link" else ""
            where = f"<{entries.get(seen.inside, markup.root_name)}>{prefix}"
        elif seen.inside is type(None):
            what, where = "is outside of", f"<{next(iter(entries.values()), 'url')}>"
        elif local not in names:
            what, where = "is unknown in", f"the extension for {_ABOUT[seen.name.space.name]}"
        else:
            continue
        odd.setdefault((local, where), (written, f"<{written}> {what} {where}"))
    yield from _at_first(sitemap, odd.values())


_ABOUT = {"IMAGE": "images", "VIDEO": "videos", "NEWS": "news"}
# What is around fields, and what nobody reads any more.
_OTHERS = frozenset(
    {"publication", "tvshow", "geo_locations", "content_segment_loc", "id", "show_title"}
    | {"video_type", "episode_title", "season_number", "episode_number", "premier_date"}
)
_FIELDS = {
    one.prefix.upper(): _OTHERS.union([one.table.element], one.table.names()) for one in EXTENSIONS
}


def _meaningless(markup: XmlParser) -> Iterator[tuple[SeenElement, frozenset[str]]]:
    """Yield elements without a meaning, and the names of the vocabulary to which they belong.

    That is the protocol, as their namespace says, or an extension for images, videos or news.
    """
    from usp._formats.xml.raw_entries import ElementRole  # noqa: PLC0415 - pages about rules need no parser

    own = {"", PROTOCOL, *((markup.root.uri,) if markup.root is not None else ())}
    for seen in markup.dialect.seen:
        is_other = seen.role is ElementRole.OTHER
        # A link without a prefix is read as one to another language, but not in feeds.
        is_link = seen.name.local == "link" and seen.role is ElementRole.RECORD
        if seen.name.uri in own and (is_other or is_link):
            yield seen, NAMES
        elif is_other and seen.name.space.name == "XHTML" and seen.inside is type(None):
            yield seen, frozenset({"link"})
        elif is_other and seen.name.space.name in _ABOUT:
            yield seen, _FIELDS[seen.name.space.name]


def _is_miswritten(local: str, names: frozenset[str]) -> bool:
    return local not in names and local.lower() in names


_PIECE = 8 * 1024 * 1024  # bytes; a token that spans many pieces is read again for each
_SEPARATOR = "\x1f"  # of names in the parser: no namespace may contain it
_UNBOUND = errors.codes[errors.XML_ERROR_UNBOUND_PREFIX]  # there is a rule about elements


@sitemap_rule("SM307", Severity.ERROR)
def not_well_formed(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A sitemap is not well-formed XML.

    XML parsers must stop at the first error, and so do most search engines: what follows is lost. What
    is wrong is often invisible, such as an empty line before the XML declaration.
    Source: w3:xml/#dt-fatal support:7451001
    Bad:
        --- /sitemap.xml (declared)
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
    examination, stored, markup = sitemap.examination, stored_of(sitemap.node), sitemap.xml
    if examination is None or stored is None or markup is None or sitemap.failure:
        return
    if any(problem.code.rule.startswith("SM3") for problem in sitemap.problems):
        return  # it is said already, and better
    if examination.is_well_formed and sitemap.pages:
        error = _first_error([examination.parser.beginning], final=False)
    else:
        error = _first_error(stored.texts(), final=True)
    if error is None or (error.code == _UNBOUND and undeclared_prefixes(markup)):
        return
    message = f"an XML parser stops here: {str(error).partition(':')[0]}"
    yield Hit(message, place=(error.lineno, error.offset + 1))


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


@site_rule("SM308", Severity.ERROR)
def index_in_index(site: Site) -> Iterator[Hit]:
    """An index lists another index.

    An index may list sitemaps only. Search engines do not follow a second level: all pages below it are
    lost. Feeds in JSON, llms.txt and lists of ResourceSync may name further ones.
    Source: protocol#index support:7451001
    Bad:
        --- /index.xml (declared)
        <sitemap><loc>https://example.org/teas.xml</loc></sitemap>
        --- /teas.xml
        <sitemap><loc>https://example.org/green.xml</loc></sitemap>
        --- /green.xml
        <url><loc>https://example.org/green</loc></url>
    Good:
        --- /index.xml (declared)
        <sitemap><loc>https://example.org/cups.xml</loc></sitemap>
        --- /cups.xml
        <url><loc>https://example.org/cup</loc></url>
        --- /teas.xml (declared)
        <sitemap><loc>https://example.org/green.xml</loc></sitemap>
        --- /green.xml
        <url><loc>https://example.org/green</loc></url>
    Fix: List the sitemaps themselves, or declare both indexes in robots.txt.
    """
    for one in site.sitemaps:
        nodes = (one.node, one.parent and one.parent.node)
        if all(type(node) is IndexXMLSitemap for node in nodes):
            yield Hit(f"an index is inside another index{one.declared}", sitemap=one.url)


@sitemap_rule("SM309", Severity.WARNING)
def empty_sitemap(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A sitemap or an index has no entries.

    At least one is required. Search engines report an empty sitemap as an error, and often it is one:
    whatever writes it has found nothing. A news sitemap may be empty: there was no news for two days; and so
    may a list of ResourceSync: nothing has changed.
    Source: https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd support:7451001
    Bad:
        <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        </urlset>
    Fix: Look at what writes the sitemap; do not declare sitemaps that have nothing to list.
    """
    lost = sitemap.failure or any(problem.lost for problem in sitemap.problems)
    if sitemap.markup is not None and not (sitemap.pages or sitemap.children or lost):
        root, attributes = sitemap.markup.root_tag
        what = "sitemaps" if sitemap.kind == "index" else "pages"
        if NAMESPACES["news"] not in attributes and sitemap.kind != "resourcesync":
            yield Hit(f"<{root}> lists no {what}")
