"""Links to other languages: all of a run are read by a pattern that is made from the first of them.

An entry may have dozens of links, and their values stand in attributes, unlike those of other elements.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from usp._formats.url_batches import ignore
from usp._formats.values import resolved
from usp._formats.xml.references import attribute_value
from usp._formats.xml.trees import Unvouched

if TYPE_CHECKING:
    from collections.abc import Iterator

Links: TypeAlias = list[tuple[str, str]]
"""The language and the address of each link."""

_FIRST = re.compile(
    r"""<([^\s<>]++)((?:\s++[\w.:-]++=(?:"[^"<>]*+"|'[^'<>]*+'))++)(\s*+(?:/>|></\1>))"""
)
_ATTRIBUTE = re.compile(r"""(?<!\s)(\s++)([\w.:-]++)=("[^"]*+"|'[^']*+')""")
_VALUES = ("hreflang", "href")
_PLAIN = bytes(set(range(0x21, 0x7F)) - set(b"&<"))
_LETTERS = re.compile(r"\w*+")


class _Style(NamedTuple):
    """How links are written."""

    tags: int  # of a link: an empty one, or two
    turned: bool  # whether the address comes before the language
    plain: re.Pattern[str]  # with addresses that are absolute
    any: re.Pattern[str]


class LinkReader:
    """Reads runs of links, expecting them to be written like the run before."""

    def __init__(self) -> None:
        self._style: _Style | None = None

    def read(self, run: str, base: str | None) -> Links:
        """Return the links of a run; raises :class:`Unvouched` if they are not written alike."""
        style = self._style
        if style is not None:
            found: Links = style.plain.findall(run)
            if len(found) * style.tags == run.count("<") and _are_plain(found):
                return [(language, href) for href, language in found] if style.turned else found
        links = style and _read_any(run, base, style)
        if links is None:
            self._style = _style_of(run)
            links = _read_any(run, base, self._style)
        if links is None:
            raise Unvouched
        return links


def _are_plain(links: Links) -> bool:
    """Return whether the values of links have only letters, digits and what else is printed."""
    values = "".join(chain.from_iterable(links)).encode("utf-8", "surrogatepass")
    others = values.translate(None, _PLAIN)
    return not others or _LETTERS.fullmatch(others.decode("utf-8", "surrogatepass")) is not None


def _read_any(run: str, base: str | None, style: _Style) -> Links | None:
    """Return the links of a run, whatever their values are; None if one is written otherwise."""
    found = style.any.findall(run)
    if len(found) * style.tags != run.count("<"):
        return None
    links = []
    for values in found:
        language, href = (attribute_value(value, ignore).strip() for value in values)
        if style.turned:
            language, href = href, language
        if language and href:
            links.append((language, resolved(href, base)))
    return links


def _style_of(run: str) -> _Style:
    """Return how the first link of a run is written."""
    first = _FIRST.match(run)
    if first is None:
        raise Unvouched
    name, attributes, end = first.groups()
    return _style(name, tuple(_attributes(attributes)), end)


def _attributes(written: str) -> Iterator[tuple[str, str, str]]:
    """Yield blanks, name and quote of each attribute that a link of a language may have."""
    names = set()
    for blanks, name, value in _ATTRIBUTE.findall(written):
        known = name in _VALUES or (name == "rel" and value[1:-1] == "alternate")
        if name in names or not (known or name in _IGNORED):
            raise Unvouched
        names.add(name)
        yield blanks, name, value[0]
    if not names.issuperset(("rel", *_VALUES)):
        raise Unvouched


_IGNORED = ("title", "type")  # attributes that change nothing


@lru_cache(maxsize=64)
def _style(name: str, attributes: tuple[tuple[str, str, str], ...], end: str) -> _Style:
    """Return the style of links with such a name, such attributes and such an end."""
    names = [attribute for _, attribute, _ in attributes]
    return _Style(
        2 if "</" in end else 1,
        names.index("href") < names.index("hreflang"),
        _pattern(name, attributes, end, {"hreflang": "([^%s]++)", "href": "(https?://[^%s]*+)"}),
        _pattern(name, attributes, end, {"hreflang": "([^%s<>]*+)", "href": "([^%s<>]*+)"}),
    )


def _pattern(
    name: str, attributes: tuple[tuple[str, str, str], ...], end: str, values: dict[str, str]
) -> re.Pattern[str]:
    tag = f"<{re.escape(name)}"
    for blanks, attribute, quote in attributes:
        value = "alternate" if attribute == "rel" else values.get(attribute, "[^%s<>]*+")
        tag += f"{blanks}{attribute}={quote}{value.replace('%s', quote)}{quote}"
    return re.compile(tag + re.escape(end))
