"""The scanner's work grows with the document and not with its square: counted, not timed."""

from __future__ import annotations

import sys

import pytest
from formats_support import chunks

from together import together
from usp._formats.xml import scanner as scanner_module
from usp._formats.xml.scanner import Scanner
from usp.objects.problem import Problems

pytestmark = pytest.mark.growth


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


@pytest.fixture(autouse=True)
def counted_patterns(monkeypatch):
    """Count what is passed over by patterns that may run far."""
    for name in ("_ROOT_TAG", "_BRACKET"):
        monkeypatch.setattr(scanner_module, name, SearchedPattern(getattr(scanner_module, name)))


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
    for part in chunks(text, size):
        scanner.feed(part)
    scanner.close()
    return scanner.looked_at


DAMAGE = (
    *("<", "<a ", "<a b='", '<a b="', "<a b='>", "<!", "<![", "<![CDATA[", "<!--", "<!-- x"),
    *("<!--->", "<?", "<?x ", "<?xml ", "<a><?x", "<!DOCTYPE ", "<!DOCTYPE x [", "<!ENTITY a 'b"),
    *("&", "\0", "</", "</a", "</a b>", "<a>", "<a/", "<a<", ">", "]]>", "?>", "-->", "<a>b</a>"),
    *("<a b='>'/>", "<a><![CDATA[", "<ab><![CDATA[", "<a><![CDATA[</ax", "<ab><![CDATA[</ab>"),
    *("<ab><![CDATA[</abc>", "<a><![CDATA[</a>", "<a><![CDATA[<a>]]>", "<a><![CDATA[<![CDATA["),
    "<a><![CDATA[<![CDATA[]]>",
)
ONE = (
    *("<!--{}-->", "<![CDATA[{}]]>", "<?{}?>", "<a b='{}'/>", "{}", "<a {}>", "<!DOCTYPE x [{}]>"),
    *("<!--{}", "<![CDATA[{}", "<?x {}", "<?xml {}", "<a b='{}", "<!DOCTYPE x [{}", "<!DOCTYPE {}"),
)


def check_work(text):
    for size in (10, 1000, 1 << 20):
        assert work(text, size) < 30 * len(text), size


@together("unit", DAMAGE)
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
        ("<a " + "x" * 100 + "><c>", "", ["c"]),
        ("<? " + "x" * 100 + "><c>", "", ["c"]),
        ("<!DOCTYPE " + "x" * 100 + "><c>", "", ["c"]),
    ],
)
def test_what_is_longer_than_the_limits_costs_nothing_behind_it(text, sections, tags, size):
    gathered = Gathered()
    scanner = Scanner(gathered, Problems())
    for part in chunks(text, size):
        scanner.feed(part)
    scanner.close()
    assert (gathered.sections, gathered.tags) == (sections, tags)


@pytest.mark.usefixtures("small_limits")
@together("opening, name", [("<!--", "comment"), ("<![CDATA[", "CDATA section")])
def test_a_section_longer_than_what_is_held_that_never_ends_is_noted(opening, name):
    problems = Problems()
    scanner = Scanner(Gathered(), problems)
    for part in chunks(opening + "x" * 300, 40):
        scanner.feed(part)
    scanner.close()
    assert [str(problem) for problem in problems.listed()] == [f"line 1: a {name} is not closed"]
