"""Every case of the corpus gives what its expectation says, wherever its bytes are cut."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import partial

import pytest
from formats_support import brief_child, brief_page, chunks, corpus, halves, read_text

from profiles import examples
from usp._formats.document import DocumentParser

SMALL = 600  # so many bytes are cut at every place
CASES = pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)
SMALL_CASES = pytest.mark.parametrize(
    "case", [case for case in corpus() if 1 < len(case.data) <= SMALL], ids=lambda case: case.name
)
READABLE_CASES = pytest.mark.parametrize(
    "case",
    [case for case in corpus() if "kind" in case.expected and len(case.data) <= SMALL],
    ids=lambda case: case.name,
)
KEYS = {"why", "url", "role", "content_type", "content_encoding", "encoding", "kind", "refusal"}
KEYS |= {"pages", "children", "problems", "lost"}


def test_the_corpus_is_there():
    assert len(corpus()) >= 300


def test_an_expectation_says_what_becomes_of_the_document():
    for case in corpus():
        assert set(case.expected) <= KEYS, case.name
        assert case.expected["why"], case.name
        assert ("kind" in case.expected) != ("refusal" in case.expected), case.name


@CASES
def test_a_case_gives_what_is_expected(case):
    reading, expected = case.read([case.data]), case.expected
    if "refusal" in expected:
        assert reading.kind is None
        assert expected["refusal"] in reading.refusal
        assert not reading.pages
        assert not reading.children
        return
    assert (reading.kind, reading.refusal) == (expected["kind"], None)
    assert [brief_page(page) for page in reading.pages] == expected.get("pages", [])
    assert [brief_child(child) for child in reading.children] == expected.get("children", [])
    assert reading.codes == expected["problems"]
    assert reading.lost == expected["lost"]
    assert reading.encoding == expected.get("encoding", reading.encoding)


@CASES
def test_a_case_in_pieces_gives_the_same(case):
    whole = case.read([case.data])
    for size in (1, 2, 3, 7):
        assert case.read(chunks(case.data, size)) == whole, f"in pieces of {size}"


def places(length: int) -> Iterable[int]:
    """Return where something of a length is cut in two: everywhere in CI, else at some places."""
    everywhere = range(1, length)
    most = examples(SMALL)
    return everywhere if length <= most else sorted(random.sample(everywhere, most))


@SMALL_CASES
def test_a_case_cut_in_two_anywhere_gives_the_same(case):
    whole = case.read([case.data])
    for at in places(len(case.data)):
        assert case.read(halves(case.data, at)) == whole, f"cut at {at}: {case.data[:at]!r}"


def maker_of(case):
    """Return what makes parsers for the text of a case: such as the document parser found."""
    document = DocumentParser(**case.options)
    list(document.feed(case.data))
    document.close()
    parser = document.parser if document._xml is None else document._xml
    return partial(type(parser), case.options["url"])


@READABLE_CASES
def test_the_text_of_a_case_cut_in_two_anywhere_gives_the_same(case):
    """The decoder holds back the first bytes; here the parsers themselves see every cut."""
    text, parser = case.text, maker_of(case)
    whole = read_text([text], parser())
    for at in places(len(text)):
        assert read_text(halves(text, at), parser()) == whole, f"cut at {at}: {text[:at]!r}"


@READABLE_CASES
def test_the_text_of_a_case_in_pieces_gives_the_same(case):
    text, parser = case.text, maker_of(case)
    whole = read_text([text], parser())
    for size in (1, 2, 5):
        assert read_text(chunks(text, size), parser()) == whole, f"in pieces of {size}"
