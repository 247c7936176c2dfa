"""A website in numbers: what a summary consists of."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from usp.objects.problem import Failure
    from usp.report.content import Tally
    from usp.report.duplicates import Duplicates
    from usp.report.fetches import Fetch
    from usp.report.problems import ProblemList

MAX_ROWS = 40
"""How many names of a spread are listed."""


@dataclass(slots=True)
class SitemapRow:
    """A sitemap in the list of all, which is in the order of the tree.

    ``parent`` is its place in that list, -1 for the root. ``pages`` counts everything below. ``first``
    and ``last`` are the days of its pages' lastmod. ``problems`` is None if nobody looked for any.
    ``state`` is ``failed``, ``incomplete``, ``not followed`` (an index that lists itself, for example)
    or None, and ``reason`` says why.
    """

    url: str
    kind: str
    parent: int
    pages: int = 0
    received: int | None = None
    seconds: float | None = None
    first: str | None = None
    last: str | None = None
    problems: int | None = None
    lost: int = 0
    state: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Spread:
    """Names with their numbers, the most frequent first; ``other`` is the sum of what is not listed.

    ``exact`` is False if there were too many names to count each of them (see ``tally.py``).
    """

    items: tuple[tuple[str, int], ...]
    other: int = 0
    exact: bool = True

    @classmethod
    def of(cls, tally: Tally, most: int = MAX_ROWS) -> Spread:
        """Take the most frequent of a tally."""
        items, other = tally.top(most)
        return cls(tuple(items), other, tally.exact)


@dataclass(frozen=True, slots=True)
class Section:
    """Pages below one folder of the path, and below the folders in it."""

    name: str
    pages: int
    below: Spread


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers at the top."""

    sitemaps: int
    pages: int
    news: int
    images: int
    videos: int
    alternates: int
    failures: int
    problems: int
    received: int | None
    seconds: float | None
    fetches: int
    probes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A website in numbers. Texts are as the website wrote them: escape them before they are shown.

    ``origin`` is the scheme and host that most sitemaps have. ``fetches`` are the slowest documents,
    in the order of asking; ``probes`` are addresses that nobody declared and that had no sitemap.
    ``only_default_priority`` says whether no page has another priority than the default.
    """

    site: str
    origin: str
    made: datetime
    totals: Totals
    sitemaps: list[SitemapRow]
    kinds: Spread
    hosts: Spread
    sections: tuple[Section, ...]
    other_sections: int
    sections_exact: bool
    months: tuple[tuple[str, int], ...]
    undated: int
    frequencies: dict[str, int]
    priorities: dict[int, int]
    only_default_priority: bool
    languages: Spread
    with_alternates: int
    news_months: tuple[tuple[str, int], ...]
    news_undated: int
    publications: Spread
    with_images: int
    image_hosts: Spread
    with_videos: int
    video_hosts: Spread
    duplicates: Duplicates
    problems: ProblemList
    failures: list[Failure]
    failure_reasons: Spread
    fetches: list[Fetch] | None
    probes: list[Fetch]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries and lists."""
        return dataclasses.asdict(self)
