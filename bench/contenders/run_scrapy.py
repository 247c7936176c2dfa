"""Scrapy: a SitemapSpider that starts at robots.txt and counts pages instead of requesting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from measure import measure
from scrapy.crawler import CrawlerProcess
from scrapy.spiders import SitemapSpider

if TYPE_CHECKING:
    from collections.abc import Iterable


class Counting(SitemapSpider):
    """Counts in the documented hook, where the spider would go on to request the pages."""

    name = "counting"
    found = 0

    def sitemap_filter(self, entries: Any) -> Iterable[dict[str, Any]]:
        """Let children of an index pass; count pages and drop them."""
        if entries.type == "sitemapindex":
            yield from entries
            return
        Counting.found += sum(1 for entry in entries if entry["loc"])


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Run the spider with default concurrency and without delay."""
    process = CrawlerProcess(
        {"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0}
    )
    process.crawl(Counting, sitemap_urls=[f"{options['homepage']}robots.txt"])
    process.start()
    return {"found": Counting.found}


measure(work)
