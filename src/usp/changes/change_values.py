"""What a comparison of two trees gives: changes of sitemaps and of pages, as frozen values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.objects.failure_codes import FailureCode
    from usp.objects.page import PageFields, SitemapPage


class ChangeKind(StrEnum):
    """What became of a page or a sitemap."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    """Fields of the page changed; it may have moved, too."""

    MOVED = "moved"
    """The page is as it was, and listed by other sitemaps."""

    UNKNOWN = "unknown"
    """It is in one of the trees only, and the other one is missing what would tell why."""

    FAILED = "failed"
    """The sitemap is missing or incomplete, and was not before."""

    RECOVERED = "recovered"
    """The sitemap was missing or incomplete, and is complete now."""


class FieldChange(NamedTuple):
    """A field of a page that changed; the names are those of the columns of ``usp.export``."""

    name: str
    before: Any
    after: Any


class PageChange(NamedTuple):
    """A page that is not what, or where, it was.

    ``before`` and ``after`` are the page in each of the trees; None where it is not listed. ``left``
    are the sitemaps that do not list it any more, ``joined`` those that did not list it before.
    """

    kind: ChangeKind
    url: str
    before: SitemapPage | None = None
    after: SitemapPage | None = None
    fields: tuple[FieldChange, ...] = ()
    left: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the change in one line, as ``usp diff`` shows it."""
        return _line(self)


@dataclass(frozen=True, slots=True)
class SitemapChange:
    """A sitemap that is not what it was; ``reason`` and ``code`` say why it failed or is unknown."""

    kind: ChangeKind
    url: str
    reason: str | None = None
    code: FailureCode | None = None

    def __str__(self) -> str:
        """Return the change in one line, as ``usp diff`` shows it."""
        return _line(self)


Change: TypeAlias = PageChange | SitemapChange
"""A change of a page or of a sitemap."""


def _line(change: Change) -> str:
    from usp.changes.formats import text_of  # noqa: PLC0415 - it needs the values

    return text_of(change)


@dataclass(slots=True)
class ChangeCounts:
    """How many pages and sitemaps changed, by kind."""

    pages: Counter[ChangeKind] = field(default_factory=Counter)
    sitemaps: Counter[ChangeKind] = field(default_factory=Counter)

    def add(self, change: Change) -> None:
        """Count a change."""
        counts = self.pages if isinstance(change, PageChange) else self.sitemaps
        counts[change.kind] += 1

    @property
    def changed(self) -> bool:
        """Whether anything changed for certain; that something is missing is not a change."""
        return self._any(set(ChangeKind) - _UNCERTAIN)

    @property
    def uncertain(self) -> bool:
        """Whether something is missing in one of the trees that is not missing in the other."""
        return self._any(_UNCERTAIN)

    def _any(self, kinds: Iterable[ChangeKind]) -> bool:
        return any(counts[kind] for counts in (self.pages, self.sitemaps) for kind in kinds)


_UNCERTAIN = frozenset({ChangeKind.UNKNOWN, ChangeKind.FAILED, ChangeKind.RECOVERED})

_FIELDS = (
    *("priority", "lastmod", "changefreq", "news", "images"),
    *("alternates", "videos", "mobile", "page_map"),
)


def field_changes(before: PageFields, after: PageFields) -> tuple[FieldChange, ...]:
    """Return the fields that differ, in the order of the page's attributes."""
    rows = zip(_FIELDS, before, after, strict=True)
    return tuple([FieldChange(*row) for row in rows if row[1] is not row[2] and row[1] != row[2]])
