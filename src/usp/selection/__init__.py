"""Which pages are wanted: by date, by address, each once, so many."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.dates import in_utc, read_date
from usp._base.urls import url_parts
from usp.objects.page import PageList
from usp.objects.sitemap import AbstractSitemap
from usp.selection.run import SelectionRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from usp.objects.page import PageBlock, SitemapPage

    Pages: TypeAlias = AbstractSitemap | Iterable[SitemapPage]
    """A tree, or pages that come one by one."""

    Blocks: TypeAlias = Iterable[tuple[str | None, PageBlock]]
    """Blocks of pages, each with the address of its sitemap."""

__all__ = ["Moment", "Selection", "SelectionRun"]

Moment: TypeAlias = datetime | date | str
"""A date as people give it; a text is read as those of sitemaps are."""

_LAST = datetime.max.replace(tzinfo=UTC)
_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"\d{4}[-/.]\d{1,2}")
_TOGETHER = 100  # pages of a stream, which wait for each other
_SITEMAP = "sitemap:"
_REGULAR = "re:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Says which pages of a tree or a stream are wanted.

    ``since`` and ``until`` are about the date of last change, or where a page has none, the date of
    publication that news and feeds give. Both ends are included, and a day, month or year without a
    time is meant as a whole. A date without an offset is taken as UTC. Pages with neither date are
    kept unless ``keep_undated`` is False; ``on_undated`` is told how many were kept for that.

    ``include`` and ``exclude`` are patterns for the address of the page: ``*/blog/*`` must match all
    of it, ``/blog/*`` all from the path on, ``re:20[0-9]{2}`` any part. With ``sitemap:`` before
    it, a pattern is for the address of the sitemap. A page is wanted if any pattern of ``include``
    matches (of each of the two kinds that are given), and none of ``exclude``.

    With ``unique`` the first page of each address counts, over the whole tree. With ``same_host`` only
    pages of the website's own host do, with or without ``www.``. ``limit`` is how many are given.

    Raises ``ValueError`` for dates and patterns that cannot be read, and if ``since`` is after
    ``until``.
    """

    since: Moment | None = None
    until: Moment | None = None
    keep_undated: bool = True
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    unique: bool = False
    same_host: bool = False
    limit: int | None = None
    on_undated: Callable[[int], object] | None = field(default=None, repr=False, compare=False)
    _first: datetime | None = field(init=False, repr=False, compare=False)
    _end: datetime | None = field(init=False, repr=False, compare=False)
    _pages: Patterns = field(init=False, repr=False, compare=False)
    _sitemaps: Patterns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = {name: checked(name, getattr(self, name)) for name in ("include", "exclude")}
        if self.limit is not None and (isinstance(self.limit, bool) or not self.limit >= 0):
            raise ValueError(f"limit must be a non-negative integer or None, not {self.limit!r}")
        values: dict[str, Any] = {
            **given,
            "_first": None if self.since is None else bounds("since", self.since)[0],
            "_end": None if self.until is None else bounds("until", self.until)[1],
            "_pages": Patterns.of(given, for_sitemaps=False),
            "_sitemaps": Patterns.of(given, for_sitemaps=True),
        }
        first, end = values["_first"], values["_end"]
        if first is not None and end is not None and first >= end:
            raise ValueError(f"since {self.since} is after until {self.until}")
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def takes_all(self) -> bool:
        """Whether every page is wanted."""
        return self == Selection()

    def of(self, pages: Pages, site: str | None = None) -> Iterator[SitemapPage]:
        """Yield the wanted pages of a tree, or of any pages, as they are asked for.

        ``site`` is the address of the website, for ``same_host``; a tree knows its own. Patterns for
        sitemaps need a tree or a stream: other pages do not know theirs.
        """
        if isinstance(pages, AbstractSitemap):
            run = self.run(site or pages.url)
            return (page for _, block in run.blocks(pages) for page in block.pages())
        return self.run(site).pages(pages)

    def blocks(
        self, pages: Pages, site: str | None = None
    ) -> Iterator[tuple[str | None, PageBlock]]:
        """Yield the wanted pages in blocks, each with the address of its sitemap where it is known.

        ``site`` is as in :meth:`of`.
        """
        if not isinstance(pages, AbstractSitemap):
            return _blocks_of_stream(iter(pages) if self.takes_all else self.of(pages, site))
        blocks = pages.page_blocks()
        if not self.takes_all:
            blocks = self.run(site or pages.url).blocks(pages)
        return ((sitemap.url, block) for sitemap, block in blocks)

    def run(self, site: str | None = None) -> SelectionRun:
        """Return a run: what is chosen in one counts together, for ``unique`` and ``limit``."""
        return SelectionRun(
            patterns=self._pages,
            sitemaps=self._sitemaps,
            period=(self._first, self._end),
            keep_undated=self.keep_undated,
            unique=self.unique,
            limit=self.limit,
            host=of_host(site) if self.same_host else None,
            on_undated=self.on_undated,
        )


def _blocks_of_stream(pages: Iterator[SitemapPage]) -> Iterator[tuple[str | None, PageBlock]]:
    for url, of_sitemap in groupby(pages, attrgetter("sitemap_url")):
        while some := list(islice(of_sitemap, _TOGETHER)):
            yield url, PageList(some)


# Periods, as people mean them -----------------------------------------------------------------------


def bounds(name: str, given: Moment) -> tuple[datetime, datetime]:
    """Return the first moment of a period, and the first one after it."""
    moment, text = given, ""
    if isinstance(given, str):
        text = given.strip()
        read = read_date(text) if text else None
        if read is None:
            raise ValueError(f"{name} {given!r} is not a date; use for example 2024-05-31")
        whole_day = ":" not in text and (read.hour, read.minute, read.second) == (0, 0, 0)
        moment = read.date() if whole_day and read.tzinfo is None else read
    if isinstance(moment, datetime):
        first = in_utc(moment)
        return first, _after(first, timedelta(microseconds=1))
    if not isinstance(moment, date):
        raise ValueError(  # noqa: TRY004 - one exception for all that cannot be read
            f"{name} must be a date or an ISO 8601 text, not {given!r}"
        )
    first = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if _YEAR.fullmatch(text):
        return first, _first_day(first.year + 1, 1)
    if _MONTH.fullmatch(text):
        return first, _first_day(first.year + first.month // 12, first.month % 12 + 1)
    return first, _after(first, timedelta(days=1))


def _first_day(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC) if year <= _LAST.year else _LAST


def _after(moment: datetime, span: timedelta) -> datetime:
    return moment + span if _LAST - moment >= span else _LAST


# Patterns for addresses, with stars or as regular expressions ---------------------------------------


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns for addresses, those that are wanted and those that are not."""

    include: tuple[re.Pattern[str], ...]
    exclude: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, given: Mapping[str, tuple[str, ...]], *, for_sitemaps: bool) -> Patterns:
        """Return the patterns for sitemaps, or those for pages, of a selection."""
        chosen = {
            name: tuple(
                _compiled(name, text.removeprefix(_SITEMAP))
                for text in texts
                if text.startswith(_SITEMAP) == for_sitemaps
            )
            for name, texts in given.items()
        }
        return cls(**chosen)

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def match(self, url: str) -> bool:
        """Return whether an address is wanted."""
        if self.include and not any(pattern.search(url) for pattern in self.include):
            return False
        return not any(pattern.search(url) for pattern in self.exclude)


def checked(name: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return patterns as a tuple; raises ``ValueError`` for one that is empty."""
    patterns = (given,) if isinstance(given, str) else tuple(given)
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern.removeprefix(_SITEMAP):
            raise ValueError(f"{name} has an empty pattern; write for example '*/blog/*'")
    return patterns


def _compiled(name: str, text: str) -> re.Pattern[str]:
    if not text.startswith(_REGULAR):
        host = r"[A-Za-z]+://[^/?#]*" if text.startswith("/") else ""
        return re.compile(rf"\A{host}{fnmatch.translate(text)}")
    try:
        return re.compile(text.removeprefix(_REGULAR))
    except re.error as error:
        raise ValueError(
            f"{name} has a regular expression that cannot be read, {text!r}: {error}"
        ) from error


def of_host(site: str | None) -> re.Pattern[str]:
    """Return the pattern of the addresses on the host of a website."""
    host = url_parts(site or "").hostname
    if host is None:
        raise ValueError("same_host needs to know the website: hand in its URL as 'site'")
    name = re.escape(host.removeprefix("www."))
    return re.compile(
        rf"https?://(?:[^/?#]*@)?(?:www\.)?{name}(?::\d*)?(?:[/?#]|\Z)", re.IGNORECASE
    )
