"""Every case of the corpus gives what its expectation says, in every way of reading it."""

import random
from collections.abc import Iterable
from functools import partial

import pytest
from formats_support import (
    XmlText,
    brief_child,
    brief_page,
    chunks,
    corpus,
    halves,
    read,
    read_text,
    same,
)

from profiles import examples
from usp._formats.document import DocumentParser

SMALL, LARGE = 600, 10_000  # so many bytes are cut at every place, or in few ways
KEYS = {"why", "url", "role", "content_type", "content_encoding", "encoding", "kind", "refusal"}
KEYS |= {"removed", "pages", "children", "problems", "lost", "findings"}


def test_an_expectation_says_what_becomes_of_the_document():
    assert len(corpus()) >= 300
    for case in corpus():
        assert set(case.expected) <= KEYS, case.name
        assert case.expected["why"], case.name
        assert ("kind" in case.expected) != ("refusal" in case.expected), case.name


def places(length: int) -> Iterable[int]:
    """Return where something of a length is cut in two: everywhere in CI, else at some places."""
    everywhere = range(1, length)
    most = examples(SMALL)
    return everywhere if length <= most else sorted(random.sample(everywhere, most))


def maker_of(case):
    """Return what makes parsers for the text of a case: such as the document parser found."""
    document = DocumentParser(**case.options)
    list(document.feed(case.data))
    document.close()
    kind = type(document.parser) if document._xml is None else XmlText
    return partial(kind, case.options["url"])


@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)
def test_a_case_gives_what_is_expected_in_every_way_and_wherever_it_is_cut(case):
    whole = case.read([case.data])
    check_expectation(whole, case.expected)
    is_large = len(case.data) > LARGE
    for size in (1,) if is_large else (1, 2, 3, 7):
        assert case.read(chunks(case.data, size)) == whole, f"in pieces of {size}"
    for size in (100, 1 << 20) if is_large else (1, 100, 1 << 20):
        same(whole, chunks(case.data, size), **case.options)
    for size in (3, 1 << 20):
        check_probe(whole, read(chunks(case.data, size), skip_pages=True, **case.options))
    if len(case.data) <= SMALL:
        for at in places(len(case.data)):
            assert case.read(halves(case.data, at)) == whole, f"cut at {at}: {case.data[:at]!r}"
        if "kind" in case.expected:
            check_text(case)


def check_expectation(reading, expected):
    if "refusal" in expected:
        assert reading.kind is None
        assert expected["refusal"] in reading.refusal
        assert not reading.pages
        assert not reading.children
        assert reading.codes == expected.get("problems", reading.codes)
        return
    assert (reading.kind, reading.refusal) == (expected["kind"], None)
    assert [brief_page(page) for page in reading.pages] == expected.get("pages", [])
    assert [brief_child(child) for child in reading.children] == expected.get("children", [])
    assert [page.url for page in reading.removed] == expected.get("removed", [])
    assert reading.codes == expected["problems"]
    assert reading.lost == expected["lost"]
    assert reading.encoding == expected.get("encoding", reading.encoding)


def check_probe(whole, probe):
    """A probe shows the same as reading, without the pages of a page sitemap."""
    assert (probe.kind, probe.refusal) == (whole.kind, whole.refusal)
    if whole.kind and whole.kind.startswith("Index"):
        assert (probe.children, probe.pages) == (whole.children, whole.pages)
    else:
        assert probe.pages == ()


def check_text(case):
    """The decoder holds back the first bytes; here the parsers themselves see every cut."""
    text, parser = case.text, maker_of(case)
    whole = read_text([text], parser())
    for at in places(len(text)):
        assert read_text(halves(text, at), parser()) == whole, f"cut at {at}: {text[:at]!r}"
    for size in (1, 2, 5):
        assert read_text(chunks(text, size), parser()) == whole, f"in pieces of {size}"
