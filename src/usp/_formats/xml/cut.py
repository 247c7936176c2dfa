"""Cutting: the URLs of a regular block are found by one ``findall`` and a count.

``docs/reading.md`` says why that can be trusted. Nothing is guessed: what is not certain is
declined, and read in another way.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from usp._base.urls import USUAL_ORIGIN, can_be_requested
from usp._formats.xml.references import has_others

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELDS = ("lastmod", "changefreq", "priority")
"""The fields of the protocol other than the loc, in their usual order."""

_B = r"[ \t\r\n]*+"
_CDATA = r"<!\[CDATA\["
_COMMENT = r"<!--(?:-?+[^-<>\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff])*+-->"
_TAG_END = (  # of a start tag with at most one attribute, which declares nothing
    r"""(?:[ \t\r\n]{1,50}+(?!(?i:xmlns|xml:base))[A-Za-z_][A-Za-z0-9_.:-]{0,50}+="""
    r"""(?:"[^"<>&]{0,50}+"|'[^'<>&]{0,50}+'))?+[ \t\r\n]{0,50}+>"""
)
_ADDRESS = "https?://[A-Za-z0-9]"
"""How an address begins; :func:`plain` checks the rest."""

_VALUE, _VALUE_IN_CDATA = r"[ -%'-;=-~]{0,100}+", r"[ -%'-;=-Z^-~]{0,100}+"
"""The text of a field. Values are cached, so longer texts are read elsewhere."""

_MAX_LOC = 4096  # characters; a longer one is read elsewhere
_HEAD = 4096  # characters that show whether comments stand between entries
_NAME = re.compile("<(?:[^!/<>:]++:)?+([^!/<>:]++)>")


class CutNames(NamedTuple):
    """Which names matter where entries of some ``name`` are cut.

    ``others`` are how the names of entries and locs begin that are not written as the first one is,
    ``extensions`` how the tags of extensions begin. Without ``others``, nothing is cut: the name of
    entries, or of a field, does not mean what it is called.
    """

    name: str
    others: tuple[str, ...] | None
    extensions: tuple[str, ...]


class EntryShape(NamedTuple):
    """How entries are written: their tags as written, and the local names of fields around the loc."""

    names: CutNames
    url: str
    before: tuple[str, ...]
    loc: str  # with the beginning of CDATA, if addresses stand in it
    stop: str  # the character that ends an address: patterns look for one much faster than for some
    loc_end: str
    after: tuple[str, ...]
    core_fields_only: bool  # whether there is nothing else
    url_end: str
    has_cdata: bool
    has_comments: bool  # between entries


def shape_of(block: str, names: CutNames) -> EntryShape | None:
    """Return how the first entry of a block is written; None if no others can be cut like it."""
    first = None if names.others is None else _first(names.name).match(block)
    if first is None:
        return None
    url, before, loc, stop, loc_end, after, end = first.groups()
    is_closed = loc.endswith("[") is loc_end.startswith("]")
    if not is_closed or (("=" in url or "=" in loc) and not _are_last(block, url, loc)):
        return None
    return EntryShape(
        names,
        url,
        tuple(_NAME.findall(before)),
        loc,
        stop or loc_end[0],
        loc_end,
        tuple(_NAME.findall(after)),
        end is not None,
        block[block.rindex("</") :],
        "<![" in first[0],
        "<!--" in block[:_HEAD],
    )


def _are_last(block: str, *tags: str) -> bool:
    """Return whether tags with attributes are also those of the last entry: a pattern takes long."""
    return all(block.rfind(tag) == block.rfind(tag.split()[0]) for tag in tags)


@lru_cache(maxsize=64)
def _first(name: str) -> re.Pattern[str]:
    prefix, url = re.escape(name[: name.rfind(":") + 1]), re.escape(name)
    loc, one = f"{prefix}loc", f"{prefix}(?:{'|'.join(FIELDS)})"
    given = rf"((?:<{one}>(?:{_CDATA})?+[^<]*+</{one}>{_B}){{0,9}}+)"
    return re.compile(
        rf"{_B}(?:{_COMMENT}{_B}){{0,9}}+(<{url}{_TAG_END}){_B}{given}"
        rf"(<{loc}{_TAG_END}(?:{_CDATA})?+){_B}https?://[^<\] \t\r\n]*+([ \t\r\n]?+){_B}"
        rf"((?:\]\]>)?+</{loc}[ \t\r\n]{{0,50}}+>){_B}{given}(</{url})?+"
    )


def locs(block: str, shape: EntryShape) -> list[str] | None:
    """Return the locs of a block as they are written; None if it is not regular."""
    found = _entry(shape).findall(shape.url_end + block)
    # An entry must have followed every end but the last.
    return found[:-1] if found.index("") == len(found) - 1 else None


def columns(block: str, shape: EntryShape) -> dict[str, list[str]] | None:
    """Return the locs and the :data:`FIELDS` of a regular block as they are written, by name.

    An empty text is a missing field. None if the entries have anything else, or another order.
    """
    if not shape.core_fields_only:
        return None
    for tag in shape.names.extensions:
        if tag in block:
            return None
    shapes = [shape]
    if not shape.before and shape.after != FIELDS:  # the first entry may lack what others have
        shapes.append(shape._replace(after=FIELDS))
    for one in shapes:
        # A split has no tuple for each entry, but what is between the matches, which is nothing.
        flat = _entry(one, values=True).split(one.url_end + block)
        names = (*one.before, "loc", *one.after)
        step = 1 + len(names)
        found: dict[str, list[str]] = {}
        for at, name in enumerate(names, 1):
            texts = flat[at:-step:step]
            found[name] = texts if all(texts) else [text or "" for text in texts]
        # An entry followed every end but the last, and no field was there twice.
        if all(found["loc"]) and len(found) == len(names):
            return found
    return None


@lru_cache(maxsize=64)
def _entry(shape: EntryShape, *, values: bool = False) -> re.Pattern[str]:
    """Return the pattern of an entry from the end of the one before it to its own.

    It has the loc, and the ``values`` of fields if there is nothing else. Where no such entry follows
    an end, empty texts tell.
    """
    names, end, text = shape.names, re.escape(shape.url_end), "[^<]*+"
    name, prefix = re.escape(names.name), names.name[: names.name.rfind(":") + 1]
    if values:
        text = f"({_VALUE})"
        if shape.has_cdata:
            closed = r"(?=[^<\]]*+\]\]>)"
            text = rf"(?:{_CDATA}{closed}|(?!{_CDATA}|{closed}))({_VALUE_IN_CDATA})(?:\]\]>)?+"
    elif shape.has_cdata:
        text = rf"(?:{_CDATA}[^<\]]*+\]\]>|[^<]*+)"
    before = after = ""
    for one in shape.before:
        before += rf"(?:<{prefix}{one}>{text}</{prefix}{one}>{_B})?+"
    for one in shape.after:
        after += rf"(?:<{prefix}{one}>{text}</{prefix}{one}>{_B})?+"
    comments = rf"(?:{_COMMENT}{_B})*+" if shape.has_comments else ""
    last = rf"(?={end})"
    if not values:
        url, loc = names.name, f"{prefix}loc"
        tag = _beginning("!", "?", *(names.others or ()), url, loc, f"/{url}", f"/{loc}")
        last = rf"(?:{last}|(?:[^<]*+<{tag})*+[^<]*+{last})"
    return re.compile(
        rf"</{name}(?:{end.removeprefix(f'</{name}')}{_B}{comments}{re.escape(shape.url)}{_B}{before}"
        rf"{re.escape(shape.loc)}{_B}({_ADDRESS}[^{re.escape(shape.stop)}]{{0,{_MAX_LOC}}}+){_B}"
        rf"{re.escape(shape.loc_end)}{_B}{after}{last}|)"
    )


def _beginning(*others: str) -> str:
    """Return the pattern of the first character of a tag that does not begin as some others do.

    Most tags begin with another character than any of these, so that comes first. Prefixes mean the
    same in any case.
    """
    rests: dict[str, list[str]] = {}
    for other in others:
        prefix, colon, local = other.rpartition(":")
        for first in {other[0].lower(), other[0].upper()} if colon else other[0]:
            rest = f"(?i:{re.escape(prefix[1:])}){colon}{re.escape(local)}"
            rests.setdefault(first, []).append(rest if colon else re.escape(other[1:]))
    known = (f"{re.escape(first)}(?!{'|'.join(rest)})" for first, rest in rests.items())
    return f"(?:[^<{re.escape(''.join(rests))}]|{'|'.join(known)})"


def plain(urls: list[str]) -> bool:
    """Return whether URLs that begin well go on so: nothing in them needs a second look.

    That leaves out tags, blanks, control and invisible characters (none of them printable), users
    and passwords, IPv6 addresses, and hosts that are not written in ASCII or cannot be one.
    """
    joined = "\n".join(("", *urls))
    if joined.count("\n") != len(urls) or has_others(joined, _PLAIN):
        return False
    usual = _USUAL_HOST.match(joined)
    if usual and joined.count(usual[0]) == len(urls):  # as in most blocks
        return True
    hosts = {found[0] for found in map(_ORIGIN.match, urls) if found}
    return all(host.isascii() and can_be_requested(host) for host in hosts)


def are_plain(texts: Sequence[str | None]) -> TypeGuard[list[str]]:
    """Return whether texts are URLs, and :func:`plain` ones; False if there are none."""
    urls = [text for text in texts if text and BEGINS_WELL.match(text)]
    return 0 < len(urls) == len(texts) and plain(urls)


_PLAIN = bytes(set(b"\n").union(range(0x21, 0x7F)).difference(b"@[]<"))
_ORIGIN = re.compile(r"https?://[^/?#]*+")
_USUAL_HOST = re.compile(rf"\n{USUAL_ORIGIN}/")


BEGINS_WELL = re.compile(_ADDRESS)
"""How a URL begins that may be :func:`plain`."""
