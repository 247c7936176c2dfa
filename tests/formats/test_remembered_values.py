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
    before = sizes()
    pages = read([document.encode()], lanes="fast").pages
    assert len(pages) == 50
    assert {page.last_modified for page in pages} == {None}
    assert all(now <= then + 1 for now, then in zip(sizes(), before, strict=True))


def test_only_so_many_texts_are_remembered():
    remembered = url_batches._Remembered(len, 10)
    assert [remembered["x" * n] for n in range(25)] == list(range(25))
    assert len(remembered) <= 10


def sizes() -> list[int]:
    remembered = (url_batches._priorities, url_batches._frequencies)
    return [dates.known_date.cache_info().currsize, *map(len, remembered)]
