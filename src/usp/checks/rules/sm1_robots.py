"""Rules about the lines of robots.txt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from usp.checks.finding import Hit, Severity
from usp.checks.page_urls import origin_at
from usp.checks.registry import sitemap_rule

if TYPE_CHECKING:
    from usp.checks.context import CheckedSitemap

_TEST_HOST = re.compile(
    r"localhost|(?:127|10|192\.168)\.[\d.]+|.+\.(?:test|local|localhost|internal)"
    r"|(?:.+[.-])?(?:dev|develop|development|local|preprod|preview|qa|stage|staging|stg|test|testing|uat)"
    r"[0-9]?[.-].+|.+\.(?:herokuapp\.com|netlify\.app|pages\.dev|vercel\.app|wpengine\.com)",
    re.DOTALL,  # or many places would be tried for a host with a line break
)


@sitemap_rule("SM116", Severity.ERROR)
def sitemap_of_test_website(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The robots.txt of a website declares a sitemap of a test website.

    A host that is called staging, dev or localhost, or that belongs to a preview of a deployment, is
    mostly closed to search engines, and if it is not, they list pages of the test website. It happens
    when robots.txt is copied with everything else.
    Source: protocol#submit_robots protocol#sitemaps_cross_submits
    Bad:
        --- /robots.txt
        Sitemap: https://staging.example.org/sitemap.xml
        --- https://staging.example.org/sitemap.xml
        <url><loc>https://example.org/tea</loc></url>
    Fix: Declare the sitemap of this website, with its own host.
    """
    own = [bool(_TEST_HOST.fullmatch(url.host)) for url in sitemap.urls]
    for child in sitemap.children if sitemap.is_robots and own and not any(own) else ():
        if (url := origin_at(child.loc)) and _TEST_HOST.fullmatch(url.host):
            yield Hit(
                f"the sitemap of a test website is declared: {child.loc}",
                place=child.place,
            )


_LINE = re.compile(r"[ \t\ufeff]*+([A-Za-z][\w-]*+(?: [A-Za-z]++)?)[ \t]*+:[ \t]*+([^#\s]*+)")
_AGENT = re.compile(r"user[ -]?agent")
_SITEMAP = re.compile(r"site[ -]?maps?(?: https?)?")
_LIKELY = ("user-agent", "disallow", "allow", "sitemap", "crawl-delay")
_DROPPED = ("noindex", "nofollow")
_MOST_LINES = 20


@sitemap_rule("SM118", Severity.WARNING)
def robots_line_ignored(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A line of robots.txt means nothing to robots, although it looks as if it did.

    The name is misspelt, a path begins neither with / nor with *, no User-agent is named before it, or a
    Sitemap line has more than a colon and the URL. Robots, or some of them, pass over such a line, and
    fetch what it was to keep them from. Noindex was never in the standard, and Google has stopped reading it.
    Source: rfc9309#section-2.2 google:crawling-indexing/robots/robots_txt blog:2019/07/a-note-on-unsupported-rules-in-robotstxt
    Bad:
        --- /robots.txt
        User-agent: *
        Disallow: tea/
        Dissallow: /cups/
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/coffee</loc></url>
    Good:
        --- /robots.txt
        User-agent: *
        Disallow: /tea/
        Disallow: *?print=
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
        <url><loc>https://example.org/coffee</loc></url>
    Fix: Write User-agent, Disallow or Allow, and paths from the root: Disallow: /tea/
    """
    robots = sitemap.site.robots
    if not sitemap.is_robots or robots.is_something_else:
        return
    is_named, found = False, 0
    for number, line in enumerate(robots.text.split("\n"), 1):
        given = _LINE.match(line)
        if given is None or found == _MOST_LINES:
            continue
        name, value = given[1].lower(), given[2]
        is_named = is_named or bool(_AGENT.fullmatch(name))
        if message := _wrong_with(name, value, is_named=is_named):
            found += 1
            yield Hit(f"{message}: {line.strip()[:80]!r}", place=(number, given.start(1) + 1))


def _wrong_with(name: str, value: str, *, is_named: bool) -> str:
    """Return why a line means nothing; empty if it does."""
    if name in ("allow", "disallow"):
        if not is_named:
            return "no User-agent is named before this line"
        return "" if value[:1] in ("", "/", "*") else "a path begins with / or with *"
    if name in _DROPPED:
        return f"search engines do not read {name}"
    # "Sitemap https://…" has its colon in the URL.
    is_map = bool(_SITEMAP.fullmatch(name))
    if is_map and value and (name != "sitemap" or value[0] in "<\"'["):
        return "not all robots find the sitemap: write Sitemap, a colon, and the URL alone"
    if is_map or name in _LIKELY or _AGENT.fullmatch(name):
        return ""
    meant = get_close_matches(name, _LIKELY, 1, 0.8)
    return f"{name} is not known; did you mean {meant[0].capitalize()}?" if meant else ""
