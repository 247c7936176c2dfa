"""Pages counted by what is said about them: host, section, date, priority, images and so on.

Block by block, in bounded memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any

from usp._base.urls import INDEX_PAGE, Folders, first_folders, folder_of, host_in
from usp.objects.page import SITEMAP_PAGE_DEFAULT_PRIORITY, PageBlock, SitemapNewsStory

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from usp.objects.video import SitemapVideo

MAX_KEYS = 20_000  # how many distinct keys are counted before the rarest are merged
MAX_ROWS = 40  # how many names of a spread are listed


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
    """Counts dates by month; anything else counts as undated. Knows the first and the last day."""

    months: Tally = field(default_factory=Tally)
    undated: int = 0
    first: str | None = None
    last: str | None = None

    def add(self, dates: Iterable[tuple[datetime | None, int]]) -> None:
        """Count dates that come with their counts."""
        days: Counter[str] = Counter()
        for date, count in dates:
            days[date.date().isoformat() if date else ""] += count
        self.undated += days.pop("", 0)
        months: Counter[str] = Counter()
        for day, count in days.items():
            months[day[:7]] += count
        self.months.add(months)
        self.first = min(filter(None, (self.first, *days)), default=None)
        self.last = max(filter(None, (self.last, *days)), default=None)


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
        self.sections = Sections()
        self.frequencies: Counter[str] = Counter()
        self.priorities: Counter[int] = Counter()  # those declared, by tenths
        self.lowest_priority: Decimal | None = None  # the same
        self.highest_priority: Decimal | None = None
        self.news = 0
        self.news_dates = Dates()
        self.publications = Tally()
        self.alternates = ItemCount()  # by language
        self.images = ItemCount()  # by host
        self.videos = ItemCount()

    def add(self, block: PageBlock) -> None:
        """Count a block."""
        urls = block.urls
        if not urls:
            return
        self.pages += len(urls)
        folders = folder_counts(urls)
        hosts: Counter[str] = Counter()
        for folder, count in folders.items():
            hosts[host_in(folder)] += count
        self.hosts.add(hosts)
        self.sections.add(folders)
        columns = zip(*block.rows(), strict=True)  # in the order of PageFields
        priorities, dates, frequencies, news, images, alternates, videos, *_ = columns
        declared = (one for one in priorities if one is not SITEMAP_PAGE_DEFAULT_PRIORITY)
        for value, count in Counter(declared).items():
            self.priorities[int(value * 10)] += count
            lowest, highest = self.lowest_priority, self.highest_priority
            self.lowest_priority = value if lowest is None else min(lowest, value)
            self.highest_priority = value if highest is None else max(highest, value)
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
        self.dates.add(Counter(dates).items())


def _video_host(video: SitemapVideo) -> str:
    return host_in(video.player_loc or video.content_loc or video.thumbnail_loc or "")


# Sections: the folders of the path that pages share --------------------------------------------------

MAX_FOLDERS = 20_000  # how many are counted before the rarest count as the folders above them
MANY_SINGLES = 12  # so many folders of one page each are the pages' own, and no sections
_SHARE = 10  # nor are many folders, if the largest of them do not hold a tenth of their pages

_parent = methodcaller("rpartition", "/")
_first = itemgetter(0)


@dataclass(frozen=True, slots=True)
class PathSection:
    """Pages below one folder of the path, and below its subfolders."""

    name: str
    pages: int
    below: Spread


def folder_counts(urls: Iterable[str]) -> Counter[str]:
    """Count pages by the URL of the folder that they are in, which has no slash at its end."""
    plain: list[str] = []
    others: list[str] = []
    for url in urls:
        (others if "?" in url or "#" in url else plain).append(url.rstrip("/"))
    if any(map(INDEX_PAGE.search, plain)):
        plain = [INDEX_PAGE.sub("", url) for url in plain]
    counts = Counter(map(_first, map(_parent, plain)))
    if any(folder.count("/") <= 1 for folder in counts):  # homepages
        counts = Counter(map(folder_of, plain))
    counts.update(map(folder_of, others))
    return counts


class Sections:
    """Counts pages by section in bounded memory; their sum is exact.

    Pages of rare folders, once there are too many, count as those of the folder above; from then on
    ``exact`` is False.
    """

    def __init__(self, most: int = MAX_FOLDERS) -> None:
        self._counts: Counter[Folders] = Counter()
        self._most = most
        self.exact = True

    def add(self, folders: Counter[str]) -> None:
        """Count pages by the URLs of their folders; see :func:`folder_counts`."""
        for folder, count in folders.items():
            self._counts[first_folders(folder)] += count
        while len(self._counts) > self._most:
            ranked = self._counts.most_common()
            self._counts = Counter(dict(ranked[: self._most // 2]))
            for (first, second), count in ranked[self._most // 2 :]:
                self._counts[first if second else "", ""] += count
            self.exact = False

    def ranked(self, most: int, below: int) -> list[PathSection]:
        """Return first folders with their pages, and the same by second folder; the largest first.

        Folders of a single page, if there are many, and many folders of the same few pages are not
        sections: their pages are in the folder above, whose own pages have an empty name. ``most`` and
        ``below`` are how many of each are shown.
        """
        inside: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for (first, second), count in self._counts.items():
            inside[first][second] += count
        firsts = _shared(Counter({one: of.total() for one, of in inside.items()}), most)
        for one in [one for one in inside if one not in firsts]:
            inside[""][""] += inside.pop(one).total()
        by_size = sorted(firsts.items(), key=lambda item: (-item[1], item[0]))
        return [
            PathSection(
                f"/{one}/" if one else "/", count, Tally(_shared(inside[one], below)).top(below)
            )
            for one, count in by_size
        ]

    def largest(self, most: int) -> list[tuple[str, int]]:
        """Return the largest sections of both levels with their pages."""
        flat = {
            f"{section.name}{second}/" if second else section.name: count
            for section in self.ranked(most, most)
            for second, count in section.below.items
        }
        return sorted(flat.items(), key=lambda item: (-item[1], item[0]))[:most]


def _shared(folders: Counter[str], most: int) -> Counter[str]:
    """Return the folders that are sections; the empty name is for the pages in none of them."""
    kept = {name: count for name, count in folders.items() if name}
    if sum(1 for count in kept.values() if count == 1) > MANY_SINGLES:
        kept = {name: count for name, count in kept.items() if count > 1}
    largest = sum(sorted(kept.values(), reverse=True)[:most])
    if largest * _SHARE < sum(kept.values()):
        kept = {}
    rest = folders.total() - sum(kept.values())
    return Counter(kept | ({"": rest} if rest else {}))
