"""The work grows with the document and not with its square, and damage does not go on for ever.

It is counted, not timed.
"""

import gzip
import itertools
import sys

import pytest
from formats_support import E, chunks, read

from profiles import some
from together import together
from usp._formats.abstract_parser import MAX_PIECE, PageEntry
from usp._formats.document import DocumentParser
from usp._formats.xml import scanner as scanner_module
from usp._formats.xml.blocks import MAX_ENTRY
from usp._formats.xml.scanner import MAX_DAMAGE, Scanner
from usp.objects.problem import Problems

pytestmark = pytest.mark.growth

KEPT = f"<url><loc>{E}/kept</loc></url>"


class Nothing:
    """A handler that hears and forgets all but the last name."""

    last = ""

    def start(self, name, attributes, empty):
        self.last = name

    def innermost(self):
        return self.last, len(self.last) % 2 > 0

    def end(self, name):
        pass

    def declaration(self, kind, subset):
        pass

    text = cdata = take = end


class Searched(str):
    """Text that counts how many characters are passed over in searching it."""

    __slots__ = ("passed",)
    passed: int

    def _pass(self, count):
        self.passed = getattr(self, "passed", 0) + max(0, count)

    def find(self, what, start=0, end=sys.maxsize):
        found = super().find(what, start, end)
        self._pass((found if found >= 0 else min(len(self), end)) - start)
        return found

    def count(self, what, start=0, end=sys.maxsize):
        self._pass(min(len(self), end) - start)
        return super().count(what, start, end)


class SearchedPattern:
    """A pattern that counts the characters it passes over, in the text itself."""

    def __init__(self, pattern):
        self.pattern = pattern

    def search(self, text, at=0, end=sys.maxsize):
        match = self.pattern.search(text, at, end)
        text._pass((match.start() if match else min(len(text), end)) - at)
        return match

    def finditer(self, text, at=0, end=sys.maxsize):
        for match in self.pattern.finditer(text, at, end):
            text._pass(match.end() - at)
            at = match.end()
            yield match


class CountingScanner(Scanner):
    """Counts the characters that are looked at: each scan, and each search in a scan."""

    looked_at = 0

    def _scan(self, *, final):
        self._buffer = Searched(self._buffer)
        self.looked_at += len(self._buffer)
        super()._scan(final=final)
        self.looked_at += getattr(self._buffer, "passed", 0)


def work(text, size):
    scanner = CountingScanner(Nothing(), Problems())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_ROOT_TAG", "_BRACKET"):  # patterns that may run far
            patch.setattr(scanner_module, name, SearchedPattern(getattr(scanner_module, name)))
        for part in chunks(text, size):
            scanner.feed(part)
        scanner.close()
    return scanner.looked_at


UNITS = (
    *("<", "<a ", "<a b='", '<a b="', "<a b='>", "<!", "<![", "<![CDATA[", "<!--", "<!-- x"),
    *("<!--->", "<?", "<?x ", "<?xml ", "<a><?x", "<!DOCTYPE ", "<!DOCTYPE x [", "<!ENTITY a 'b"),
    *("&", "&#", "\0", "</", "</a", "</a b>", "<a>", "</a>", "<a/", "<a<", ">", "]]>", "?>", "-->"),
    *("<a>b</a>", "<a></b>", "<a b='>'/>", "<a><![CDATA[", "<ab><![CDATA[", "<a><![CDATA[</ax"),
    *("<a xmlns:b='c'>", "<ab><![CDATA[</ab>", "<ab><![CDATA[</abc>", "<a><![CDATA[</a>"),
    *("<a><![CDATA[<a>]]>", "<a><![CDATA[<![CDATA[", "<a><![CDATA[<![CDATA[]]>"),
    *("<a xml:base='b'>", "<b xmlns='u:{}'>", "<url>", "<url/>", "</url>", "<loc>", "<loc/>"),
    *("<url><loc>", "<loc>&", "<url>\0", "<lo\0", "<urlset>", "</urlset>", "<sitemap>", "<x:a>"),
    *("words ", "<url>words</url>", "<image:image>", f"<url><loc>{E}/</loc><!--</url>"),
    *(f"<url><loc>{E}/</loc>< </url>", "<url><image:image><image:loc>"),
)
ONE = (
    *("<!--{}-->", "<![CDATA[{}]]>", "<?{}?>", "<a b='{}'/>", "{}", "<a {}>", "<!DOCTYPE x [{}]>"),
    *("<!--{}", "<![CDATA[{}", "<?x {}", "<?xml {}", "<a b='{}", "<!DOCTYPE x [{}", "<!DOCTYPE {}"),
)


def check_work(text):
    for size in (10, 1000, 1 << 20):
        assert work(text, size) < 30 * len(text), size


@together("unit", UNITS)
def test_every_character_is_looked_at_a_few_times_at_most(unit, small_limits):
    """The limits are small, so that a text of this length is as bad as one of a hundred megabytes."""
    check_work(unit * (10_000 // len(unit)))


@together("end", ["", "]]>", "</a>"])
def test_every_character_is_looked_at_a_few_times_at_most_however_many_names_there_are(end):
    check_work("".join(f"<a{at}><![CDATA[{end}" for at in range(1000)))


@together("around", ONE)
def test_every_character_of_a_long_section_is_looked_at_a_few_times_at_most(around):
    for unit in ("x", "<!ENTITY a 'b'>", "?<", "]<!"):
        check_work(around.format(unit * (10_000 // len(unit))))


class Gathered(Nothing):
    def __init__(self):
        self.sections = ""
        self.tags = []

    def cdata(self, text):
        self.sections += text

    def start(self, name, attributes, empty):
        super().start(name, attributes, empty)
        self.tags.append(name)


def scanned(parts):
    gathered, problems = Gathered(), Problems()
    scanner = Scanner(gathered, problems)
    for part in parts:
        scanner.feed(part)
    scanner.close()
    return gathered, problems.listed()


@pytest.fixture
def small_limits(monkeypatch):
    """The same code with smaller limits: what is held back, and how long a tag may be."""
    monkeypatch.setattr(scanner_module, "MAX_HELD", 100)
    monkeypatch.setattr(scanner_module, "MAX_TAG", 50)


@pytest.mark.usefixtures("small_limits")
@together("size", [1, 7, 64, 1000])
@together(
    "text, sections, tags",
    [
        ("<![CDATA[" + "ab]" * 100 + "]]><c>", "ab]" * 100, ["c"]),
        ("<!--" + "a-" * 200 + " --><c>", "", ["c"]),
        *((f"<{name} {'x' * 100}><c>", "", ["c"]) for name in ("a", "?", "!DOCTYPE")),
    ],
)
def test_what_is_longer_than_the_limits_costs_nothing_behind_it(text, sections, tags, size):
    gathered, _ = scanned(chunks(text, size))
    assert (gathered.sections, gathered.tags) == (sections, tags)


@pytest.mark.usefixtures("small_limits")
@together("opening, name", [("<!--", "comment"), ("<![CDATA[", "CDATA section")])
def test_a_section_longer_than_what_is_held_that_never_ends_is_noted(opening, name):
    _, problems = scanned(chunks(opening + "x" * 300, 40))
    assert [str(problem) for problem in problems] == [f"line 1: a {name} is not closed"]


# Whole documents ----------------------------------------------------------------------------------


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
    assert read(chunks(text.encode(), size), blocks="fast").urls == whole.urls


@pytest.mark.usefixtures("small_budget")
@together("blocks", [None, True, "fast"])
def test_damage_between_entries_that_can_be_read_is_never_too_much(blocks):
    text = "<urlset>" + "".join(f"<url><loc>{E}/{n}</loc></b></url>{'< ' * 20}" for n in range(100))
    assert read([text.encode()], blocks=blocks).urls == [f"{E}/{n}" for n in range(100)]


def test_the_budget_is_larger_than_what_the_fast_lane_takes_at_a_time():
    """Or else an entry that it takes unseen might be where the scanner gives up."""
    assert MAX_DAMAGE > MAX_PIECE + MAX_ENTRY


@together("blocks", [None, "fast"])
def test_a_small_file_that_unpacks_to_nothing_but_damage_is_given_up(blocks):
    text = f"<urlset>{KEPT}{'<' * (MAX_DAMAGE + 1000)}{KEPT.replace('kept', 'behind')}"
    reading = read([gzip.compress(text.encode())], blocks=blocks)
    assert reading.urls == [f"{E}/kept"]
    assert any(p.message.startswith("the rest was abandoned") for p in reading.problems)
