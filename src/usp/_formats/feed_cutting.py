"""The lane that cuts, for feeds: link, title and date of all entries of a block by one ``findall``.

Programs write the entries of a feed in the same order. The first entry of a block shows where these
three stand, its *slots*. Everything between them is passed over, as long as nothing in it could change
what they mean:

    </item> <item> others <title> … </title> others <link> … </link> others <pubDate> … others </item>

An element that has no other of its name inside ends at the first end tag of its name, whatever else is
inside. So what follows is directly in the entry. Inside there must be no entry, no slot still to come,
no better date, and no end of what is around the entry. Long texts are left out before, and CDATA
sections become text: then every ``<`` begins a tag.

Where no such entry follows the end of another one, the pattern matches only that end: if it does so at
the last one only, then nothing is left out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

from usp._formats.xml.entries import Sort
from usp._formats.xml.nesting import MAX_FIELDS, kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from usp._formats.feed_entries import FeedEntry
    from usp._formats.xml.nesting import Nesting

_B = r"[ \t\r\n]*+"
_NAME = r"[A-Za-z_][A-Za-z0-9_.:-]*+"
_VALUE = r"""(?:"[^"<>]*+"|'[^'<>]*+')"""
_ATTRIBUTES = rf"(?:[ \t\r\n]++{_NAME}={_VALUE})*+"
_PLAIN_ATTRIBUTES = rf"(?:[ \t\r\n]++(?!(?i:xml)(?!:lang=)){_NAME}={_VALUE})*+"  # declare nothing
_PREFIX = r"(?:[^ \t\r\n\f\v<>/:]++:)*+"
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_MAX_TEXT = 500  # characters of a text that may be a title
_HEAD, _MANY = 4096, 80  # of so many characters, so many for each tag: then there are long texts
LEFT_OUT = "\0"
"""Stands for a text that was left out: a field with that is read elsewhere."""

_FEW = 200  # entries
_MAX_CHILDREN = 500  # of an entry, before or after a slot
_LEARNED = 5  # entries that show which others there are
_MAX_NAMES = 30  # of others that are known
_BEFORE_SECTION = "> \n\t"  # no reference can begin there and end in the section

# The links of Atom. The page is at the first one without a relation, or with this one.
_ALTERNATE = r"""(?:"alternate"|'alternate')"""
_OF_LINK = rf"(?:rel={_ALTERNATE}|(?!(?i:rel|href)=|(?i:xml)(?!:lang=)){_NAME}={_VALUE})"
_EMPTY = rf"{_B}(?:/>|>{_B}</%s{_B}>)"
_OTHER_RELATION = (
    rf"(?:[ \t\r\n]++(?!(?i:rel)=){_NAME}={_VALUE})*+[ \t\r\n]++rel="
    r"""(?!["']alternate["'])(?:"[a-z-]++"|'[a-z-]++')"""
    rf"{_ATTRIBUTES}{_EMPTY}"
)
_CHILD = re.compile(
    rf"<({_NAME})({_ATTRIBUTES}){_B}(?:/>|>(?:[^<]*+<(?!/?+\1)){{0,100}}+[^<]*+</\1{_B}>){_B}"
)
_BASE = re.compile(r"""xml:(?i:base)[ \t\r\n]*+=[ \t\r\n]*+("[^"<]*+"|'[^'<]*+')""")
_RELATION = re.compile(rf"[ \t\r\n]rel=(?!{_ALTERNATE})")


class Slot(NamedTuple):
    """An element that is wanted: as what, its name without prefix, its name as written."""

    role: str
    local: str
    tag: str


class Style(NamedTuple):
    """How the entries of a block are written."""

    name: str  # of entries
    slots: tuple[Slot, ...]  # in their order
    quote: str  # around the addresses of Atom, which are attributes; empty for those of RSS
    never: tuple[str, ...]  # names, without prefix, that no element may have
    harmless: tuple[str, ...]  # names that differ from those of slots in their prefix
    not_inside: tuple[str, ...] = ()  # names, without prefix, that none inside others may have
    between: tuple[tuple[str, ...], ...] = ()  # the others before and after slots; () means any

    def is_slot(self, at: int, tag: str, attributes: str) -> bool:
        """Return whether an element is that slot: of the links of Atom, only one is."""
        slot = self.slots[at]
        is_other = self.quote and slot.role == "link" and _RELATION.search(attributes)
        return tag == slot.tag and not is_other


class Columns(NamedTuple):
    """What the entries of a block have, as written; no dates if they have none."""

    link: Sequence[str]
    title: Sequence[str]
    date: Sequence[str]


def shortened(block: str) -> str | None:
    """Return a block without CDATA sections and long texts; None if a section does not end.

    Short sections become text. What is left out is never a tag.
    """
    if _CDATA in block:
        before, *sections = block.split(_CDATA)
        parts = [before]
        for section in sections:
            end = section.find(_CDATA_END)
            if end < 0 or (before and before[-1] not in _BEFORE_SECTION):
                return None
            inside = section[:end] if end <= _MAX_TEXT else LEFT_OUT
            if "&" in inside or "<" in inside:
                inside = inside.replace("&", "&amp;").replace("<", "&lt;")
            before = section[end + len(_CDATA_END) :]
            parts += inside, before
        block = "".join(parts)
    if len(block) > _HEAD > _MANY * block.count("<", 0, _HEAD):
        tags = block.split("<")
        return "<".join([_without_text(tag) if len(tag) > _MAX_TEXT else tag for tag in tags])
    return block


def _without_text(tag: str) -> str:
    name, end, text = tag.partition(">")
    return f"{name}{end}{text and LEFT_OUT}"


def style_of(
    text: str, name: str, parser: Nesting, around: list[str], *, strict: bool = False
) -> Style | None:
    """Return how the first entry of a block is written; None if others cannot be cut like it.

    ``name`` is that of entries; ``around`` are the names of the elements that are open there. With
    ``strict``, nothing is passed over in which there may be problems, if it is well-formed.
    """
    if strict and "xmlns" in text:
        return None  # what a prefix means depends on the place
    sort, local, _ = parser.meaning(name, type(None))
    if sort is not Sort.ENTRY or any(kept(n) != n for n in around):
        return None
    entry = cast("type[FeedEntry]", parser.entries[local])
    first, quote = _first_tags(text, name, entry, parser)
    date = next((one for one in entry.dates if one in first), None)
    title = next((one for one in entry.titles if one in first), "title")
    roles = {"link": "link", title: "title"} | ({date: "date"} if date else {})
    slots = tuple(Slot(roles[one], one, tag) for one, tag in first.items() if one in roles)
    if len(slots) < len(roles):
        return None
    better = entry.dates[: entry.dates.index(date)] if date else entry.dates
    better += entry.titles[: entry.titles.index(title)]
    never = {*parser.entries, *better, *(one.rpartition(":")[2] for one in around)}
    fields = entry.field_names() if strict else set()
    suspects = _with_prefix(tuple(sorted(never.union(roles, fields)))).findall(text)
    harmless = {
        one
        for one in set(suspects).difference(around)
        if _is_harmless(one, entry, parser, strict=strict)
    }
    if len(harmless) > _MAX_NAMES:
        return None
    names = (tuple(sorted(some)) for some in (never, harmless, fields))
    style = Style(name, slots, quote, *names)
    return style._replace(between=_between(text, style))


def _between(text: str, style: Style) -> tuple[tuple[str, ...], ...]:
    """Return which others the first entries of a block have, in their order."""
    gaps: list[list[str]] = [[] for _ in range(len(style.slots) + 1)]
    for entry in text.split(f"</{style.name}", _LEARNED)[:-1]:
        at, last = 0, -1
        start = entry.find(">", entry.find(f"<{style.name}")) + 1
        for tag, attributes in _CHILD.findall(entry, start):
            gap = gaps[at]
            if at < len(style.slots) and style.is_slot(at, tag, attributes):
                at, last = at + 1, -1
            elif tag in gap:
                last = gap.index(tag)
            else:
                last += 1
                gap.insert(last, tag)
    is_short = sum(map(len, gaps)) <= _MAX_NAMES
    return tuple(map(tuple, gaps)) if is_short else ()


def _first_tags(
    text: str, name: str, entry: type[FeedEntry], parser: Nesting
) -> tuple[dict[str, str], str]:
    """Return the tags of the fields of the first entry by their names, in order; and a quote."""
    first: dict[str, str] = {}
    quote = '"' if entry.is_atom else ""
    end = text.find(f"</{name}")
    for tag, attributes in _CHILD.findall(text, text.find(">") + 1, end):
        sort, local, _ = parser.meaning(tag, entry)
        if local == "link":
            is_address = not (entry.is_atom and _RELATION.search(attributes))
            if sort is Sort.FIELD and is_address:
                first.setdefault(local, tag)
                quote = "'" if quote and "href='" in attributes else quote
        elif sort in (Sort.FIELD, Sort.RECORD_FIELD):
            first.setdefault(local, tag)
    return first, quote


def _is_harmless(tag: str, entry: type[FeedEntry], parser: Nesting, *, strict: bool) -> bool:
    """Return whether an element means nothing where a slot may stand; inside of others, if strict."""
    sort, local, _ = parser.meaning(tag, entry)
    is_second = sort is Sort.RECORD_FIELD and local == "link" and not strict
    return sort is Sort.OTHER or is_second


@lru_cache(maxsize=64)
def _with_prefix(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"<([A-Za-z_][\w.-]*+:(?:{_one_of(names)}))(?=[ \t\r\n/>])", re.ASCII)


def _one_of(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names))


def columns(text: str, style: Style) -> Columns | None:
    """Return link, title and date of all entries of a block; None if one is written differently."""
    if text.count("<") >= MAX_FIELDS:
        return None
    if style.harmless and "xmlns:" in text:
        return None  # their prefixes may mean something else
    pattern = _entry(style)
    found = list(zip(*pattern.findall(f"</{style.name}>{text}"), strict=True))
    column = {role: found[at - 1][:-1] for role, at in pattern.groupindex.items()}
    if not all(column["title"]):
        return None
    return Columns(column["link"], column["title"], column.get("date", ()))


def length_of_bases(text: str) -> int:
    """Return how long all bases of URLs in a block are together."""
    return sum(map(len, _BASE.findall(text)))


def is_worth_it(text: str, style: Style) -> bool:
    """Return whether so many entries were written like this that it pays to compile a pattern.

    That takes about as long as reading a few hundred entries as trees, or a few dozen tag by tag.
    """
    few = _FEW // 5 if "xml:base" in text else _FEW  # which no tree is vouched for with
    seen = _seen(style._replace(between=()))
    if seen[0] < few:
        seen[0] += text.count(f"</{style.name}")
    return seen[0] >= few


@lru_cache(maxsize=256)
def _seen(style: Style) -> list[int]:
    """Return how many entries were written in a style so far."""
    del style
    return [0]


@lru_cache(maxsize=64)
def _entry(style: Style) -> re.Pattern[str]:
    """Return the pattern of an entry, from the end of the one before it to its own."""
    name = re.escape(style.name)
    parts: list[str] = []
    for at, slot in enumerate(style.slots):
        parts += _others(style, at), _slot(slot, style.quote)
    parts.append(_others(style, len(style.slots)))
    return re.compile(
        rf"</{name}(?:{_B}>{_B}<{name}{_PLAIN_ATTRIBUTES}{_B}>{_B}{''.join(parts)}(?=</{name})|)"
    )


def _slot(slot: Slot, quote: str) -> str:
    """Return the pattern of an element whose text, or address, is wanted."""
    tag = re.escape(slot.tag)
    if slot.role == "link" and quote:
        attributes = rf"(?:[ \t\r\n]++{_OF_LINK})*+"
        href = rf"[ \t\r\n]++href={quote}(?P<link>[^{quote}<>]++){quote}"
        return rf"<{tag}{attributes}{href}{attributes}{_EMPTY % tag}{_B}"
    return rf"<{tag}{_PLAIN_ATTRIBUTES}{_B}>{_B}(?P<{slot.role}>[^<]++)</{tag}{_B}>{_B}"


def _others(style: Style, at: int) -> str:
    """Return the pattern of the elements before a slot, or after the last one."""
    coming = style.slots[at:]
    names = (*style.never, *(slot.local for slot in coming))
    inside = _allowed(style, (*names, *style.not_inside))
    link = next((slot.tag for slot in coming if slot.role == "link" and style.quote), "")
    tag = re.escape(link)
    other_link = rf"<{tag}{_OTHER_RELATION % tag}"
    if style.between:
        known = [
            other_link if one == link else _child(re.escape(one), re.escape(one), inside)
            for one in style.between[at]
            if one == link or one in style.harmless or one.rpartition(":")[2] not in names
        ]
        return "".join(rf"(?:{child}{_B}){{0,{_MAX_CHILDREN}}}+" for child in known)
    name = rf"{_allowed(style, names)}(?P<other{at}>{_NAME})"
    child = _child(name, f"(?P=other{at})", inside)
    if link:
        child = f"(?:{other_link}|{child})"
    return rf"(?:{child}{_B}){{0,{_MAX_CHILDREN}}}+"


def _child(name: str, end_name: str, inside: str) -> str:
    """Return the pattern of an element that has none of its name inside."""
    return (
        rf"<{name}{_ATTRIBUTES}{_B}"
        rf"(?:>[^<]*+(?:<(?!/?+{end_name}){inside}[^<]*+)*+</{end_name}{_B}>|/>)"
    )


def _allowed(style: Style, names: tuple[str, ...]) -> str:
    """Return the pattern of a position after ``<`` where none of these names follows."""
    harmless = rf"(?!(?:{_one_of(style.harmless)})[ \t\r\n/>])" if style.harmless else ""
    return rf"(?![!?]|/?+{harmless}{_PREFIX}(?:{_one_of(names)})(?![\w.:-]))"
