"""A child sitemap as its index declares it, before it is fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "ChildSitemap",
]


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
