"""Values that are remembered are short: what a website sends does not stay in memory."""

from __future__ import annotations

from formats_support import read

from together import together
from usp._base import dates
from usp._formats import values

LONG = "2024-05-01" + "x" * 200


@together("extra", ["", "<image:image><image:loc>http://a/i</image:loc></image:image>"])
@together("field", ["lastmod", "changefreq", "priority"])
def test_a_long_text_of_a_field_is_not_remembered(field, extra):
    entry = f"<url><loc>http://a/%s</loc><{field}>{LONG}%s</{field}>{extra}</url>"
    document = "<urlset>" + "".join(entry % (n, n) for n in range(50)) + "</urlset>"
    before = sizes()
    pages = read([document.encode()], lanes="fast").pages
    assert len(pages) == 50
    assert {page.last_modified for page in pages} == {None}
    assert all(now <= then + 1 for now, then in zip(sizes(), before, strict=True))


def sizes() -> list[int]:
    remembered = (dates.known_date, values._known_priority, values._known_frequency)
    return [known.cache_info().currsize for known in remembered]
