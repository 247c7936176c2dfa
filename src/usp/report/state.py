"""Whether a sitemap is what was declared: read, incomplete, failed, or left aside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from usp.objects.sitemap import InvalidSitemap

if TYPE_CHECKING:
    from usp.objects.sitemap import AbstractSitemap

FAILED = "failed"
INCOMPLETE = "incomplete"
NOT_FOLLOWED = "not followed"
_LOOP = re.compile(r"Recursion detected (?P<how>in URL|when)")
_LOOPS = {
    "in URL": "it is one of the sitemaps above it",
    "when": "it redirects to one of the sitemaps above it",
}


def state_of(node: AbstractSitemap) -> tuple[str | None, str | None]:
    """Return a sitemap's state and the reason of it; None for one that was read to its end."""
    failure = node.failure
    if failure is not None:
        return (FAILED if isinstance(node, InvalidSitemap) else INCOMPLETE), failure.brief
    if not isinstance(node, InvalidSitemap):
        return None, None
    # The reason of the tree lists every address above, as other programs read it.
    loop = _LOOP.search(node.reason)
    return NOT_FOLLOWED, _LOOPS[loop["how"]] if loop else node.reason
