"""Values that are remembered are short: what a website sends does not stay in memory."""

from __future__ import annotations

import pytest
from formats_support import read

from usp._base import dates
from usp._formats import url_batches

LONG = "2024-05-01" + "x" * 200


@pytest.mark.parametrize(
    "extra", ["", "<image:image><image:loc>http://a/i</image:loc></image:image>"]
)
@pytest.mark.parametrize("field", ["lastmod", "changefreq", "priority"])
def test_a_long_text_of_a_field_is_not_remembered(field, extra):
    entry = f"<url><loc>http://a/%s</loc><{field}>{LONG}%s</{field}>{extra}</url>"
    document = "<urlset>" + "".join(entry % (n, n) for n in range(50)) + "</urlset>"
    caches = (dates.known_date, url_batches._priority, url_batches._frequency)
    before = [cache.cache_info().currsize for cache in caches]
    pages = read([document.encode()], lanes="fast").pages
    assert len(pages) == 50
    assert {page.last_modified for page in pages} == {None}
    for cache, size in zip(caches, before, strict=True):
        assert cache.cache_info().currsize <= size + 1
