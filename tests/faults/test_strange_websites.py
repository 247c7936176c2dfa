"""Websites without an end, with strange addresses, or spread over hosts."""

import pytest
from fault_fronts import FRONTS, crawl

from together import together
from usp.limits import Limits
from website import index, robots, urlset


class Nested(dict):
    """Every index lists two that nobody has seen before, and a sitemap with one page."""

    def get(self, path: str, default: object = None) -> object:
        if path.startswith("/n"):
            return index(f"{path}0", f"{path}1", f"/p{path[2:]}")
        if path.startswith("/p"):
            return urlset(f"/page{path[2:]}")
        return super().get(path, default)


@pytest.mark.parametrize(
    ("limit", "value"), [("depth", 4), ("sitemaps", 40), ("pages", 20), ("seconds", 0.4)]
)
def test_a_website_without_an_end_is_read_up_to_a_limit(serve, limit, value):
    site = serve({})
    site.answers = Nested({"/robots.txt": robots("/n")})
    for front in FRONTS:
        limits = Limits(**{limit: value})
        outcome = crawl(front, site.base + "/", limits=limits, use_known_paths=False)
        assert len(set(outcome.pages)) == len(outcome.pages) > 0
        if limit == "pages":
            assert len(outcome.pages) == value
        if outcome.failures is not None:
            assert outcome.failures
            assert any(f"{limit}=" in reason for reason in outcome.failures.values())


STRANGE = [
    *("\x1b[31mred\x1b[0m", "\x07", "\u200b\u2066", "a\r\nSet-Cookie: b=c", "&#27;[31m&#x9b;"),
    "\u202efdp.exe",  # from right to left
]


@together("front", ["tree", "aio tree"])
@together("strange", STRANGE)
def test_strange_characters_in_addresses_break_nothing(serve, front, strange):
    """Pages and sitemaps with them are found or named, and what is printed of them is printable."""
    declared = f"/{strange}.xml".replace("\r\n", " ")
    good = urlset("/before", f"/{strange}", "/after")
    site = serve({"/robots.txt": robots(declared, "/good.xml"), "/good.xml": good})
    outcome = crawl(front, site.base + "/", use_known_paths=False)
    assert {f"{site.base}/before", f"{site.base}/after"}.issubset(outcome.pages)
    assert not [url for url in outcome.pages if {"\n", "\x1b", "\x07"}.intersection(url)]
    assert len(outcome.failures) <= 1
    assert repr(outcome.tree).isprintable()
    assert all(repr(page).isprintable() for page in outcome.tree.all_pages())
