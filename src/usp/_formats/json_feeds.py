"""JSON Feed 1.0 and 1.1: its items are pages, and its ``next_url`` is a further feed.

Each item, and each other value of the feed, is decoded by itself. What cannot be decoded is read again
without asking for much, so damage costs nothing but itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from usp._base.loc_urls import child_url, resolved
from usp._base.reason import Reason
from usp._base.urls import is_http_url
from usp._formats import values
from usp._formats.abstract_parser import TRUNCATED, ChildEntry, FormatParser, Place, ignore
from usp._formats.feeds import FeedEntry
from usp._formats.xml.references import without_forbidden
from usp.objects.page import PageFields, SitemapImage, SitemapNewsStory
from usp.objects.problem import FailureCode, ProblemCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    IndexJSONFeedSitemap,
    PagesJSONFeedSitemap,
)

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry, Note

MAX_VALUE = 8 * 1024 * 1024
"""Characters of an item, or of another value of the feed; a longer one is lost."""

MAX_DAMAGE = 50_000
"""After so many values in a row without an entry, the rest of a feed is not read."""

_MAX_DEPTH = 50  # of lists and objects
_NEAR = 16  # characters before the end at which an error may be that more is to come
_CONTENT = "content_html or content_text"
_OF_FEED = frozenset({"version", "title", "language", "authors", "author"})
_ADDRESSES = frozenset({"url", "external_url", "image", "banner_image"})

_BLANK = re.compile(r"\s*+")
_BETWEEN = re.compile(r"[\s,]*+")
_KEY = re.compile(r'("(?:[^"\\]++|\\.)*+")\s*+(:?+)\s*+', re.DOTALL)
_COMMENT = r"//[^\n]*+"
_STRAY_IN_FEED = re.compile(rf'{_COMMENT}|.[^\n"{{}}]*+', re.DOTALL)  # what stands between values
_STRAY_IN_ITEMS = re.compile(rf"{_COMMENT}|.[^\n{{\]]*+", re.DOTALL)
_MARK = re.compile(r'\\.?+|["{}\[\],]', re.DOTALL)
_TOKEN = re.compile(  # of damaged JSON, where a quote with more text after it is no end of a string
    rf"""{_COMMENT}|[{{}}\[\],]|([^\s{{}}\[\]:,"]++
    |"(?:[^"\\]++|\\.?+|"(?!\s*+(?:[,:\]}}]|\Z)|[^\S\n]*+\n\s*+"))*+"?+)\s*+(:?+)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})|["\\]')
_ENDS = frozenset("}]")


class _NumberText(str):
    """A number as it is written: no address, and the text of what a feed writes as one."""

    __slots__ = ()


_DECODER = json.JSONDecoder(strict=False, parse_int=_NumberText, parse_float=_NumberText)


# Values ---------------------------------------------------------------------------------------------


class _Value(NamedTuple):
    value: Any
    end: int
    is_whole: bool = False


def _value_at(text: str, at: int, *, final: bool) -> _Value | None:
    """Return the value that begins at a position; None if it does not end in the text."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        is_cut = error.pos > len(text) - _NEAR or error.msg.startswith("Unterminated")
        return None if is_cut and not final else _mended(text, at, final=final)
    except RecursionError:
        return _mended(text, at, final=final)
    if isinstance(value, dict | list):
        return _Value(value, end, not _is_deep(value))
    after = _past(_BLANK, text, end)
    if after == len(text):
        return _Value(value, end, True) if final else None
    is_ended = text[after] in ",}]" or (text[after] == '"' and "\n" in text[end:after])
    return _Value(value, end, True) if is_ended else _mended(text, at, final=final)


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where what matches there ends: nothing may."""
    found = pattern.match(text, at)
    return found.end() if found else at


def _is_deep(value: dict[str, Any] | list[Any]) -> bool:
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        inside = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for one in chain.from_iterable(inside) if isinstance(one, dict | list)]
    return bool(level)


def _mended(text: str, at: int, *, final: bool) -> _Value | None:
    """Return what can be read of a damaged value; None if it does not end in the text.

    An object ends before one that is no value of it, and a list before a key.
    """
    opened: list[Any] = []
    key: str | None = None
    for token in _TOKEN.finditer(text, at):
        mark, written, colon = token[0], token[1], token[2]
        is_next = mark == "{" and key is None and opened and isinstance(opened[-1], dict)
        if mark in _ENDS or is_next or (colon and opened):
            if end := _end_in(opened, token):
                return _Value(opened[0] if opened else None, end)
            key = _literal(written) if colon else None
            continue
        if written or mark in "{[":
            value: Any = _literal(written) if written else {} if mark == "{" else []
            if opened and isinstance(opened[-1], list):
                opened[-1].append(value)
            elif opened and key is not None:
                opened[-1][key] = value
            opened += () if written else (value,)
        if not opened:
            is_cut = token.end() == len(text) and not final
            return (
                None if is_cut else _Value(_literal(written or mark), token.end(1 if colon else 0))
            )
        key = None
    return None


def _end_in(opened: list[Any], token: re.Match[str]) -> int:
    """Return where an end, a key or an object ends the outermost of some values; 0 if it does not."""
    mark, depth = token[0], len(opened) - 1
    kind = list if mark == "]" else dict
    while depth >= 0 and not isinstance(opened[depth], kind):
        depth -= 1
    if depth < 0 or mark == "{":
        return token.start()
    if mark in _ENDS and not depth:
        return token.end()
    del opened[depth + (mark not in _ENDS) :]
    return 0


def _literal(text: str) -> str | None:
    """Return a string or a number; quotes in a string are escaped where they have to be."""
    if text[0] != '"':
        return _NumberText(text) if text[0] in "-0123456789" else None
    quoted = _ESCAPE.sub(lambda one: one[0] if len(one[0]) > 1 else f"\\{one[0]}", text[1:-1])
    with suppress(ValueError):
        return str(_DECODER.decode(f'"{quoted}"'))
    return None


# Items and feeds ------------------------------------------------------------------------------------


def _text(value: object) -> str | None:
    return values.text(without_forbidden(value, ignore)) if isinstance(value, str) else None


def _address(value: object) -> str | None:
    return None if isinstance(value, _NumberText) else _text(value)


def _authors_of(value: Mapping[str, Any]) -> list[str]:
    """Return the names of the authors of an item or a feed: of objects, or as texts; in 1.0, of one."""
    for key in ("authors", "author"):
        authors = given if isinstance(given := value.get(key), list) else [given]
        names = (one.get("name") if isinstance(one, dict) else one for one in authors)
        if found := [*filter(None, map(_text, names))]:
            return found
    return []


class JsonItem(FeedEntry):
    """An item of a JSON Feed; ``common`` are the fields of the feed that stand for those of items."""

    titles = ("title", "summary")
    dates = ("date_published", "date_modified")
    core_fields = frozenset({"id", "url", "external_url", "image", "banner_image", *titles, *dates})

    def __init__(
        self, line: int, base: str | None, item: Mapping[str, Any], common: Mapping[str, Any]
    ) -> None:
        super().__init__(line, base)
        for name in self.core_fields:
            read = _address if name in _ADDRESSES else _text
            if text := read(item.get(name)):
                self._given[name] = [text]
        tags = item.get("tags")
        self._tags = [*filter(None, map(_text, tags if isinstance(tags, list) else [tags]))]
        self._authors = next(filter(None, map(_authors_of, (item, common))), [])
        self._language = _address(item.get("language")) or _address(common.get("language"))
        has_content = not item.keys().isdisjoint(("content_html", "content_text"))
        self._missing = [*([] if "id" in item else ["id"]), *([] if has_content else [_CONTENT])]

    def addresses(self) -> Iterator[str]:
        """Yield the URL, then that of a page elsewhere which the item is about, then an id."""
        yield from self._texts("url")
        yield from self._texts("external_url")
        yield from filter(is_http_url, self._texts("id"))

    def fields(self, note: Note | None = None) -> PageFields:
        """Read the story, the images, and when the page was changed."""
        published, modified = (self._date(note, (name,)) for name in self.dates)
        for name in self._missing:
            if note:
                note(ProblemCode.MISSING_FEED_FIELD, name)
        images = [
            SitemapImage(resolved(url, self.base))
            for url in dict.fromkeys((*self._texts("image"), *self._texts("banner_image")))
        ]
        story = None
        for title in [text for name in self.titles for text in self._texts(name)][:1]:
            story = SitemapNewsStory(
                title,
                published or modified,
                publication_language=self._language,
                keywords=self._tags,
                authors=self._authors,
            )
        date = modified or (None if story else published)
        return PageFields(last_modified=date, news_story=story, images=images or None)


class JsonFeedParser(FormatParser):
    """Reads a JSON Feed; what follows it, as ``next_url`` says, is a child."""

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap] = PagesJSONFeedSitemap
    is_always_read = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._held: list[str] = []  # what is not read yet,
        self._missing = 1  # and how much more is needed until another look at it is worth it
        self._line = 1
        self._ends: list[str] = []  # of the feed, and of its list of items: the brackets to come
        self._has_comma = True  # since the last value
        self._depth: int | None = None  # in a value that is skipped,
        self._in_string = False  # and whether in a string of it
        self._is_complete = self._is_over = self._has_items = False
        self._feed: dict[str, Any] = {}
        self._next: ChildEntry | None = None
        self._damage = 0  # steps since the last entry
        self._done: list[Entry] = []

    @property
    def place(self) -> Place:
        """The current line."""
        return self._line, None

    def feed(self, text: str) -> list[Entry]:
        """Return the items that are complete so far."""
        self._held.append(text)
        self._missing -= len(text)
        return [] if self._missing > 0 else self._read(final=False)

    def close(self) -> list[Entry]:
        """Return the rest, and the next feed."""
        done = self._read(final=True)
        rest = self._held[0]
        if not (self._is_complete or self._is_over):
            is_inside = bool(rest) or self._depth is not None
            self.problems.end(TRUNCATED, self._line + rest.count("\n"), lost=int(is_inside))
        given = {*self._feed, *(("items",) if self._has_items else ())}
        for name in ("version", "title", "items"):
            if self._is_complete and name not in given:
                self.note(ProblemCode.MISSING_FEED_FIELD, name, at=(1, None))
        return [*done, self._next] if self._next else done

    def _read(self, *, final: bool) -> list[Entry]:
        """Read, step by step, what is complete; what is not is held."""
        text, at, end = "".join(self._held), 0, 0
        while end >= at and not self._is_over:
            at = _past(_BETWEEN, text, end)
            self._has_comma = self._has_comma or "," in text[end:at]
            self._line += text.count("\n", end, at)
            if at == len(text):
                end = -1
            elif self._depth is not None:
                end = self._skip(text, at, self._depth)
            elif self._ends:
                end = self._step(text, at, final=final)
            else:
                end = self._step_outside(text[at], at)
            self._line += text.count("\n", at, max(at, end))
        self._held = [text[max(at, end) :]]
        self._missing = len(self._held[0]) // 2 + 1
        done, self._done = self._done, []
        return done

    def _step(self, text: str, at: int, *, final: bool) -> int:
        """Read a value, a bracket, or what is neither, and return its end; -1 if more is needed."""
        mark, in_items = text[at], len(self._ends) > 1
        self._is_complete = False
        if mark == self._ends[-1]:
            self._ends.pop()
            self._is_complete, self._has_comma = not self._ends, False
            return at + 1
        if mark in '"[{' and not self._has_comma:
            self._has_comma = True
            self._note_damage()
            return at
        most = min(len(text), at + MAX_VALUE)
        key = _KEY.match(text, at, most) if mark == '"' else None
        if mark == '"' and (key is None or key.end() == most) and (most < len(text) or not final):
            return self._skip_from(at) if most < len(text) else -1
        if key and key[2]:
            return self._read_field(key, text, final=final)
        if not (in_items and mark in '"[{'):
            return self._step_over(text, at, most, final=final)
        return self._read_value("items", text, at, final=final)

    def _step_over(self, text: str, at: int, most: int, *, final: bool) -> int:
        in_items = len(self._ends) > 1
        if text[at] in "{}" and self._has_items:
            # A brace too many, or the end of the feed; or the list of items has ended too early.
            self._note_damage()
            self._is_complete = text[at] == "}"
            self._ends += () if in_items else ("]",)
            return at + self._is_complete
        end = _past(_STRAY_IN_ITEMS if in_items else _STRAY_IN_FEED, text[:most], at)
        if end == len(text) and not final:
            return -1
        self._note_damage(text[at:end])
        return end

    def _step_outside(self, mark: str, at: int) -> int:
        """Read what is before the feed, or after it: its items may go on there."""
        if not self._is_complete:
            self._ends = ["}"] if mark == "{" else []
            return at + 1
        self._note_damage()
        self._is_over = not (mark == "{" and self._has_comma and self._has_items)
        self._ends = ["}", "]"]
        return at

    def _read_field(self, key: re.Match[str], text: str, *, final: bool) -> int:
        """Read a field of the feed; or an item, if PHP wrote their list as an object."""
        name, at = _literal(key[1]) or "", key.end()
        if self._ends[-1] == "]":  # which has not ended
            self._note_damage()
            self._ends.pop()
            return key.start()
        if len(self._ends) > 1:
            name = "items"
        elif name == "items" and text[at : at + 1] in ("[", "{"):
            if text[at] == "{":
                self._note_damage()
            self._ends.append("]" if text[at] == "[" else "}")
            self._has_items = True
            return at + 1
        return self._read_value(name, text, at, final=final)

    def _read_value(self, name: str, text: str, at: int, *, final: bool) -> int:
        window = text if len(text) - at <= MAX_VALUE else text[: at + MAX_VALUE]
        found = _value_at(window, at, final=final and window is text)
        if found is None:
            return -1 if window is text else self._skip_from(at)
        self._has_comma = not found.is_whole
        is_lost = name == "items" and not isinstance(found.value, dict)
        if is_lost or not found.is_whole:
            self._note_damage(text[at : found.end].rstrip(), lost=int(is_lost))
        self._count()
        if name == "next_url" and (address := _address(found.value)):
            self._take_next(address)
        elif name in _OF_FEED:
            self._feed[name] = found.value
        elif name == "items" and not is_lost:
            done = JsonItem(self._line, self.url, found.value, self._feed).finish(self)
            self._done += done
            self._damage = 0 if done else self._damage
        return found.end

    def _skip_from(self, at: int) -> int:
        """Skip the value that begins there, which is too long."""
        self._note_damage(lost=int(len(self._ends) > 1))
        self._depth, self._in_string, self._has_comma = 0, False, True
        return at

    def _skip(self, text: str, at: int, depth: int) -> int:
        """Return where a value that is skipped ends, or how far it was read."""
        for mark in _MARK.finditer(text, at):
            if mark[0] == "\\":
                end = mark.start()
                break
            if mark[0] == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(mark[0], 0)
            if depth <= 0 and not self._in_string:
                self._depth = None
                return mark.end()
        else:
            end = len(text)
        self._depth = depth
        return end if end > at else -1

    def _note_damage(self, excerpt: str | None = None, *, lost: int = 0) -> None:
        self.note(ProblemCode.BAD_JSON, excerpt or None, lost=lost)
        self._count()

    def _count(self) -> None:
        """Count what is read without an entry; after very much of it, read no more."""
        self._damage += 1
        if self._damage > MAX_DAMAGE and not self._is_over:
            text = f"the rest was abandoned: {MAX_DAMAGE:,} values in a row without an entry"
            self.problems.end(Reason(FailureCode.TOO_DAMAGED, text), self._line)
            self._is_over = True

    def _take_next(self, address: str) -> None:
        url = child_url(address, self.url)
        if url is None:
            self.note(ProblemCode.BAD_SITEMAP_LINK, address, lost=1)
        elif self._next is None:
            self._next = ChildEntry(url, None, address, self._line)
            self.sitemap_class = IndexJSONFeedSitemap
