"""Tags in any order raise nothing, all lanes give the same of them, and so does cutting anywhere.

Every run begins at another seed; ``USP_FUZZ_SEED`` repeats one that a failure has named.
"""

from __future__ import annotations

import os
import random
import time

import pytest
from formats_support import chunks, read

from together import together

SECONDS = 3.0
E = "https://www.example.org"
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
ROOTS = (
    *("<urlset>", "<sitemapindex>", "<rss>", "<feed>", "<URLSET>", f"<urlset xmlns='{SITEMAP}'>"),
    *(f"<x:urlset xmlns:x='{SITEMAP}'>", f"<x:sitemapindex xmlns:x='{SITEMAP}'>"),
)
NAMES = (
    *("urlset", "sitemapindex", "url", "sitemap", "loc", "lastmod", "priority", "x:url", "x:loc"),
    *("image:image", "image:loc", "image:title", "news:news", "news:title", "video:video", "URL"),
    *("xhtml:link", "rss", "channel", "item", "link", "title", "guid", "dc:date", "pubDate"),
    *("feed", "entry", "updated", "b"),
)
ATTRIBUTES = (
    *("", "", "", "", " xml:base='/q/'", " xmlns='u:other'", f" xmlns:x='{SITEMAP}'"),
    *(" xml:lang='de'", " href='/7'", " rel='alternate' hreflang='de' href='/8'"),
    *(f" xmlns='{SITEMAP}'", " a='<'"),
)
TEXTS = (
    *(f"{E}/1", f"{E}/2?a&b", "/3", "2024-05-06", "words", " ", "\n", "<!-- c -->"),
    *("<!-- <url> -->", f"<![CDATA[{E}/4]]>", "<?p?>", "<", "&", "\0"),
    *(f"<url><loc>{E}/5</loc></url>", f"<sitemap><loc>{E}/6.xml</loc></sitemap>"),
    f"<loc>{E}/7</loc>",
)


def soup(chance):
    """Write a document of tags that begin, end and close themselves in no order at all."""
    names = chance.sample(NAMES, chance.randint(1, len(NAMES)))
    text = chance.choice(ROOTS)
    for _ in range(chance.randint(1, 25)):
        name = chance.choice(names)
        attributes = chance.choice(ATTRIBUTES)
        forms = (f"<{name}{attributes}>", f"</{name}>", f"<{name}{attributes}/>")
        inside = chance.choice(TEXTS)
        text += chance.choice((*forms, inside, f"<{name}{attributes}>{inside}</{name}>"))
    return text.encode()


def check(document, chance):
    whole = read([document])
    cut = read(chunks(document, chance.choice([1, 2, 5, 17])))
    assert cut == whole, "cutting changes the reading"
    for parts in ([document], chunks(document, chance.choice([1, 3, 11, 40]))):
        fast = read(parts, lanes="fast")
        assert (fast.kind, fast.children, fast.urls) == (whole.kind, whole.children, whole.urls)
        assert [page.to_dict() for page in fast.pages] == [page.to_dict() for page in whole.pages]


def test_tags_in_any_order_raise_nothing_and_mean_one_thing():
    seed = int(os.environ.get("USP_FUZZ_SEED") or time.time_ns() % 10**12)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        chance = random.Random(seed)
        document = soup(chance)
        try:
            check(document, chance)
        except Exception as error:  # noqa: BLE001 - whatever it is, its seed is told
            pytest.fail(f"USP_FUZZ_SEED={seed}: {type(error).__name__}: {error}\n{document!r}")
        seed += 1


@together(
    "inside",
    [
        *("<loc><loc/>", "<loc><loc/></loc>", "<loc><lastmod/><loc/>", "<b><loc><loc/></b>"),
        *("<loc><loc xml:base='/q/'/>", "<url><image:loc><image:loc/>"),
        *("<url><loc><image:image/><loc/>", "<loc><url/>", "<loc><url><loc/>"),
    ],
)
@together("root", ["urlset", "sitemapindex"])
def test_an_empty_element_where_another_is_not_closed_costs_no_later_page(inside, root):
    document = f"<{root}>{inside}<url><loc>{E}/kept</loc></url></{root}>".encode()
    for lanes in (None, True, "fast"):
        assert read([document], lanes=lanes).urls[-1:] == [f"{E}/kept"]


@together("lanes", [None, True, "fast"])
def test_what_an_entry_declares_counts_though_the_one_before_it_is_not_closed(lanes):
    based = "<url xml:base='/q/'><loc>a</loc><url><loc>b</loc></url>"
    prefixed = f"<url xmlns:y='{SITEMAP}'><y:loc>/c</y:loc><url xmlns:z='{SITEMAP}'><z:loc>/d</z:loc></url>"
    reading = read([f"<urlset>{based}{prefixed}</urlset>".encode()], lanes=lanes)
    assert reading.urls == [f"{E}/q/a", f"{E}/b", f"{E}/c", f"{E}/d"]
