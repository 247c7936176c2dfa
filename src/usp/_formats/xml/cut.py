"""The lane that cuts: the URLs of a regular block are found by one ``findall`` and a count.

A *block* is text that begins between entries and ends with the end of one. Most are written by
programs, all entries alike: that is the :class:`Style` of the block. Its pattern matches an entry from
the end of the one before it to its own:

    </url> <url> <loc> https://… </loc> no entry, no loc, nothing that hides a tag, before </url>

If it matches after every end but the last one, then each match begins where the one before it ended,
and nothing is left out. The same is done once more for the other fields of entries that have no others.

Nothing is guessed: a block that cannot be vouched for goes to the next lane.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FIELDS = ("lastmod", "changefreq", "priority")
"""The fields of the protocol other than the loc, in their usual order."""

_B = r"[ \t\r\n]*+"
_CDATA = r"<!\[CDATA\["
_COMMENT = r"<!--(?:-?+[^-<>\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff])*+-->"
_TAG_END = (  # of a start tag with at most one attribute, which declares nothing
    r"""(?:[ \t\r\n]{1,50}+(?!(?i:xmlns|xml:base))[A-Za-z_][A-Za-z0-9_.:-]{0,50}+="""
    r"""(?:"[^"<>&]{0,50}+"|'[^'<>&]{0,50}+'))?+[ \t\r\n]{0,50}+>"""
)
_ATTRIBUTES = r"""(?:[ \t\r\n]++[A-Za-z_][\w.:-]*+=(?:"[^"<>]*+"|'[^'<>]*+'))*+"""
_ADDRESS = {False: "https?://[A-Za-z0-9]", True: "/[A-Za-z0-9_%~-]"}
"""How an address begins that is a path or not; :func:`plain`, or its base, tells about the rest."""

_VALUE, _VALUE_IN_CDATA = r"[ -%'-;=-~]{0,100}+", r"[ -%'-;=-Z^-~]{0,100}+"
"""The text of a field. Values are cached, so longer texts are read elsewhere."""

_MAX_LOC = 4096  # characters; a longer one is read elsewhere
_HEAD = 4096  # characters that show whether comments stand between entries
_NAME = re.compile("<([^!/<>]++)>")


class Style(NamedTuple):
    """How entries are written: their tags as written, and the names of fields around the loc."""

    name: str
    url: str
    before: tuple[str, ...]
    loc: str  # with the beginning of CDATA, if addresses stand in it
    is_path: bool
    stop: str  # the character that ends an address: patterns look for one much faster than for some
    loc_end: str
    after: tuple[str, ...]
    is_all: bool  # whether there is nothing else
    url_end: str
    has_cdata: bool
    has_comments: bool  # between entries
    others: tuple[str, ...]  # beginnings of names that must not occur


def style_of(block: str, name: str, others: tuple[str, ...]) -> Style | None:
    """Return how the first entry of a block is written; None if no others can be cut like it.

    ``name`` is that of entries; ``others`` are how the names of entries and locs begin that are
    written otherwise.
    """
    first = _first(name).match(block)
    if first is None:
        return None
    url, before, loc, start, stop, loc_end, after, end = first.groups()
    if loc.endswith("[") is not loc_end.startswith("]"):
        return None
    if ("=" in url or "=" in loc) and not _are_last(block, url, loc):
        return None
    return Style(
        name,
        url,
        tuple(_NAME.findall(before)),
        loc,
        start == "/",
        stop or loc_end[0],
        loc_end,
        tuple(_NAME.findall(after)),
        end is not None,
        end_of(block),
        "<![" in first[0],
        "<!--" in block[:_HEAD],
        others,
    )


def end_of(block: str) -> str:
    """Return the end tag of the last entry of a block."""
    return block[block.rindex("</") :]


def _are_last(block: str, *tags: str) -> bool:
    """Return whether tags with attributes are also those of the last entry: a pattern takes long."""
    return all(block.rfind(tag) == block.rfind(tag.split()[0]) for tag in tags)


@lru_cache(maxsize=64)
def _first(name: str) -> re.Pattern[str]:
    """Return the pattern of the first entry of a block."""
    url, loc, *fields = map(re.escape, _names(name, "loc", *FIELDS))
    one = "|".join(fields)
    given = rf"((?:<(?:{one})>(?:{_CDATA})?+[^<]*+</(?:{one})>{_B}){{0,9}}+)"
    return re.compile(
        rf"{_B}(?:{_COMMENT}{_B}){{0,9}}+(<{url}{_TAG_END}){_B}{given}"
        rf"(<{loc}{_TAG_END}(?:{_CDATA})?+){_B}(/|https?://)[^<\] \t\r\n]*+([ \t\r\n]?+){_B}"
        rf"((?:\]\]>)?+</{loc}[ \t\r\n]{{0,50}}+>){_B}{given}(</{url})?+"
    )


def locs(block: str, style: Style) -> list[str] | None:
    """Return the locs of a block as they are written; None if it is not regular."""
    found = _entry(style).findall(style.url_end + block)
    # An entry must have followed every end but the last.
    return found[:-1] if found.index("") == len(found) - 1 else None


def columns(block: str, style: Style) -> dict[str, list[str]] | None:
    """Return the locs and the :data:`FIELDS` of a regular block as they are written, by name.

    An empty text is a missing field. None if the entries have anything else, or another order.
    """
    styles = [style]
    if not style.before:  # the first entry may lack what others have
        styles.append(style._replace(after=tuple(_names(style.name, *FIELDS))[1:]))
    for one in styles:
        names = (*one.before, "loc", *one.after)
        if style.is_all and len(set(names)) == len(names):
            # A split has no tuple for each entry, but what is between the matches, which is nothing.
            flat = _entry(one, values=True).split(one.url_end + block)
            step = 1 + len(names)
            lists = [flat[at:-step:step] for at in range(1, step)]
            if all(lists[len(one.before)]):  # an entry followed every end but the last
                locals_ = (name.rpartition(":")[2] for name in names)
                return {name: _texts(found) for name, found in zip(locals_, lists, strict=True)}
    return None


def _texts(found: list[str | None]) -> list[str]:
    return cast("list[str]", found) if all(found) else [text or "" for text in found]


@lru_cache(maxsize=64)
def _entry(style: Style, *, values: bool = False) -> re.Pattern[str]:
    """Return the pattern of an entry from the end of the one before it to its own.

    It has the loc, and the ``values`` of fields if there is nothing else. Where no such entry follows
    an end, empty texts tell.
    """
    name, end, text = re.escape(style.name), re.escape(style.url_end), "[^<]*+"
    if values:
        text = f"({_VALUE})"
        if style.has_cdata:
            closed = r"(?=[^<\]]*+\]\]>)"
            text = rf"(?:{_CDATA}{closed}|(?!{_CDATA}|{closed}))({_VALUE_IN_CDATA})(?:\]\]>)?+"
    elif style.has_cdata:
        text = rf"(?:{_CDATA}[^<\]]*+\]\]>|[^<]*+)"
    before, after = (
        "".join(rf"(?:<{one}>{text}</{one}>{_B})?+" for one in map(re.escape, names))
        for names in (style.before, style.after)
    )
    comments = rf"(?:{_COMMENT}{_B})*+" if style.has_comments else ""
    start, stop = _ADDRESS[style.is_path], re.escape(style.stop)
    last = rf"(?={end})"
    if not values:
        own = list(_names(style.name, "loc"))
        tag = _beginning("!", "?", *style.others, *own, *(f"/{one}" for one in own))
        last = rf"(?:{last}|(?:[^<]*+<{tag})*+[^<]*+{last})"
    return re.compile(
        rf"</{name}(?:{end.removeprefix(f'</{name}')}{_B}{comments}{re.escape(style.url)}{_B}{before}"
        rf"{re.escape(style.loc)}{_B}({start}[^{stop}]{{0,{_MAX_LOC}}}+){_B}"
        rf"{re.escape(style.loc_end)}{_B}{after}{last}|)"
    )


def _beginning(*others: str) -> str:
    """Return the pattern of the first character of a tag that does not begin as some others do.

    Most tags begin with another character than any of these, so that comes first.
    """
    rests: dict[str, list[str]] = {}
    for other in others:
        rests.setdefault(other[0], []).append(re.escape(other[1:]))
    known = (f"{re.escape(first)}(?!{'|'.join(rest)})" for first, rest in rests.items())
    return f"(?:[^<{re.escape(''.join(rests))}]|{'|'.join(known)})"


def own_columns(block: str, style: Style, count: int) -> Mapping[str, Sequence[str]] | None:
    """Return the :data:`FIELDS` of entries that have other elements too, by name, without locs."""
    if not style.before:
        directly = _after_locs(style).findall(block)
        texts = list(zip(*directly, strict=True))
        # No other element may have such a name: each has two tags.
        if len(directly) == count and all(
            block.count(name) == 2 * sum(map(bool, column))
            for name, column in zip(FIELDS, texts, strict=True)
        ):
            return dict(zip(FIELDS, texts, strict=True))
    first = block[block.index(style.loc_end) : block.index(style.url_end)]
    fields = set(_names(style.name, *FIELDS))
    names = tuple(filter(fields.__contains__, _NAME.findall(first)))
    if style.before or len(set(names)) != len(names):
        return None
    found = _own_fields(style, names).findall(block)
    if len(found) != count:
        return None
    columns = list(zip(*found, strict=True)) if names else []
    return {one.rpartition(":")[2]: columns[2 * at + 1] for at, one in enumerate(names)}


@lru_cache(maxsize=64)
def _after_locs(style: Style) -> re.Pattern[str]:
    """Return the pattern of fields that directly follow the loc, in the usual order."""
    _, *names = map(re.escape, _names(style.name, *FIELDS))
    fields = "".join(rf"(?:<{one}>({_VALUE})</{one}>{_B})?+" for one in names)
    return re.compile(f"{re.escape(style.loc_end)}{_B}{fields}")


@lru_cache(maxsize=64)
def _own_fields(style: Style, names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of fields between other elements.

    An element that has no other of its name inside ends at the first end tag of its name, whatever
    else is inside. So what follows is directly in the entry.
    """
    own = rf"(?:[\w.-]++:)?+(?:{'|'.join(FIELDS)})\b"
    others = (
        rf"(?:<(?!{own})([A-Za-z_][\w:.-]*+){_ATTRIBUTES}[ \t\r\n]*+(?:/>"
        rf"|>(?:[^<]*+<(?!/?\%d[ \t\r\n/>]|{own})){{0,90}}+[^<]*+</\%d>){_B}){{0,90}}+"
    )
    parts = [others % (1, 1)]
    for at, one in enumerate(map(re.escape, names), 1):
        group = 2 * at + 1
        parts += [rf"(?:<{one}>({_VALUE})</{one}>{_B})?+", others % (group, group)]
    return re.compile(
        rf"{re.escape(style.loc_end)}{_B}{''.join(parts)}{re.escape(style.url_end)}", re.ASCII
    )


def _names(name: str, *others: str) -> Iterator[str]:
    """Yield the name of entries, and others with the same prefix."""
    prefix, colon, _ = name.rpartition(":")
    yield name
    for other in others:
        yield f"{prefix}{colon}{other}"


def plain(urls: list[str]) -> bool:
    """Return whether URLs that begin well go on so: nothing in them needs a second look.

    That leaves out tags, blanks, control and invisible characters (none of them printable), users
    and passwords, IPv6 addresses, and hosts that are not written in ASCII.
    """
    others = "".join(urls).encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    if not others:
        return True
    letters = others.decode("utf-8", "surrogatepass")
    return min(letters) > "\x7f" and letters.isprintable() and _have_ascii_hosts(urls)


_PLAIN = bytes(set(range(0x21, 0x7F)) - set(b"@[]<"))


def _have_ascii_hosts(urls: list[str]) -> bool:
    first = urls[0]
    host = first[: first.find("/", len("https://")) + 1]
    if host.isascii() and _ASCII_HOST.match(host):
        joined = "\n".join(urls)  # none of them has one
        if joined.count(f"\n{host}") == len(urls) - 1:
            return True
    return all(map(_ASCII_HOST.match, urls))


_ASCII_HOST = re.compile(r"https?://[A-Za-z0-9._~:%-]++(?:[/?#]|\Z)")


def is_plain(url: str) -> bool:
    """Return whether a single URL is plain, and has no reference in it."""
    return "&" not in url and are_plain([url])


def are_plain(urls: list[str]) -> bool:
    """Return whether URLs begin well, and go on so."""
    return all(map(BEGINS_WELL.match, urls)) and plain(urls)


BEGINS_WELL = re.compile("https?://[A-Za-z0-9]")
"""How a URL begins that may be :func:`plain`."""
