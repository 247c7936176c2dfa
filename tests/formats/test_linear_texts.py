"""What reads a line, a value or a header takes linear time, whatever stands in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adversary import GROWTH, PUMPS, cook, growth
from profiles import some
from together import together
from usp._formats import values
from usp._formats.decode import Decoder
from usp._formats.document import DocumentParser, Role
from usp._formats.values import absolute_url
from usp._formats.xml.references import attributes, decode_text
from usp.helpers import html_unescape_strip, is_http_url, parse_iso8601_date

pytestmark = pytest.mark.growth


def ignore(*_: object) -> None:
    """Hear of damage, and forget it."""


def header(text: str) -> str:
    return Decoder(content_type=text).feed(b"<urlset/>" * 100)


def document(text: str, role: Role, size: int = 1 << 18, *, fast: bool = False) -> None:
    data = text.encode()
    parser = DocumentParser("https://example.org/", role=role, fast=fast)
    for at in range(0, len(data), size):
        list(parser.feed(data[at : at + size]))
    list(parser.close())


CALLS: dict[str, Callable[[str], object]] = {
    "is_http_url": is_http_url,
    "absolute_url": lambda text: absolute_url(text, "https://example.org/a/b"),
    "html_unescape_strip": html_unescape_strip,
    "date": lambda text: parse_iso8601_date(text or "-"),
    "text": values.text,
    "number": values.number,
    "list": lambda raw: values.listed(raw, ","),
    "attributes": lambda text: attributes(text, ignore),
    "decode_text": lambda text: decode_text(text, ignore),
    "Content-Type": header,
    "robots.txt": lambda text: document(text, Role.ROBOTS),
    "plain text": lambda text: document("https://example.org/\n" + text, Role.SITEMAP),
    "plain text, fast": lambda text: document(f"http://a/\n{text}\n", Role.SITEMAP, fast=True),
    "homepage": lambda text: document(text, Role.HOMEPAGE),
}
QUICK = tuple(CALLS)[:-4]  # those that read no document
PREFIXES = (
    *("", "http://", "//", "Sitemap:", "charset=", "https://example.org/", "2021-01-01", "<link "),
)
SUFFIXES = ("", "\x85!", " \xa0a")


@together("name", CALLS)
def test_four_times_the_text_takes_about_four_times_as_long(name):
    for prefix in PREFIXES:
        for pump in some((*PUMPS, "\u2003", "\x1f", "\ufeff", "\r", "../", "a ", "a=", "&#", "%")):
            for suffix in SUFFIXES if name in QUICK else SUFFIXES[-1:]:

                def text(length, recipe=(prefix, pump, suffix)):
                    return cook(*recipe, again=False, length=length)

                assert growth(CALLS[name], text) < GROWTH, (prefix, pump, suffix)


@together("role", Role)
@together("pump", ["a", " ", "# a\n", "\r", "<"])
def test_so_does_a_document_that_comes_in_small_pieces(role, pump):
    def text(length):
        return cook("", pump, "", again=False, length=length * 16)

    assert growth(lambda given: document(given, role, 16), text) < GROWTH
