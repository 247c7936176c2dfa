"""The scanner's work grows with the document and not with its square: counted, not timed."""

from __future__ import annotations

import pytest
from formats_support import chunks

from usp.formats.xml import scanner as scanner_module
from usp.formats.xml.scanner import Scanner
from usp.objects.problem import Problems


class Nothing:
    """A handler that hears and forgets."""

    def start(self, name, attributes, empty):
        pass

    def end(self, name):
        pass

    def declaration(self, kind, subset):
        pass

    text = cdata = end


class Searched(str):
    """Text that counts how many characters are passed over in searching it."""

    __slots__ = ("passed",)
    passed: int

    def find(self, what, start=0, *end):
        found = super().find(what, start, *end)
        self.passed = getattr(self, "passed", 0) + (found if found >= 0 else len(self)) - start
        return found


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


@pytest.mark.parametrize("size", [10, 1000, 1 << 20])
@pytest.mark.parametrize(
    "text",
    [
        "<!--" + "x" * 100_000 + "-->",
        "<![CDATA[" + "x" * 100_000 + "]]>",
        "<?" + "x" * 100_000 + "?>",
        "<a b='" + "x" * 100_000 + "'/>",
        "x" * 100_000,
        "<a " * 3_000,
        "<!DOCTYPE x [" + "<!ENTITY a 'b'>" * 5_000 + "]>",
        "<!-- x -->" * 2_000,
        "<!--" * 2_500,
        "<![CDATA[" * 1_000,
        "<?" * 5_000,
        "<a><?x" * 1_500,
    ],
    ids=lambda text: text[:12],
)
def test_every_character_is_looked_at_a_few_times_at_most(text, size):
    assert work(text, size) < 10 * len(text) + 1000


class Gathered(Nothing):
    def __init__(self):
        self.sections = ""
        self.tags = []

    def cdata(self, text):
        self.sections += text

    def start(self, name, attributes, empty):
        self.tags.append(name)


@pytest.fixture
def small_limits(monkeypatch):
    """The same code with smaller limits: what is held back, and how long a tag may be."""
    monkeypatch.setattr(scanner_module, "MAX_HELD", 100)
    monkeypatch.setattr(scanner_module, "MAX_TAG", 50)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
@pytest.mark.parametrize(
    ("text", "sections", "tags"),
    [
        ("<![CDATA[" + "ab]" * 100 + "]]><c>", "ab]" * 100, ["c"]),
        ("<!--" + "a-" * 200 + " --><c>", "", ["c"]),
        ("<a " + "x" * 100 + "><c>", "", ["c"]),
        ("<? " + "x" * 100 + "><c>", "", ["c"]),
        ("<!DOCTYPE " + "x" * 100 + "><c>", "", ["c"]),
    ],
    ids=["cdata", "comment", "tag", "instruction", "declaration"],
)
def test_what_is_longer_than_the_limits_costs_nothing_behind_it(text, sections, tags, size):
    gathered = Gathered()
    scanner = Scanner(gathered, Problems())
    for part in chunks(text, size):
        scanner.feed(part)
    scanner.close()
    assert (gathered.sections, gathered.tags) == (sections, tags)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(("opening", "name"), [("<!--", "comment"), ("<![CDATA[", "CDATA section")])
def test_a_section_longer_than_what_is_held_that_never_ends_is_noted(opening, name):
    problems = Problems()
    scanner = Scanner(Gathered(), problems)
    for part in chunks(opening + "x" * 300, 40):
        scanner.feed(part)
    scanner.close()
    assert [str(problem) for problem in problems.listed()] == [f"line 1: a {name} is not closed"]
