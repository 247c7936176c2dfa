"""Pages, images, stories and trees, to be pickled and printed by ultimate-sitemap-parser 1.8.1.

``python old_values.py FOLDER``, run with 1.8.1, writes ``NAME.pickle`` for each of them and their
printed forms to ``printed.json``: the folder ``values_of_1_8_1``.
"""

import json
import pickle
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

from usp.objects.page import SitemapImage, SitemapNewsStory, SitemapPage, SitemapPageChangeFrequency
from usp.objects.sitemap import (
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesAtomSitemap,
    PagesRSSSitemap,
    PagesTextSitemap,
    PagesXMLSitemap,
)
from usp.tree import sitemap_from_str

H = "https://www.example.org"

IMAGE = SitemapImage(
    f"{H}/it's-here.jpg", 'A "caption", long: ' + "x" * 300, "Limerick", "Tïtle", f"{H}/licence"
)
BARE_IMAGE = SitemapImage(f"{H}/2.png")
STORY = SitemapNewsStory(
    title="Überraschung & more",
    publish_date=datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone(timedelta(hours=2))),
    publication_name="The Paper",
    publication_language="de",
    access="Subscription",
    genres=["Blog", "Satire"],
    keywords=["a", "b'c"],
    stock_tickers=["NASDAQ:A"],
)
BARE_STORY = SitemapNewsStory("Bare", datetime(2024, 1, 1))  # noqa: DTZ001 - as sitemaps write it
PAGE = SitemapPage(
    url=f"{H}/page?a=1&b='2'",
    priority=Decimal("0.8"),
    last_modified=datetime(2023, 12, 31, 23, 59, 59, 123000, tzinfo=timezone.utc),  # noqa: UP017
    change_frequency=SitemapPageChangeFrequency.MONTHLY,
    news_story=STORY,
    images=[IMAGE, BARE_IMAGE],
    alternates=[("de-CH", f"{H}/de"), ("x-default", f"{H}/")],
)
BARE_PAGE = SitemapPage(f"{H}/" + "long/" * 100)
NAIVE_PAGE = SitemapPage(
    f"{H}/n",
    last_modified=datetime(2020, 2, 29),  # noqa: DTZ001
    change_frequency=SitemapPageChangeFrequency.NEVER,
    news_story=BARE_STORY,
)

VALUES = {
    "image": IMAGE,
    "bare_image": BARE_IMAGE,
    "story": STORY,
    "bare_story": BARE_STORY,
    "page": PAGE,
    "bare_page": BARE_PAGE,
    "naive_page": NAIVE_PAGE,
    "frequency": SitemapPageChangeFrequency.HOURLY,
    "pages": [PAGE, BARE_PAGE, NAIVE_PAGE],
}

NODES = {
    "urlset": PagesXMLSitemap(f"{H}/a.xml", [PAGE, BARE_PAGE]),
    "empty_urlset": PagesXMLSitemap(f"{H}/e.xml", []),
    "text": PagesTextSitemap(f"{H}/a.txt", [BARE_PAGE]),
    "rss": PagesRSSSitemap(f"{H}/rss", [NAIVE_PAGE]),
    "atom": PagesAtomSitemap(f"{H}/atom", [NAIVE_PAGE, PAGE]),
    "invalid": InvalidSitemap(f"{H}/gone.xml", "404 Not Found"),
}
NODES["index"] = IndexXMLSitemap(
    f"{H}/i.xml", [NODES["urlset"], NODES["empty_urlset"], NODES["invalid"]]
)
NODES["robots"] = IndexRobotsTxtSitemap(f"{H}/robots.txt", [NODES["index"], NODES["text"]])
NODES["website"] = IndexWebsiteSitemap(
    f"{H}/", [NODES["robots"], NODES["rss"], NODES["atom"], NODES["index"]]
)
NODES["empty_website"] = IndexWebsiteSitemap(f"{H}/", [])
NODES["parsed"] = sitemap_from_str(
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    f"<url><loc>{H}/p</loc><lastmod>2024-05-06T07:08:09Z</lastmod>"
    "<changefreq>daily</changefreq><priority>0.3</priority></url>"
    f"<url><loc>{H}/q</loc></url></urlset>"
)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, value in (VALUES | NODES).items():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(value, protocol=4))
    printed = {name: [repr(value), str(value)] for name, value in VALUES.items()}
    (folder / "printed.json").write_text(json.dumps(printed, indent=1) + "\n", "utf-8")
