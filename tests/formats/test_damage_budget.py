"""Damage costs as much as it is long, in either lane and however it is cut, and does not go on for ever."""

from __future__ import annotations

import gzip
import itertools
import sys

import pytest
from formats_support import chunks, read

from profiles import some
from together import together
from usp._formats.abstract_parser import MAX_PIECE, PageEntry
from usp._formats.document import DocumentParser
from usp._formats.xml import scanner as scanner_module
from usp._formats.xml.blocks import MAX_ENTRY
from usp._formats.xml.scanner import MAX_DAMAGE

pytestmark = pytest.mark.growth

E = "https://www.example.org"
KEPT = f"<url><loc>{E}/kept</loc></url>"
UNITS = (
    *("<", "<a ", "<a b='", "<!", "<![", "<![CDATA[", "<!--", "<?", "<?xml ", "<!DOCTYPE x ["),
    *("\0", "<a>", "</a>", "<a></b>", "<url>", "<url/>", "</url>", "<loc>", "<loc/>", "<url><loc>"),
    *("&", "&#", "<loc>&", "<url>\0", "<lo\0", "<urlset>", "</urlset>", "<sitemap>"),
    *("<a xml:base='b'>", "<x:a>", f"<url><loc>{E}/</loc><!--</url>"),
    *(f"<url><loc>{E}/</loc>< </url>", "<url>words</url>", "words ", "<a xmlns:b='c'>"),
    *("<image:image>", "<url><image:image><image:loc>", "<b xmlns='u:{}'>"),
)


def calls(document, *, fast):
    """Count the calls that reading a document takes: of Python and of C."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    parser = DocumentParser(f"{E}/s.xml", fast=fast)
    entries = []
    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        for part in chunks(document, 4096):
            entries += parser.feed(part)
        entries += parser.close()
        for entry in entries:
            if isinstance(entry, PageEntry):
                entry.page()
    finally:
        sys.setprofile(before)
    return count


@together("unit", UNITS)
def test_six_times_the_damage_takes_six_times_the_calls(unit):
    def document(root, length):
        filled = "".join(unit.replace("{}", str(n)) for n in range(length // len(unit)))
        return f"<{root}>{filled}".encode()

    ways = list(itertools.product(["urlset", "sitemapindex", "rss"], [False, True]))
    for root, fast in some(ways):
        few, many = (calls(document(root, length), fast=fast) for length in (1_000, 6_000))
        assert many <= 7 * few, (root, fast)


@pytest.fixture
def small_budget(monkeypatch):
    monkeypatch.setattr(scanner_module, "MAX_DAMAGE", 100)


GIVEN_UP = "the rest was abandoned: 100 repairs in a row without an entry"


@pytest.mark.usefixtures("small_budget")
@together("unit", ["<", "</b>", "<a b='", "<!x", "<?x ", "<url/>", "<url></url>"])
@together("size", [1, 50, 1 << 20])
def test_beyond_the_budget_the_rest_is_given_up_and_what_was_read_is_kept(unit, size):
    text = f"<urlset>{KEPT}{unit * 300}<url><loc>{E}/behind</loc></url></urlset>"
    whole = read([text.encode()])
    assert whole.urls == [f"{E}/kept"]
    (problem,) = [p for p in whole.problems if p.message == GIVEN_UP]
    assert (problem.line, problem.code) == (1, "too-damaged")
    assert not any("breaks off" in p.message for p in whole.problems)
    assert read(chunks(text.encode(), size)).problems == whole.problems
    assert read(chunks(text.encode(), size), lanes="fast").urls == whole.urls


@pytest.mark.usefixtures("small_budget")
@together("lanes", [None, True, "fast"])
def test_damage_between_entries_that_can_be_read_is_never_too_much(lanes):
    text = "<urlset>" + "".join(f"<url><loc>{E}/{n}</loc></b></url>{'< ' * 20}" for n in range(100))
    assert read([text.encode()], lanes=lanes).urls == [f"{E}/{n}" for n in range(100)]


def test_the_budget_is_larger_than_what_the_fast_lane_takes_at_a_time():
    """Or else an entry that it takes unseen might be where the scanner gives up."""
    assert MAX_DAMAGE > MAX_PIECE + MAX_ENTRY


@together("lanes", [None, "fast"])
def test_a_small_file_that_unpacks_to_nothing_but_damage_is_given_up(lanes):
    text = f"<urlset>{KEPT}{'<' * (MAX_DAMAGE + 1000)}{KEPT.replace('kept', 'behind')}"
    reading = read([gzip.compress(text.encode())], lanes=lanes)
    assert reading.urls == [f"{E}/kept"]
    assert any(p.message.startswith("the rest was abandoned") for p in reading.problems)


def test_parsers_are_fed_a_bounded_piece_at_a_time(monkeypatch):
    lengths = []
    scan = scanner_module.Scanner.feed

    def feed(self, text):
        lengths.append(len(text))
        scan(self, text)

    monkeypatch.setattr(scanner_module.Scanner, "feed", feed)
    document = f"<urlset>{'<a>b</a>' * 70_000}</urlset>".encode()
    for data in (document, gzip.compress(document)):
        read([data])
    assert max(lengths) <= MAX_PIECE
