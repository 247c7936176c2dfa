"""Rules about news."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from usp._base.dates import in_utc, precision_of
from usp.checks.finding import Hit, Severity
from usp.checks.hreflang import wrong_with
from usp.checks.page_columns import (
    TOLERANCE,
    PageColumns,
    is_well_written,
    mistake_in_text,
    moment_of,
)
from usp.checks.registry import block_rule, sitemap_rule

if TYPE_CHECKING:
    from usp.checks.context import CheckedSitemap

MAX_AGE = timedelta(days=2)
MAX_STORIES = 1000
_WEST = timedelta(hours=12)  # how far time zones are behind UTC
_LAG = timedelta(hours=12)  # how long sitemaps are cached
_DEPRECATED = ("access", "genres", "keywords", "stock_tickers")
_SHORT = 2  # letters of a code of ISO 639-1; of longer ones there are thousands
_LANGUAGE = re.compile(r"[a-z]{2,3}|zh-(?:cn|tw)", re.IGNORECASE)


def _tolerance(date: datetime) -> timedelta:
    """Return how much older a story may be: a day without a time ends last in the west."""
    if precision_of(date) == "day":
        return _LAG + timedelta(days=1) + _WEST
    return _LAG + _WEST if date.tzinfo is None else _LAG


@block_rule("SM701", Severity.WARNING)
def old_news(block: PageColumns) -> Iterator[Hit]:
    """A story in a news sitemap is older than two days.

    A news sitemap is for what was published in the last two days. Google ignores the news data of older
    stories, and their pages belong in an ordinary sitemap. Half a day is tolerated, for caches. The age of a story in a snapshot is the one
    that it had when it was recorded.
    Bad: <news:publication_date>{now-5d}</news:publication_date>
    Good: <news:publication_date>{now-5h}</news:publication_date>
    Fix: Remove the story from the news sitemap two days after its publication; keep its page in another one.
    """
    oldest = block.sitemap.now - MAX_AGE
    for at, story in block.stories:
        date = story.publish_date
        if date is not None and in_utc(date) < oldest - _tolerance(date):
            yield Hit(f"the story was published on {date:%Y-%m-%d}", at, element="publication_date")


@block_rule("SM702", Severity.WARNING)
def future_news(block: PageColumns) -> Iterator[Hit]:
    """A story in a news sitemap has a publication date in the future.

    The date is that of the first publication on the website. One that lies ahead by more than a day is
    a mistake, and readers of the sitemap cannot rely on the others either.
    Bad: <news:publication_date>{now+30d}</news:publication_date>
    Good: <news:publication_date>{now-1h}</news:publication_date>
    Fix: Write the date on which the story was first published.
    """
    latest = block.sitemap.now + TOLERANCE
    for at, story in block.stories:
        date = story.publish_date
        if date is not None and in_utc(date) > latest:
            yield Hit(f"dated {date:%Y-%m-%d}, in the future", at, element="publication_date")


@sitemap_rule("SM703", Severity.ERROR)
def too_many_stories(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A news sitemap has more than 1,000 stories.

    Google reads up to 1,000 stories in one news sitemap. Use several with an index for more.
    Bad:
        <url><loc>https://example.org/{n}</loc><news:news><news:publication><news:name>The Tea Times</news:name><news:language>en</news:language></news:publication><news:publication_date>{now-1h}</news:publication_date><news:title>Tea {n}</news:title></news:news></url> (x 1001)
    Good:
        <url><loc>https://example.org/{n}</loc><news:news><news:publication><news:name>The Tea Times</news:name><news:language>en</news:language></news:publication><news:publication_date>{now-1h}</news:publication_date><news:title>Tea {n}</news:title></news:news></url> (x 1000)
    Fix: Remove stories older than two days, or split the sitemap and list the parts in an index.
    """
    if sitemap.stories > MAX_STORIES:
        yield Hit(f"the sitemap has {sitemap.stories:,} stories; at most {MAX_STORIES:,} are read")


@block_rule("SM704", Severity.ERROR)
def news_without_publication(block: PageColumns) -> Iterator[Hit]:
    """A story lacks the name of its publication.

    The name is required. It must be the one that the website has in Google News, without additions in
    brackets.
    Bad: no <news:name>
    Good: <news:name>The Tea Times</news:name>
    Fix: Add <news:name> inside <news:publication>.
    """
    for at, story in block.stories:
        if not story.publication_name:
            yield Hit("the story has no <news:name>", at)


@block_rule("SM705", Severity.ERROR)
def news_language(block: PageColumns) -> Iterator[Hit]:
    """A story lacks the language of its publication, or has one that is not a code.

    The language is required: a code of ISO 639 with two or three letters, or zh-cn or zh-tw for Chinese.
    Bad: <news:language>English</news:language>
    Good: <news:language>zh-tw</news:language>
    Fix: Write a code such as en, de or zh-cn as <news:language> inside <news:publication>.
    """
    for at, story in block.stories:
        language = story.publication_language or ""
        if not language:
            yield Hit("the story has no <news:language>", at)
        elif not _LANGUAGE.fullmatch(language.strip()) or language.strip().lower() == "zh":
            message = f"{language!r} is not a language code of two or three letters"
            if language.strip().lower() == "zh":
                message = "'zh' does not say which Chinese it is: zh-cn or zh-tw"
            yield Hit(message, at, element="language")
        elif len(language.strip()) == _SHORT and (wrong := wrong_with(language)):
            yield Hit(wrong, at, element="language")


@block_rule("SM706", Severity.INFO)
def deprecated_news_field(block: PageColumns) -> Iterator[Hit]:
    """A story has fields that search engines no longer read.

    Google has dropped <news:access>, <news:genres>, <news:keywords> and <news:stock_tickers>. They do
    no harm, but make the sitemap larger.
    Bad: <news:keywords>tea, prices</news:keywords>
    Good: <news:title>Tea prices rise</news:title>
    Fix: Remove the fields.
    """
    for at, story in block.stories:
        given = [name for name in _DEPRECATED if getattr(story, name)]
        if names := ", ".join(f"news:{name}" for name in given):
            yield Hit(f"no longer read: {names}", at, element=given[0])


@block_rule("SM707", Severity.WARNING)
def news_date_format(block: PageColumns) -> Iterator[Hit]:
    """The publication date of a story is not written as W3C Datetime.

    What is meant can be guessed here, but search engines ignore such a date, and the story with it: it
    may be the fifth of June or the sixth of May.
    Source: google:crawling-indexing/sitemaps/news-sitemap w3:NOTE-datetime
    Bad: <news:publication_date>{day-1d} 10:20</news:publication_date>
    Good: <news:publication_date>{now-5h}</news:publication_date>
    Fix: Write the date as 2024-05-06 or 2024-05-06T07:08:09+00:00.
    """
    for at, _, text in block.written("news", "publication_date") if block.stories else ():
        if not is_well_written(text) and moment_of(text) is not None:
            yield Hit(
                f"the publication date is written as {text!r}", at, element="publication_date"
            )


@block_rule("SM708", Severity.WARNING)
def news_name_with_additions(block: PageColumns) -> Iterator[Hit]:
    """The name of a publication has something in parentheses.

    The name must be exactly the one that the publication has on news.google.com, without anything in
    parentheses.
    Bad: <news:name>The Tea Times (subscription)</news:name>
    Good: <news:name>The Tea Times</news:name>
    Fix: Leave out the parentheses and what is in them.
    """
    for at, story in block.stories:
        if "(" in (story.publication_name or ""):
            yield Hit(
                f"the name of the publication is {story.publication_name!r}", at, element="name"
            )


@block_rule("SM710", Severity.WARNING)
def news_title_of_program(block: PageColumns) -> Iterator[Hit]:
    """The title of a story is not what readers see.

    It has a tag of HTML, or it is undefined or null. Google shows the title as it stands, and may leave
    the story out.
    Source: google:crawling-indexing/sitemaps/news-sitemap
    Bad: <news:title>&lt;b&gt;Tea&lt;/b&gt;: prices rise</news:title>
    Good: <news:title>Tea &lt; coffee: prices rise</news:title>
    Fix: Write the title as plain text.
    """
    for at, story in block.stories:
        if wrong := mistake_in_text(story.title or ""):
            yield Hit(f"{wrong!r} is in the title of the story", at, element="title")


@sitemap_rule("SM711", Severity.INFO)
def page_among_news(sitemap: CheckedSitemap) -> Iterator[Hit]:
    """A news sitemap lists pages that are no stories.

    Google reads a news sitemap for stories only. Other pages belong in an ordinary sitemap, where all
    search engines read them.
    Source: google:crawling-indexing/sitemaps/news-sitemap
    Bad:
        <url><loc>https://example.org/about</loc></url>
        <url><loc>https://example.org/{n}</loc><news:news><news:publication><news:name>The Tea Times</news:name><news:language>en</news:language></news:publication><news:publication_date>{now-1h}</news:publication_date><news:title>Tea {n}</news:title></news:news></url> (x 3)
    Good: without /about
    Fix: Add <news:news> to the page, or list it in another sitemap.
    """
    others = sitemap.pages - sitemap.stories
    if 0 < others < sitemap.stories:
        yield Hit(
            f"{others:,} of {sitemap.pages:,} pages {'is' if others == 1 else 'are'} not news"
        )


@block_rule("SM709", Severity.ERROR)
def several_stories(block: PageColumns) -> Iterator[Hit]:
    """A page has two stories.

    A <url> may have one <news:news>. Of several, search engines read one, or none.
    Bad:
        <url>
          <loc>https://example.org/teas</loc>
          <news:news><news:publication><news:name>The Tea Times</news:name><news:language>en</news:language></news:publication><news:publication_date>{now-1h}</news:publication_date><news:title>Tea {n}</news:title></news:news> (x 2)
        </url>
    Good: with (x 1) instead of (x 2)
    Fix: Write a <url> for each story, with the URL of its page.
    """
    counts = Counter(at for at, _ in block.examined.records("news")) if block.stories else {}
    for at, count in counts.items():
        if count > 1:
            yield Hit(f"the page has {count:,} <news:news>", (at, 1))
