"""Links between languages: which are returned, however far apart the pages are, and which are not."""

import random

import pytest
from check_examples import HOME, found_in, linked, website

from usp.checks import Finding, hreflang
from usp.checks.hreflang import wrong_with


def found(*sitemaps: list[str], rules: str = "SM6") -> list[Finding]:
    """Return what is found about languages in a website with sitemaps of these entries."""
    return found_in(website(*map("\n".join, sitemaps)), select=[rules], ignore=["SM608"])


BOTH = ("en /en", "de /de")

NEAR_MISSES = {
    "one sitemap": [[linked("/en", *BOTH), linked("/de", *BOTH)]],
    "two sitemaps": [[linked("/en", *BOTH)], [linked("/de", *BOTH)]],
    "another order": [[linked("/en", *BOTH), linked("/de", *BOTH[::-1])]],
    "more on one side": [
        [linked("/en", *BOTH, "fr /fr", "it https://example.it/"), linked("/de", *BOTH)]
    ],
    "x-default for another": [[linked("/en", *BOTH, "x-default /en"), linked("/de", *BOTH)]],
    "versions that are not listed": [[linked("/en", "en /en", "de https://example.de/")]],
    "the same host, written differently": [
        [
            linked("/", "en https://EXAMPLE.org:443", "de /de%2d1"),
            linked("/de-1", "en /", "de /de-1"),
        ]
    ],
    "listed without links as well": [
        [linked("/en"), linked("/de")],
        [linked("/en", *BOTH), linked("/de", *BOTH)],
    ],
    "links in two parts": [
        [linked("/en", *BOTH), linked("/fr", "fr /fr", "en /en"), linked("/de", *BOTH)],
        [linked("/en", "fr /fr", "en /en")],
    ],
    "twice with other links": [
        [linked("/en", *BOTH, "fr https://example.fr/"), linked("/de", *BOTH)],
        [linked("/en", *BOTH)],
    ],
    "the same link twice": [[linked("/en", "en /en", "EN /en", "x-default /", "x-default /")]],
    "three countries": [[linked("/a", "en-gb /a", "en-US /b", "EN /c", "sr-Latn-RS /d")]],
}


@pytest.mark.parametrize("most", [0, 10**9])
def test_links_that_are_right_are_not_found(most, monkeypatch):
    """Whether or not they fit into memory."""
    monkeypatch.setattr("usp.checks.hreflang.MOST_CHARACTERS", most)
    assert {name: told for name, maps in NEAR_MISSES.items() if (told := found(*maps))} == {}


@pytest.mark.parametrize("most", [0, 3000, 10**9])
def test_all_links_of_many_pages_are_compared(most, monkeypatch):
    """In any order, and however many fit into memory: as every pair compared with every other."""
    monkeypatch.setattr("usp.checks.hreflang.MOST_CHARACTERS", most)
    chance = random.Random(7)
    pages: dict[str, list[str]] = {}
    for number in range(60):
        group = [f"/{code}/{number}" for code in ("en", "de", "fr", "es", "ja")]
        for url in group:
            links = list(group)
            if chance.random() < 0.1:
                links.remove(chance.choice([other for other in group if other != url]))
            if chance.random() < 0.05:
                links.append("/en/0")
            pages[url] = links
    entries = [linked(url, *(f"{u[1:3]} {u}" for u in links)) for url, links in pages.items()]
    chance.shuffle(entries)
    wanted = {
        (f"{HOME}{url}", f"{HOME}{link} does not link back")
        for url, links in pages.items()
        for link in links
        if url not in pages[link]
    }
    told = found(entries[:100], entries[100:], rules="SM602")
    assert len(wanted) > 20
    assert sorted((one.page, one.message) for one in told) == sorted(wanted)
    assert told == sorted(told, key=lambda one: (one.sitemap, one.line)), "the same order each time"


def test_a_check_goes_on_where_there_is_no_room_for_temporary_files(monkeypatch, caplog):
    full = "CREATE TRIGGER full BEFORE INSERT ON waiting BEGIN SELECT RAISE(FAIL, 'disk is full'); END;"
    monkeypatch.setattr("usp.checks.hreflang._TABLES", hreflang._TABLES + full)
    assert found([linked("/en", *BOTH)], [linked("/de")]) == []
    assert "disk is full" in caplog.text


GOOD_CODES = (
    "en EN en-GB en-gb zh-Hant zh-Hant-TW zh-hans-cn sr-Latn x-default X-Default pt-BR sq-XK nb yi "
    "fil haw ast yue kab-DZ es-419 en-001 ca-valencia de-1996 sr-Latn-RS "
    "i-klingon zh-min-nan en-GB-oed I-Navajo art-lojban"
)
BAD_CODES = (
    "en-UK jp english en_US eng deu zho-Hant qaa und en-999 de-germany xx en-XX en-Abcd GB-en de-EU x-defaults default "
    "en--GB -en zh-TW-Hant *"
)


def test_a_code_that_search_engines_know_is_right_and_another_is_wrong():
    assert [code for code in GOOD_CODES.split() if wrong_with(code)] == []
    assert [code for code in BAD_CODES.split() if repr(code) not in (wrong_with(code) or "")] == []


def test_what_is_meant_is_proposed():
    meant = {"en-UK": "GB", "jp": "ja", "en_US": "en-US", "en_UK": "en-GB", "ger": "de"}
    assert [code for code, other in meant.items() if repr(other) not in str(wrong_with(code))] == []
