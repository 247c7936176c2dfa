"""Rules about how frequencies are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.checks.registry import block_rule
from usp.checks.values import Hit, Severity
from usp.objects.page import SitemapPageChangeFrequency

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.checks.blocks import Block

_FREQUENCIES = frozenset(frequency.value for frequency in SitemapPageChangeFrequency)


@block_rule("SM511", "changefreq-case", Severity.WARNING)
def changefreq_case(block: Block) -> Iterator[Hit]:
    """The changefreq of a page is written with capital letters.

    The protocol has seven values, all in lower case, and its schema compares them letter by letter:
    Daily makes a sitemap invalid. Most search engines read it all the same.

    Sources: https://www.sitemaps.org/protocol.html#changefreqdef
        https://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd

    Bad:

        <url><loc>https://example.org/tea</loc><changefreq>Daily</changefreq></url>

    Good:

        <url><loc>https://example.org/tea</loc><changefreq>daily</changefreq></url>

    Fix: Write always, hourly, daily, weekly, monthly, yearly or never, in lower case.
    """
    values = block.changefreqs
    odd = {value for value in set(values) if _is_miswritten(value.strip())}
    for at, value in enumerate(values) if odd else ():
        if value in odd:
            written = value.strip()
            yield Hit(f"changefreq {written!r} should be {written.lower()!r}", at)


def _is_miswritten(value: str) -> bool:
    return value not in _FREQUENCIES and value.lower() in _FREQUENCIES
