"""A child sitemap as its index declares it, before it is fetched."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["ChildSitemap", "SkipReason", "SkippedSitemap"]


@dataclass(frozen=True, slots=True)
class ChildSitemap:
    """The argument of a ``recurse_entry_callback``: a child sitemap that may be followed.

    ``recursion_level`` is the level of the declaring sitemap and ``parent_urls`` holds it and its
    ancestors, as for the other callbacks.
    """

    url: str
    last_modified: datetime | None
    recursion_level: int
    parent_urls: frozenset[str]


class SkipReason(StrEnum):
    """Why a child sitemap was not fetched, although nothing is wrong with it."""

    DATE = "date"
    """Its ``lastmod`` is before the date of the option ``sitemaps_since``."""

    URL = "url"
    """Its URL is left out by ``include_sitemaps`` or ``exclude_sitemaps``."""

    CALLBACK = "callback"
    """A callback left it out."""

    LINK = "link"
    """An llms.txt links to it, and such links are followed only with the option ``use_llms_txt``."""


@dataclass(frozen=True, slots=True)
class SkippedSitemap:
    """A child sitemap that an index declares and that was skipped: it was not requested."""

    url: str
    last_modified: datetime | None
    reason: SkipReason
