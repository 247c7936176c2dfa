"""What the pages of a website say, counted block by block."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any

from usp._base.urls import host_in
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    PageList,
    SitemapPageChangeFrequency,
)
from usp.report.dates import Dates
from usp.report.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from decimal import Decimal

    from usp.objects.page import PageBlock, SitemapImage, SitemapNewsStory
    from usp.objects.video import SitemapVideo

_MAX_WORDS = 1000  # different texts of a priority or a changefreq that are read

_folder = methodcaller("rpartition", "/")
_first = itemgetter(0)
_SLASHES = 5  # in http://host/one/two/


class Content:
    """Counts the pages of a website by what is said about them; one pass, whole blocks at a time.

    ``read_priority`` and ``read_frequency`` turn texts into values as pages do.
    """

    def __init__(
        self,
        read_priority: Callable[[str], Decimal | None],
        read_frequency: Callable[[str], SitemapPageChangeFrequency | None],
    ) -> None:
        self.pages = 0
        self.dates = Dates()
        self.hosts = Tally()
        self.sections = Tally()
        self.frequencies: Counter[str] = Counter()
        self.priorities: Counter[int] = Counter()  # by tenths
        self.only_default_priority = True
        self.languages = Tally()
        self.alternates = 0
        self.with_alternates = 0
        self.news = 0
        self.news_dates = Dates()
        self.publications = Tally()
        self.images = 0
        self.with_images = 0
        self.image_hosts = Tally()
        self.videos = 0
        self.with_videos = 0
        self.video_hosts = Tally()
        self.mobile = 0
        self._read_priority = read_priority
        self._read_frequency = read_frequency
        self._tenths: dict[str, int] = {}
        self._words: dict[str, str] = {}

    def add(self, block: PageBlock) -> tuple[tuple[str, str] | None, bool]:
        """Count a block; gives its first and last day, and whether something in it looked odd."""
        urls = block.urls
        if not urls:
            return None, False
        self.pages += len(urls)
        self._add_places(urls)
        texts = block.texts()
        if texts is not None:
            return self._add_texts(texts, len(urls))
        columns = zip(*[page.fields() for page in block.pages()], strict=True)
        return self._add_columns(columns), isinstance(block, PageList)

    def _add_places(self, urls: Sequence[str]) -> None:
        """Count hosts and sections of the path."""
        shared = _common_start(min(urls), max(urls))
        if shared.count("/") >= _SLASHES and "?" not in shared and "#" not in shared:
            folders = Counter({shared: len(urls)})
        else:
            folders = Counter(map(_first, map(_folder, urls)))
        hosts: Counter[str] = Counter()
        sections: Counter[str] = Counter()
        for folder, count in folders.items():
            if folder.count("/") < 2 or "?" in folder or "#" in folder:  # noqa: PLR2004 - http://
                continue
            parts = folder.split("/", _SLASHES)
            hosts[parts[2].lower()] += count
            sections["/".join(["", *parts[3:5], ""])] += count
        if hosts.total() < len(urls):
            self._add_odd_places([url for url in urls if _is_odd(url)], hosts, sections)
        self.hosts.add(hosts)
        self.sections.add(sections)

    def _add_odd_places(
        self, urls: Iterable[str], hosts: Counter[str], sections: Counter[str]
    ) -> None:
        """Count URLs without a path, without a host, or with a slash in the query."""
        for url in urls:
            path = url.partition("#")[0].partition("?")[0]
            parts = path.split("/", _SLASHES)
            hosts[host_in(path)] += 1
            folders = parts[3:5] if len(parts) > _SLASHES else parts[3:-1]
            sections["/".join(["", *folders, ""])] += 1

    def _add_texts(
        self, texts: Mapping[str, Sequence[str]], count: int
    ) -> tuple[tuple[str, str] | None, bool]:
        undated = self.dates.undated
        span = None
        lastmods = texts.get("lastmod")
        if lastmods is None:
            self.dates.undated += count
            odd = False
        else:
            span = self.dates.add_texts(lastmods)
            odd = self.dates.undated - undated > lastmods.count("")
        words = texts.get("changefreq")
        if words is None:
            self.frequencies[""] += count
        else:
            for text, number in Counter(words).items():
                self.frequencies[self._word(text)] += number
        priorities = texts.get("priority")
        if priorities is None:
            self.priorities[_tenth(SITEMAP_PAGE_DEFAULT_PRIORITY)] += count
        else:
            for text, number in Counter(priorities).items():
                self.priorities[self._tenth_of(text)] += number
        return span, odd

    def _word(self, text: str) -> str:
        word = self._words.get(text)
        if word is None:
            word = ""
            if text:
                word = (self._read_frequency(text) or SitemapPageChangeFrequency.ALWAYS).value
            if len(self._words) < _MAX_WORDS:
                self._words[text] = word
        return word

    def _tenth_of(self, text: str) -> int:
        tenth = self._tenths.get(text)
        if tenth is None:
            value = self._read_priority(text) if text else None
            if value is None:
                value = SITEMAP_PAGE_DEFAULT_PRIORITY
            self._note_priority(value)
            tenth = _tenth(value)
            if len(self._tenths) < _MAX_WORDS:
                self._tenths[text] = tenth
        return tenth

    def _note_priority(self, value: Decimal) -> None:
        if value != SITEMAP_PAGE_DEFAULT_PRIORITY:
            self.only_default_priority = False

    def _add_columns(self, columns: Iterable[tuple[Any, ...]]) -> tuple[str, str] | None:
        """Count pages by their fields, given in columns, in the order of ``PageFields``."""
        priorities, dates, frequencies, news, images, alternates, videos, mobile, _ = columns
        for value, count in Counter(priorities).items():
            self._note_priority(value)
            self.priorities[_tenth(value)] += count
        for frequency, count in Counter(frequencies).items():
            self.frequencies[frequency.value if frequency else ""] += count
        self._add_news(list(filter(None, news)))
        self._add_images(list(filter(None, images)))
        self._add_alternates(list(filter(None, alternates)))
        self._add_videos(list(filter(None, videos)))
        self.mobile += sum(mobile)
        return self.dates.add_dates(dates)

    def _add_news(self, stories: list[SitemapNewsStory]) -> None:
        if stories:
            self.news += len(stories)
            self.news_dates.add_dates([story.publish_date for story in stories])
            self.publications.add([story.publication_name or "" for story in stories])

    def _add_images(self, lists: list[list[SitemapImage]]) -> None:
        if not lists:
            return
        self.with_images += len(lists)
        self.images += sum(map(len, lists))
        self.image_hosts.add([host_in(image.loc) for image in chain.from_iterable(lists)])

    def _add_alternates(self, lists: list[list[tuple[str, str]]]) -> None:
        if not lists:
            return
        self.with_alternates += len(lists)
        self.alternates += sum(map(len, lists))
        for language, count in Counter(map(_first, chain.from_iterable(lists))).items():
            self.languages.add({language.lower(): count})

    def _add_videos(self, lists: list[list[SitemapVideo]]) -> None:
        if not lists:
            return
        self.with_videos += len(lists)
        self.videos += sum(map(len, lists))
        places = (
            video.player_loc or video.content_loc or video.thumbnail_loc or ""
            for video in chain.from_iterable(lists)
        )
        self.video_hosts.add([host_in(place) for place in places])


def _common_start(first: str, last: str) -> str:
    """Give the folders that two URLs share, and with them all between the two."""
    for at, char in enumerate(first):
        if at >= len(last) or char != last[at]:
            return first[: first.rfind("/", 0, at) + 1]
    return first[: first.rfind("/") + 1]


def _is_odd(url: str) -> bool:
    folder = url.rpartition("/")[0]
    return folder.count("/") < 2 or "?" in folder or "#" in folder  # noqa: PLR2004 - http://


def _tenth(priority: Decimal) -> int:
    return int(priority * 10)
