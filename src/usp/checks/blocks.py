"""What rules about pages look at: a block of pages, in columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from usp.checks.lastmods import Dates
from usp.checks.listing import normal
from usp.checks.versions import versions_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from usp._crawl.examination import ExaminedBlock, Place
    from usp.checks.facts import Sitemap
    from usp.checks.versions import Version
    from usp.objects.page import PageFields, SitemapImage, SitemapNewsStory
    from usp.objects.video import SitemapVideo


class Block:
    """Some pages of a sitemap, in columns.

    ``first`` is the number of the pages before it, ``origins`` are those of its URLs, ``repeated`` are
    the pages that were listed already, each with the number of the sitemap. Rules yield the number of a
    page in the block as ``at``. Look at a column, or at :attr:`joined`, before you look at single
    pages: most blocks are clean, and all of them are looked at.
    """

    def __init__(self, sitemap: Sitemap, examined: ExaminedBlock, first: int) -> None:
        self.sitemap = sitemap
        self.site = sitemap.site
        self.first = first
        self.urls: Sequence[str] = examined.urls
        self.origins: Sequence[str] = ()
        self.repeated: Sequence[tuple[int, int]] = ()
        self._examined = examined

    def place(self, at: int) -> Place:
        """Return where an entry begins."""
        return self._examined.place(at)

    @property
    def written(self) -> Sequence[str | None] | None:
        """The URLs as they are written, if any of them differs."""
        return self._examined.written

    @property
    def text(self) -> str | None:
        """What the entries were read from, if they were read together, and so are well-formed."""
        return self._examined.text

    @cached_property
    def joined(self) -> str:
        """All URLs, a line each, with a line end before the first and after the last."""
        return "\n{}\n".format("\n".join(self.urls))

    @cached_property
    def normal_urls(self) -> Sequence[str]:
        """The URLs in a form in which the same ones are equal."""
        return normal(self.urls, self.joined, self.origins)

    @cached_property
    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """``lastmod``, ``changefreq`` and ``priority`` as texts, if pages have no other fields."""
        return self._examined.pages.texts()

    @cached_property
    def rows(self) -> Sequence[PageFields]:
        """All fields of each page; see :attr:`extended` first."""
        return self._examined.pages.rows()

    @property
    def extended(self) -> Sequence[PageFields]:
        """All fields of each page if any may have news, images and so on; otherwise nothing."""
        return () if self.texts is not None else self.rows

    @cached_property
    def stories(self) -> Sequence[tuple[int, SitemapNewsStory]]:
        """The news stories with the numbers of their pages; those of feeds are not among them."""
        if self.sitemap.kind != "urlset":
            return ()
        rows = enumerate(self.extended)
        return [(at, row.news_story) for at, row in rows if row.news_story is not None]

    @cached_property
    def images(self) -> Sequence[tuple[int, list[SitemapImage]]]:
        """The images of each page that has any, with its number."""
        return [(at, row.images) for at, row in enumerate(self.extended) if row.images]

    @cached_property
    def alternates(self) -> Sequence[tuple[int, list[tuple[str, str]]]]:
        """The links to other languages of each page that has any, with its number."""
        return [(at, row.alternates) for at, row in enumerate(self.extended) if row.alternates]

    @cached_property
    def languages(self) -> set[str]:
        """The codes of all links to other languages."""
        return {code for _, alternates in self.alternates for code, _ in alternates}

    @cached_property
    def versions(self) -> Sequence[Version]:
        """The links to other languages of each page that has any, in forms that can be compared."""
        return list(versions_of(self.alternates, self.normal_urls))

    @property
    def lines(self) -> Sequence[int | None]:
        """The lines on which entries begin; nothing if they are not known."""
        return self._examined.lines

    @cached_property
    def video_lists(self) -> Sequence[tuple[int, list[SitemapVideo]]]:
        """The videos of each page that has any, with its number."""
        return [(at, row.videos) for at, row in enumerate(self.extended) if row.videos]

    @cached_property
    def videos(self) -> Sequence[tuple[int, SitemapVideo]]:
        """All videos with the numbers of their pages."""
        return [(at, video) for at, videos in self.video_lists for video in videos]

    @cached_property
    def _own_texts(self) -> Mapping[str, Sequence[str]]:
        return ({} if self.sitemap.is_feed else self._examined.own_texts()) or {}

    @property
    def lastmods(self) -> Sequence[str]:
        """The dates as written, empty where they are missing; nothing if none is known, or in feeds."""
        return self._own_texts.get("lastmod", ())

    @property
    def changefreqs(self) -> Sequence[str]:
        """The same for frequencies."""
        return self._own_texts.get("changefreq", ())

    @property
    def priorities(self) -> Sequence[str]:
        """The same for priorities."""
        return self._own_texts.get("priority", ())

    @cached_property
    def dates(self) -> Dates:
        """The dates of the pages."""
        return Dates(self.lastmods)
