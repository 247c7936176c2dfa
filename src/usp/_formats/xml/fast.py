"""The fast lane: cuts regular stretches of a document into entries in a few C calls.

Most sitemaps are written by programs, entry after entry in one shape:

    <url> <loc>https://…</loc> …anything but another loc… </url> <url> <loc>…

The lane takes a *block*: text that begins directly below the root and ends with ``</url>``. One
``findall`` gives all locs that stand where they should. The block is regular if their number is also
the number of ``<url``, of ``</url>`` and of ``<loc`` in it, and if nothing stands in it that can hide
a tag (comment, CDATA, processing instruction). Then every entry has exactly one loc, right at its
beginning, and ends at the next ``</url>``: just what the scanner would find.

Most blocks are simpler still: all their entries have the same fields of the protocol in the same
order, a *shape*. Then the one ``findall`` can take in whole entries, and the block is regular if it
has no ``<`` beside theirs. The fields, once asked for, are read in another such call, as columns.

In a block that is not regular the entries may still be: they are then tried one by one, comments and
CDATA sections allowed, and only those that are not regular either go through the scanner.

What else an entry says is read when its page is asked for it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

from usp._formats.xml.tokens import NAME_END

MAX_ENTRY = 64 * 1024
"""A longer stretch without the end of an entry goes through the scanner."""

MAX_FIRST_ENTRY = 8 * 1024
"""How much of a document is looked at for the way in which entries are written."""

MAX_LOC = 1024 * 1024
"""A longer loc goes through the scanner, which knows what to do with it."""

URL = r"https?://[A-Za-z0-9][^<]*+"
"""A URL as it stands between tags: it begins well, and :func:`plain` tells about the rest."""

ATTRIBUTES = r"""(?:\s++(?!xmlns|xml:base)[\w:.-]++=(?:"[^"<>&]*+"|'[^'<>&]*+'))*+\s*+"""
"""Attributes that change nothing about the meaning of a tag."""

VALUE = r"([^<&\x00-\x1f]{0,100}+)"
"""The text of a field of the protocol. Values are remembered, so a longer text is read elsewhere."""

_COMMENT = r"<!--(?:[^-]|-(?!-))*+-->"
_CDATA = r"<!\[CDATA\[(?:[^\]]|\](?!\]>))*+\]\]>"


class Style(NamedTuple):
    """What stands in the tags of a document beside their names: mostly nothing."""

    start: str = ""
    loc: str = ""
    loc_end: str = ""
    end: str = ""


class Tags(NamedTuple):
    """How the entries of a document are written, with the prefix of its own vocabulary."""

    prefix: str  # "", or "x:"
    end: str  # "</url>"
    start: str  # "<url", however it goes on
    loc: str  # "<loc", however it goes on
    others: tuple[str, ...]  # entries and locs that are written otherwise: they must not occur
    next: str  # a pattern: the end of an entry, and the next one to the end of its loc
    locs: re.Pattern[
        str
    ]  # the loc after every "</url", however that goes on; empty if it is not next
    entry: re.Pattern[str]
    simple: re.Pattern[str]  # an entry with fields of the protocol only


@lru_cache(maxsize=64)
def tags(
    name: str,
    prefix: str,
    other_prefixes: tuple[str, ...] = (),
    style: Style | None = None,
    strays: tuple[str, ...] = (),
) -> Tags:
    """Return the tags of a document whose own vocabulary has the prefix ``prefix`` (``""`` or ``x:``).

    ``strays`` are other entries, which have no business in such a document.
    """
    p = re.escape(prefix)
    start, loc, loc_end, end = map(re.escape, style or Style())
    head = rf"<{p}{name}{start}>\s*+<{p}loc{loc}>\s*+"
    next_loc = rf"{end}>\s*+{head}({URL})</{p}loc{loc_end}>"
    own = "|".join(re.escape(other) for other in (prefix, *other_prefixes))
    names = "|".join((name, *strays))
    entries = rf"(?:/?(?:{own})(?:{names})|(?:{own})loc){NAME_END}"
    body = rf"(?:[^<]++|{_COMMENT}|{_CDATA}|<(?!{entries}|[!?]))*+"
    return Tags(
        prefix=prefix,
        end=f"</{prefix}{name}{style.end if style else ''}>",
        start=f"<{prefix}{name}",
        loc=f"<{prefix}loc",
        others=(
            *(f"<{other}{tag}" for other in other_prefixes for tag in (name, "loc")),
            *(f"<{any_}{tag}" for any_ in (prefix, *other_prefixes) for tag in strays),
        ),
        next=f"</{p}{name}{next_loc}",
        locs=re.compile(f"</{p}{name}(?:{next_loc})?+"),
        entry=re.compile(
            rf"(?:\s++|{_COMMENT})*+({head}(?:<!\[CDATA\[\s*+({URL[:-6]}[^<\]]*+)\]\]>|({URL}))\s*+"
            rf"</{p}loc{loc_end}>{body})</{p}{name}{end}>"
        ),
        simple=re.compile(
            rf"\s*+{head}[^<]*+</{p}loc{loc_end}>\s*+"
            rf"((?:<{p}(lastmod|changefreq|priority)>[^<]*+</{p}\2>\s*+)*+)</{p}{name}{end}>"
        ),
    )


def learn_style(text: str, name: str, prefix: str) -> Style | None:
    """Look at the first entry of a document; None if there is none, or if it is unlike any other.

    A document that writes ``<url >`` or ``<loc xml:lang="en">`` does so in every entry.
    """
    found = _first_entry(name, prefix).search(text)
    return Style(*found.groups("")) if found else None


@lru_cache(maxsize=64)
def _first_entry(name: str, prefix: str) -> re.Pattern[str]:
    p = re.escape(prefix)
    return re.compile(
        rf"<{p}{name}({ATTRIBUTES})>\s*+<{p}loc({ATTRIBUTES})>[^<]*+</{p}loc(\s*+)>"
        rf"(?:[^<]++|<(?!/?{p}{name}))*+</{p}{name}(\s*+)>"
    )


class Shape(NamedTuple):
    """The fields of every entry of a block beside its loc, in order."""

    names: tuple[str, ...]
    locs: re.Pattern[str]
    rows: re.Pattern[str]  # the same, with the texts of the fields; none has references in it


def learn_shape(block: str, tag: Tags) -> Shape | None:
    """Return the shape of the first entry of a block, if it has fields of the protocol only."""
    found = tag.simple.match(block)
    names = tuple(_NAME.findall(found[1])) if found else ()
    return _shape(tag, names) if found and len(set(names)) == len(names) else None


_NAME = re.compile(r"<(?:[^<>/:]++:)?+([a-z]++)>")


@lru_cache(maxsize=256)
def _shape(tag: Tags, names: tuple[str, ...]) -> Shape:
    p = re.escape(tag.prefix)
    fields = "".join(rf"<{p}{name}>[^<]*+</{p}{name}>\s*+" for name in names)
    texts = "".join(rf"<{p}{name}>\s*+{VALUE}\s*+</{p}{name}>\s*+" for name in names)
    end = re.escape(tag.end)
    return Shape(
        names=names,
        locs=re.compile(rf"{tag.next}\s*+{fields}(?={end})"),
        rows=re.compile(rf"</{p}loc\s*+>\s*+{texts}{end}"),
    )


def cut_shape(block: str, tag: Tags, shape: Shape) -> list[str] | None:
    """Return the locs of a block all of whose entries have that shape, or None."""
    locs = shape.locs.findall(tag.end + block)
    # An entry has four tags of its own: url and loc, begin and end.
    regular = block.count("<") == len(locs) * (4 + 2 * len(shape.names))
    return _cleaned(locs, block) if regular else None


def cut(block: str, tag: Tags) -> list[str] | None:
    """Return the locs of a block as they are written, or None if it is not regular."""
    if ("!" in block and "<!" in block) or ("?" in block and "<?" in block):
        return None
    locs = tag.locs.findall(tag.end + block)
    locs.pop()  # after the last entry
    count = len(locs)
    regular = (
        all(locs)
        and block.count(tag.start) == count
        and block.count(tag.loc) == count
        and not any(other in block for other in tag.others)
    )
    return _cleaned(locs, block) if regular else None


def _cleaned(locs: list[str], block: str) -> list[str] | None:
    if len(block) > MAX_LOC and max(map(len, locs), default=0) > MAX_LOC:
        return None
    if plain(locs):
        return locs
    stripped = [loc.rstrip() for loc in locs]
    return stripped if plain(stripped) else None


def plain(urls: list[str]) -> bool:
    """Return whether URLs that begin well go on so: nothing in them needs a second look.

    That leaves out blanks, control and invisible characters (none of them printable), users and
    passwords, IPv6 addresses, and hosts that are not written in ASCII.
    """
    others = "".join(urls).encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    if not others:
        return True
    letters = others.decode("utf-8", "surrogatepass")
    return min(letters) > "\x7f" and letters.isprintable() and _have_ascii_hosts(urls)


_PLAIN = bytes(set(range(0x21, 0x7F)) - set(b"@[]"))


def _have_ascii_hosts(urls: list[str]) -> bool:
    first = urls[0]
    host = first[: first.find("/", len("https://")) + 1]
    if host.isascii() and _ASCII_HOST.match(host) and all(map(str.startswith, urls, repeat(host))):
        return True
    return all(map(_ASCII_HOST.match, urls))


_ASCII_HOST = re.compile(r"https?://[A-Za-z0-9._~:%-]++(?:[/?#]|\Z)")


def is_plain(url: str, *, references: bool = False) -> bool:
    """Return the same about a single URL; one with an ampersand is plain only with ``references``."""
    begins_well = _BEGINS_WELL.match(url) is not None
    return begins_well and (references or "&" not in url) and plain([url])


_BEGINS_WELL = re.compile("https?://[A-Za-z0-9]")
