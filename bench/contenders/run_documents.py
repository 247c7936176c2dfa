"""usp and ultimate-sitemap-parser: documents from memory, each seen once, every field read."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

from measure import measure

from usp.fetch_parse import IndexRobotsTxtSitemapParser
from usp.tree import sitemap_from_str
from usp.web_client.abstract_client import LocalWebClient


def _robots(text: str) -> Any:
    return IndexRobotsTxtSitemapParser(
        url="https://www.example.org/robots.txt",
        content=text,
        recursion_level=0,
        web_client=LocalWebClient(),
        parent_urls=set(),
    ).sitemap()


def _read(page: Any) -> None:
    story = page.news_story
    _ = page.url, page.priority, page.last_modified, page.change_frequency, page.alternates
    _ = story and (story.title, story.publish_date, story.keywords)
    _ = [(image.loc, image.title, image.caption) for image in page.images or ()]


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Return the CPU time of each kind of document, and how many pages and sitemaps it has."""
    logging.disable()
    kinds: dict[str, list[str]] = json.loads(Path(options["documents"]).read_text())
    for texts in kinds.values():
        sitemap_from_str(texts.pop())  # loads what is loaded late
    seconds, found = {}, {}
    for kind, texts in kinds.items():
        read = _robots if kind == "robots.txt" else sitemap_from_str
        count, began = 0, time.process_time()
        for text in texts:
            tree = read(text)
            for page in tree.all_pages():
                _read(page)
                count += 1
            count += sum(1 for _ in tree.all_sitemaps())
        seconds[kind], found[kind] = time.process_time() - began, count
    return {"found": found, "kinds": seconds}


measure(work)
