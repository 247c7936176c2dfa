"""JSON Feed 1.0 and 1.1: its items are pages, and its ``next_url`` is a further feed.

The text is cut into the items of the feed and its other values, which are parsed one by one. So damage
in one of them costs nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from usp._base.loc_urls import child_url, resolved
from usp._base.reason import Reason
from usp._base.urls import is_http_url
from usp._formats import values
from usp._formats.abstract_parser import TRUNCATED, ChildEntry, FormatParser, ignore
from usp._formats.feeds import FeedEntry
from usp._formats.xml.raw_entries import Notes, Place
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

    Take = Callable[["str | None", str, int, bool], None]
    """``take(key, text, line, is_whole)``: called for each value; an item has no key."""

MAX_VALUE = 512 * 1024
"""Characters of an item, or of another value of the feed, without long texts; a longer one is lost."""

MAX_DAMAGE = 50_000
"""After so many values in a row without an entry, the rest of a feed is not read."""

_MAX_STRING = 64 * 1024  # characters; a longer one, such as the content of a page, reads as empty
_MAX_DEPTH = 50  # brackets that are open
_ITEMS = 2  # how many are between two items
_ENDS = {"}": "{", "]": "["}
_MARK = re.compile(r'["{}\[\]:,]')
_IN_STRING = re.compile(r'["\\]')
_SOLID = re.compile(r"\S")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})|["\\]')
_CONTENT = "content_html or content_text"
_OF_FEED = frozenset({"version", "title", "language", "authors", "author"})
_VERSION = re.compile(r'"version"\s*+:\s*+"[^"]{0,20}\bjsonfeed\.org', re.IGNORECASE)
_MEDIA_TYPE = "application/feed+json"


def is_json_feed(start: str, content_type: str | None) -> bool:
    """Return whether a text is a JSON Feed, by its version or its label."""
    label = (content_type or "").partition(";")[0].strip().lower()
    return start[:1] == "{" and (label == _MEDIA_TYPE or _VERSION.search(start) is not None)


class ValueCutter:
    """Cuts the text of an object into its values, and the list of one key into its items.

    ``take`` gets each of them as it is written. Where brackets, quotes or commas are missing, it goes
    on at the next value; ``is_whole`` is False for what is damaged. After ``close``, ``is_complete``
    is whether the object has ended, and ``is_inside`` whether a value has not.
    """

    def __init__(self, take: Take, items: str | None = None) -> None:
        self._take = take
        self._items = items  # the key of that list
        self._in_items = self.has_items = False
        self._open: list[str] = []  # brackets
        self._deeper = 0  # those that are only counted
        self._last = ""  # the last bracket, quote, colon or comma
        self._key: str | None = None
        self._parts: list[str] = []  # of the value,
        self._length = 0
        self._is_long = False  # whether it is longer than what is kept
        self._is_whole = True
        self._string = (0, 0)  # where the last string in it begins: part, and length
        self._breaks = False  # whether a line ends after the last quote
        self._read: Callable[[str, int], int] = self._read_marks
        self.line = 1
        self._line = 1  # where the value begins
        self.is_complete = False
        self.is_inside = False
        self._after_end = 0  # the line of what follows the end, if anything does

    def feed(self, text: str) -> None:
        """Read on."""
        at = 0
        while at < len(text):
            at = self._read(text, at)

    def close(self) -> None:
        """Find out where the text ends."""
        self.is_inside = len(self._open) > (_ITEMS if self._in_items else 1) or bool(self._parts)
        if self._after_end and self.is_complete:
            self._take(None, "", self._after_end, False)

    # What reads on from a position, and returns where it stops ----------------------------------------

    def _read_marks(self, text: str, at: int) -> int:
        """Read up to the next bracket, quote, colon or comma."""
        found = _MARK.search(text, at)
        end = found.start() if found else len(text)
        self._keep(text[at:end])
        if found is None:
            return end
        mark = found[0]
        if mark == '"':
            self._string = len(self._parts), self._length
            self._keep(mark)
            self._read = self._read_string
        elif mark in "{[":
            self._begin(mark)
        elif mark in "}]":
            self._end(mark)
        else:
            self._separate(mark)
        self._last = mark
        return end + 1

    def _read_string(self, text: str, at: int) -> int:
        """Read up to the next quote or backslash."""
        found = _IN_STRING.search(text, at)
        end = found.end() if found else len(text)
        self._keep(text[at:end])
        if found is not None:
            self._breaks = False
            self._read = self._read_escaped if found[0] == "\\" else self._read_after_quote
        return end

    def _read_escaped(self, text: str, at: int) -> int:
        """Read the character after a backslash."""
        self._keep(text[at])
        self._read = self._read_string
        return at + 1

    def _read_after_quote(self, text: str, at: int) -> int:
        """Look at what follows a quote: where no string can end, it is a part of it."""
        found = _SOLID.search(text, at)
        end = found.start() if found else len(text)
        self._breaks = self._breaks or "\n" in text[at:end]
        self._keep(text[at:end])
        if found is None:
            return end
        mark = found[0]
        if mark in ",:]}" or (mark == '"' and self._breaks):  # in that case a comma is missing
            part, length = self._string
            self._read = self._read_marks
            if self._length - length > _MAX_STRING:
                self._parts[part:], self._length = [], length
                self._keep('""')
        else:
            self._is_whole = False
            self._read = self._read_string
        return end

    # The value ----------------------------------------------------------------------------------------

    def _keep(self, text: str) -> None:
        """Keep a part of a value, as far as there is room for it: a long string does not count."""
        if self._open and text and not self._is_long:
            if not self._parts:
                rest = text.lstrip()
                self.line += text.count("\n", 0, len(text) - len(rest))
                text, self._line = rest, self.line
            is_string = self._read != self._read_marks
            if text and not (is_string and self._length - self._string[1] > _MAX_STRING):
                self._parts.append(text)
                self._length += len(text)
                self._is_long = not is_string and self._length > MAX_VALUE
        elif self.is_complete and not self._open and not self._after_end and text.strip():
            self._after_end = self.line + text[: len(text) - len(text.lstrip())].count("\n")
        self.line += text.count("\n")

    def _text(self, first: int = 0) -> str:
        """Return the value, or its last parts, as written; begin the next one."""
        text = "" if self._is_long else "".join(self._parts[first:])
        self._parts, self._length, self._is_long = self._parts[:first], 0, False
        return text.rstrip()

    def _flush(self) -> None:
        """Report the value that has ended."""
        if self._parts:
            key, line = self._items if self._in_items else self._key, self._line
            self._take(key, self._text(), line, self._is_whole)
        self._key, self._is_whole = None, True

    def _report(self) -> None:
        """Report damage that is in no value."""
        self._take(None, "", self.line, False)

    def _is_between_items(self) -> bool:
        return self._in_items and len(self._open) == _ITEMS

    def _begin(self, mark: str) -> None:
        """Begin an object or a list."""
        opened = self._open
        if not opened:
            if self.is_complete and self._last == "," and self._items:  # the root ended too early
                self.is_complete, self._in_items, self._after_end = False, True, 0
                opened += ("{", "[")
                self._report()
            elif self.is_complete or mark == "[":
                return
            else:
                opened.append(mark)
                return
        if len(opened) == 1 and mark == "[" and self._items and self._key == self._items:
            opened.append(mark)
            self._text()
            self._in_items = self.has_items = True
            return
        self.is_complete = False
        is_lost = mark == "{" and opened[-1] == "{" and self._last != ":"
        if self._in_items and is_lost and len(opened) > _ITEMS:  # the end of the item before it
            del opened[_ITEMS:]
            self._deeper, self._is_whole = 0, False
        if self._is_between_items() and self._parts:  # a comma is missing
            self._is_whole = False
            self._flush()
        elif self._is_between_items() and self._last == "}":
            self._report()
        if len(opened) < _MAX_DEPTH:
            opened.append(mark)
        else:
            self._deeper += 1
            self._is_whole = False
        self._keep(mark)

    def _end(self, mark: str) -> None:
        """End an object or a list, and all inside that are not ended."""
        opened, wanted = self._open, _ENDS[mark]
        if self._deeper:
            self._deeper -= 1
            self._keep(mark)
            return
        lowest = _ITEMS if self._in_items and mark == "}" else 0
        depth = next(
            (at for at in range(len(opened) - 1, lowest - 1, -1) if opened[at] == wanted), None
        )
        if depth is None:  # a bracket too many
            if opened:
                self._report()
                self.is_complete = self._is_between_items()  # unless something follows
            else:
                self._keep(mark)
            return
        self._is_whole = self._is_whole and depth == len(opened) - 1
        if self._in_items and depth < _ITEMS:
            self._flush()
            self._in_items = False
            del opened[depth:]
            return
        del opened[depth:]
        if depth:
            self._keep(mark)
        if self._is_between_items() or not depth:
            self._flush()
        self.is_complete = not depth

    def _separate(self, mark: str) -> None:
        """Take a colon after a key, or a comma after a value."""
        depth = len(self._open)
        is_list = depth == _ITEMS and self._open[-1] == "["
        if mark == "," and (depth == 1 or self._is_between_items()):
            self._flush()
        elif mark == ":" and self._last == '"' and (depth == 1 or is_list):
            # Without a comma in front of it, it is the key after the value; the end of a list, too.
            key = self._text(self._string[0])
            if self._parts:
                self._is_whole = False
                self._flush()
            elif is_list:
                self._report()
            if is_list:
                del self._open[1:]
                self._in_items = False
            self._key = key[1:-1]
        else:
            self._keep(mark)


def _loads(text: str, *, is_whole: bool) -> Any:
    """Return a value; raises ``ValueError`` for damage. Numbers stay texts."""
    if not is_whole:
        raise ValueError
    return json.loads(text, strict=False, parse_int=str, parse_float=str)


def _mended(text: str) -> dict[str, Any] | None:
    """Return what can be read of a damaged object; None for anything else."""
    found: dict[str, Any] = {}

    def take(key: str | None, value: str, line: int, is_whole: bool) -> None:
        del line
        is_text = value[:1] == '"' and not is_whole
        with suppress(ValueError):
            value = _requoted(value) if is_text else value
            found[key or ""] = _loads(value, is_whole=is_whole or is_text)

    if text[:1] != "{":
        return None
    cutter = ValueCutter(take)
    cutter.feed(f"{text}}}")
    return found


def _requoted(text: str) -> str:
    """Return a string whose quotes and backslashes are escaped where they have to be."""
    inner = _ESCAPE.sub(lambda one: one[0] if len(one[0]) > 1 else f"\\{one[0]}", text[1:-1])
    return f'"{inner}"'


def _text(value: object) -> str | None:
    """Return the text of a value, if it is one."""
    return values.text(without_forbidden(value, ignore)) if isinstance(value, str) else None


def _named(value: object) -> list[str]:
    """Return the names of authors: objects, or texts where a feed has written these instead."""
    authors = value if isinstance(value, list) else [value]
    names = (one.get("name") if isinstance(one, dict) else one for one in authors)
    return [*filter(None, map(_text, names))]


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
            if text := _text(item.get(name)):
                self._given[name] = [text]
        tags = item.get("tags")
        self._tags = [*filter(None, map(_text, tags if isinstance(tags, list) else [tags]))]
        self._authors = next(filter(None, map(_authors_of, (item, common))), [])
        self._language = _text(item.get("language")) or _text(common.get("language"))
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


def _authors_of(value: Mapping[str, Any]) -> list[str]:
    """Return the authors of an item or a feed; in 1.0, there is one."""
    return _named(value.get("authors")) or _named(value.get("author"))


class JsonFeedParser(Notes, FormatParser):
    """Reads a JSON Feed; what follows it, as ``next_url`` says, is a child."""

    sitemap_class: type[AbstractIndexSitemap | AbstractPagesSitemap] = PagesJSONFeedSitemap
    is_always_read = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._cutter = ValueCutter(self._take, "items")
        self._feed: dict[str, Any] = {}
        self._next: ChildEntry | None = None
        self._damage = 0  # values since the last entry
        self._done: list[Entry] = []

    def note(
        self,
        code: ProblemCode,
        excerpt: str | None = None,
        *,
        at: Place | None = None,
        lost: int = 0,
    ) -> None:
        """Note a problem at some place."""
        line, column = at or (self._cutter.line, None)
        self.problems.add(code, line, excerpt, lost, column=column)

    def feed(self, text: str) -> list[Entry]:
        """Return the items that are complete so far."""
        if self._damage <= MAX_DAMAGE:
            self._cutter.feed(text)
        done, self._done = self._done, []
        return done

    def close(self) -> list[Entry]:
        """Return the next feed."""
        cutter = self._cutter
        cutter.close()
        if not cutter.is_complete and self._damage <= MAX_DAMAGE:
            self.problems.end(TRUNCATED, cutter.line, int(cutter.is_inside))
        given = {*self._feed, *(("items",) if cutter.has_items else ())}
        for name in ("version", "title", "items"):
            if cutter.is_complete and self._damage <= MAX_DAMAGE and name not in given:
                self.note(ProblemCode.MISSING_FEED_FIELD, name, at=(1, None))
        return [self._next] if self._next else []

    def _take(self, key: str | None, text: str, line: int, is_whole: bool) -> None:
        """Take a value of the feed, or an item; of a damaged one, what can be read."""
        if self._damage > MAX_DAMAGE:
            return
        self._damage += 1
        if self._damage > MAX_DAMAGE:
            text = f"the rest was abandoned: {MAX_DAMAGE:,} values in a row without an entry"
            self.problems.end(Reason(FailureCode.TOO_DAMAGED, text), line)
            return
        value: Any = None
        try:
            value = _loads(text, is_whole=is_whole)
        except ValueError:
            value, is_whole = _mended(text), False
        items = [value] if key == "items" else []
        inner = [*value.values()] if isinstance(value, dict) and items else []
        if not self._cutter.has_items and inner and all(isinstance(one, dict) for one in inner):
            items, is_whole, self._feed["items"] = inner, False, inner  # as PHP may write a list
        is_lost = any(not isinstance(one, dict) for one in items)
        if is_lost or not is_whole:
            self.note(ProblemCode.BAD_JSON, text or None, at=(line, None), lost=int(is_lost))
        for item in () if is_lost else items:
            found = JsonItem(line, self.url, item, self._feed).finish(self)
            self._done += found
            self._damage = 0 if found else self._damage
        if key == "next_url" and (address := _text(value)):
            self._take_next(address, line)
        elif key in _OF_FEED:
            self._feed[key] = value

    def _take_next(self, address: str, line: int) -> None:
        url = child_url(address, self.url)
        if url is None:
            self.note(ProblemCode.BAD_SITEMAP_LINK, address, at=(line, None), lost=1)
        elif self._next is None:
            self._next = ChildEntry(url, None, address, line)
            self.sitemap_class = IndexJSONFeedSitemap
