"""Rules about dates, frequencies and priorities."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from usp._base.dates import precision_of_text
from usp.checks.finding import Hit, Severity
from usp.checks.page_columns import FIRST_DAY, TOLERANCE, PageColumns, is_well_written, moment_of
from usp.checks.registry import block_rule, site_rule, sitemap_rule
from usp.objects.page import SITEMAP_PAGE_DEFAULT_PRIORITY, SitemapPageChangeFrequency

if TYPE_CHECKING:
    from usp.checks.context import CheckedSitemap, Site

ENOUGH = 20  # pages that have a value in common by chance: fewer than this
MOST, MOST_TIMES = 0.9, 0.8  # how many days, or moments, of one value are too many to be true
BUILD = timedelta(minutes=10)  # how long a website is built
STALE = timedelta(days=365)
_LENGTHS = {"year": timedelta(days=366), "month": timedelta(days=31), "day": timedelta(days=1)}


@block_rule("SM501", Severity.WARNING)
def lastmod_in_future(block: PageColumns) -> Iterator[Hit]:
    """The lastmod of a page is in the future.

    A page cannot have changed yet at a time to come. Search engines that find dates which cannot be
    right stop trusting all of them. A day is tolerated, for clocks and time zones.
    Source: protocol#lastmoddef google:crawling-indexing/sitemaps/build-sitemap
    Bad: <url><loc>https://example.org/tea</loc><lastmod>{day+9d}</lastmod></url>
    Good: <url><loc>https://example.org/tea</loc><lastmod>{now}</lastmod></url>
    Fix: Write when the page itself last changed, not when it expires or is published.
    """
    for at in block.dates.after(block.sitemap.now + TOLERANCE):
        yield Hit(f"the page changes in the future: {block.dates.texts[at]!r}", at)


@site_rule("SM502", Severity.WARNING)
def same_lastmod(site: Site) -> Iterator[Hit]:
    """All pages of a sitemap, or nearly all, have the same lastmod, or changed within ten minutes.

    This is usually the time at which the sitemap was made, or the website deployed. Search engines use
    the date to choose what to fetch again; one that is the same everywhere says nothing, and they
    ignore it. Sitemaps with 20 dates or more are looked at. Days without a time may be the same in a
    sitemap for one day, so they must be the same in all sitemaps, and news may be of one day.
    Source: google:crawling-indexing/sitemaps/build-sitemap https://blogs.bing.com/webmaster/february-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap
    Bad: <url><loc>https://example.org/{n}</loc><lastmod>2024-05-06T07:08:09.1{n}Z</lastmod></url> (x 20)
    Good: <url><loc>https://example.org/{n}</loc><lastmod>2024-05-06</lastmod></url> (x 19)
    Fix: Write when each page itself last changed, or leave the date out.
    """
    tallies = [sitemap.tallies["lastmod"] for sitemap in site.sitemaps]
    everywhere = {tally.usual for tally in tallies if tally.count}
    varies = len(everywhere) > 1 or any(tally.share < MOST for tally in tallies if tally.count)
    for one, tally in zip(site.sitemaps, tallies, strict=True):
        is_time, first, last = ":" in tally.usual, *map(moment_of, one.dates or ("", ""))
        how_many = (
            f"{'all' if tally.times == tally.count else f'{tally.times:,} of'} {tally.count:,}"
        )
        if tally.count < ENOUGH or not (is_time or not (varies or one.stories)):
            continue
        if tally.share >= (MOST_TIMES if is_time else MOST):
            yield Hit(f"{how_many} dates are the same: {tally.usual!r}", sitemap=one.url)
        elif first and last and abs(last - first) <= BUILD and ":" in one.dates[0]:
            said = f"all {tally.count:,} dates are within minutes of {one.dates[0]!r}"
            yield Hit(said, sitemap=one.url)


@sitemap_rule("SM503", Severity.WARNING)
def newer_than_index(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A page changed later than the index says its sitemap did.

    Search engines fetch a sitemap again if its lastmod in the index is newer. If it is older than those
    of its pages, changes are found late or never. A day is tolerated, for time zones.
    Source: protocol#sitemapIndexTagDefinitions
    Bad:
        --- /sitemap.xml (declared)
        <sitemap><loc>https://example.org/teas.xml</loc><lastmod>2024-05-06</lastmod></sitemap>
        --- /teas.xml
        <url><loc>https://example.org/tea</loc><lastmod>2024-06-07</lastmod></url>
    Good:
        --- /sitemap.xml (declared)
        <sitemap><loc>https://example.org/teas.xml</loc><lastmod>2024-06-07</lastmod></sitemap>
        --- /teas.xml
        <url><loc>https://example.org/tea</loc><lastmod>2024-06-07T08:09:10Z</lastmod></url>
    Fix: Write in the index when the sitemap last changed: not before any page in it did.
    """
    claim, newest, index = sitemap.claim, sitemap.newest, sitemap.parent
    begins = None if claim is None else moment_of(claim.lastmod)
    if claim is None or begins is None or newest is None or index is None:
        return
    length = _LENGTHS.get(precision_of_text(claim.lastmod or "") or "", timedelta())
    if newest - begins > length + TOLERANCE:
        said = f"changed on {newest:%Y-%m-%d}, the sitemap on {claim.lastmod!r}"
        message = f"a page of {sitemap.url} {said}"
        yield Hit(message, place=claim.dated_at, sitemap=index.url)


@sitemap_rule("SM504", Severity.WARNING)
def index_lastmod_format(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The lastmod of a sitemap in an index is not a date as the protocol writes it.

    Search engines ignore such a date, and cannot tell whether the sitemap has changed.
    Source: protocol#sitemapIndexTagDefinitions w3:NOTE-datetime
    Bad:
        --- /sitemap.xml (declared)
        <sitemap><loc>https://example.org/teas.xml</loc><lastmod>06.05.2024</lastmod></sitemap>
        --- /teas.xml
    Good: with 2024-05-06 instead of 06.05.2024
    Fix: Write the date as 2024-05-06 or 2024-05-06T07:08:09+00:00.
    """
    for child in sitemap.children if sitemap.is_index else ():
        text = (child.lastmod or "").strip()
        if text and (not is_well_written(text) or moment_of(text) is None):
            yield Hit(f"the lastmod of {child.loc} is not a date: {text!r}", place=child.dated_at)


@sitemap_rule("SM505", Severity.WARNING)
def index_lastmod_in_future(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """The lastmod of a sitemap in an index is in the future.

    Search engines compare the date with their last visit: a date to come makes them fetch the sitemap
    each time, or ignore the date. A day is tolerated, for clocks and time zones.
    Source: protocol#sitemapIndexTagDefinitions
    Bad:
        --- /sitemap.xml (declared)
        <sitemap><loc>https://example.org/teas.xml</loc><lastmod>{day+9d}</lastmod></sitemap>
        --- /teas.xml
    Good: with {now} instead of {day+9d}
    Fix: Write when the sitemap last changed.
    """
    for child in sitemap.children if sitemap.is_index else ():
        text = (child.lastmod or "").strip()
        date = moment_of(text)
        if date is not None and date > sitemap.now + TOLERANCE:
            yield Hit(f"{child.loc} changes in the future: {text!r}", place=child.dated_at)


@sitemap_rule("SM506", Severity.INFO)
def same_value_everywhere(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """All pages of a sitemap have the same changefreq, or the same priority.

    Both help to choose what to fetch first; a value that all pages have does not. The priority 0.5 is
    the default: the sitemap says the same without it. Google ignores both altogether. Sitemaps with 20
    pages or more are looked at.
    Source: protocol#changefreqdef protocol#prioritydef google:crawling-indexing/sitemaps/build-sitemap
    Bad: <url><loc>https://example.org/{n}</loc><changefreq>daily</changefreq></url> (x 20)
    Good:
        <url><loc>https://example.org/{n}</loc><changefreq>daily</changefreq></url> (x 19)
        <url><loc>https://example.org/tea</loc><changefreq>yearly</changefreq></url>
    Fix: Write what is true of each page itself, or leave the value out.
    """
    if same := _same(sitemap, "changefreq"):
        yield Hit(f"all {sitemap.pages:,} pages have the same changefreq: {same!r}")
    if _is_default(same := _same(sitemap, "priority")):
        yield Hit(f"all {sitemap.pages:,} pages have the default priority")
    elif same:
        yield Hit(f"all {sitemap.pages:,} pages have the same priority: {same!r}")


@block_rule("SM509", Severity.WARNING)
def lastmod_before_web(block: PageColumns) -> Iterator[Hit]:
    """The lastmod of a page is before 1990, when there was no web.

    Programs write such dates when they have none: 1970-01-01 is the number 0 as a date. Search engines
    that find dates which cannot be right stop trusting all of them.
    Source: protocol#lastmoddef
    Bad: <url><loc>https://example.org/tea</loc><lastmod>1970-01-01T00:00:00Z</lastmod></url>
    Good: <url><loc>https://example.org/tea</loc><lastmod>1996-12-31</lastmod></url>
    Fix: Leave the date out if it is not known.
    """
    for at in block.dates.before(FIRST_DAY):
        yield Hit(f"there was no web yet: {block.dates.texts[at]!r}", at)


@block_rule("SM510", Severity.WARNING)
def lastmod_format(block: PageColumns) -> Iterator[Hit]:
    """The lastmod of a page is not written as the protocol writes dates.

    What is meant can be guessed here, but search engines ignore such a date: it may be the fifth of June
    or the sixth of May. A no-break space around it, which is no blank in XML, has the same effect.
    Source: protocol#lastmoddef w3:NOTE-datetime
    Bad:
        <url><loc>https://example.org/tea</loc><lastmod>05/06/2024</lastmod></url>
        <url><loc>https://example.org/coffee</loc><lastmod>2024-05-06 07:08:09</lastmod></url>
    Good:
        <url><loc>https://example.org/tea</loc><lastmod>2024-05-06</lastmod></url>
        <url><loc>https://example.org/coffee</loc><lastmod>2024-05-06T07:08:09+00:00</lastmod></url>
    Fix: Write the date as 2024-05-06 or 2024-05-06T07:08:09+00:00.
    """
    for at in block.dates.badly_written():
        if moment_of(block.dates.texts[at]) is not None:  # the parser tells what it cannot read
            yield Hit(f"the date is written as {block.dates.texts[at]!r}", at)


def _same(sitemap: CheckedSitemap, name: str) -> str:
    """Return the value of a field that all pages of a sitemap have, if there are enough of them."""
    tally = sitemap.tallies[name]
    is_same = sitemap.pages >= ENOUGH and tally.times == sitemap.pages
    return tally.usual if is_same else ""


def _is_default(priority: str) -> bool:
    try:
        return Decimal(priority) == SITEMAP_PAGE_DEFAULT_PRIORITY
    except InvalidOperation:
        return False


_FREQUENCIES = frozenset(frequency.value for frequency in SitemapPageChangeFrequency)


@block_rule("SM511", Severity.WARNING)
def changefreq_case(block: PageColumns) -> Iterator[Hit]:
    """The changefreq of a page is written with capital letters, or with no-break spaces around it.

    The protocol has seven values, all in lower case, and its schema compares them letter by letter:
    Daily makes a sitemap invalid. Most search engines read it all the same.
    Source: protocol#changefreqdef https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd
    Bad: <url><loc>https://example.org/tea</loc><changefreq>Daily</changefreq></url>
    Good: <url><loc>https://example.org/tea</loc><changefreq>daily</changefreq></url>
    Fix: Write always, hourly, daily, weekly, monthly, yearly or never, in lower case.
    """
    values = block.core_texts.get("changefreq", ())
    odd = {value for value in {*values} - _FREQUENCIES if value.strip().lower() in _FREQUENCIES}
    for at, written in enumerate(values) if odd else ():
        if written in odd:
            yield Hit(f"changefreq {written!r} should be {written.strip().lower()!r}", at)


_ONCE = {
    "image": {"loc"},
    "news": {"title", "publication_date", "name", "language"},
    "video": {
        *("title", "description", "thumbnail_loc", "content_loc", "duration", "publication_date"),
        *("expiration_date", "rating", "view_count", "family_friendly", "live"),
    },
}


@block_rule("SM512", Severity.WARNING)
def empty_or_repeated_field(block: PageColumns) -> Iterator[Hit]:
    """The lastmod, changefreq or priority of a page is empty, or a field is there twice.

    The schemas allow each once, and with a value. Search engines ignore an empty one, and of two they may
    take either. That goes for the fields of news, images and videos, too.
    Source: protocol#xmlTagDefinitions https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd
    Bad:
        <url><loc>https://example.org/tea</loc><lastmod></lastmod></url>
        <url><loc>https://example.org/cup</loc><priority>0.3</priority><priority>0.8</priority></url>
    Good: <url><loc>https://example.org/tea</loc><lastmod>2024-05-06</lastmod></url>
    Fix: Write each of them once, or leave it out.
    """
    for at, name, how in block.examined.odd_fields():
        what = "empty" if how == "empty" else "there twice"
        yield Hit(f"<{name}> is {what}", at, element=name)
    for prefix, once in _ONCE.items() if block.extended else ():
        for at, record in block.examined.records(prefix):
            names = [name for name, _ in record if name in once]
            if len({*names}) < len(names):
                twice = next(name for number, name in enumerate(names) if name in names[:number])
                text = [text for name, text in record if name == twice][1]
                yield Hit(f"<{prefix}:{twice}> is there twice", at, element=twice, text=text)


@block_rule("SM513", Severity.INFO)
def time_without_zone(block: PageColumns) -> Iterator[Hit]:
    """The lastmod of a page has a time, but no time zone.

    W3C Datetime, which the protocol refers to, wants a zone after each time. Search engines assume one,
    and may be hours off.
    Source: protocol#lastmoddef w3:NOTE-datetime
    Bad: <url><loc>https://example.org/tea</loc><lastmod>2024-05-06T07:08:09</lastmod></url>
    Good: <url><loc>https://example.org/tea</loc><lastmod>2024-05-06T07:08:09Z</lastmod></url>
    Fix: Write the zone after the time, such as Z or +02:00, or the day alone.
    """
    for at in block.dates.without_zone():
        yield Hit(f"the time has no zone: {block.dates.texts[at]!r}", at)


@site_rule("SM514", Severity.INFO)
def stale_sitemaps(site: Site) -> Iterator[Hit]:
    """No page of the website has changed for a year, as its sitemaps say.

    Perhaps that is so. Often, what writes the sitemaps has stopped, or knows no dates of newer pages.
    Websites with 20 dates or more are looked at.
    Source: protocol#lastmoddef google:crawling-indexing/sitemaps/build-sitemap
    Bad: <url><loc>https://example.org/{n}</loc><lastmod>{day-400d}</lastmod></url> (x 20)
    Good: <url><loc>https://example.org/{n}</loc><lastmod>{day-400d}</lastmod></url> (x 19)
    Fix: Look whether the sitemaps are still written, and whether they have the newest pages.
    """
    dated = [one for one in site.sitemaps if one.dates]
    newest = max((one for one in dated), key=lambda one: one.dates[-1], default=None)
    last = None if newest is None else moment_of(newest.dates[-1])
    enough = sum(one.tallies["lastmod"].count for one in dated) >= ENOUGH
    if newest is not None and last is not None and enough and last < newest.now - STALE:
        yield Hit(f"the newest lastmod is {newest.dates[-1]!r}", sitemap=newest.url)


_MOST_REDATED = 0.9
_LEAST_LEFT = 5  # pages: a part of fewer says nothing


@site_rule("SM540", Severity.WARNING)
def redated_pages(site: Site) -> Iterator[Hit]:
    """The lastmod of nearly all pages has changed, and nothing else.

    The date is that of the build or the request, not that of the content. Google uses lastmod only if it
    is consistently right. This rule is asked with ``--compare``.
    Source: google:crawling-indexing/sitemaps/build-sitemap https://blogs.bing.com/webmaster/february-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap
    Bad:
        --- ./sitemap.xml
        <url><loc>https://tea.example/{n}</loc><lastmod>2025-02-0{n}</lastmod></url> (x 10)
        --- ../before/sitemap.xml
        <url><loc>https://tea.example/{n}</loc><lastmod>2025-01-1{n}</lastmod></url> (x 10)
    Good:
        --- ./sitemap.xml
        <url><loc>https://tea.example/{n}</loc><lastmod>2025-01-1{n}</lastmod></url> (x 10)
        <url><loc>https://tea.example/new</loc><lastmod>2025-02-01</lastmod></url>
        --- ../before/sitemap.xml
        <url><loc>https://tea.example/{n}</loc><lastmod>2025-01-1{n}</lastmod></url> (x 10)
    Fix: Write the date on which the content of the page last changed, or leave lastmod out.
    """
    then = site.since_then
    left = 0 if then is None else then.pages - then.removed
    if then is not None and left >= _LEAST_LEFT and then.redated >= _MOST_REDATED * left:
        same = f"only the lastmod of {then.redated:,} of {left:,} pages changed{then.started}"
        yield Hit(same, sitemap=site.root.url)
