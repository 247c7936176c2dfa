"""Rules about how sitemaps are found: robots.txt, where sitemaps are declared, and what is there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from usp._base.urls import host_of, is_http_url, urljoin
from usp.checks.finding import Hit, Severity
from usp.checks.page_urls import bare_url, beginning, folder_of, normal_url, origin_at
from usp.checks.registry import failure_rule, site_rule, sitemap_rule
from usp.checks.robots_access import ALL_ROBOTS, disallowed_paths, names_of
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import IndexLlmsTxtSitemap

if TYPE_CHECKING:
    from usp._formats.abstract_parser import ChildEntry
    from usp.checks.context import CheckedSitemap, Site
    from usp.objects.exchange import Exchange

MAX_ROBOTS = 500 * 1024  # bytes of a robots.txt that every robot reads; Google reads no more
_ABSENT = (404, 410)
_OK = range(200, 300)


@site_rule("SM101", Severity.WARNING)
def robots_missing(site: Site) -> Iterator[Hit]:
    """The website has no robots.txt.

    Robots may then fetch everything, and nothing tells them where the sitemaps are: they find only
    what was submitted to each search engine by hand. A server that refuses to send robots.txt, with
    status 403 for example, has none as far as robots are concerned: its rules do not count.
    Source: rfc9309#section-2.3.1.3 protocol#submit_robots
    Bad:
        --- /sitemap.xml
    Fix: Serve a robots.txt to everyone, with a line "Sitemap: " and the full URL for each sitemap or index.
    """
    asked = _unread(site)
    if asked is not None and asked.status in _ABSENT:  # others are failures
        yield Hit(f"there is no robots.txt (status {asked.status})", sitemap=asked.url)


@failure_rule("SM102", Severity.ERROR)
def robots_unreachable() -> None:
    """The robots.txt could not be fetched.

    If the server does not respond, or returns 429 or 5xx, robots must assume that nothing may be
    fetched. Google stops crawling the website for a while.
    Source: rfc9309#section-2.3.1.4 google:crawling-indexing/robots/robots_txt#http-status-codes
    Bad:
        --- /robots.txt 503
        --- /sitemap.xml
    Fix: Make the server send robots.txt to everyone, or 404 if there is none.
    """


@site_rule("SM103", Severity.ERROR)
def robots_not_text(site: Site) -> Iterator[Hit]:
    """The URL of robots.txt returns something else, such as a web page.

    Robots look for lines that they know, and find none: rules and sitemaps that were meant to be there
    do not exist for them. Mostly, this is a server that answers every unknown URL with the same page.
    Source: rfc9309#section-2.3
    Bad:
        --- /robots.txt
        <!DOCTYPE html>
        <html><body>Welcome to our tea shop</body></html>
        --- /sitemap.xml
    Fix: Serve a text file at /robots.txt, or return 404 if there is none.
    """
    asked, read = _unread(site), site.robots_txt
    failed = {failure.url for failure in site.not_found}
    if asked is not None and asked.status in _OK and asked.url not in failed:
        yield Hit("robots.txt is not a text file with rules", sitemap=asked.url)
    elif read is not None and site.robots.is_something_else:
        yield Hit("robots.txt has text, but no line that robots know", sitemap=read.url)


@sitemap_rule("SM104", Severity.ERROR)
def blocked_sitemap(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The website's robots.txt disallows a sitemap for search engines.

    They respect robots.txt for sitemaps, too: they do not fetch one that is disallowed, even if
    robots.txt itself declares it. This is asked for Googlebot, Bingbot and all that robots.txt does not
    name (*); --agent chooses others.
    Source: rfc9309#section-2.2.2 support:7451001
    Bad:
        --- /robots.txt
        User-agent: *
        Disallow: /files/
        Sitemap: https://example.org/files/sitemap.xml
        --- /files/sitemap.xml
        <url><loc>https://example.org/files/tea</loc></url>
    Good:
        --- /robots.txt
        User-agent: *
        Disallow: /files/
        Allow: /files/sitemap.xml
        Sitemap: https://example.org/files/sitemap.xml
        --- /files/sitemap.xml

        <url><loc>https://example.org/files/sitemap.xml/tea</loc></url>
    Fix: Add an Allow line for the sitemap, or move it to a path that is not disallowed.
    """
    robots = sitemap.site.robots
    if sitemap.is_undeclared and (whom := robots.disallowed([sitemap.url]).get(0)):
        yield Hit(f"robots.txt disallows this sitemap for {whom}")
    for at, whom in robots.disallowed([child.loc for child in sitemap.children]).items():
        child = sitemap.children[at]
        yield Hit(f"robots.txt disallows the sitemap {child.loc} for {whom}", place=child.place)


@sitemap_rule("SM105", Severity.WARNING)
def large_robots_txt(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The robots.txt has more than 500 KiB.

    Robots need not read more than that, and Google does not: lines after it are ignored, those that
    declare sitemaps too.
    Source: rfc9309#section-2.5 google:crawling-indexing/robots/robots_txt#file-size
    Bad:
        --- /robots.txt
        User-agent: *
        Disallow: /private
        # {a line of a long comment *20} (x 1,100)
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
    Good: with 1,000 instead of 1,100
    Fix: Put what is to be blocked into few folders, or use wildcards.
    """
    if sitemap.is_robots and sitemap.unpacked > MAX_ROBOTS:
        yield Hit(f"robots.txt has {sitemap.unpacked:,} bytes; robots may stop at {MAX_ROBOTS:,}")


def _unread(site: Site) -> Exchange | None:
    """Return the request for a robots.txt that is not in the tree."""
    return next((asked for asked in site.tried if site.is_robots_url(asked.url)), None)


@site_rule("SM106", Severity.WARNING)
def no_sitemap(site: Site) -> Iterator[Hit]:
    """The website has no sitemap.

    None is declared in robots.txt, and there is none where websites usually have one. Search engines
    find only those pages that others link to.
    Source: protocol#submit_robots google:crawling-indexing/sitemaps/overview
    Bad:
        --- /robots.txt
        User-agent: *
        Allow: /
    Fix: Generate a sitemap, and declare it in robots.txt.
    """
    is_found = any(one.parent is not None and not one.is_robots for one in site.sitemaps)
    if site.is_website and not site.not_found and not is_found:
        yield Hit("no sitemap is declared in robots.txt, and none is at the usual paths")


@site_rule("SM107", Severity.WARNING)
def sitemap_not_declared(site: Site) -> Iterator[Hit]:
    """A sitemap exists, but robots.txt does not declare it.

    It was found because websites often have one at this path, or because the homepage links to it; or it
    is in the folder of the robots.txt. Search engines to which it was not submitted do not know it.
    Source: protocol#submit_robots
    Bad:
        --- /robots.txt
        User-agent: *
        Allow: /
        --- /sitemap.xml
    Fix: Add a line "Sitemap: " with the full URL of this sitemap to robots.txt.
    """
    if site.robots_txt is None or site.robots.is_something_else:
        return
    if site.is_folder and not site.robots_txt.children and len(site.sitemaps) > 2:  # noqa: PLR2004 - the folder, and this file
        yield Hit("robots.txt declares none of the sitemaps", sitemap=site.robots_txt.url)
    declared = {bare_url(child.loc) for sitemap in site.sitemaps for child in sitemap.children}
    declared |= {bare_url(sitemap.url) for sitemap in site.sitemaps if not sitemap.is_undeclared}
    for sitemap in site.sitemaps:
        addresses = {bare_url(sitemap.url), bare_url(sitemap.requested)}
        is_llms = isinstance(sitemap.node, IndexLlmsTxtSitemap) or sitemap.kind == "llms"
        is_for_others = is_llms or sitemap.kind == "html"
        if sitemap.is_undeclared and not is_for_others and addresses.isdisjoint(declared):
            yield Hit("this sitemap is not declared in robots.txt", sitemap=sitemap.url)


@sitemap_rule("SM108", Severity.ERROR)
def relative_sitemap(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A robots.txt or an index declares a sitemap with a relative URL.

    The protocol wants the full URL. Search engines ignore other lines of robots.txt and other entries
    of an index, without a word.
    Source: protocol#submit_robots google:crawling-indexing/robots/robots_txt#sitemap
    Bad:
        --- /robots.txt
        Sitemap: /sitemap.xml
        --- /sitemap.xml
    Fix: Write the full URL, with its scheme and host.
    """
    schemeless = {one.line for one in sitemap.problems if one.code is ProblemCode.NO_SCHEME}
    for child in () if sitemap.is_feed else sitemap.children:
        written = (child.written or "").strip()
        is_whole = not written or "://" in written or is_http_url(written)
        if not is_whole and child.line not in schemeless:
            yield Hit(f"the URL of a sitemap is relative: {written!r}", place=child.place)


@sitemap_rule("SM109", Severity.INFO)
def sitemap_declared_twice(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A robots.txt or an index declares a sitemap twice.

    The second line does nothing. Some shops repeat it for each user agent; otherwise another sitemap may
    be meant, which is then missing.
    Source: protocol#index
    Bad:
        --- /robots.txt
        Sitemap: https://example.org/sitemap.xml
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
    Good:
        --- /sitemap.xml (declared)
        --- /news.xml (declared)
        <url><loc>https://example.org/news</loc></url>
    Fix: Remove one of the lines, or correct its URL.
    """
    firsts: dict[str, ChildEntry] = {}
    for child in sitemap.children:
        first = firsts.setdefault(normal_url(child.loc), child)
        if first is not child:
            before = "" if first.line is None else f", first in line {first.line}"
            yield Hit(f"{child.loc} is declared twice{before}", place=child.place)


@site_rule("SM110", Severity.INFO)
def sitemap_in_several_places(site: Site) -> Iterator[Hit]:
    """A sitemap is declared in several documents.

    It is fetched once in any case. But nobody knows which of the places to change when it moves, and
    reports of search engines list it several times.
    Source: protocol#index google:crawling-indexing/sitemaps/large-sitemaps
    Bad:
        --- /index.xml (declared)
        <sitemap><loc>https://example.org/teas.xml</loc></sitemap>
        --- /teas.xml (declared)
    Good: with s.xml instead of s.xml (declared)
    Fix: Declare it in one place: in the index if there is one, and only the index in robots.txt.
    """
    places: dict[str, dict[str, None]] = defaultdict(dict)
    for sitemap in site.sitemaps:
        for child in sitemap.children:
            if child.loc != sitemap.url:  # that is a mistake of another kind
                places[child.loc][sitemap.url] = None
    for url, declaring in places.items():
        if len(declaring) > 1:
            where, more = ", ".join(list(declaring)[:3]), len(declaring) - 3
            tail = f" and {more:,} more" if more > 0 else ""
            message = f"this sitemap is declared in {len(declaring):,} documents: {where}{tail}"
            yield Hit(message, sitemap=url)


@site_rule("SM111", Severity.WARNING)
def redirected_sitemap(site: Site) -> Iterator[Hit]:
    """The URL where a sitemap is declared redirects to another one.

    Each fetch takes one more request, and a redirect is one more thing that breaks without notice. For
    search engines the sitemap is at the second URL, whose host and path decide which pages it may list.
    Source: bing:Sitemaps-3b5cf6ed protocol#location
    Bad:
        --- /old.xml -> /sitemap.xml (declared)
        --- /sitemap.xml
    Fix: Declare the URL that the redirect leads to.
    """
    for sitemap in site.sitemaps:
        is_declared = not (sitemap.parent is None or sitemap.is_robots or sitemap.is_undeclared)
        sent = sitemap.exchange if is_declared and sitemap.kind != "invalid" else None
        if sent is not None and sent.redirects and sent.final_url != sent.url:
            count = len(sent.redirects)
            statuses = {hop.status for hop in sent.hops[:count]}
            how = "permanently " if statuses <= {301, 308} else "temporarily "
            over = f" over {count} redirects" if count > 1 else ""
            message = f"{sent.url} redirects {how if statuses else ''}to {sent.final_url}{over}"
            yield Hit(f"{message}{sitemap.declared}", sitemap=sitemap.url)


@failure_rule("SM112", Severity.ERROR)
def soft_404() -> None:
    """A web page with a status of success is where a sitemap is declared.

    The sitemap does not exist, but the server does not say so: search engines fetch the page again and
    again, and report a sitemap that cannot be read.
    Source: rfc9110#section-15.5.5 google:crawling-indexing/http-network-errors#soft-404-errors support:7451001
    Bad:
        --- /sitemap.xml (declared)
        Content-Type: text/html

        <!DOCTYPE html>
        <html><body>Sorry, we cannot find this page.</body></html>
    Fix: Correct the URL where the sitemap is declared; return 404 for URLs that do not exist.
    """


@sitemap_rule("SM113", Severity.WARNING)
def sitemap_on_other_host(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """An index lists a sitemap on another host.

    An index may list sitemaps of its own host only, and so do search engines read it, unless the
    robots.txt of the other host declares the index or the sitemap, which proves that it belongs to the
    same owner.
    Source: protocol#index protocol#sitemaps_cross_submits
    Bad:
        --- /index.xml (declared)
        <sitemap><loc>https://files.example.net/teas.xml</loc></sitemap>
        --- https://files.example.net/teas.xml
        <url><loc>https://files.example.net/tea</loc></url>
    Good:
        --- /index.xml (declared)
        <sitemap><loc>https://example.org/teas.xml</loc></sitemap>
        --- /teas.xml
    Fix: Put the sitemap on the host of its index, or declare it in the robots.txt of its own host.
    """
    if not sitemap.is_index or not sitemap.urls:
        return
    own = {None, host_of(sitemap.requested), *(url.host for url in sitemap.urls)}
    robots = sitemap.site.robots_txt
    declared = {} if robots is None else robots.declarations
    proven = None if robots is None else host_of(robots.url)
    if sitemap.requested in declared:
        own.add(proven)
    for child in sitemap.children:
        host = host_of(child.loc)
        if host in own or (host == proven and child.loc in declared):
            continue
        if not ((origin := origin_at(child.loc)) and sitemap.is_declared_by(origin, child.loc)):
            yield Hit(f"the index lists a sitemap on another host: {child.loc}", place=child.place)


@sitemap_rule("SM117", Severity.WARNING)
def sitemap_above_index(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """An index lists a sitemap that is not below the folder of the index.

    Who may write into one folder need not own the others: an index at /blog/sitemap.xml may only list
    what begins with /blog/. That does not count for an index that robots.txt declares.
    Source: protocol#index protocol#location
    Bad:
        --- /robots.txt
        User-agent: *
        Allow: /
        --- /sitemap/sitemap-index.xml
        <sitemap><loc>https://example.org/shop/teas.xml</loc></sitemap>
        --- /shop/teas.xml
        <url><loc>https://example.org/shop/tea</loc></url>
    Good:
        --- /shop/index.xml (declared)
        <sitemap><loc>https://example.org/teas.xml</loc></sitemap>
        --- /teas.xml
    Fix: Declare the index in robots.txt, or move it to the root of the website.
    """
    is_known = sitemap.site.is_website or sitemap.parent is None
    folders = tuple(sorted({folder_of(url) for url in sitemap.urls}))
    if not sitemap.is_index or sitemap.proven or not folders or "/" in folders or not is_known:
        return
    for child in sitemap.children:
        path = child.loc.removeprefix(beginning(child.loc))
        if host_of(child.loc) == host_of(sitemap.url) and not path.startswith(folders):
            yield Hit(
                f"{child.loc} is not below {folders[0]}, the folder of its index",
                place=child.place,
            )


@failure_rule("SM114", Severity.ERROR)
def missing_file() -> None:
    """A sitemap is declared, but the folder has no file of that name.

    After the folder is deployed, search engines will request the sitemap and get an error. This rule is
    asked if a folder is checked, where each sitemap is looked for by the end of its URL.
    Source: protocol#index
    Bad:
        --- ./sitemap_index.xml
        <sitemap><loc>https://example.org/teas.xml</loc></sitemap>
    Good:
        --- ./sitemap_index.xml
        <sitemap><loc>https://example.org/teas.xml</loc></sitemap>
        --- ./teas.xml
    Fix: Generate the file, or remove the entry.
    """


@site_rule("SM115", Severity.INFO)
def only_named_robots(site: Site) -> Iterator[Hit]:
    """The robots.txt disallows the website for all robots but those that it names.

    Often this is intended: Googlebot and Bingbot are named, and everyone else is kept out. But then other
    search engines, previews of links and tools such as this one may fetch nothing, either.
    Source: rfc9309#section-2.2.1 google:crawling-indexing/robots/robots_txt#order-of-precedence-for-user-agents
    Bad:
        --- /robots.txt
        User-agent: *
        Disallow: /

        User-agent: Googlebot
        User-agent: Bingbot
        Disallow: /private/
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
    Good:
        --- /robots.txt
        User-agent: *
        Disallow: /private/
        Sitemap: https://example.org/sitemap.xml
        --- /sitemap.xml
    Fix: Name all robots that may fetch pages, or disallow only what nobody may fetch.
    """
    robots, read = site.robots, site.robots_txt
    if read is None or ALL_ROBOTS not in robots.agents:
        return
    allowed = [one for one in robots.agents if robots.allows(home := urljoin(read.url, "/"), one)]
    if allowed and not robots.allows(home):
        line = next((at for at, path in disallowed_paths(robots.text) if path in ("/", "/*")), None)
        whom = names_of(allowed, robots.agents)
        message = (
            f"robots.txt disallows everything for all robots that it does not name, not for {whom}"
        )
        yield Hit(message, sitemap=read.url, place=(line, None))


# Beside an earlier state ---------------------------------------------------------------------------

_MANY_GONE = 0.2  # of all pages
_MOST_GONE = 0.5  # of the pages of one sitemap
_FEW = 5  # pages, of which a part says nothing


@site_rule("SM141", Severity.WARNING)
def mass_removal(site: Site) -> Iterator[Hit]:
    """A fifth of the pages or more that were listed before are not listed any more.

    Mostly something went wrong when the sitemaps were written: search engines take pages that vanish
    from sitemaps for less important, and forget them sooner. News and feeds do not count. This rule is
    asked with ``--compare``.
    Source: google:crawling-indexing/sitemaps/build-sitemap bing:Sitemaps-3b5cf6ed
    Bad:
        --- ./sitemap.xml
        <url><loc>https://tea.example/{n}</loc></url> (x 10)
        --- ../before/sitemap.xml
        <url><loc>https://tea.example/{n}</loc></url> (x 20)
    Good:
        --- ./sitemap.xml
        <url><loc>https://tea.example/{n}</loc></url> (x 19)
        --- ../before/sitemap.xml
        <url><loc>https://tea.example/{n}</loc></url> (x 20)
    Fix: Find out why; if the pages are gone on purpose, redirect them, and take the new state as the earlier one.
    """
    then = site.since_then
    if then is not None and then.pages >= _FEW and then.removed >= _MANY_GONE * then.pages:
        gone = f"{then.removed:,} of {then.pages:,} pages are no longer listed{then.started}"
        yield Hit(gone, sitemap=site.root.url)


@site_rule("SM142", Severity.WARNING)
def shrunken_sitemap(site: Site) -> Iterator[Hit]:
    """A sitemap has lost half of its pages or more, and no other one lists them.

    A query that fails, or a limit, leaves a sitemap that looks sound. This rule is asked with
    ``--compare``, if there are several sitemaps; news and feeds do not count.
    Source: google:crawling-indexing/sitemaps/build-sitemap bing:Sitemaps-3b5cf6ed
    Bad:
        --- ./blog.xml
        <url><loc>https://tea.example/blog/{n}</loc></url> (x 5)
        --- ./shop.xml
        <url><loc>https://tea.example/shop/{n}</loc></url> (x 100)
        --- ../before/blog.xml
        <url><loc>https://tea.example/blog/{n}</loc></url> (x 20)
        --- ../before/shop.xml
        <url><loc>https://tea.example/shop/{n}</loc></url> (x 100)
    Good:
        --- ./blog.xml
        <url><loc>https://tea.example/blog/{n}</loc></url> (x 20)
        --- ../before/blog.xml
        <url><loc>https://tea.example/blog/{n}</loc></url> (x 19)
    Fix: Find out why the sitemap is shorter; if the pages are gone on purpose, redirect them.
    """
    then = site.since_then
    if then is None or len(then.sizes) == 1:
        return
    for url, lost in then.lost.items():
        size = then.sizes[url]
        if size >= _FEW and lost >= _MOST_GONE * size:
            yield Hit(f"{lost:,} of its {size:,} pages are gone{then.started}", sitemap=url)


# Lines of robots.txt --------------------------------------------------------------------------------

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
            yield Hit(f"the sitemap of a test website is declared: {child.loc}", place=child.place)


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
