"""Websites without an end, with strange addresses, or spread over hosts."""

from __future__ import annotations

import pytest
from fault_fronts import crawl
from fault_replies import ok, redirect
from fault_server import FaultServer

from usp.limits import Limits
from website import index, robots, urlset

TREES = pytest.mark.parametrize("front", ["tree", "aio tree"])
ALL_FRONTS = pytest.mark.parametrize("front", ["tree", "stream", "aio tree", "aio stream"])


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


@ALL_FRONTS
@pytest.mark.parametrize(
    ("limit", "value"), [("depth", 4), ("sitemaps", 40), ("pages", 20), ("seconds", 1.0)]
)
def test_a_website_without_an_end_is_read_up_to_a_limit(server, front, limit, value):
    site = server.open(Nested)
    outcome = crawl(front, site.base + "/", limits=Limits(**{limit: value}), use_known_paths=False)
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


STRANGE = {
    "escapes of a terminal": "\x1b[31mred\x1b[0m",
    "a bell": "\x07",
    "text from right to left": "\u202efdp.exe",
    "an invisible character": "\u200b\u2066",
    "a line break": "a\r\nSet-Cookie: b=c",
    "a reference to a control": "&#27;[31m&#x9b;",
}


@TREES
@pytest.mark.parametrize("what", STRANGE)
def test_strange_characters_in_addresses_break_nothing(server, front, what):
    """Pages and sitemaps with them are found or named, and what is printed of them is printable."""
    strange = STRANGE[what]

    def answers(base):
        declared = f"{base}/{strange}.xml".replace("\r\n", " ")
        return {
            "/robots.txt": ok(robots(declared, f"{base}/good.xml").encode()),
            "/good.xml": ok(
                urlset(f"{base}/before", f"{base}/{strange}", f"{base}/after").encode()
            ),
        }

    site = server.open(answers)
    outcome = crawl(front, site.base + "/", use_known_paths=False)
    assert site.base + "/before" in outcome.pages
    assert site.base + "/after" in outcome.pages
    assert all("\n" not in url and "\x1b" not in url and "\x07" not in url for url in outcome.pages)
    assert len(outcome.failures) <= 1
    assert repr(outcome.tree).isprintable()
    assert all(repr(page).isprintable() for page in outcome.tree.all_pages())
