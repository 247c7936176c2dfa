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
    failure = node.failure
    if failure is not None:
        return (FAILED if isinstance(node, InvalidSitemap) else INCOMPLETE), failure.brief
    if not isinstance(node, InvalidSitemap):
        return None, None
    return NOT_FOLLOWED, node.why.brief
