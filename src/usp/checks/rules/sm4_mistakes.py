"""Rules about URLs that no sitemap should list: mistakes of programs, files, addresses of no interest.

All URLs are searched, and most have nothing of the kind: a pattern that begins with a single character,
or a character that must be there, is found fastest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from usp._base.seen_urls import SeenUrls
from usp.checks.finding import Hit, Severity
from usp.checks.registry import block_rule

if TYPE_CHECKING:
    from usp.checks.page_columns import PageColumns

_SESSION = re.compile(
    r"[?&;](?:php|j|asp|aspx?)?+sess(?:ion)?+_?+id[a-z]*+=(?=[a-z.!-]*+[0-9])[0-9a-z.!-]{16}",
    re.IGNORECASE,
)
_TRACKING = re.compile(
    r"[?&](utm_(?:source|medium|campaign|term|content|id)|gclid|dclid|fbclid|msclkid|yclid)="
)
_END = r"(?=[/?#\n]|$)"
_NOTHING = "undefined|null|NaN"
_MISTAKES = {  # by a character that is in each of them
    "/": re.compile(
        rf"/(?<!:/)(?:/|(?:\.\.?|{_NOTHING}|:[A-Za-z_]++|(?:\[|%5B)[.\w]++(?:\]|%5D)){_END})"
    ),
    "=": re.compile(rf"[?&][\w-]++=(?:{_NOTHING})(?=[&#\n]|$)"),
    "%": re.compile(
        r"%25(?:2[0-9A-F]|3[A-F]|5[BD]|[C-F][0-9A-F]%25[89AB])|%7B[\w.-]++%7D|%5Bobject(?:%20|\+)O",
        re.IGNORECASE,
    ),
}
_TWICE = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{2,5});")


@block_rule("SM415", Severity.WARNING)
def mistaken_url(block: PageColumns) -> Iterator[Hit]:
    """The URL of a page looks like a mistake of the program that wrote it.

    Two slashes in a row, or . and .. as folders, where parts were joined; undefined, null or the name of
    a parameter where a value was missing; an escape or a reference that was escaped once more, such as
    %2520 for a blank. Search engines find an error there, or the same page at a second URL.
    Source: rfc3986#section-3.3 google:crawling-indexing/url-structure
    Bad:
        <url><loc>https://example.org/shop//tea</loc></url>
        <url><loc>https://example.org/shop/undefined</loc></url>
        <url><loc>https://example.org/caf%25C3%25A9</loc></url>
    Good:
        <url><loc>https://example.org/shop/tea</loc></url>
        <url><loc>https://example.org/shop/caf%C3%A9</loc></url>
    Fix: Look at what writes the sitemap, and list the URL that visitors see.
    """
    for at, written in enumerate(block.examined.written or ()):
        if written and "&" in written and (found := _TWICE.search(written)):
            yield Hit(f"{found[0]!r} was escaped twice", at)
    for character, pattern in _MISTAKES.items():
        for at, found in block.found(pattern, character):
            if character != "/" or "?" not in block.urls[at][: found.start()]:
                yield Hit(f"{found[0]!r} in the URL looks like a mistake", at)


_SUFFIXES = (
    "7z avi avif bmp bz2 css dmg eot exe gif gz ico iso jpeg jpg js json mjs mov mp3 mp4 mpg ogg otf "
    "png rar rss svg tar tgz tif tiff ttf wav webm webp woff woff2 xml xsl zip"
)
_FILES = frozenset(_SUFFIXES.split())
_FILE = re.compile(r"/([^/?#:]+)\.([a-z0-9]{2,5})(?=[?#]|$)", re.IGNORECASE)
# What is called node.js is often a page about that.
_SCRIPT = re.compile(
    r"/(?:assets|build|css|dist|js|lib|plugins|public|scripts?|static|themes|_\w++)/"
    r"|[.-](?:min|[0-9a-f]{8,}+)\.|/(?:app|bundle|index|main|runtime|scripts?|styles?|vendor)\.\w++$"
)


@block_rule("SM416", Severity.WARNING)
def file_as_page(block: PageColumns) -> Iterator[Hit]:
    """A file that is no page is listed as one, such as another sitemap, an image or a script.

    A urlset is for pages that are to be found in search results. A sitemap in it is not read as one: its
    pages are lost. Images and videos belong into extensions of the page that shows them. Documents such
    as PDF files, which can be found themselves, may be listed.
    Source: protocol#index google:crawling-indexing/sitemaps/image-sitemaps
    Bad:
        <url><loc>https://example.org/sitemap-teas.xml</loc></url>
        <url><loc>https://example.org/images/tea.jpg</loc></url>
    Good:
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/tea.pdf</loc></url>
    Fix: Remove the file; list sitemaps in a <sitemapindex>, and images as <image:image> of their page.
    """
    if block.sitemap.is_feed:
        return
    ends = {url[-5:].rpartition(".")[2].lower() for url in block.urls}
    if ends.isdisjoint(_FILES | {"txt"}) and not ("?" in block.joined and "." in block.joined):
        return
    for at, url in enumerate(block.urls):
        if not (found := _FILE.search(url)):
            continue
        name, kind = found[1].lower(), found[2].lower()
        is_script = kind in ("css", "js", "mjs")
        if name == "robots" and kind == "txt":
            yield Hit("robots.txt is listed as a page", at)
        elif "sitemap" in name and kind in ("xml", "gz", "txt"):
            yield Hit("a sitemap is listed as a page; search engines do not read it from here", at)
        elif kind in _FILES and not (is_script and not _SCRIPT.search(url.partition("?")[0])):
            yield Hit(f"a file is listed as a page: .{kind}", at)


_LOGIN = re.compile(r"^[a-z]++://[^/?#\n@]*+@", re.IGNORECASE | re.MULTILINE)


@block_rule("SM417", Severity.ERROR)
def credentials_in_url(block: PageColumns) -> Iterator[Hit]:
    """The URL of a page has a user name or a password.

    Everyone can read a sitemap, and so the password. Search engines do not log in.
    Source: rfc3986#section-3.2.1
    Bad: <url><loc>https://editor:secret@example.org/tea</loc></url>
    Good: <url><loc>https://example.org/@editor/tea</loc></url>
    Fix: Change the password, and write the URL without it.
    """
    for at, _ in block.found(_LOGIN, "@"):
        yield Hit("the URL has a user name or a password", at)


_INDEX = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?)(?=\n|\?)")


@block_rule("SM418", Severity.INFO)
def url_variant(block: PageColumns) -> Iterator[Hit]:
    """A sitemap lists two URLs that differ only in a way that few servers tell apart.

    They differ in a slash or index.html at the end, in capital letters, or in the order of parameters.
    Usually both lead to the same page, and search engines have to find out which one is meant.
    Source: google:crawling-indexing/consolidate-duplicate-urls google:crawling-indexing/url-structure
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/tea/</loc></url>
        <url><loc>https://example.org/?a=1&amp;b=2</loc></url>
        <url><loc>https://example.org/?b=2&amp;a=1</loc></url>
    Good:
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/teas/</loc></url>
    Fix: List the canonical URL of the page only.
    """
    joined, sitemap = block.joined, block.sitemap
    lower = joined.lower()
    with_slash = joined.count("/\n")
    is_uniform = with_slash in (0, len(block.urls)) and "&" not in joined and "/index." not in lower
    if sitemap.is_feed or (is_uniform and lower == joined and sitemap.variants is None):
        return
    forms = _INDEX.sub("/", lower).replace("/\n", "\n").replace("/?", "?").split("\n")[1:-1]
    if "&" in joined:
        forms = [_in_order(form) if "&" in form else form for form in forms]
    sitemap.variants = sitemap.variants or SeenUrls()
    new = sitemap.variants.add_all(forms)
    same = {at for at, first in block.repeated if first == sitemap.number}
    for at, is_new in enumerate(new or ()):
        if not is_new and at not in same:
            yield Hit(
                "the sitemap lists this page already, with a URL that is written otherwise", at
            )


def _in_order(url: str) -> str:
    """Return a URL with its parameters in the order of their names."""
    path, mark, query = url.partition("?")
    return f"{path}{mark}{'&'.join(sorted(query.split('&')))}"


_OF_NO_INTEREST = re.compile(
    r"/(?<=[^/:]/)(?:[a-z]{2}/|[a-z]{2}-[a-z]{2}/)?"
    r"(?:account|admin(?:istrator)?|basket|cart|checkout|log-?in|log-?out|my-account|register|search"
    r"|sign-?in|sign-?up|wp-admin|wp-login\.php|wp-json|xmlrpc\.php)(?=[/?#\n]|$)",
    re.IGNORECASE,
)
_FACETS = re.compile(
    r"[?&](add[-_]to[-_]cart|dir|facets?|filters?|order_?by|q|query|replytocom|s|search|sort(?:_?by)?"
    r"|(?:facet|filter|f)(?:[._-]\w++|(?:\[|%5B)[^=&]{0,99}+))=",
    re.IGNORECASE,
)


@block_rule("SM419", Severity.INFO)
def not_for_search(block: PageColumns) -> Iterator[Hit]:
    """A page is listed that nobody looks for: a cart, a login, search results, a sorted or filtered list.

    Search engines spend time on such pages that others would need, and mostly leave them out of their
    results.
    Source: google:crawling-indexing/url-structure
        https://developers.google.com/search/docs/crawling-indexing/crawling-managing-faceted-navigation
    Bad:
        <url><loc>https://example.org/cart/</loc></url>
        <url><loc>https://example.org/teas?sort=price</loc></url>
    Good:
        <url><loc>https://example.org/teas/</loc></url>
        <url><loc>https://example.org/teas?page=2</loc></url>
    Fix: Leave the page out of the sitemap.
    """
    if block.sitemap.is_feed:
        return
    for at, found in block.found(_OF_NO_INTEREST, "/"):
        if block.urls[at].count("/", 0, found.start()) == 2:  # noqa: PLR2004 - right after the host
            yield Hit(f"search engines need no page such as {found[0]!r}", at)
    for at, found in block.found(_FACETS, "="):
        yield Hit(f"the URL is that of a search, a sorted or a filtered list: {found[1]!r}", at)


@block_rule("SM412", Severity.INFO)
def session_id(block: PageColumns) -> Iterator[Hit]:
    """The URL of a page has the ID of a session.

    The ID is that of one visit. Each time the sitemap is made, the same page gets another URL, and
    search engines see the same content again and again.
    Source: google:crawling-indexing/url-structure
    Bad: <url><loc>https://example.org/tea;jsessionid=1A530637289A03B07199A44E8D531427</loc></url>
    Good: <url><loc>https://example.org/tea?session=summer</loc></url>
    Fix: List the page without the ID.
    """
    if "=" in block.joined and "sess" in block.joined.lower():
        for at, _ in block.found(_SESSION):
            yield Hit("the URL has the ID of a session", at)


@block_rule("SM413", Severity.INFO)
def tracking_parameter(block: PageColumns) -> Iterator[Hit]:
    """The URL of a page has a parameter of web analytics or advertising.

    The parameter does not change the page. Visitors that come from a search engine are counted as if
    they came from a campaign, and the page may be indexed with both URLs. Feeds are left out: there it
    is usual.
    Source: google:crawling-indexing/url-structure
    Bad: <url><loc>https://example.org/tea?utm_source=newsletter</loc></url>
    Good: <url><loc>https://example.org/tea?source=newsletter</loc></url>
    Fix: List the page without the parameter.
    """
    if "=" in block.joined and not block.sitemap.is_feed:
        for at, found in block.found(_TRACKING):
            yield Hit(f"the URL has the parameter {found[1]}", at)
