"""Links to other languages: all of a block are read by a pattern that is made from the first of them.

An entry may have dozens of links, and their values stand in attributes, unlike those of other elements.
"""

from __future__ import annotations

import re
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from usp._formats.templates import BLANKS, NOTHING
from usp._formats.url_batches import ignore
from usp._formats.values import resolved
from usp._formats.xml.references import attribute_value, decode_references
from usp._formats.xml.trees import Unvouched, unvouched

if TYPE_CHECKING:
    from collections.abc import Iterator

Links: TypeAlias = list[tuple[str, str]]
"""The language and the address of each link."""

_FIRST = re.compile(
    r"""<([^\s<>]++)((?:\s++[\w.:-]++=(?:"[^"<>]*+"|'[^'<>]*+'))++)(\s*+(?:/>|></\1>))"""
)
_ATTRIBUTE = re.compile(r"""(?<!\s)(\s++)([\w.:-]++)=("[^"]*+"|'[^']*+')""")
_VALUES = ("hreflang", "href")
_NEEDED = ("rel", *_VALUES)
_USUAL = bytes(set(range(0x21, 0x7F)) - set(b"<>")) + b"\0"  # which is not in any document


class _Style(NamedTuple):
    """How links are written."""

    turned: bool  # whether the address comes before the language
    is_short: bool  # whether there are no other attributes
    pattern: str


class LinkTemplate:
    """Takes links that are written with this name out of a text, in a few styles."""

    def __init__(self, name: str) -> None:
        self.begin = f"<{name}"
        self._styles: list[_Style] = []
        self._pattern = NOTHING

    def take(self, text: str, mark: str, base: str | None, *, strict: bool) -> tuple[str, Links]:
        """Return the text with marks for links, and their languages and addresses."""
        while True:
            flat = self._pattern.split(text)
            rest = mark.join(flat[:: self._pattern.groups + 1])
            begin = rest.find(self.begin)
            if begin < 0:
                break
            self._learn(rest[begin:])
        if strict and not all(style.is_short for style in self._styles):
            raise Unvouched
        return rest, list(zip(*self._values(flat, base, strict=strict), strict=True))

    def _learn(self, text: str) -> None:
        style = _style_of(text)
        if style in self._styles or len(self._styles) == _MAX_STYLES:
            raise Unvouched
        self._styles.append(style)
        self._pattern = _pattern(self._styles)

    def _values(self, flat: list[str], base: str | None, *, strict: bool) -> list[list[str]]:
        """Return languages and addresses."""
        step = self._pattern.groups + 1
        found: list[list[str]] = []
        for at, style in enumerate(self._styles):
            columns = [flat[2 * at + 1 :: step], flat[2 * at + 2 :: step]]
            own = columns[::-1] if style.turned else columns
            found = (
                [
                    [one if one is not None else other for one, other in zip(*both, strict=True)]
                    for both in zip(found, own, strict=True)
                ]
                if found
                else own
            )
        joined = "\0".join(["", *found[1], *found[0]])
        others = joined.encode("utf-8", "surrogatepass").translate(None, _USUAL)
        letters = others.decode("utf-8", "surrogatepass")
        note = unvouched if strict else ignore
        if "<" in letters or ">" in letters:
            raise Unvouched
        if " " in letters or not letters.isprintable():
            found = [[attribute_value(one, note).strip() for one in column] for column in found]
        elif "&" in joined:
            found = [
                [decode_references(one, note) if "&" in one else one for one in column]
                for column in found
            ]
        languages, addresses = found
        if joined.count("\0http://") + joined.count("\0https://") != len(addresses):
            addresses = [resolved(address, base) for address in addresses]
        if "" in languages or "" in addresses:
            raise Unvouched
        return [languages, addresses]


_MAX_STYLES = 4


def _pattern(styles: list[_Style]) -> re.Pattern[str]:
    """Return the pattern of links, with the blanks after them."""
    return re.compile(rf"(?:{'|'.join(style.pattern for style in styles)})[{BLANKS}]*+")


def _style_of(text: str) -> _Style:
    """Return how the link at the beginning of a text is written."""
    first = _FIRST.match(text)
    if first is None:
        raise Unvouched
    name, written, end = first.groups()
    attributes = list(_attributes(written))
    names = [attribute for _, attribute, _ in attributes]
    return _Style(
        names.index("href") < names.index("hreflang"),
        len(names) == len(_NEEDED),
        f"<{re.escape(name)}{''.join(starmap(_attribute, attributes))}{re.escape(end)}",
    )


def _attributes(written: str) -> Iterator[tuple[str, str, str]]:
    """Yield blanks, name and quote of each attribute that a link of a language may have."""
    names = set()
    for blanks, name, value in _ATTRIBUTE.findall(written):
        known = name in _VALUES or (name == "rel" and value[1:-1] == "alternate")
        if name in names or not (known or name in _IGNORED):
            raise Unvouched
        names.add(name)
        yield blanks, name, value[0]
    if not names.issuperset(_NEEDED):
        raise Unvouched


_IGNORED = ("title", "type")  # attributes that change nothing


def _attribute(blanks: str, name: str, quote: str) -> str:
    """Return the pattern of an attribute."""
    value = f"[^{quote}<>]*+"
    if name == "rel":
        value = "alternate"
    elif name in _VALUES:
        value = f"([^{quote}]*+)"  # whether there are brackets in it, is seen later
    return f"{blanks}{name}={quote}{value}{quote}"
