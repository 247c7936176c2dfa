"""Pages counted by what is said about them: host, section, date, priority, images and so on.

Block by block, in bounded memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any

from usp._base.dates import known_date
from usp._base.urls import host_in
from usp.export.schema import read_frequency, read_priority
from usp.objects.page import SITEMAP_PAGE_DEFAULT_PRIORITY, PageBlock, SitemapNewsStory
from usp.objects.page_blocks import PageList

if TYPE_CHECKING:
    from datetime import datetime

    from usp.objects.video import SitemapVideo

MAX_KEYS = 20_000  # how many distinct keys are counted before the rarest are merged
MAX_ROWS = 40  # how many names of a spread are listed
_folder = methodcaller("rpartition", "/")
_first = itemgetter(0)
_SLASHES = 5  # in http://host/one/two/


@dataclass(frozen=True, slots=True)
class Spread:
    """Names with their counts, the most frequent first; ``other`` is the sum of those not listed.

    ``exact`` is False if there were too many names to count exactly (see :class:`Tally`).
    """

    items: tuple[tuple[str, int], ...]
    other: int = 0
    exact: bool = True


class Tally:
    """Counts keys; the sum is always exact.

    With more than ``most`` distinct keys the rarer half is merged into ``other``. From then on
    ``exact`` is False: the count of a rare key may be too low.
    """

    def __init__(self, keys: Iterable[str] = (), most: int = MAX_KEYS) -> None:
        self._counts: Counter[str] = Counter()
        self._most = most
        self.other = 0
        self.exact = True
        self.add(keys)

    def add(self, keys: Iterable[str] | Mapping[str, int]) -> None:
        """Count keys, or add counts."""
        self._counts.update(keys)
        if len(self._counts) > self._most:
            kept = self._counts.most_common(self._most // 2)
            self.other += self._counts.total() - sum(count for _, count in kept)
            self._counts = Counter(dict(kept))
            self.exact = False

    def total(self) -> int:
        """Return the sum of all counts."""
        return self._counts.total() + self.other

    def top(self, most: int = MAX_ROWS) -> Spread:
        """Return the most frequent keys, and the sum of all others."""
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))[:most]
        other = self.total() - sum(count for _, count in ranked)
        return Spread(tuple(ranked), other, self.exact)

    def items(self) -> list[tuple[str, int]]:
        """Return all keys that are counted individually, sorted."""
        return sorted(self._counts.items())


@dataclass
class Dates:
    """Counts dates by month; anything else counts as undated."""

    months: Tally = field(default_factory=Tally)
    undated: int = 0

    def add(self, dates: Iterable[tuple[datetime | None, int]]) -> tuple[str, str] | None:
        """Count dates that come with their counts; return the first and the last day."""
        days: Counter[str] = Counter()
        for date, count in dates:
            days[date.date().isoformat() if date else ""] += count
        self.undated += days.pop("", 0)
        months: Counter[str] = Counter()
        for day, count in days.items():
            months[day[:7]] += count
        self.months.add(months)
        return (min(days), max(days)) if days else None


@dataclass
class ItemCount:
    """Counts what pages list, such as images: items, pages that have any, and items by name."""

    items: int = 0
    pages: int = 0
    names: Tally = field(default_factory=Tally)

    def add(self, lists: Iterable[Sequence[Any] | None], name_of: Callable[[Any], str]) -> None:
        """Count the items of pages, each with its name."""
        given = list(filter(None, lists))
        self.pages += len(given)
        self.items += sum(map(len, given))
        self.names.add(map(name_of, chain.from_iterable(given)))


class Content:
    """Counts the pages of a website in one pass, a block at a time."""

    def __init__(self) -> None:
        self.pages = 0
        self.dates = Dates()
        self.hosts = Tally()
        self.sections = Tally()
        self.frequencies: Counter[str] = Counter()
        self.priorities: Counter[int] = Counter()  # by tenths
        self.only_default_priority = True
        self.news = 0
        self.news_dates = Dates()
        self.publications = Tally()
        self.alternates = ItemCount()  # by language
        self.images = ItemCount()  # by host
        self.videos = ItemCount()

    def add(self, block: PageBlock) -> tuple[tuple[str, str] | None, bool]:
        """Count a block; return its first and last day, and whether anything in it looks damaged."""
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
        """Count hosts and sections, the first two folders of the path."""
        hosts: Counter[str] = Counter()
        sections: Counter[str] = Counter()
        for folder, count in Counter(map(_first, map(_folder, urls))).items():
            if not _is_odd(folder):
                parts = folder.split("/", _SLASHES)
                hosts[parts[2].lower()] += count
                sections["/".join(["", *parts[3:5], ""])] += count
        if hosts.total() < len(urls):  # some without a path or host, or with a slash in the query
            for url in urls:
                if _is_odd(url.rpartition("/")[0]):
                    path = url.partition("#")[0].partition("?")[0]
                    parts = path.split("/", _SLASHES)
                    hosts[host_in(path)] += 1
                    folders = parts[3:5] if len(parts) > _SLASHES else parts[3:-1]
                    sections["/".join(["", *folders, ""])] += 1
        self.hosts.add(hosts)
        self.sections.add(sections)

    def _add_texts(
        self, texts: Mapping[str, Sequence[str]], count: int
    ) -> tuple[tuple[str, str] | None, bool]:
        lastmods, frequencies, priorities = (
            Counter(texts[name]) if name in texts else Counter({"": count})
            for name in ("lastmod", "changefreq", "priority")
        )
        undated = self.dates.undated
        span = self.dates.add((known_date(text), number) for text, number in lastmods.items())
        for text, number in frequencies.items():
            self.frequencies[read_frequency(text) or ""] += number
        for text, number in priorities.items():
            self._add_priority(Decimal(str(read_priority(text))), number)
        return span, self.dates.undated - undated > lastmods[""]

    def _add_priority(self, value: Decimal, count: int) -> None:
        self.priorities[int(value * 10)] += count
        if value != SITEMAP_PAGE_DEFAULT_PRIORITY:
            self.only_default_priority = False

    def _add_columns(self, columns: Iterable[tuple[Any, ...]]) -> tuple[str, str] | None:
        """Count pages by their fields, given as columns in the order of ``PageFields``."""
        priorities, dates, frequencies, news, images, alternates, videos, *_ = columns
        for value, count in Counter(priorities).items():
            self._add_priority(value, count)
        for frequency, count in Counter(frequencies).items():
            self.frequencies[frequency.value if frequency else ""] += count
        stories: list[SitemapNewsStory] = list(filter(None, news))
        if stories:
            self.news += len(stories)
            self.news_dates.add(Counter(story.publish_date for story in stories).items())
            self.publications.add([story.publication_name or "" for story in stories])
        self.alternates.add(alternates, lambda alternate: alternate[0].lower())
        self.images.add(images, lambda image: host_in(image.loc))
        self.videos.add(videos, _video_host)
        return self.dates.add(Counter(dates).items())


def _video_host(video: SitemapVideo) -> str:
    return host_in(video.player_loc or video.content_loc or video.thumbnail_loc or "")


def _is_odd(folder: str) -> bool:
    return folder.count("/") < 2 or "?" in folder or "#" in folder  # noqa: PLR2004 - http://
