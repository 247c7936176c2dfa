"""Rules about elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._formats.xml.entries import Sort
from usp.checks.registry import sitemap_rule
from usp.checks.rules.document.namespaces import MOST, PROTOCOL
from usp.checks.values import Hit, Severity
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp._formats.xml.parser import AbstractXMLSitemapParser
    from usp._formats.xml.vocabulary import SeenElement
    from usp.checks.facts import Sitemap

_ROOTS = frozenset({"urlset", "sitemapindex"})
NAMES = _ROOTS | {"url", "sitemap", "loc", "lastmod", "changefreq", "priority"}
"""The elements of the protocol."""


@sitemap_rule("SM305", "element-case", Severity.ERROR)
def element_case(sitemap: Sitemap) -> Iterator[Hit]:
    """The name of an element is written with the wrong capital letters.

    Names in XML are compared letter by letter: <Loc> is not <loc>, and means nothing to search engines.
    All names of the protocol are in lower case.

    Source: https://www.sitemaps.org/protocol.html#xmlTagDefinitions
        https://www.w3.org/TR/xml/#sec-common-syn

    Bad:

        <url><loc>https://example.org/tea</loc><lastMod>2024-05-06</lastMod></url>

    Good:

        <url><loc>https://example.org/tea</loc><lastmod>2024-05-06</lastmod></url>

    Fix: Write the names of elements in lower case.
    """
    markup = sitemap.markup
    if markup is None:
        return
    root = markup.root_tag[0]
    wrong = {root: root} if markup.fold else {}
    for seen in _own(markup):
        if _is_miswritten(seen.name.local) and len(wrong) < MOST:
            wrong.setdefault(seen.name.local, seen.written)
    lines = sitemap.lines_of(wrong.values())
    for name, written in wrong.items():
        yield Hit(f"<{name}> should be <{name.lower()}>", line=lines.get(written))


@sitemap_rule("SM306", "unknown-element", Severity.WARNING)
def unknown_element(sitemap: Sitemap) -> Iterator[Hit]:
    """A sitemap has an element that the protocol does not know, or not at this place.

    What is not an element of the protocol must have a namespace of its own. Search engines ignore
    others, or report the sitemap as invalid: mostly, a name is misspelt or a prefix is missing.

    Source: https://www.sitemaps.org/protocol.html#extending
        https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd

    Bad:

        <url><loc>https://example.org/tea</loc><lastmodified>2024-05-06</lastmodified></url>

    Good:

        <url><loc>https://example.org/tea</loc><lastmod>2024-05-06</lastmod>
          <shop:price xmlns:shop="https://example.org/ns/shop">5</shop:price></url>

    Fix: Correct the name, add the prefix of its namespace, or remove the element.
    """
    markup = sitemap.markup
    if markup is None:
        return
    after_end = {one.excerpt for one in sitemap.problems if one.code is ProblemCode.MORE_AFTER_END}
    odd: dict[tuple[str, str], str] = {}  # by name and place: as written
    for seen in _own(markup):
        local = seen.name.local
        if f"<{seen.written}>" in after_end:
            continue
        if local not in _ROOTS and not _is_miswritten(local) and len(odd) < MOST:
            odd.setdefault((local, _where(markup, seen.inside)), seen.written)
    lines = sitemap.lines_of(odd.values())
    for (local, where), written in odd.items():
        what = "is not allowed in" if local in NAMES else "is unknown in"
        prefix = "; its prefix xhtml: is missing" if local == "link" else ""
        yield Hit(f"<{written}> {what} <{where}>{prefix}", line=lines.get(written))


def _own(markup: AbstractXMLSitemapParser) -> Iterator[SeenElement]:
    """Yield the elements without a meaning that belong to the protocol, as their namespace says."""
    own = {"", PROTOCOL, *((markup.root.uri,) if markup.root is not None else ())}
    for seen in markup.seen:
        # A link without a prefix is read as one to another language.
        if seen.name.uri in own and (seen.sort is Sort.OTHER or seen.name.local == "link"):
            yield seen


def _is_miswritten(local: str) -> bool:
    return local not in NAMES and local.lower() in NAMES


def _where(markup: AbstractXMLSitemapParser, inside: type) -> str:
    """Return the element that another one is in."""
    entries = {kind: name for name, kind in markup.entries.items()}
    return entries.get(inside, markup.root_name)
