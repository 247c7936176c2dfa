"""Websites without an end, with strange addresses, or spread over hosts."""

from __future__ import annotations

import pytest
from fault_fronts import FRONTS, crawl
from fault_replies import ok, redirect
from fault_server import FaultServer

from usp.limits import Limits
from website import index, robots, urlset

TREES = pytest.mark.parametrize("front", ["tree", "aio tree"])


@pytest.fixture(scope="module")
def server():
    with FaultServer() as server:
        yield server


class Nested(dict):
    """Every index lists two that nobody has seen before, and a sitemap with one page."""

    def __init__(self, base: str) -> None:
        super().__init__({"/robots.txt": ok(robots(f"{base}/n").encode())})
        self._base = base

    def get(self, path: str, default: object = None) -> object:
        if path.startswith("/n"):
            below = (f"{self._base}{path}0", f"{self._base}{path}1", f"{self._base}/p{path[2:]}")
            return ok(index(*below).encode())
        if path.startswith("/p"):
            return ok(urlset(f"{self._base}/page{path[2:]}").encode())
        return super().get(path, default)


@pytest.mark.parametrize(
    ("limit", "value"), [("depth", 4), ("sitemaps", 40), ("pages", 20), ("seconds", 1.0)]
)
def test_a_website_without_an_end_is_read_up_to_a_limit(server, limit, value):
    for front in FRONTS:
        site = server.open(Nested)
        limits = Limits(**{limit: value})
        outcome = crawl(front, site.base + "/", limits=limits, use_known_paths=False)
        server.shut(site)
        assert len(set(outcome.pages)) == len(outcome.pages) > 0
        if limit == "pages":
            assert len(outcome.pages) == value
        if outcome.failures is not None:
            assert outcome.failures
            assert any(f"{limit}=" in reason for reason in outcome.failures.values())


@TREES
def test_a_redirect_to_another_host_is_followed(server, front):
    other = server.open(lambda base: {"/there.xml": ok(urlset(f"{base}/page").encode())})
    site = server.open(
        lambda base: {
            "/robots.txt": ok(robots(f"{base}/here.xml").encode()),
            "/here.xml": redirect(f"{other.base}/there.xml"),
        }
    )
    outcome = crawl(front, site.base + "/", use_known_paths=False)
    assert outcome.pages == [f"{other.base}/page"]
    assert not outcome.failures


STRANGE = [
    "\x1b[31mred\x1b[0m",
    "\x07",
    "\u202efdp.exe",  # from right to left
    "\u200b\u2066",
    "a\r\nSet-Cookie: b=c",
    "&#27;[31m&#x9b;",
]


@TREES
def test_strange_characters_in_addresses_break_nothing(server, front):
    """Pages and sitemaps with them are found or named, and what is printed of them is printable."""
    for strange in STRANGE:

        def answers(base, strange=strange):
            declared = f"{base}/{strange}.xml".replace("\r\n", " ")
            pages = urlset(f"{base}/before", f"{base}/{strange}", f"{base}/after")
            return {
                "/robots.txt": ok(robots(declared, f"{base}/good.xml").encode()),
                "/good.xml": ok(pages.encode()),
            }

        site = server.open(answers)
        outcome = crawl(front, site.base + "/", use_known_paths=False)
        assert {f"{site.base}/before", f"{site.base}/after"}.issubset(outcome.pages), strange
        assert not [url for url in outcome.pages if {"\n", "\x1b", "\x07"}.intersection(url)]
        assert len(outcome.failures) <= 1
        assert repr(outcome.tree).isprintable()
        assert all(repr(page).isprintable() for page in outcome.tree.all_pages())
