"""Rules about URLs that no sitemap should list: mistakes of programs, files, addresses of no interest.

All URLs are searched, and most have nothing of the kind: a pattern that begins with a single character,
or a character that must be there, is found fastest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from usp._base.display import counted
from usp._base.urls import are_related, quote
from usp.checks.finding import Hit, Severity
from usp.checks.page_urls import TEMPLATE, beginning, is_local_host, is_placeholder, origin_at
from usp.checks.registry import block_rule, site_rule
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from usp.checks.context import CheckedSitemap, Site
    from usp.checks.page_columns import PageColumns

_SESSION = re.compile(
    r"[?&;](?:(?:php|j|asp|aspx?)?+sess(?:ion)?+_?+id[a-z]*+|(?:os|zen)?+c?+sid)"
    r"=(?=[a-z.!-]*+[0-9])[0-9a-z.!-]{16}|/\(s\([0-9a-z]{24}\)\)/",
    re.IGNORECASE,
)
_OF_SESSIONS = ("sess", "sid=", "/(s(")
_TRACKING = re.compile(
    r"[?&](utm_(?:source|medium|campaign|term|content|id)|[gdy]clid|[gw]braid|fbclid|msclkid|ttclid|twclid"
    r"|srsltid|mc_[ce]id|mkt_tok|_g[al]|_hs(?:enc|mi)|hsa_[a-z]{2,4}|igshid|li_fat_id)="
)
_END = r"(?=[/?#\n]|$)"
_NOTHING = "undefined|null|NaN|None"
TWICE = "&(?:amp|lt|gt|quot|apos|#[0-9]{2,5});"
_MISTAKES = {  # by what is in each of them, one or the other
    ("/",): re.compile(
        rf"/(?<!:/)(?:/|(?:\.\.?|{_NOTHING}|:[A-Za-z_]++|(?:\[|%5B)[.\w]++(?:\]|%5D)){_END})"
    ),
    ("?",): re.compile(rf"[?&][\w-]++=(?:{_NOTHING})(?=[&#\n]|$)"),
    ("%",): re.compile(
        r"%25(?:2[0-9A-F]|3[A-F]|5[BD]|[C-F][0-9A-F]%25[89AB])|%7B[\w.-]++%7D|%5Bobject(?:%20|\+)O"
        # Other characters, read in the wrong encoding or replaced; those that cannot be seen.
        r"|%C3%8[23]%C2%[89AB]|%EF%BF%BD|%0[09AD]|%(?![0-9A-F]{2})[A-Z_]{3,30}+%|%E2%80%8[BEF]|%(?:20|C2%A0)(?=[?#\n]|$)",
        re.IGNORECASE,
    ),
    ("\ufffd", "Ã"): re.compile("\ufffd|Ã[\x80-\xbf]"),
    ("{", "<", "["): TEMPLATE,
    ("/http",): re.compile(r"(?<=://)([^/?#\n]++)/[^?#\n]*?https?:/{1,2}\1"),
}
_OF_LINKS = re.compile(
    rf"/(?:{_NOTHING})(?:[/?#]|$)|{TEMPLATE.pattern}|{TWICE}|%25(?:20|C[23]%25[89AB])"
)
_TWICE = re.compile(TWICE)


@block_rule("SM415", Severity.WARNING)
def mistaken_url(block: PageColumns) -> Iterator[Hit]:
    """The URL of a page looks like a mistake of the program that wrote it, or that of what it links.

    Two slashes in a row, . and .. as folders, or the host twice, where parts were joined; undefined, null or
    the name of a parameter where a value was missing; an escape or a reference that was escaped once more,
    such as %2520 for a blank; letters that were lost in another encoding; blanks that nobody sees. Search
    engines find an error there, or the same page at a second URL. Those of images, videos and versions in
    other languages are searched for missing values.
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
    given = block.examined.written or block.urls
    for parts, pattern in _MISTAKES.items():
        is_said = "\ufffd" in parts and _has_bad_bytes(block.sitemap)  # once, of the document
        for at, found in block.found(pattern, *parts):
            # After "?" anything goes, and that a URL is relative is said by another rule.
            is_path = parts != ("/",) or "?" not in block.urls[at][: found.start()]
            is_new = not (is_said and found[0] == "\ufffd")
            if is_path and is_new and "://" in (given[at] or ""):
                yield Hit(f"{found[0]!r} in the URL looks like a mistake", at)
    for origin in block.origins:
        twice = f"{origin}/{origin.partition('://')[2]}/"
        for at, url in enumerate(block.urls) if twice in block.joined else ():
            if url.startswith(twice):
                yield Hit("the URL has its host twice, as if one were a folder", at)
    yield from _mistakes_in_links(block)


def _has_bad_bytes(sitemap: CheckedSitemap) -> bool:
    found = () if sitemap.examination is None else sitemap.examination.problems
    return any(one.code is ProblemCode.BAD_BYTES for one in found)


def _mistakes_in_links(block: PageColumns) -> Iterator[Hit]:
    for at, element, url in block.linked:
        found = _OF_LINKS.search(url)
        is_value = found and found[0].startswith("%25") and "?" in url[: found.start()]
        if found and not is_value:  # a parameter may well be a URL itself
            message = f"{found[0]!r} in a URL of the page looks like a mistake: {url[:80]!r}"
            # A relative one is written in another way.
            text = found[0].strip("/?#") if found[0].startswith("/") else url
            yield Hit(message, at, element=element, text=text)


_SUFFIXES = (
    "7z avi avif bak bmp bz2 css dmg env eot exe gif gz ico iso jpeg jpg js json map mjs mov mp3 mp4 mpg "
    "ogg otf png rar rss sql svg tar tgz tif tiff ttf wav webm webmanifest webp woff woff2 xml xsl zip"
)
_FILES = frozenset(_SUFFIXES.split())
_END_OF_FILE = re.compile(rf"\.(?:{_SUFFIXES.replace(' ', '|')}|txt)(?=[?#\n])")
_FILE = re.compile(r"/([^/?#:]*)\.([a-z0-9]{2,11})(?=[?#]|$)", re.IGNORECASE)
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
    if not _END_OF_FILE.search(block.lower):
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
    """The URL of a page has a user name or a password, or that of its image, video or other version.

    Everyone can read a sitemap, and so the password. Search engines do not log in.
    Source: rfc3986#section-3.2.1
    Bad: <url><loc>https://editor:secret@example.org/tea</loc></url>
    Good: <url><loc>https://example.org/@editor/tea</loc></url>
    Fix: Change the password, and write the URL without it.
    """
    for at, _ in block.found(_LOGIN, "@"):
        yield Hit("the URL has a user name or a password", at)
    for at, element, url in block.linked:
        if "@" in url and _LOGIN.match(url):
            yield Hit(
                "a URL of the page has a user name or a password", at, element=element, text=url
            )


_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]++")
_INDEX = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?)(?=\n|\?)")


@block_rule("SM418", Severity.INFO, "seen_pages")
def url_variant(block: PageColumns) -> Iterator[Hit]:
    """A sitemap lists two URLs that differ only in a way that few servers tell apart.

    They differ in a slash, .html or index.html at the end, in capital letters, in letters that are escaped
    or not, or in the order of parameters.
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
    sitemap, urls, joined = block.sitemap, block.normal_urls, block.joined
    if sitemap.is_feed:
        return
    text = _INDEX.sub("/", block.lower) if "/index." in block.lower else block.lower
    if 0 < text.count("/\n") < len(urls):
        text = text.replace("/\n", "\n").replace("/?", "?")
    if 0 < text.count(".html\n") < len(urls):
        text = text.replace(".html\n", "\n")
    if "%" in text and not text.isascii():
        text = _BEYOND_ASCII.sub(lambda found: quote(found[0]).lower(), text)
    forms = text.split("\n")[1:-1] if text != joined or "&" in joined else ()
    if "&" in joined:
        forms = [_in_order(form) if "&" in form else form for form in forms]
    others = sitemap.variants
    found = set() if others.isdisjoint(urls) else {n for n, url in enumerate(urls) if url in others}
    for at, (form, url) in enumerate(zip(forms, urls, strict=False)):
        if form != url:
            if form in others or form in block.site.seen_pages.urls:
                found.add(at)
            others.add(form)
    for at in sorted(found.difference(number for number, _ in block.repeated)):
        yield Hit("the sitemap lists this page already, with a URL that is written otherwise", at)


def _in_order(url: str) -> str:
    """Return a URL with its parameters in the order of their names."""
    path, mark, query = url.partition("?")
    return f"{path}{mark}{'&'.join(sorted(query.split('&')))}"


_OF_NO_INTEREST = re.compile(
    r"/(?:[a-z]{2}(?:-[a-z]{2})?/)?(?:404\.html?|account|admin(?:istrator)?|basket|cart|catalogsearch"
    r"|cgi-bin|checkout|elementor-hf|graphql|hello-world|log-?in|log-?out|lorem-ipsum|my-account"
    r"|order-received|product_compare|register|sample-page|search|sign-?in|sign-?up|thank-you|wishlist"
    r"|wp-admin|wp-login\.php|wp-json|xmlrpc\.php"
    r"|anmelden|carrello|carrito|kasse|mein-konto|panier|registrieren|suche|warenkorb|winkelwagen)"
    r"(?=[/?#\n]|$)"
)
_OTHER_FORMS = {  # by what is in each of them, one or the other
    ("/feed", "/amp", "__trashed"): re.compile(r"((?<=/)(?:feed|amp)|__trashed)/?(?=[?\n]|$)"),
    ("?",): re.compile(r"[?&](amp|print|attachment_id)="),
}
_FACETS = re.compile(
    r"[?&](add[-_]to[-_]cart|dir|facets?|filters?|order_?by|q|query|replytocom|s|search|sort(?:_?by)?"
    r"|preview(?:_id)?|(?:facet|filter|f)(?:[._-]\w++|(?:\[|%5B)[^=&\n]{0,99}+))="
)


@block_rule("SM419", Severity.INFO)
def not_for_search(block: PageColumns) -> Iterator[Hit]:
    """A page is listed that nobody looks for, such as a cart, a login, search results or a filtered list.

    Search engines spend time on such pages that others would need, and mostly leave them out of their
    results. The same goes for error pages and examples of an installation, and for other forms of pages:
    feeds, AMP, versions for printing.
    Source: google:crawling-indexing/url-structure google:crawling-indexing/crawling-managing-faceted-navigation
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
    for at, found in block.found(_FACETS, "?"):
        yield Hit(f"the URL is that of a search, a sorted or a filtered list: {found[1]!r}", at)
    for parts, form in _OTHER_FORMS.items():
        for at, found in block.found(form, *parts):
            yield Hit(f"the URL is that of another form of a page: {found[1]!r}", at)


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
    if any(map(block.lower.__contains__, _OF_SESSIONS)):
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
    if not block.sitemap.is_feed:
        for at, found in block.found(_TRACKING, "?"):
            yield Hit(f"the URL has the parameter {found[1]}", at)


@site_rule("SM440", Severity.ERROR, "built")
def placeholder_host(site: Site) -> Iterator[Hit]:
    """A file lists pages on localhost, on a private network, or on the example host of a generator.

    The website was built with the address of the development server, or without an address: search
    engines cannot fetch the pages. This rule is asked for files, unless ``--url`` or the robots.txt in
    the folder says where they will be: then pages on other hosts are found by other rules. Hosts such as
    example.com count in a folder with built pages.
    Source: protocol#location google:crawling-indexing/sitemaps/build-sitemap
    Bad:
        --- ./sitemap.xml
        <url><loc>http://localhost:1313/tea/</loc></url>
    Good:
        --- ./sitemap.xml
        <url><loc>https://tea.example/tea/</loc></url>
    Fix: Set the address of the website in the generator (baseURL, url, site), and build for production.
    """
    if site.home is not None or site.start_url is not None:
        return
    is_built = site.built.is_built
    for sitemap in site.sitemaps:
        for one in sitemap.origins.counts.values():
            if is_placeholder(one.origin, built=is_built):
                said = f"{counted(one.pages, 'page is', 'pages are')} listed on {one.origin.site}"
                yield Hit(said, None, one.url, one.place, sitemap.url)
        reported = set()
        for child in sitemap.children:
            origin = origin_at(beginning(child.loc))
            if (
                origin is not None
                and is_placeholder(origin, built=is_built)
                and origin not in reported
            ):
                reported.add(origin)
                message = f"sitemaps are declared on {origin.site}: {child.loc}"
                yield Hit(message, place=child.place, sitemap=sitemap.url)


_STAGING = re.compile(r"(?:.+[.-])?(?:preprod|staging|stg|uat)[0-9]?[.-]")


@block_rule("SM441", Severity.ERROR)
def local_link(block: PageColumns) -> Iterator[Hit]:
    """An image, a video or a version in another language is on a host that is not on the web.

    It is localhost or an address in a private network, that of the program that wrote the sitemap; or it
    is the test website of this one, such as staging.example.org. Search engines cannot fetch it, or are
    not meant to. The same goes for the pages of a feed.
    Source: google:crawling-indexing/sitemaps/build-sitemap
    Bad: <image:image><image:loc>http://localhost:3000/tea.jpg</image:loc></image:image>
    Good: <image:image><image:loc>https://cdn.example.net/tea.jpg</image:loc></image:image>
    Fix: Set the address of the website in the program that writes the sitemap.
    """
    own = {url.host for url in block.sitemap.urls}
    if any(is_local_host(host) or _STAGING.match(host) for host in own):
        return
    pages = enumerate(block.urls) if own and block.sitemap.is_feed else ()
    for at, element, url in (*block.linked, *((at, "link", url) for at, url in pages)):
        page, origin = (origin_at(beginning(one)) for one in (block.urls[at], url))
        is_of_page = page is not None and is_local_host(page.host) and url != block.urls[at]
        if origin is None or is_of_page:
            continue
        if is_local_host(origin.host):
            message = f"only your own network knows {origin.site}: {url[:80]!r}"
            yield Hit(message, at, element=element, text=url)
        elif _STAGING.match(origin.host) and any(are_related(origin.host, one) for one in own):
            message = f"{origin.site} is a test website: {url[:80]!r}"
            yield Hit(message, at, element=element, text=url)
