"""The lane that cuts: a regular block gives its URLs in one ``findall`` and a count.

A *block* is text that begins where entries stand and ends with the end of one. Most are written by
programs: every entry begins with its loc, and has no other. The pattern takes an entry from the end of
the one before it to its own:

    </url> <url> <loc> https://… </loc> no entry, no loc, nothing that hides a tag, before </url>

If there are as many matches as ends of entries, then each match begins where the one before it ended,
and nothing is left out. The same is done once more for the other fields of entries that have no others.

Nothing is guessed: a block that cannot be vouched for goes to the next lane.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LOC = 1024 * 1024
"""A longer loc goes through the scanner, which knows what to do with it."""

FIELDS = ("lastmod", "changefreq", "priority")
"""The fields of the protocol beside the loc, in their usual order."""

_URL = r"https?://[A-Za-z0-9][^<]*+"
"""A URL as it stands between tags: it begins well, and :func:`plain` tells about the rest."""

_B = r"[ \t\r\n]*+"
_VALUE = r"([ -%'-;=-~]{0,100}+)"
"""The text of a field. Values are remembered, so a longer text is read elsewhere."""


def locs(block: str, name: str, others: tuple[str, ...]) -> list[str] | None:
    """Return the locs of a block as they are written; None if it is not regular.

    ``name`` is that of entries; ``others`` are beginnings of names that must not occur: those of
    entries and locs that are written otherwise.
    """
    pattern = _entry(name, others)
    text = f"</{name}>{block}"
    if pattern.match(text) is None:  # as nearly always where other entries do not match either
        return None
    found = pattern.findall(text)
    return _cleaned(found, block) if len(found) == block.count(f"</{name}") else None


def rows(block: str, name: str, count: int) -> list[tuple[str, ...]] | None:
    """Return the :data:`FIELDS` of each entry of a regular block as they are written.

    An empty text is none. None if the entries have anything else, or the fields in another order.
    """
    found = _fields(name).findall(block)
    return found if len(found) == count else None


@lru_cache(maxsize=64)
def _entry(name: str, others: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of an entry from the end of the one before it to its own."""
    url, loc, *fields = _named(name, "loc", *FIELDS)
    usual = "".join(rf"(?:<{one}>[^<]*+</{one}>{_B})?+" for one in fields)
    strange = "|".join([rf"/?{url}", rf"/?{loc}", "[!?]", *map(re.escape, others)])
    return re.compile(
        rf"</{url}>{_B}<{url}>{_B}<{loc}>{_B}({_URL})</{loc}>{_B}{usual}"
        rf"(?:(?=</{url}>)|(?:[^<]*+<(?!{strange}))*+[^<]*+(?=</{url}>))"
    )


@lru_cache(maxsize=64)
def _fields(name: str) -> re.Pattern[str]:
    """Return the pattern of the fields of an entry, after its loc."""
    url, loc, *fields = _named(name, "loc", *FIELDS)
    given = "".join(rf"(?:<{one}>{_VALUE}</{one}>{_B})?+" for one in fields)
    return re.compile(rf"</{loc}>{_B}{given}</{url}>")


def _named(name: str, *others: str) -> Iterator[str]:
    """Yield the name of entries, and others with the same prefix, for patterns."""
    prefix, colon, _ = name.rpartition(":")
    yield re.escape(name)
    for other in others:
        yield re.escape(f"{prefix}{colon}{other}")


def _cleaned(found: list[str], block: str) -> list[str] | None:
    if len(block) > MAX_LOC and max(map(len, found), default=0) > MAX_LOC:
        return None
    if plain(found):
        return found
    stripped = [loc.rstrip(" \t\r\n") for loc in found]
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


def is_plain(url: str) -> bool:
    """Return whether a single URL is plain, and has no reference in it."""
    return "&" not in url and are_plain([url])


def are_plain(urls: list[str]) -> bool:
    """Return whether URLs begin well, and go on so."""
    return all(map(_BEGINS_WELL.match, urls)) and plain(urls)


_BEGINS_WELL = re.compile("https?://[A-Za-z0-9]")
