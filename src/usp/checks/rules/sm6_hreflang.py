"""Rules about links to other languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from usp._base.display import counted
from usp.checks.finding import Hit, Severity
from usp.checks.hreflang import DEFAULT, wrong_with
from usp.checks.page_columns import SCHEME, PageColumns
from usp.checks.page_urls import normal_url
from usp.checks.registry import block_rule, site_rule, sitemap_rule
from usp.objects.sitemap import stored_of

if TYPE_CHECKING:
    from usp.checks.context import CheckedSitemap, Site


@block_rule("SM601", Severity.ERROR)
def bad_hreflang(block: PageColumns) -> Iterator[Hit]:
    """The hreflang of a link is not a code that search engines know.

    It is a language of ISO 639: with two letters, or with three if it has no code of two. A script of
    ISO 15924 may follow, and a country of ISO 3166-1 with two letters or a part of the world with three
    digits: en, en-GB, fil, zh-Hant-TW, es-419; or it is x-default. Links with other codes are ignored. The usual mistakes are en-UK (the country is GB), jp (the language is ja), a
    country without a language, and an underscore.
    Bad:
        <xhtml:link rel="alternate" hreflang="en-UK" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="jp" href="https://example.com/ja"/>
    Good:
        <xhtml:link rel="alternate" hreflang="en-GB" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="ja" href="https://example.com/ja"/>
        <xhtml:link rel="alternate" hreflang="zh-Hant-TW" href="https://example.com/zh"/>
        <xhtml:link rel="alternate" hreflang="x-default" href="https://example.org/en"/>
    Fix: Write a language such as en, and after it a country such as GB if it is for that country only.
    """
    codes = {code for _, alternates in block.alternates for code, _ in alternates}
    wrong = {code: message for code in codes if (message := wrong_with(code))}
    for at, alternates in block.alternates if wrong else ():
        for code in dict.fromkeys(code for code, _ in alternates):
            if code in wrong:
                yield Hit(wrong[code], at, text=code)


@site_rule("SM602", Severity.ERROR, "seen_pages", "hreflang_groups")
def no_return_link(site: Site) -> Iterator[Hit]:
    """A page names another one as its version in another language, but that one does not link back.

    Search engines only believe links that go both ways: otherwise anyone could call a page their
    version of yours. Both links are ignored. Versions that no sitemap lists are not looked at, they may
    link back in other ways; nor is an x-default without links, where visitors choose their language.
    Bad:
        /en: en=/en de=/de
        /de: de=/de
    Good:
        /en: x-default=/en en=/en de=/de fr=https://example.net/fr
        /de: x-default=/en en=/en de=/de
    Fix: Give each version the same links: one to each version, and one to itself.
    """
    found = site.hreflang_groups.missing_returns(site.seen_pages.urls)
    for number, some in groupby(found, key=itemgetter(2)):
        yield from _at_links(site.sitemaps[number], some)


def _at_links(
    sitemap: CheckedSitemap, found: Iterable[tuple[str, str, int, tuple[int, int]]]
) -> Iterator[Hit]:
    """Yield links of a sitemap that are not returned, each at its element: the document is read again."""
    left: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for page, version, _, place in found:
        left.setdefault(place, []).append((page, version))
    stored = stored_of(sitemap.node)
    for examined in () if stored is None else stored.examination().blocks():
        block = PageColumns(sitemap, examined)
        for at in [at for at, place in enumerate(examined.places) if place in left]:
            for _, version in left.pop(examined.places[at]):
                links = (href for _, href in dict(block.alternates).get(at, ()))
                text = next((href for href in links if normal_url(href) == version), "")
                yield block.located(Hit(f"{version} does not link back", at, text=text), "link")
    for page, version in chain.from_iterable(left.values()):
        yield Hit(f"{version} does not link back", page=page, sitemap=sitemap.url)


@block_rule("SM603", Severity.WARNING)
def no_self_link(block: PageColumns) -> Iterator[Hit]:
    """A page has links to other languages, but none to itself.

    Each version lists itself as well as all others: that is how its own language is known.
    Bad: <xhtml:link rel="alternate" hreflang="de" href="https://example.com/de"/>
    Good:
        <xhtml:link rel="alternate" hreflang="x-default" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="en" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="de" href="https://example.com/de"/>
    Fix: Add a link to the page itself, with its own language.
    """
    for at, url, _, links in block.versions:
        if url not in links:
            yield Hit("the page has links to other languages, but none to itself", at)


@block_rule("SM604", Severity.WARNING)
def duplicate_hreflang(block: PageColumns) -> Iterator[Hit]:
    """A page has two links to different pages with the same hreflang.

    Search engines cannot tell which of them is right for the language, and may ignore both.
    Bad:
        <xhtml:link rel="alternate" hreflang="x-default" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="en" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="de" href="https://example.com/de"/>
        <xhtml:link rel="alternate" hreflang="DE" href="https://example.com/at"/>
    Good: with "de-AT" instead of "DE"
    Fix: Keep one link for each language, or tell versions apart by their country.
    """
    for at, code, pages, page in _conflicts(block):
        if code != DEFAULT:
            yield Hit(f"{pages} different pages have the hreflang {code!r}", at, text=page)


@block_rule("SM605", Severity.WARNING)
def duplicate_x_default(block: PageColumns) -> Iterator[Hit]:
    """A page has two links to different pages with the hreflang x-default.

    It names the one page for all languages that have no version of their own. Of two, search engines
    may take either, or none.
    Bad:
        <xhtml:link rel="alternate" hreflang="en" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="x-default" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="x-default" href="https://example.com/"/>
    Good: without example.com/
    Fix: Keep one link with x-default.
    """
    for at, code, pages, page in _conflicts(block):
        if code == DEFAULT:
            yield Hit(f"{pages} different pages are x-default", at, text=page)


@block_rule("SM606", Severity.ERROR)
def relative_alternate(block: PageColumns) -> Iterator[Hit]:
    """A link to another language has a relative URL.

    Search engines ask for the full URL of each version, with its scheme and host, and do not resolve
    others: the link is ignored.
    Bad:
        <xhtml:link rel="alternate" hreflang="x-default" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="en" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="de" href="/de"/>
    Good: with "https://example.org/de" instead of "/de"
    Fix: Write the full URL, with its scheme and host.
    """
    for at, given in block.links:
        written = given.get("href", "").strip()
        if written and given.get("hreflang") and not SCHEME.match(written):
            yield Hit(f"the URL of a link to another language is relative: {written[:80]!r}", at)


@block_rule("SM609", Severity.ERROR)
def link_without_rel(block: PageColumns) -> Iterator[Hit]:
    """A link with an hreflang does not say that it is one to another version.

    Search engines ask for rel="alternate". A link with another relation, or with none, is ignored.
    Bad:
        <xhtml:link rel="alternate" hreflang="x-default" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="en" href="https://example.org/en"/>
        <xhtml:link rel="alternative" hreflang="de" href="https://example.net/de"/>
    Good: with "alternate" instead of "alternative"
    Fix: Write rel="alternate".
    """
    for at, given in block.links:
        rel, code = given.get("rel", "").strip(), given.get("hreflang", "").strip()
        is_meant = not rel or rel.lower().startswith("alt")  # not canonical, amphtml and so on
        if code and is_meant and "alternate" not in rel.lower().split():
            said = f"has the relation {rel[:40]!r}" if rel else "has no rel"
            yield Hit(f"the link with the hreflang {code!r} {said}", at)


@site_rule("SM607", Severity.WARNING, "hreflang_groups")
def language_called_otherwise(site: Site) -> Iterator[Hit]:
    """Two pages of a group name the same version with different languages.

    A page is for English speakers here and for those in Great Britain there. Search engines cannot tell
    which one is meant.
    Bad:
        /en: x-default=/en en=/en de=/de
        /de: x-default=/en en-GB=/en de=/de
    Good: with en=/en instead of en-GB=/en
    Fix: Write the same links on all pages of a group.
    """
    yield from site.hreflang_groups.other_codes


@sitemap_rule("SM608", Severity.INFO)
def no_x_default(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """Pages have links to other languages, but none to the page for all others, x-default.

    Visitors whose language is not among them are shown any of the pages. An x-default names the one that
    they should see, such as one where they choose their language.
    Source: google:specialty/international/localized-versions#xdefault
    Bad:
        <xhtml:link rel="alternate" hreflang="en" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="de" href="https://example.net/de"/>
    Good:
        <xhtml:link rel="alternate" hreflang="en" href="https://example.org/en"/>
        <xhtml:link rel="alternate" hreflang="de" href="https://example.net/de"/>
        <xhtml:link rel="alternate" hreflang="x-default" href="https://example.org/en"/>
    Fix: Add a link with hreflang="x-default" to each page of the group.
    """
    if (count := sitemap.without_default) and not sitemap.is_cut:
        yield Hit(f"{counted(count, 'page')} with links to other languages, but without x-default")


def _conflicts(block: PageColumns) -> Iterator[tuple[int, str, int, str]]:
    """Yield the pages with a code that several different pages have, the code, how many, the last."""
    written = dict(block.alternates)
    for at, _, codes, links in block.versions:
        if len(set(codes)) < len(codes):
            different = Counter(code for code, _ in set(zip(codes, links, strict=True)))
            for code in dict.fromkeys(codes):
                if different[code] > 1:
                    last = max(number for number, one in enumerate(codes) if one == code)
                    yield at, code, different[code], written[at][last][1]
