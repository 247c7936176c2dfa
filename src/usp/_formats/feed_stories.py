"""The pages of feeds in batches: their news stories are made when one of them is wanted."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

from usp._formats.abstract_parser import PageBatch
from usp.objects.extension_values import thawed
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    DeferredPage,
    PageFields,
    SitemapNewsStory,
    SitemapPage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from usp.objects.page import OwnFields

_PRIORITY = SITEMAP_PAGE_DEFAULT_PRIORITY
_OWN: OwnFields = (_PRIORITY, None, None)  # the date is that of the story
_new = tuple.__new__  # how a named tuple is made quickly


def story_fields(title: str, date: datetime | None) -> PageFields:
    """Return the fields of a page that has a story and nothing else."""
    story = thawed(SitemapNewsStory)(title, date, None, None, None, [], [], [])
    story.__class__ = SitemapNewsStory
    return _new(PageFields, (_PRIORITY, None, None, story, None, None, None, False, None))


class Demand:
    """Whether stories of a feed were wanted: then those of the next batches will be, too."""

    __slots__ = ("stories",)

    def __init__(self) -> None:
        self.stories = False


class Stories(PageBatch):
    """Pages that have a story each, and nothing else."""

    __slots__ = ("_dates", "_demand", "_rows", "_titles", "urls")

    def __init__(
        self,
        urls: list[str],
        titles: Sequence[str],
        dates: Sequence[datetime | None],
        demand: Demand,
    ) -> None:
        self.urls = urls
        self._demand = demand
        self._titles = titles
        self._dates = dates
        self._rows: list[PageFields] = []

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages."""
        if self._demand.stories:
            return map(SitemapPage.of, self.urls, self.rows())
        return map(DeferredPage, self.urls, repeat(self), range(len(self.urls)), repeat(_OWN))

    def texts(self) -> None:
        """Return None: use the rows."""

    def rows(self) -> list[PageFields]:
        """Return everything except the URL of each page."""
        if not self._rows:
            self._rows = list(map(story_fields, self._titles, self._dates))
        return self._rows

    def own(self, at: int) -> OwnFields:
        """Return the fields of the protocol, which no entry of a feed has."""
        del at
        return _OWN

    def fields(self, at: int) -> PageFields:
        """Return all fields of a page."""
        self._demand.stories = True
        return (self._rows or self.rows())[at]
