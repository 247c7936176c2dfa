"""Whether a sitemap is what was declared: read, incomplete, failed, or left aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.objects.sitemap import InvalidSitemap

if TYPE_CHECKING:
    from usp.objects.sitemap import AbstractSitemap

FAILED = "failed"
INCOMPLETE = "incomplete"
NOT_FOLLOWED = "not followed"


def state_of(node: AbstractSitemap) -> tuple[str | None, str | None]:
    """Return a sitemap's state and the reason of it; None for one that was read to its end."""
    if isinstance(node, InvalidSitemap):
        return (FAILED if node.failure else NOT_FOLLOWED), node.reason
    return (INCOMPLETE, node.failure.reason) if node.failure else (None, None)
