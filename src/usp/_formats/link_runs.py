"""Links to other languages: all of a run are read by a pattern that is made from the first of them.

An entry may have dozens of links, and their values stand in attributes, unlike those of other elements.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from usp._formats.url_batches import ignore
from usp._formats.values import resolved
from usp._formats.xml.references import attribute_value, decode_references
from usp._formats.xml.trees import Unvouched, unvouched

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Links: TypeAlias = list[tuple[str, str]]
"""The language and the address of each link."""

_FIRST = re.compile(
    r"""<([^\s<>]++)((?:\s++[\w.:-]++=(?:"[^"<>]*+"|'[^'<>]*+'))++)(\s*+(?:/>|></\1>))"""
)
_ATTRIBUTE = re.compile(r"""(?<!\s)(\s++)([\w.:-]++)=("[^"]*+"|'[^']*+')""")
_VALUES = ("hreflang", "href")
_NEEDED = ("rel", *_VALUES)
_PLAIN = bytes(set(range(0x21, 0x7F)) - set(b"<"))
_USUAL = _PLAIN.replace(b">", b"") + b"\0"  # which is not in any document
_LETTERS = re.compile(r"\w*+")
_BLANKS = " \t\r\n"


class _Style(NamedTuple):
    """How links are written."""

    tags: int  # of a link: an empty one, or two
    turned: bool  # whether the address comes before the language
    is_short: bool  # whether there are no other attributes
    plain: re.Pattern[str]  # with addresses that are absolute
    any: re.Pattern[str]
    quick: str  # the pattern of links whose values have no brackets in them


class LinkReader:
    """Reads runs of links, expecting them to be written like the run before."""

    def __init__(self) -> None:
        self._style: _Style | None = None

    def read(
        self, runs: list[str], base: str | None, *, strict: bool = False
    ) -> Sequence[Links | None]:
        """Return the links of each run, None if it is empty.

        Raises :class:`Unvouched` if they are not written alike; so does what may be a problem, if
        ``strict``.
        """
        joined = "".join(runs)
        style = self._style
        if not joined:
            return [None] * len(runs)
        found = None if style is None else _read_plain(joined, style, strict=strict)
        if style is None or found is None:
            return [self._read_one(run, base, strict=strict) if run else None for run in runs]
        links: list[Links | None] = []
        at = 0
        for run in runs:
            end = at + run.count("<") // style.tags
            links.append(found[at:end] or None)
            at = end
        return links

    def _read_one(self, run: str, base: str | None, *, strict: bool) -> Links | None:
        style = self._style
        links = style and _read_run(run, base, style, strict=strict)
        if links is None:
            self._style = _style_of(run)
            links = _read_run(run, base, self._style, strict=strict)
        if links is None:
            raise Unvouched
        return links or None


class LinkTemplate:
    """Takes links that are written with this name out of a text, in a few styles."""

    def __init__(self, name: str) -> None:
        self.begin = f"<{name}"
        self._styles: list[_Style] = []
        self._pattern = re.compile("(?!)")

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
        patterns = "|".join(style.quick for style in self._styles)
        self._pattern = re.compile(rf"(?:{patterns})[{_BLANKS}]*+")

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


def _split(pattern: re.Pattern[str], run: str, style: _Style, *, strict: bool) -> list[str] | None:
    """Return the values of links, and what is between them; None if one is written otherwise."""
    flat = pattern.split(run)
    between = "".join(flat[::3])
    if "<" in between:
        return None
    if strict and (between.strip(_BLANKS) or not style.is_short):
        raise Unvouched
    return flat


def _read_plain(run: str, style: _Style, *, strict: bool) -> Links | None:
    """Return the links of a run whose values have nothing but letters, digits and what is printed."""
    flat = _split(style.plain, run, style, strict=strict)
    if flat is None:
        return None
    first, second = flat[1::3], flat[2::3]
    others = "".join([*first, *second]).encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    if others and not _LETTERS.fullmatch(others.decode("utf-8", "surrogatepass")):
        return None
    if "&" in run:
        if run.count("&") != run.count("&amp;"):
            return None
        first, second = ([one.replace("&amp;", "&") for one in some] for some in (first, second))
    return list(
        zip(second, first, strict=True) if style.turned else zip(first, second, strict=True)
    )


def _read_run(run: str, base: str | None, style: _Style, *, strict: bool) -> Links | None:
    """Return the links of a run, whatever their values are; None if one is written otherwise."""
    links = _read_plain(run, style, strict=strict)
    if links is not None:
        return links
    flat = _split(style.any, run, style, strict=strict)
    if flat is None:
        return None
    note = unvouched if strict else ignore
    links = []
    for values in zip(flat[1::3], flat[2::3], strict=True):
        language, href = (attribute_value(value, note).strip() for value in values)
        if style.turned:
            language, href = href, language
        if language and href:
            links.append((language, resolved(href, base)))
        elif strict:
            raise Unvouched
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
    if not names.issuperset(_NEEDED):
        raise Unvouched


_IGNORED = ("title", "type")  # attributes that change nothing


@lru_cache(maxsize=64)
def _style(name: str, attributes: tuple[tuple[str, str, str], ...], end: str) -> _Style:
    """Return the style of links with such a name, such attributes and such an end."""
    names = [attribute for _, attribute, _ in attributes]
    return _Style(
        2 if "</" in end else 1,
        names.index("href") < names.index("hreflang"),
        len(names) == len(_NEEDED),
        _pattern(name, attributes, end, {"hreflang": "([^%s]++)", "href": "(https?://[^%s]*+)"}),
        _pattern(name, attributes, end, {"hreflang": "([^%s<>]*+)", "href": "([^%s<>]*+)"}),
        _pattern(name, attributes, end, {"hreflang": "([^%s]*+)", "href": "([^%s]*+)"}).pattern,
    )


def _pattern(
    name: str, attributes: tuple[tuple[str, str, str], ...], end: str, values: dict[str, str]
) -> re.Pattern[str]:
    tag = f"<{re.escape(name)}"
    for blanks, attribute, quote in attributes:
        value = "alternate" if attribute == "rel" else values.get(attribute, "[^%s<>]*+")
        tag += f"{blanks}{attribute}={quote}{value.replace('%s', quote)}{quote}"
    return re.compile(tag + re.escape(end))
