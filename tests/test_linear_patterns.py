"""No regular expression of the package takes more than linear time, whatever text it is given.

Neither does what reads a line, a value or a header. Nothing interrupts a pattern that is at work: no limit of
time, no Ctrl-C. So each one is tried on strings made to hurt it, in the ways in which the package calls it.
"""

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

import usp
import usp._base.filters
import usp.selection
from adversary import GROWTH, PUMPS, cook, growth, recipes
from profiles import some
from test_layers import BY_NAME, parsed
from together import together
from usp import matching
from usp._base import display
from usp._base.loc_urls import absolute_url
from usp._crawl import stored_pages
from usp._formats import document, values
from usp._formats.decode import Decoder
from usp._formats.document import DocumentParser, Role
from usp._formats.xml import blocks, cut, references
from usp.checks import context, robots_access
from usp.helpers import html_unescape_strip, is_http_url, parse_iso8601_date

CALLS: dict[str, Callable[[re.Pattern[Any], Any], object]] = {
    "match": re.Pattern.match,
    "fullmatch": re.Pattern.fullmatch,
    "search": re.Pattern.search,
    "findall": re.Pattern.findall,
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    "split": re.Pattern.split,
    "sub": lambda pattern, text: pattern.sub(text[:0], text),
    "subn": lambda pattern, text: pattern.subn(text[:0], text),
}


class Case(NamedTuple):
    """A pattern of the package."""

    module: str
    name: str
    pattern: re.Pattern[Any]

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"

    def calls(self) -> list[str]:
        """Return how it is called in the package."""
        short = re.sub(r"\[.*", "", self.name.rpartition(".")[2])
        used = USED.get(short) or calls(self.module).get(short, set())
        if not used or not short.startswith("_"):
            used = used | calls(None).get(short, set())
        return sorted(used or {"search"})


# Patterns that are made when they are needed -----------------------------------------------------

STYLES = [
    cut.shape_of(entry, cut.CutNames("x:url" if "x:url" in entry else "url", ("sitemap",), ()))
    for entry in (
        "<url><loc>https://e.org/1</loc></url>",
        "<x:url ><x:loc>https://e.org/1</x:loc><x:lastmod>2024</x:lastmod></x:url >",
        "<!-- 1 --><url a='b'><priority>1</priority><loc>\nhttps://e.org/1\n</loc></url>",
        "<url><loc><![CDATA[https://e.org/1]]></loc><lastmod>2024</lastmod><b/></url>",
    )
]

MADE: dict[str, Callable[[], list[re.Pattern[str]]]] = {
    "usp._formats.xml.blocks._end_tag": lambda: [blocks._end_tag("x:url")],
    "usp._formats.xml.cut._first": lambda: [cut._first(name) for name in ("url", "x:url")],
    "usp._formats.xml.cut._entry": lambda: [
        cut._entry(style, values=values) for style in STYLES for values in (False, True)
    ],
    "usp._formats.xml.references._blanks": lambda: [*map(references._blanks, ("", "\0\ufeff"))],
    "usp._formats.document._end_of": lambda: [document._end_of("urlset")],
    "usp._crawl.stored_pages._tag_of": lambda: [stored_pages._tag_of("image:loc")],
    "usp._base.display._addresses_at": lambda: [display._addresses_at("https://www.example.org/")],
    "usp._base.filters.compiled": lambda: [  # those that begin with re: are the caller's own
        usp._base.filters.compiled("include", glob)
        for glob in ("*/blog/*", "/a*b*c*d", "*a*?*b*[0-9]*c*")
    ],
    "usp.checks.robots_access.suspects": lambda: [
        robots_access.suspects("Disallow: /a*b*c$\nDisallow: *d*e\nDisallow: /f")
    ],
    "usp.checks.context._first_tags": lambda: [context._first_tags({"tea", "tea:cup"})],
    "usp.matching.__init__": lambda: [matching.Ranking("pricing a+b für 東京").pattern],
    "usp.selection.of_host": lambda: [usp.selection.of_host("https://www.example.org/")],
}

USED = {  # where a call is not written as ``NAME.call(…)``
    "_first": {"match"},
    "_entry": {"findall"},
    "_end_of": {"search", "split"},
    "_end_tag": {"search"},
    "_tag_of": {"finditer"},
    "_first_tags": {"finditer"},
    "_compiled": {"search"},
    "of_host": {"match"},
}


# All patterns of the package ---------------------------------------------------------------------


def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of all modules, by name."""
    return {f"usp.{name}".rstrip("."): parsed(path) for name, path in BY_NAME.items()}


@cache
def calls(module: str | None) -> dict[str, set[str]]:
    """Return which methods of patterns are called on which names, in one module or in any."""
    found: dict[str, set[str]] = {}
    for name, tree in trees().items():
        if module not in (None, name):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in CALLS:
                value = node.value
                owner = getattr(value, "attr", None) or getattr(value, "id", None)
                found.setdefault(owner or "", set()).add(node.attr)
    return found


def held(value: object, name: str, depth: int = 3) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns in a value: itself, in a collection, or in a class."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif depth and isinstance(value, dict):
        for key, item in value.items():
            yield from held(item, f"{name}[{key}]", depth - 1)
    elif depth and isinstance(value, (list, tuple, set, frozenset)):
        for at, item in enumerate(value):
            yield from held(item, f"{name}[{at}]", depth - 1)
    elif depth and isinstance(value, type) and value.__module__.startswith("usp"):
        for key, item in vars(value).items():
            yield from held(item, f"{name}.{key}", depth - 1)


@cache
def cases() -> list[Case]:
    """Return every pattern of the package once."""
    found: dict[int, Case] = {}
    for module in trees():
        if module.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module)).items():
            for full, pattern in held(value, name):
                found.setdefault(id(pattern), Case(module, full, pattern))
    for maker, make in MADE.items():
        module, _, name = maker.rpartition(".")
        for full, pattern in held(make(), name):
            found.setdefault(id(pattern), Case(module, full, pattern))
    return sorted(found.values(), key=str)


def test_the_patterns_are_found():
    found = {str(case): case for case in cases()}
    assert {"usp._base.urls._HTTP_URL", "usp._formats.decode._CHARSET"} <= found.keys()
    assert len(found) >= 60
    assert found["usp._base.urls._HTTP_URL"].calls() == ["fullmatch"]


def test_every_pattern_that_is_made_when_needed_is_tried_too():
    made = {
        f"{module}.{function.name}"
        for module, tree in trees().items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and any(map(_calls_re, ast.walk(function)))
    }
    assert made == set(MADE)


def _calls_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in {"compile", *CALLS}
    )


# Growth ------------------------------------------------------------------------------------------


def grows(case: Case, call: str, recipe: tuple[str, str, str, bool]) -> float:
    prefix, pump, suffix, again = recipe

    def text(length: int) -> Any:
        cooked = cook(prefix, pump, suffix, again=again, length=length)
        is_text = isinstance(case.pattern.pattern, str)
        return cooked if is_text else cooked.encode("latin-1", "replace")

    return growth(lambda given: CALLS[call](case.pattern, given), text)


def test_four_times_the_text_takes_about_four_times_as_long():
    wrong = [
        (str(case), call, case.pattern.pattern, recipe)
        for case in cases()
        for call in case.calls()
        for recipe in some(recipes(case.pattern))
        if grows(case, call, recipe) >= GROWTH
    ]
    assert not wrong


def test_a_pattern_that_is_not_linear_is_found():
    """The test above can fail."""
    for pattern, call in (
        (r"https?://[^\s/?#]+[^\s]*", "fullmatch"),
        (r"""charset\s*=\s*["']?\s*([a-z]+)""", "search"),
        (r"\s+$", "search"),
        (r"(?:[^-]|-(?!-))*-->", "findall"),
        (r"<!--.*?-->", "findall"),
        (r"(a|a)*b", "match"),
    ):
        case = Case("an example", "", re.compile(pattern))
        assert any(grows(case, call, recipe) > GROWTH for recipe in recipes(case.pattern)), pattern


# What reads a line, a value or a header ----------------------------------------------------------


def header(text: str) -> str:
    return Decoder(content_type=text).feed(b"<urlset/>" * 100)


def read(text: str, role: Role, size: int = 1 << 18, *, fast: bool = False) -> None:
    data = text.encode()
    parser = DocumentParser("https://example.org/", role=role, fast=fast)
    for at in range(0, len(data), size):
        list(parser.feed(data[at : at + size]))
    list(parser.close())


READERS: dict[str, Callable[[str], object]] = {
    "is_http_url": is_http_url,
    "absolute_url": lambda text: absolute_url(text, "https://example.org/a/b"),
    "html_unescape_strip": html_unescape_strip,
    "date": lambda text: parse_iso8601_date(text or "-"),
    "text": values.text,
    "number": values.number,
    "list": lambda raw: values.listed(raw, ","),
    "attributes": lambda text: references.attributes(text, lambda *_: None),
    "decode_text": lambda text: references.decode_text(text, lambda *_: None),
    "Content-Type": header,
    "robots.txt": lambda text: read(text, Role.ROBOTS),
    "plain text": lambda text: read("https://example.org/\n" + text, Role.SITEMAP),
    "plain text, fast": lambda text: read(f"http://a/\n{text}\n", Role.SITEMAP, fast=True),
    "homepage": lambda text: read(text, Role.HOMEPAGE),
}
QUICK = tuple(READERS)[:-4]  # those that read no document
PREFIXES = (
    *("", "http://", "//", "Sitemap:", "charset=", "https://example.org/", "2021-01-01", "<link "),
)
SUFFIXES = ("", "\x85!", " \xa0a")


@pytest.mark.growth
@together("name", READERS)
def test_reading_four_times_the_text_takes_about_four_times_as_long(name):
    for prefix in PREFIXES:
        for pump in some((*PUMPS, "\u2003", "\x1f", "\ufeff", "\r", "../", "a ", "a=", "&#", "%")):
            for suffix in SUFFIXES if name in QUICK else SUFFIXES[-1:]:

                def text(length, recipe=(prefix, pump, suffix)):
                    return cook(*recipe, again=False, length=length)

                assert growth(READERS[name], text) < GROWTH, (prefix, pump, suffix)


@pytest.mark.growth
@together("role", Role)
@together("pump", ["a", " ", "# a\n", "\r", "<"])
def test_so_does_a_document_in_small_pieces(role, pump):
    def text(length):
        return cook("", pump, "", again=False, length=length * 16)

    assert growth(lambda given: read(given, role, 16), text) < GROWTH
