"""Bodies of entries are left out of trees; what looks like one and is not changes nothing."""

from __future__ import annotations

import pytest

from usp._formats.abstract_parser import PageBatch
from usp._formats.document import DocumentParser

BODIES = [
    "<content>a &lt;b&gt; text</content>",
    "<content type='html'>a & b</content>",
    "<content:encoded><![CDATA[<p>one</p><!-- two -->]]></content:encoded>",
    "<content:encoded><![CDATA[a ]] b]]></content:encoded>",
    "<content:encoded><![CDATA[<content>c</content>]]></content:encoded>",
    "<content:encoded><![CDATA[a</content:encoded>",
    "<content src='x'/>",
    "<content>a <link href='https://e.org/inside'/></content>",
    "<!-- <content>a --> <content>b</content>",
    "<description><![CDATA[d <content>e</content> f]]></description>",
    "<contents>g</contents><content >h</content >",
]


def _pages(document: str, *, scanner_only: bool) -> list[object]:
    parser = DocumentParser("https://e.org/feed", fast=True, scanner_only=scanner_only)
    pages: list[object] = []
    for entry in [*parser.feed(document.encode()), *parser.close()]:
        found = entry.pages() if isinstance(entry, PageBatch) else [entry.page()]
        pages += [(page.url, page.fields()) for page in found]
    return pages


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("title", ["<title>t</title>", ""])
def test_bodies_change_nothing(body: str, title: str) -> None:
    items = "".join(
        f"<item>{title}<link>https://e.org/{at}</link>{body if at == 1 else ''}</item>"
        for at in range(3)
    )
    document = f"<rss version='2.0'><channel>{items}</channel></rss>"
    found = _pages(document, scanner_only=False)
    assert len(found) == 3
    assert found == _pages(document, scanner_only=True)
