"""However the tags of a document are written, reading it takes little memory, and learns little of them."""

import gzip
import re
from itertools import count

import pytest

from patience import memory_below
from together import together
from usp.limits import Limits
from usp.tree import sitemap_from_bytes
from website import SITEMAP_NS

pytestmark = pytest.mark.growth

USUAL = f'xmlns="{SITEMAP_NS}" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
LENGTH = 80_000


def declared(number, uri="urn:{}", prefix="p"):
    return " ".join(f'xmlns:{prefix}{n}="{uri.format(n)}"' for n in range(number))


def document(unit, attributes=USUAL, root="urlset"):
    """Write a long document, in which the unit is repeated with its number."""
    text = f"<{root} {attributes}>"
    numbers = count()
    while len(text) <= LENGTH:
        text += unit(next(numbers))
    return f"{text}</{root}>".encode()


def entry(n, inside="", attributes="", end=""):
    return f"<url{attributes}><loc>https://e.org/{n}</loc>{inside}</url{end}>"


def image(n, inside=""):
    return f"<image:image><image:loc>https://e.org/{n}.png</image:loc>{inside}</image:image>"


def pair(n, kinds=39):
    """Write an element inside another one, as two of few names that are together one of many."""
    a, b = n % kinds, n // kinds % kinds
    return f"<g{a}><h{b}>1</h{b}></g{a}>"


def nested(n, depth=150):
    return "".join(f'<a xmlns:q{n}-{at}="u">' for at in range(depth)) + "</a>" * depth


MANY = f"{USUAL} {declared(1000)}"
ITEM = '<item xmlns:q{}="u"><title>T</title><link>https://e.org/{}</link></item>'
CHILD = '<sitemap xmlns:q{}="u"><loc>https://e.org/{}.xml</loc></sitemap>'
KINDS = {  # a unit by its number, and of what it is repeated in, attributes and name
    "a prefix declared by every entry": (lambda n: entry(n, "", f' xmlns:q{n}="u"'), MANY),
    "prefixes declared by every element": (
        lambda n: entry(n, f'<a xmlns:q{n}="u"><b xmlns:r{n}="u"/></a>', f' xmlns:s{n}="u"'),
        MANY,
    ),
    "prefixes declared below each other": (lambda n: entry(n, nested(n)), MANY),
    "many declarations below each of many": (
        lambda n: (
            f'<a xmlns:q{n // 50}="u">' * (n % 50 == 0)
            + f'<b xmlns:r{n % 50}="u"/>'
            + "</a>" * (n % 50 == 49)
        ),
        MANY,
    ),
    "many declarations in a tag": (
        lambda n: entry(n, image(n), " " + declared(500, prefix=f"q{n}-")),
    ),
    "many prefixes of the protocol": (
        lambda n: entry(n, f"<p{n % 500}:lastmod>2024</p{n % 500}:lastmod>", f' a="{n}"'),
        f"{USUAL} {declared(500, SITEMAP_NS)}",
    ),
    "elements around entries that declare prefixes": (
        lambda n: f'<a xmlns:q{n}="urn:{n}">{entry(n, image(n))}</a>',
        MANY,
    ),
    "prefixes declared by items": (lambda n: ITEM.format(n, n), MANY, "rss"),
    "prefixes declared in an index": (lambda n: CHILD.format(n, n), MANY, "sitemapindex"),
    "elements of many names": (lambda n: entry(n, f"<x{n}>1</x{n}>{image(n)}"),),
    "elements of many names in others": (lambda n: entry(n, pair(n) + image(n)),),
    "elements of many names in others in others": (
        lambda n: entry(
            n, f"<f{n % 30}>{pair(n // 30, 30)}<k{n // 900}>1</k{n // 900}></f{n % 30}>"
        ),
    ),
    "a new element now and then": (lambda n: entry(n, pair(n // 8)),),
    "a new element of an image now and then": (lambda n: entry(n, image(n, pair(n // 8))),),
    "many elements, then small entries": (
        lambda n: entry(n, image(n, pair(n)) if n < 400 else image(n) * 8),
    ),
    "end tags in many spellings": (
        lambda n: entry(n, pair(n) + image(n), end=" " * (n // 20 % 40)),
    ),
    "attributes of many names": (
        lambda n: entry(
            n, f'<image:image b{n}="2"><image:loc c{n}="">/i</image:loc></image:image>'
        ),
    ),
    "names and namespaces that are long": (
        lambda n: entry(n, f'<q:{"n" * 900}{n} xmlns:q="{"u" * 900}{n}"/>'),
    ),
    "blanks written as references": (lambda n: entry(n, "&#160;" * 300) + "&#32;\0" * 300,),
}


@pytest.mark.long
@together("kind", KINDS)
def test_memory_is_bounded_and_few_patterns_are_compiled(kind, monkeypatch):
    """Compiling takes Python microseconds for every character of a pattern."""
    patterns = []
    compile_ = re.compile
    monkeypatch.setattr(re, "compile", lambda *given: patterns.append(given[0]) or compile_(*given))
    data = document(*KINDS[kind])
    with memory_below(8 * 1024 * 1024):
        limits = Limits(ratio=None)
        node = sitemap_from_bytes(gzip.compress(data), "https://e.org/sitemap.xml", limits=limits)
        for page in node.all_pages():
            page.to_dict()
        list(node.problems)
    assert sum(map(len, patterns)) < len(data) / 4
