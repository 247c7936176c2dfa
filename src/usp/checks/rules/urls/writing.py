"""Rules about how the URLs of pages are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from usp._base.urls import is_http_url
from usp.checks.registry import block_rule
from usp.checks.values import Hit, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.blocks import Block

MAX_URL = 2048
"""Characters that the protocol allows in a URL: fewer than this."""

_ALLOWED = bytes(range(0x80, 0x100)) + bytes(set(range(0x21, 0x7F)) - set(b'<>"{}|\\^`')) + b"\n"
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})[^\n]{0,2}")
_UNESCAPED = re.compile(r'[\x00- <>"{}|\\^`\x7f]')
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]++")
_HOST = re.compile(r"[^/]*+//[^/?#]*+")
_SESSION = re.compile(
    r"[?&;](?:php|j|asp|aspx?)?+sess(?:ion)?+_?+id[a-z]*+=(?=[a-z.!-]*+[0-9])[0-9a-z.!-]{16}",
    re.IGNORECASE,
)
_TRACKING = re.compile(
    r"[?&](utm_(?:source|medium|campaign|term|content|id)|gclid|dclid|fbclid|msclkid|yclid)="
)


@block_rule("SM401", "relative-url", Severity.ERROR)
def relative_url(block: Block) -> Iterator[Hit]:
    """The URL of a page is relative.

    The protocol wants whole URLs, and search engines do not resolve others: the page is not found.

    Source: https://www.sitemaps.org/protocol.html#locdef

    Bad:

        <url><loc>/tea</loc></url>

    Good:

        <url><loc>https://example.org/tea</loc></url>

    Fix: Write the whole URL, with its scheme and host.
    """
    if block.sitemap.kind == "atom":  # where URLs may be relative
        return
    for at, written in enumerate(block.written or ()):
        if not written or "://" in written or is_http_url(written.strip()):
            continue
        if not block.urls[at].endswith(
            f"://{written.strip()}"
        ):  # the parser tells of a missing scheme
            yield Hit(f"the URL is relative: {written.strip()!r}", at)


@block_rule("SM406", "long-url", Severity.ERROR)
def long_url(block: Block) -> Iterator[Hit]:
    """The URL of a page has 2,048 characters or more.

    The protocol allows fewer than 2,048 characters. Search engines may skip the page, and browsers may
    cut the URL off.

    Source: https://www.sitemaps.org/protocol.html#locdef

    Bad:

        <url><loc>https://example.org/?q={a*2030}</loc></url>

    Good:

        <url><loc>https://example.org/?q={a*2000}</loc></url>

    Fix: Shorten the URL: leave out parameters that do not change the page.
    """
    if max(map(len, block.urls)) >= MAX_URL:
        for at, url in enumerate(block.urls):
            if len(url) >= MAX_URL:
                yield Hit(f"the URL has {len(url):,} characters", at)


@block_rule("SM407", "url-fragment", Severity.WARNING)
def url_fragment(block: Block) -> Iterator[Hit]:
    """The URL of a page has a fragment.

    A fragment names a part of a page and is never sent to the server. Search engines drop it, so that
    several entries become the same page.

    Source: https://www.rfc-editor.org/rfc/rfc3986#section-3.5

    Bad:

        <url><loc>https://example.org/tea#green</loc></url>

    Good:

        <url><loc>https://example.org/tea</loc></url>

    Fix: Leave out the # and what follows it.
    """
    if "#" in block.joined and not block.sitemap.is_feed:
        for at, url in enumerate(block.urls):
            if "#" in url:
                yield Hit("the URL has a fragment", at)


@block_rule("SM408", "unescaped-url", Severity.WARNING)
def unescaped_url(block: Block) -> Iterator[Hit]:
    r"""The URL of a page has characters that must be escaped.

    Blanks and the characters < > " { } | \ ^ ` are written as %XX in a URL, and a percent sign as %25.
    Most search engines guess what is meant; others fetch something else, or nothing.

    Sources: https://www.sitemaps.org/protocol.html#escaping
        https://www.rfc-editor.org/rfc/rfc3986#section-2

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
    joined = block.joined
    if "%" in joined and _BROKEN_ESCAPE.search(joined):
        for at, url in enumerate(block.urls):
            if "%" in url and (broken := _BROKEN_ESCAPE.search(url)):
                yield Hit(f"{broken[0]!r} is not an escape", at)
    if joined.encode("utf-8", "surrogatepass").translate(None, _ALLOWED):
        for at, url in enumerate(block.urls):
            host = _HOST.match(url)
            bad = _UNESCAPED.search(url, host.end() if host else 0)
            if bad:
                yield Hit(f"{bad[0]!r} is not escaped", at)


@block_rule("SM414", "non-ascii-url", Severity.INFO)
def non_ascii_url(block: Block) -> Iterator[Hit]:
    """The URL of a page has letters beyond ASCII that are not escaped.

    The protocol asks for URLs that are escaped: their bytes in UTF-8 as %XX. Search engines read such
    letters all the same, but simpler programs may not, and in a document with a wrong encoding they
    become other letters. A host with other letters, such as münchen.example, is fine.

    Sources: https://www.sitemaps.org/protocol.html#escaping
        https://www.rfc-editor.org/rfc/rfc3987#section-3.1

    Bad:

        <url><loc>https://example.org/tee/grün</loc></url>

    Good:

        <url><loc>https://example.org/tee/gr%C3%BCn</loc></url>

    Fix: Escape the letters: their bytes in UTF-8 as % and two hexadecimal digits.
    """
    if block.joined.isascii() or block.sitemap.is_feed:  # URLs of feeds may have all letters
        return
    for at, url in enumerate(block.urls):
        if not url.isascii():
            host = _HOST.match(url)
            letters = _BEYOND_ASCII.search(url, host.end() if host else 0)
            if letters:
                yield Hit(f"{_shown(letters[0][:20])} is not escaped", at)


def _shown(letters: str) -> str:
    """Return letters as a message shows them: those that cannot be seen by their numbers."""
    if letters.isprintable():
        return f"{letters!r}"
    return " ".join(f"U+{ord(letter):04X}" for letter in letters)


@block_rule("SM412", "session-id", Severity.INFO)
def session_id(block: Block) -> Iterator[Hit]:
    """The URL of a page has the ID of a session.

    The ID is that of one visit. Each time the sitemap is made, the same page gets another URL, and
    search engines see the same content again and again.

    Source: https://developers.google.com/search/docs/crawling-indexing/url-structure

    Bad:

        <url><loc>https://example.org/tea;jsessionid=1A530637289A03B07199A44E8D531427</loc></url>

    Good:

        <url><loc>https://example.org/tea?session=summer</loc></url>

    Fix: List the page without the ID.
    """
    joined = block.joined
    if "=" in joined and "sess" in joined.lower() and _SESSION.search(joined):
        for at, url in enumerate(block.urls):
            if _SESSION.search(url):
                yield Hit("the URL has the ID of a session", at)


@block_rule("SM413", "tracking-parameter", Severity.INFO)
def tracking_parameter(block: Block) -> Iterator[Hit]:
    """The URL of a page has a parameter of web analytics or advertising.

    The parameter does not change the page. Visitors that come from a search engine are counted as if
    they came from a campaign, and the page may be indexed with both URLs. Feeds are left out: there it
    is usual.

    Source: https://developers.google.com/search/docs/crawling-indexing/url-structure

    Bad:

        <url><loc>https://example.org/tea?utm_source=newsletter</loc></url>

    Good:

        <url><loc>https://example.org/tea?source=newsletter</loc></url>

    Fix: List the page without the parameter.
    """
    joined = block.joined
    if block.sitemap.is_feed or "=" not in joined:
        return
    if ("utm_" in joined or "lid=" in joined or "kid=" in joined) and _TRACKING.search(joined):
        for at, url in enumerate(block.urls):
            if found := _TRACKING.search(url):
                yield Hit(f"the URL has the parameter {found[1]}", at)
