"""Which pages are wanted: by date, by address, each once, so many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from usp.objects.sitemap import AbstractSitemap
from usp.selection.conditions import Patterns, bounds, checked
from usp.selection.run import SelectionRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from usp.objects.page import SitemapPage
    from usp.selection.conditions import Moment

__all__ = ["Selection", "SelectionRun"]


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

    def of(
        self, pages: AbstractSitemap | Iterable[SitemapPage], site: str | None = None
    ) -> Iterator[SitemapPage]:
        """Yield the wanted pages of a tree, or of any pages, as they are asked for.

        ``site`` is the address of the website, for ``same_host``; a tree knows its own. Patterns for
        sitemaps need a tree or a stream: other pages do not know theirs.
        """
        if isinstance(pages, AbstractSitemap):
            run = self.run(site or pages.url)
            return (page for _, block in run.blocks(pages) for page in block.pages())
        return self.run(site).pages(pages)

    def run(self, site: str | None = None) -> SelectionRun:
        """Return a run: what is chosen in one counts together, for ``unique`` and ``limit``."""
        return SelectionRun(
            patterns=self._pages,
            sitemaps=self._sitemaps,
            period=(self._first, self._end),
            keep_undated=self.keep_undated,
            unique=self.unique,
            limit=self.limit,
            host_of=(site or "") if self.same_host else None,
            on_undated=self.on_undated,
        )
