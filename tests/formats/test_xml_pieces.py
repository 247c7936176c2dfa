"""Namespaces, references and problems, each on its own."""

import pytest

from together import together
from usp._formats.xml.namespaces import Scope, Space, space_of
from usp._formats.xml.references import attributes, decode_text, without_forbidden
from usp.objects.problem import MAX_PROBLEMS, Problem, ProblemCode, Problems

SPACES = {
    Space.NONE: ["", "  "],
    Space.SITEMAP: [
        "http://www.sitemaps.org/schemas/sitemap/0.9",
        "HTTPS://WWW.SITEMAPS.ORG/schemas/sitemap/0.9/",
        "http://www.google.com/schemas/sitemap/0.84",
        "http://www.example.org/sitemap/x",
    ],
    Space.NEWS: ["http://www.google.com/schemas/sitemap-news/0.9"],
    Space.IMAGE: ["http://www.google.com/schemas/sitemap-image/1.1/"],
    Space.VIDEO: ["https://www.sitemaps.org/schemas/sitemap-video/1.1"],
    Space.MOBILE: ["http://www.google.com/schemas/sitemap-mobile/1.0"],
    Space.PAGEMAP: ["http://www.google.com/schemas/sitemap-pagemap/1.0"],
    Space.XHTML: [
        "http://www.w3.org/1999/xhtml",
        "http://www.w3.org/TR/xhtml11/xhtml11_schema.html",
    ],
    Space.ATOM: ["http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"],
    Space.RSS: ["http://purl.org/rss/1.0/"],
    Space.OTHER: ["http://purl.org/rss/1.0/modules/content/", "urn:x"],
    Space.DUBLIN_CORE: ["http://purl.org/dc/elements/1.1/"],
}


@together("uri, space", [(uri, space) for space, uris in SPACES.items() for uri in uris])
def test_a_vocabulary_is_told_by_its_namespace_in_all_its_spellings(uri, space):
    assert space_of(uri) is space


def test_a_prefix_means_what_it_usually_means_if_it_is_not_declared_or_misspelt():
    assert Scope().name("video:loc").space is Space.VIDEO
    assert Scope().name("foo:loc").space is Space.OTHER
    scope = Scope().below("", {"xmlns:video": "http://www.google.com/schemas/video-sitemaps/1"})
    assert scope.name("video:title").space is Space.VIDEO
    assert scope.below("2", {}) is scope.below("2", {}), "made once for the same declarations"


def test_all_scopes_of_a_document_together_remember_a_bounded_number_of_names():
    scope = Scope()
    for n in range(30_000):
        scope = scope.below(f"{n}", {}) if n % 100 == 0 else scope
        scope.remember(str, f"a{n}", n)
    assert scope.meanings(str) == {}
    assert scope.below("a", {}) is not scope.below("a", {})
    assert Scope().below("a", {}).name("image:loc").space is Space.IMAGE


def noted(decode, raw):
    notes = []
    return decode(raw, lambda message, excerpt: notes.append(message)), notes


@together(
    "raw, text, notes",
    [
        *(("plain", "plain", 0), ("&#13;&#10;", "\r\n", 0), ("&who;", "&who;", 1)),
        ("&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#X43;", "<>&\"'ABC", 0),
        *(("a & b &amp; c &", "a & b & c &", 1), ("&nbsp;&eacute;", "\u00a0é", 2)),
        ("&#0;&#x1F;&#xD800;&#xFFFE;&#99999999999;&#x110000;", "", 6),
        *(("a\x00b\x1fc\ufffed", "abcd", 1), ("\t\n\x7f\x85", "\t\n\x7f\x85", 0)),
        ("&" + "x" * 50 + ";", "&" + "x" * 50 + ";", 1),
    ],
)
def test_text_is_decoded_and_damage_is_noted(raw, text, notes):
    decoded, heard = noted(decode_text, raw)
    assert (decoded, len(heard)) == (text, notes)


def test_cdata_is_taken_as_it_is_but_for_forbidden_characters():
    assert noted(without_forbidden, "&amp;\n<b>") == ("&amp;\n<b>", [])
    assert noted(without_forbidden, "a\x0bb") == ("ab", [ProblemCode.CONTROL_CHARACTER])


@together(
    "raw, expected",
    [
        (" a=\"1\" B='2'", {"a": "1", "b": "2"}),
        ("a = '1'\n\tb\n=\n\"2\"", {"a": "1", "b": "2"}),
        *(("a=1 b=x/y", {"a": "1", "b": "x/y"}), ("a='' b=\"\"", {"a": "", "b": ""})),
        *(("a='1' a='2'", {"a": "1"}), ("disabled a='1'", {"a": "1"}), ("", {})),
        *(("a='x\ty\nz&#10;&amp;'", {"a": "x y z\n&"}), ("a='>' b='\"'", {"a": ">", "b": '"'})),
    ],
)
def test_attributes(raw, expected):
    assert attributes(raw, pytest.fail) == expected


def test_problems_are_kept_up_to_a_number_and_then_counted():
    problems = Problems()
    for n in range(MAX_PROBLEMS + 5):
        problems.add(ProblemCode.NO_LOC, n, "x" * 500, lost=1)
    *kept, last = problems.listed()
    assert len(kept) == MAX_PROBLEMS
    assert all(len(problem.excerpt) < 150 for problem in kept)
    code = ProblemCode.NO_LOC
    assert last == Problem(code.message, lost=5, times=5, code=code)
    assert sum(problem.lost for problem in problems.listed()) == MAX_PROBLEMS + 5


def test_a_problem_reads_as_one_line():
    assert str(Problem("bad", 3, "x\ny")) == "line 3: bad: 'x\\ny'"
    assert str(Problem("bad")) == "bad"
