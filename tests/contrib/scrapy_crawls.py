"""Runs spiders with Scrapy on the website whose address is given, and prints what came of each as JSON.

A process of its own: Scrapy installs a reactor, once for all of its crawls.
"""

import json
import logging
import sys
from collections.abc import Mapping

from scrapy import Request
from scrapy.crawler import CrawlerProcess
from scrapy.spiders import CrawlSpider

from usp import CrawlOptions, Selection
from usp.contrib.scrapy import SitemapPagesSpider

BASE = sys.argv[1]


class Listening(SitemapPagesSpider):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = {"pages": [], "facts": {}, "log": [], "stats": {}}
        self.facts = self.seen["facts"]
        handler = logging.Handler(logging.WARNING)
        handler.emit = lambda record: self.seen["log"].append(record.getMessage())
        logging.getLogger(self.name).addHandler(handler)

    def parse(self, response):
        self.seen["pages"].append(response.url.removeprefix(BASE))

    def closed(self, reason):
        self.seen["stats"] = self.crawler.stats.get_stats() | {"reason": reason}


class Whole(Listening):
    """All pages of a website, with what their sitemaps say."""

    name = "whole"
    websites = BASE

    def parse(self, response):
        super().parse(response)
        page = response.meta["sitemap_page"]
        dated = page.last_modified and page.last_modified.isoformat()
        images = [image.loc.removeprefix(BASE) for image in page.images or ()]
        story = page.news_story and page.news_story.title
        self.facts[response.url.removeprefix(BASE)] = [dated, images, story]


class Chosen(Listening):
    """Recent pages, of which a method leaves one out and sends another elsewhere."""

    name = "chosen"
    websites = (BASE,)
    selection = Selection(since="2025", exclude=["*/private*"], keep_undated=False)
    custom_settings: Mapping[str, object] = {"USER_AGENT": "chooser/1.0"}

    def request_for_page(self, page):
        if page.url.endswith("/left-out"):
            return None
        return Request(page.url, self.parse_news if page.news_story else None)

    def parse_news(self, response):
        self.facts[response.url.removeprefix(BASE)] = "news"


class Lazy(Listening):
    """As many pages as its limit, of very many; never more waiting than Scrapy downloads."""

    name = "lazy"
    sitemap_urls = (f"{BASE}/many.txt",)
    selection = Selection(limit=60)
    custom_settings: Mapping[str, object] = {"CONCURRENT_REQUESTS": 4}

    def parse(self, response):
        super().parse(response)
        waiting = len(self.crawler.engine._slot.scheduler)
        self.facts["most"] = max(self.facts.get("most", 0), waiting)


class Closed(Listening):
    """Is closed after a few pages, while its sitemap is still being sent."""

    name = "closed"
    sitemap_urls = f"{BASE}/stalled.txt"
    custom_settings: Mapping[str, object] = {"CLOSESPIDER_ITEMCOUNT": 3, "CONCURRENT_REQUESTS": 2}

    def parse(self, response):
        super().parse(response)
        yield {"url": response.url}


class Following(Listening, CrawlSpider):
    """Combined with another spider, from one sitemap."""

    name = "following"
    sitemap_urls = (f"{BASE}/news.xml", f"{BASE}/missing.xml", "no URL")
    crawl_options = CrawlOptions(use_known_paths=False)

    def parse_start_url(self, response):
        self.parse(response)


SPIDERS = (Whole, Chosen, Lazy, Closed, Following)


def main() -> None:
    process = CrawlerProcess({"LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False}, False)
    crawlers = [process.create_crawler(spider) for spider in SPIDERS]
    for crawler in crawlers:
        process.crawl(crawler)
    process.start()
    for crawler in crawlers:
        crawler.spider.facts["is over"] = crawler.spider._reading.done()
    found = {crawler.spider.name: crawler.spider.seen for crawler in crawlers}
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main()
