"""Rules about the URLs of pages: how they are written, where they are, which are repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from usp._base.urls import is_http_url
from usp.checks.finding import Hit, Severity
from usp.checks.page_columns import IMAGE_ELEMENTS, PageColumns
from usp.checks.page_urls import (
    TEMPLATE,
    OriginCount,
    bare,
    beginning,
    folder_of,
    normal_url,
    origin_at,
)
from usp.checks.registry import block_rule, sitemap_rule
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from usp.checks.context import CheckedSitemap

MAX_URL = 2048  # characters that the protocol allows in a URL: fewer than this
_ALLOWED = bytes(range(0x80, 0x100)) + bytes(set(range(0x21, 0x7F)) - set(b'<>"{}|\\^`')) + b"\n"
_FRAGMENT = re.compile("#")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})[^\n]{0,2}")
_BLANKS = r"\xa0\u1680\u2000-\u200b\u2028-\u202f\u205f\u2060\u3000\ufeff"  # beyond ASCII
_BLANK = re.compile(rf"[ {_BLANKS}]")
_UNESCAPED = re.compile(rf'[\x00- <>"{{}}|\\^`\x7f\xad{_BLANKS}]')
# Some scripts need the joiners U+200C and U+200D, but not at the end of a word.
_NOT_SEEN = rf"{_BLANKS}\xad\u200c-\u200f\u2061-\u2064"
_AT_END = re.compile(rf"^[{_NOT_SEEN}]|[{_NOT_SEEN}]$|[\t\r\n]++")
_BEYOND_ASCII = re.compile(rf"[^\x00-\x7f{_NOT_SEEN}\ufffd]++")


@block_rule("SM401", Severity.ERROR)
def relative_url(block: PageColumns) -> Iterator[Hit]:
    """The URL of a page is relative.

    The protocol wants full URLs, and search engines do not resolve others: the page is not found.
    Source: protocol#locdef
    Bad: <url><loc>/tea</loc></url>
    Good: <url><loc>https://example.org/tea</loc></url>
    Fix: Write the full URL, with its scheme and host.
    """
    for at, given in enumerate(block.examined.written or ()):
        if not given or "://" in given or is_http_url(written := given.strip()):
            continue
        url = block.urls[at]  # in a feed it may be relative; of a missing scheme the parser tells
        if not (block.sitemap.is_feed and is_http_url(url)) and not url.endswith(f"://{written}"):
            yield Hit(f"the URL is relative: {written!r}", at)


@block_rule("SM406", Severity.ERROR)
def long_url(block: PageColumns) -> Iterator[Hit]:
    """The URL of a page has 2,048 characters or more.

    The protocol allows fewer than 2,048 characters. Search engines may skip the page, and browsers may
    cut the URL off.
    Source: protocol#locdef
    Bad: <url><loc>https://example.org/?text={a*2030}</loc></url>
    Good: <url><loc>https://example.org/?text={a*2000}</loc></url>
    Fix: Shorten the URL: leave out parameters that do not change the page.
    """
    is_any = max(map(len, block.urls)) >= MAX_URL
    for at, url in enumerate(block.urls) if is_any else ():
        if len(url) >= MAX_URL:
            yield Hit(f"the URL has {len(url):,} characters", at)


@block_rule("SM407", Severity.WARNING)
def url_fragment(block: PageColumns) -> Iterator[Hit]:
    """The URL of a page has a fragment.

    A fragment names a part of a page and is never sent to the server. Search engines drop it, so that
    several entries become the same page.
    Source: rfc3986#section-3.5
    Bad: <url><loc>https://example.org/tea#green</loc></url>
    Good: <url><loc>https://example.org/tea</loc></url>
    Fix: Leave out the # and what follows it.
    """
    if not block.sitemap.is_feed:
        for at, _ in block.found(_FRAGMENT):
            yield Hit("the URL has a fragment", at)


@block_rule("SM408", Severity.WARNING)
def unescaped_url(block: PageColumns) -> Iterator[Hit]:
    r"""The URL of a page has characters that must be escaped, or another one of its URLs a blank.

    Blanks and the characters < > " { } | \ ^ ` are written as %XX in a URL, and a percent sign as %25.
    Most search engines guess what is meant; others fetch something else, or nothing. Blanks that do not
    look like one, such as U+00A0 or U+200B, are mostly pasted by mistake.
    Source: protocol#escaping rfc3986#section-2
    Bad:
        <url><loc>https://example.org/green tea</loc></url>
        <url><loc>https://example.org/?price=100%</loc></url>
    Good:
        <url><loc>https://example.org/green%20tea</loc></url>
        <url><loc>https://example.org/?price=100%25</loc></url>
    Fix: Escape the characters: % and the two hexadecimal digits of each one.
    """
    if block.sitemap.is_feed:
        return
    for at, written in enumerate(block.examined.written or ()):
        if written and (bad := _AT_END.search(written.strip(" \t\r\n"))):
            where = "in" if bad[0] < " " else "at the end of"
            yield Hit(f"{_shown(bad[0])} {where} the URL cannot be seen", at)
    for at, message in _unescaped(block):
        if not TEMPLATE.search(block.urls[at]):  # there is another rule about those
            yield Hit(message, at)
    for at, name, url in block.linked:
        if (bad := _BLANK.search(url)) and is_http_url(_BLANK.sub("%20", url)):
            yield Hit(f"{_shown(bad[0])} is not escaped: {url[:80]!r}", at, element=name, text=url)


def _unescaped(block: PageColumns) -> Iterator[tuple[int, str]]:
    for at, broken in block.found(_BROKEN_ESCAPE, "%"):
        yield at, f"{broken[0]!r} is not an escape"
    is_odd = block.joined.encode("utf-8", "surrogatepass").translate(None, _ALLOWED)
    if is_odd or not block.joined.isascii():
        for at, url in enumerate(block.urls):
            is_suspect = is_odd or not url.isascii()
            if is_suspect and (bad := _UNESCAPED.search(url, len(beginning(url)))):
                yield at, f"{_shown(bad[0])} is not escaped"


def _shown(letters: str) -> str:
    """Return letters for a message; those that cannot be seen by their numbers."""
    if letters.isprintable():
        return repr(letters)
    return " ".join(f"U+{ord(letter):04X}" for letter in letters)


@block_rule("SM414", Severity.INFO)
def non_ascii_url(block: PageColumns) -> Iterator[Hit]:
    """The URL of a page has letters beyond ASCII that are not escaped.

    The protocol asks for URLs that are escaped: their bytes in UTF-8 as %XX. Search engines read such
    letters all the same, but simpler programs may not, and in a document with a wrong encoding they
    become other letters. A host with other letters, such as münchen.example, is fine.
    Source: protocol#escaping rfc3987#section-3.1
    Bad: <url><loc>https://example.org/tee/grün</loc></url>
    Good: <url><loc>https://example.org/tee/gr%C3%BCn</loc></url>
    Fix: Escape the letters: their bytes in UTF-8 as % and two hexadecimal digits.
    """
    if block.joined.isascii() or block.sitemap.is_feed:  # URLs of feeds may have all letters
        return
    for at, url in enumerate(block.urls):
        if not url.isascii() and (found := _BEYOND_ASCII.search(url, len(beginning(url)))):
            yield Hit(f"{_shown(found[0][:20])} is not escaped", at)


_FEW = 8  # origins of a block that are counted


@block_rule("SM402", Severity.ERROR)
def other_host(block: PageColumns) -> Iterator[Hit]:
    """A page is on another host than its sitemap, and nothing proves that both belong together.

    A sitemap is for the pages of its own host; others are dropped. Pages of another host may be in it
    if the robots.txt of that host declares the sitemap, or an index that it is in. If a website is
    checked, and not a file or a snapshot, the robots.txt of up to 20 such hosts are fetched.
    Source: protocol#location protocol#sitemaps_cross_submits
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://shop.example.net/tea</loc></url>
    Good:
        --- https://files.example.net/sitemap.xml (declared)
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/coffee</loc></url>
    Fix: List the page in a sitemap on its own host, or declare this sitemap in the robots.txt of that host.
    """
    sitemap = block.sitemap
    if sitemap.is_feed or not sitemap.urls:
        return
    others = {
        written: origin.site
        for written in block.origins
        if (origin := origin_at(written)) is not None
        and not (bare(origin) in sitemap.hosts or sitemap.is_declared_by(origin))
    }
    for at, url in enumerate(block.urls) if others else ():
        if host := others.get(beginning(url)):
            yield Hit(f"the page is on {host}, its sitemap on {sitemap.urls[0].site}", at)


@block_rule("SM403", Severity.WARNING)
def outside_folder(block: PageColumns) -> Iterator[Hit]:
    """A page is not below the folder of its sitemap.

    Who may write into one folder need not own the others: a sitemap at /catalog/sitemap.xml may only
    list what begins with /catalog/. That does not count for a sitemap that robots.txt declares, or
    that is in an index which is declared there.
    Source: protocol#location
    Bad:
        --- /sitemap.xml
        <sitemap><loc>https://example.org/catalog/sitemap.xml</loc></sitemap>
        --- /catalog/sitemap.xml
        <url><loc>https://example.org/catalog/tea</loc></url>
        <url><loc>https://example.org/about</loc></url>
    Good:
        --- /catalog/sitemap.xml (declared)
        <url><loc>https://example.org/catalog/tea</loc></url>
        <url><loc>https://example.org/about</loc></url>
    Fix: Declare the sitemap in robots.txt, or move it to the root of the website.
    """
    sitemap = block.sitemap
    folders = sorted({folder_of(url) for url in sitemap.urls})
    # If a website was not searched, its robots.txt was not read: then only the sitemap itself counts.
    is_known = sitemap.site.is_website or sitemap.parent is None
    if sitemap.is_feed or not folders or "/" in folders or not is_known:
        return
    beginnings = [f"\n{written}{folders[0]}" for written in block.origins]
    if len(beginnings) <= _FEW and sum(map(block.joined.count, beginnings)) == len(block.urls):
        return
    hosts = sitemap.hosts.difference(map(bare, sitemap.proven))
    even = tuple(_path(normal_url(f"http://host{folder}")) for folder in folders)
    for at, url in enumerate(block.urls):
        origin = origin_at(beginning(url))
        if origin is None or bare(origin) not in hosts:
            continue
        path = _path(normal_url(url))
        if not path.startswith(even) and f"{path.partition('?')[0]}/" not in even:
            yield Hit(f"the page is not below {folders[0]}, the folder of its sitemap", at)


def _path(url: str) -> str:
    """Return path and query of a URL."""
    return url.removeprefix(beginning(url))


@sitemap_rule("SM404", Severity.WARNING)
def mixed_schemes(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """Some pages of a sitemap are listed with http and others with https, or all unlike the sitemap.

    Both are different pages to search engines, usually with the same content. The protocol asks for
    one scheme, that of the sitemap itself. Redirects count: a sitemap that is found with http and sent
    with https may list either. An index and a robots.txt list sitemaps with their own scheme, too.
    Source: protocol#location
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>http://example.org/coffee</loc></url>
    Good: with https:// instead of http://
    Fix: List all pages with the scheme that the website redirects to, usually https.
    """
    own = {url.scheme for url in sitemap.urls}
    sent = (one.exchange for one in sitemap.node.sub_sitemaps)
    redirected = {one.url for one in sent if one is not None and one.redirects}  # there is a rule
    for child in sitemap.children if (sitemap.is_index or sitemap.is_robots) and own else ():
        url = None if child.loc in redirected else origin_at(child.loc)
        if url and url.scheme not in own and bare(url) in sitemap.hosts:
            yield Hit(f"the sitemap {child.loc} is listed with {url.scheme}", place=child.place)
    for scheme, count, pages in _odd_ones(sitemap, "scheme"):
        other = "https" if scheme == "http" else "http"
        yield _hit(f"{pages} with {scheme} rather than {other}", count)


@sitemap_rule("SM405", Severity.WARNING)
def mixed_www(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """Some pages of a sitemap are listed with www and others without, or all unlike the sitemap.

    These are different hosts, and so different pages, usually with the same content. The protocol asks
    for one host, that of the sitemap itself.
    Source: protocol#location
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://www.example.org/coffee</loc></url>
    Good: with example.org instead of www.example.org
    Fix: List all pages with the host that the website redirects to.
    """
    for host, count, pages in _odd_ones(sitemap, "site"):
        other = host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"
        yield _hit(f"{pages} on {host} rather than {other}", count)


def _odd_ones(sitemap: CheckedSitemap, part: str) -> Iterator[tuple[str, OriginCount, str]]:
    """Yield what is another part of URLs than in the rest of their website, the first, and how many.

    What the sitemap itself has is right, or else what most pages have.
    """
    websites: dict[str, dict[str, list[OriginCount]]] = {}
    problems = (one for one in sitemap.problems if one.code is ProblemCode.NO_SCHEME)
    schemeless = sum(one.times for one in problems)  # they are read as if they had http
    for count in sitemap.origins.counts.values() if not sitemap.is_feed else ():
        values = websites.setdefault(bare(count.origin), {})
        values.setdefault(getattr(count.origin, part), []).append(count)
    for website, values in websites.items():
        right = {
            getattr(url, part) for url in sitemap.urls + sitemap.proven if bare(url) == website
        }
        pages = {one: sum(count.pages for count in counts) for one, counts in values.items()}
        if "http" in pages:
            pages["http"] -= schemeless
        if len(values) > 1 and len(right & values.keys()) != 1:
            right = {max(pages, key=lambda one: pages[one])}
        for one in values.keys() - right if right else ():
            if not pages[one]:
                continue
            are = "is" if pages[one] == 1 else "are"
            how_many = f"{pages[one]:,} of {sum(pages.values()):,} pages {are} listed"
            yield one, values[one][0], how_many


def _hit(message: str, count: OriginCount) -> Hit:
    return Hit(message, page=count.url, place=count.place)


@block_rule("SM409", Severity.WARNING, "seen_pages")
def duplicate_url(block: PageColumns) -> Iterator[Hit]:
    """A page is listed twice in a sitemap.

    The second entry says nothing new, or contradicts the first one, and takes up room: a sitemap may
    have 50,000 entries. URLs that differ in the case of the host, in a default port or in escapes that
    mean the same (RFC 3986, section 6.2) are the same.
    Source: protocol#xmlTagDefinitions rfc3986#section-6.2.2
    Bad:
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/coffee</loc></url>
        <url><loc>https://EXAMPLE.org/tea</loc></url>
    Good:
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/tea?size=2</loc></url>
    Fix: List each page once.
    """
    for at, first in block.repeated:
        if first == block.sitemap.number:
            yield Hit("the page is listed twice in this sitemap", at)


@block_rule("SM410", Severity.WARNING, "seen_pages")
def duplicate_across_sitemaps(block: PageColumns) -> Iterator[Hit]:
    """A page is listed in two sitemaps of the same kind.

    Search engines read both entries, and cannot tell which one is right when they differ. A sitemap for
    news, images, videos or languages may list what another one lists without these, and so may a feed;
    sitemaps that nothing declares, and those that are called recent or latest, are not compared.
    Source: protocol#index
    Bad:
        --- /teas.xml (declared)
        --- /drinks.xml (declared)
        <url><loc>https://example.org/coffee</loc></url>
        <url><loc>https://example.org/tea</loc></url>
    Good:
        --- /pages.xml (declared)
        --- /images.xml (declared)
        <url>
          <loc>https://example.org/tea</loc>
          <image:image><image:loc>https://example.org/tea.jpg</image:loc></image:image>
        </url>
    Fix: List each page in one sitemap.
    """
    for at, number in () if block.sitemap.is_of_recent else block.repeated:
        first = block.site.sitemaps[number] if number != block.sitemap.number else None
        if first is not None and first.family == block.sitemap.family and not first.is_of_recent:
            yield Hit(f"the page is listed in {first.url} already", at)


@block_rule("SM411", Severity.ERROR)
def disallowed_url(block: PageColumns) -> Iterator[Hit]:
    """A page, its image, its video or its version in another language is disallowed by robots.txt.

    The sitemap asks search engines to fetch it, and robots.txt asks them not to. They obey robots.txt:
    what is there is never seen. This is asked for Googlebot and Bingbot, for Googlebot-News if the page
    has news, Googlebot-Image for images and Googlebot-Video for videos, and for all that robots.txt does
    not name (*); --agent chooses others. A robot with lines of its own obeys only these: what is
    disallowed for * alone is allowed to it.
    Source: rfc9309#section-2.2.2 google:crawling-indexing/robots/robots_txt#order-of-precedence-for-user-agents
    Bad:
        --- /robots.txt
        User-agent: *
        Disallow: /private/
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/private/tea</loc></url>
    Good:
        --- /robots.txt
        User-agent: *
        Disallow: /private/
        Allow: /private/tea$

        User-agent: ExampleBot
        Disallow: /
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/tea</loc></url>
        <url><loc>https://example.org/private/tea</loc></url>
    Fix: Allow the page in robots.txt, or leave it out of the sitemap.
    """
    robots = block.site.robots
    found = dict(robots.disallowed(block.urls, block.joined))
    if robots.has_special("news"):
        numbers = [at for (at, _), _ in block.stories]
        news = robots.disallowed([block.urls[at] for at in numbers], kind="news")
        found |= {numbers[at]: whom for at, whom in news.items()}
    for at, whom in sorted(found.items()):
        yield Hit(f"robots.txt disallows the page for {whom}", at)
    listed = {*block.urls}
    links = [
        (at, "link", one) for at, some in block.alternates for _, one in some if one not in listed
    ]
    for kind, what, others in (
        ("", "version in another language", links),
        ("image", "image", [one for one in block.media if one[1] in IMAGE_ELEMENTS]),
        ("video", "video", [one for one in block.media if one[1] not in IMAGE_ELEMENTS]),
    ):
        refused = robots.disallowed([url for _, _, url in others], kind=kind) if others else {}
        for number, whom in refused.items():
            at, name, url = others[number]
            message = f"robots.txt disallows the {what} {url} for {whom}"
            yield Hit(message, at, element=name, text=url)
