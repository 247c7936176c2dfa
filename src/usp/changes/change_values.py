"""What a comparison of two trees gives: changes as values, and as lines of text, JSON and CSV."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

from usp._base.dates import as_written
from usp._base.display import counted, printable
from usp._base.filters import Patterns, checked
from usp._base.urls import section_of
from usp.export.schema import ALL_COLUMNS, COLUMNS, OF_FIELDS, Kind
from usp.export.text_formats import json_list, plain, rows_of_block, to_json
from usp.objects.extension_values import plain as plain_value
from usp.objects.page import PageList
from usp.selection import date_of

if TYPE_CHECKING:
    from usp.objects.failure_codes import FailureCode
    from usp.objects.page import PageFields, SitemapPage


class ChangeKind(StrEnum):
    """What became of a page or a sitemap."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    """Fields of the page changed; it may have moved, too."""

    MOVED = "moved"
    """The page is as it was, and listed by other sitemaps; the sitemap has another URL."""

    UNKNOWN = "unknown"
    """It is in one of the trees only, and the other one lacks the document that would show why."""

    FAILED = "failed"
    """The sitemap is missing or incomplete, and was not before."""

    RECOVERED = "recovered"
    """The sitemap was missing or incomplete, and is complete now."""


class FieldChange(NamedTuple):
    """A field of a page that changed; the names are those of the columns of ``usp.export``."""

    name: str
    before: Any
    after: Any


class PageChange(NamedTuple):
    """A page that is not what, or where, it was.

    ``before`` and ``after`` are the page in each of the trees; None where it is not listed. ``left``
    are the sitemaps that do not list it any more, ``joined`` those that did not list it before.
    """

    kind: ChangeKind
    url: str
    before: SitemapPage | None = None
    after: SitemapPage | None = None
    fields: tuple[FieldChange, ...] = ()
    left: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the change in one line, as ``usp diff`` shows it."""
        return text_of(self)


@dataclass(frozen=True, slots=True)
class SitemapChange:
    """A sitemap that is not what it was.

    ``reason`` and ``code`` say why it failed or is unknown. One that moved lists mostly what the one at
    the URL ``former`` did.
    """

    kind: ChangeKind
    url: str
    reason: str | None = None
    code: FailureCode | None = None
    former: str | None = None

    def __str__(self) -> str:
        """Return the change in one line, as ``usp diff`` shows it."""
        return text_of(self)


Change: TypeAlias = PageChange | SitemapChange
"""A change of a page or of a sitemap."""


@dataclass(slots=True)
class ChangeCounts:
    """How many pages and sitemaps changed, by kind."""

    pages: Counter[ChangeKind] = field(default_factory=Counter)
    sitemaps: Counter[ChangeKind] = field(default_factory=Counter)
    uncertain: bool = False
    """Whether something is missing in one of the trees that is not missing in the other."""

    def add(self, change: Change, *, selected: bool = True) -> None:
        """Count a change; one that is not selected may only make the others uncertain."""
        self.uncertain |= change.kind in _UNCERTAIN
        if selected:
            counts = self.pages if isinstance(change, PageChange) else self.sitemaps
            counts[change.kind] += 1

    @property
    def changed(self) -> bool:
        """Whether anything changed for certain; that something is missing is not a change."""
        found = self.pages + self.sitemaps
        return bool(found.keys() - _UNCERTAIN)


def selecting(
    only: Iterable[ChangeKind | str], include: Sequence[str], exclude: Sequence[str]
) -> Callable[[Change], bool]:
    """Return a function that decides whether a change is one of ``only``, and its URL matches.

    Raises ``ValueError``, beginning with the name of the parameter.
    """
    kinds = frozenset(only)
    unknown = sorted(kinds - set(ChangeKind))
    if unknown:
        known = ", ".join(ChangeKind)
        raise ValueError(f"only has an unknown kind {str(unknown[0])!r}; choose from {known}")
    patterns = Patterns.of(checked("include", include), checked("exclude", exclude))
    return lambda change: (not kinds or change.kind in kinds) and patterns.match(change.url)


_UNCERTAIN = frozenset({ChangeKind.UNKNOWN, ChangeKind.FAILED, ChangeKind.RECOVERED})

_FIELDS = (
    *("priority", "lastmod", "changefreq", "news", "images"),
    *("alternates", "videos", "mobile", "page_map", "resource"),
)


def field_changes(
    before: PageFields, after: PageFields, differs: Callable[[FieldChange], bool] | None = None
) -> tuple[FieldChange, ...]:
    """Return the fields that differ, in the order of the page's attributes."""
    rows = zip(_FIELDS, before, after, strict=True)
    found = [FieldChange(*row) for row in rows if row[1] is not row[2] and row[1] != row[2]]
    return tuple(found if differs is None else filter(differs, found))


# How changes are written ------------------------------------------------------------------------------

SIGNS = {
    ChangeKind.ADDED: "+",
    ChangeKind.REMOVED: "-",
    ChangeKind.CHANGED: "~",
    ChangeKind.MOVED: ">",
    ChangeKind.UNKNOWN: "?",
    ChangeKind.FAILED: "!",
    ChangeKind.RECOVERED: "=",
}
"""What a line of text begins with."""

CSV_COLUMNS = dict.fromkeys(
    ("what", "change", "url", "field", "before", "after", "left", "joined", "reason"), Kind.TEXT
)
_LONGEST = 60  # characters of a value in a line of text
_HELD = 1 << 20  # characters of the lines of a kind that are not in a file
_MOST_SECTIONS = 1000


def text_of(change: Change) -> str:
    """Return a change in one line, for people and ``grep``."""
    sign, details = SIGNS[change.kind], details_of(change)
    if not isinstance(change, PageChange):
        if change.former is not None:
            return printable(f"{sign} sitemap {change.former} -> {change.url}")
        named = (ChangeKind.FAILED, ChangeKind.RECOVERED, ChangeKind.UNKNOWN)
        word = f" {change.kind.value}" if change.kind in named else ""
        return printable(f"{sign} sitemap {change.url}{word}{details and f': {details}'}")
    return printable(f"{sign} {change.url}{details and f'  {details}'}")


def details_of(change: Change) -> str:
    """Return what changed, in a few words: fields and sitemaps of a page, the reason of a failure."""
    if not isinstance(change, PageChange):
        return change.reason or (f"was {change.former}" if change.former else "")
    if change.kind is ChangeKind.ADDED and change.after is not None:
        return _heading(change.after)
    said = [
        f"{name} {_short(name, before)} -> {_short(name, after)}"
        for name, before, after in change.fields
    ]
    if change.kind in (ChangeKind.CHANGED, ChangeKind.MOVED) and (change.left or change.joined):
        left, joined = ", ".join(change.left), ", ".join(change.joined)
        both = f"{left} -> {joined}" if left else f"also in {joined}"
        said.append(both if joined else f"no longer in {left}")
    return "; ".join(said)


def _heading(page: SitemapPage) -> str:
    """Return the date and the title of a page, as far as it has them."""
    date, story = date_of(page), page.news_story
    texts = [
        "" if date is None else as_written(date),
        _short("title", story.title) if story else "",
    ]
    return ": ".join(filter(None, texts))


def _short(name: str, value: Any) -> str:
    """Return a value in a few words; a long list is counted."""
    if isinstance(value, list):
        return str(len(value))
    if name == "lastmod" and value is not None:
        return as_written(value)
    text = "none" if value is None else " ".join(_text(json_value(name, value)).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def json_of(change: Change) -> dict[str, Any]:
    """Return a change as an object for JSON; a page has the columns of ``usp.export`` that it uses."""
    result: dict[str, Any] = {
        "what": "page" if isinstance(change, PageChange) else "sitemap",
        "change": change.kind.value,
        "url": change.url,
    }
    if not isinstance(change, PageChange):
        if change.reason is not None:
            code = None if change.code is None else change.code.value
            result |= {"reason": change.reason, "code": code}
        return result | ({} if change.former is None else {"former": change.former})
    if change.fields:
        result["fields"] = {
            name: {"before": json_value(name, before), "after": json_value(name, after)}
            for name, before, after in change.fields
        }
    result |= {"left": list(change.left), "joined": list(change.joined)}
    page = change.after or change.before
    if page is not None:  # its columns but for the empty ones
        names = [*(name for name in COLUMNS if name in OF_FIELDS), "resource"]
        (row,) = rows_of_block(names, None, PageList([page]))
        pairs = zip(names, row, strict=True)
        result["page"] = {name: one for name, one in pairs if one not in (None, False)}
    return result


def json_value(name: str, value: Any) -> Any:
    """Return the value of a field for JSON."""
    if name == "changefreq":
        return value and value.value
    return plain(value, ALL_COLUMNS[name]) if name in ALL_COLUMNS else plain_value(value)


def csv_rows(change: Change) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a change: one for each field that changed, or one."""
    if not isinstance(change, PageChange):
        moved = ("", "", "") if change.former is None else ("url", change.former, change.url)
        yield ("sitemap", change.kind.value, change.url, *moved, "", "", change.reason or "")
        return
    moved = " ".join(change.left), " ".join(change.joined), ""
    for name, *values in change.fields or [("", None, None)]:
        cells = (_text(json_value(name, value)) for value in values)
        yield ("page", change.kind.value, change.url, name, *cells, *moved)


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else to_json(value)


def lines_of(
    changes: Iterable[Change],
    form: str,
    counts: Callable[[], ChangeCounts],
    shown: Callable[[Change], str] = text_of,
) -> Iterator[str]:
    """Yield the lines of changes in a format other than CSV; ``counts`` is asked for at their end."""
    if form == "text":
        yield from map(shown, changes)
    elif form == "summary":
        yield from _summary_lines(changes)
    elif form == "jsonl":
        yield from (to_json(json_of(change)) for change in changes)
    else:
        yield from json_list(
            '{"changes":[',
            (to_json(json_of(change)) for change in changes),
            lambda: f',"counts":{to_json(counts_json(counts()))}}}',
        )


def sections_of(changes: Iterable[Change], shown: Callable[[Change], str]) -> Iterator[str]:
    """Yield the lines of changes by kind, below how many there are; they wait in temporary files."""
    counts: Counter[tuple[str, ChangeKind]] = Counter()
    with ExitStack() as files:
        waiting: dict[tuple[str, ChangeKind], IO[str]] = {}
        for change in changes:
            part = "page" if isinstance(change, PageChange) else "sitemap", change.kind
            if part not in waiting:
                file = SpooledTemporaryFile(_HELD, "w+", encoding="utf-8")  # noqa: SIM115 - closed below
                waiting[part] = files.enter_context(file)
            waiting[part].write(f"{shown(change)}\n")
            counts[part] += 1
        for part in product(("sitemap", "page"), ChangeKind):
            if part in waiting:
                waiting[part].seek(0)
                yield f"{counted(counts[part], part[0])} {part[1].value}"
                yield from (line.rstrip("\n") for line in waiting[part])
                yield ""


def _summary_lines(changes: Iterable[Change]) -> Iterator[str]:
    """Yield a table of how many changes there are in each section of the website, most first."""
    found: defaultdict[str, Counter[ChangeKind]] = defaultdict(Counter)
    for change in changes:
        section = section_of(change.url) if isinstance(change, PageChange) else "(sitemaps)"
        if section not in found and len(found) >= _MOST_SECTIONS:
            section = "(others)"
        found[printable(section)][change.kind] += 1
    kinds = [kind for kind in ChangeKind if any(counts[kind] for counts in found.values())]
    rows = [("section", *(kind.value for kind in kinds))] if found else []
    for section, counts in sorted(found.items(), key=lambda item: -item[1].total()):
        rows.append((section, *(f"{counts[kind]:,}" for kind in kinds)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *cells in rows:
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *numbers])


def counts_json(counts: ChangeCounts) -> dict[str, dict[str, int]]:
    """Return how many changes there are, for JSON."""
    return {
        what: {kind.value: found[kind] for kind in ChangeKind if found[kind]}
        for what, found in (("pages", counts.pages), ("sitemaps", counts.sitemaps))
    }


def summary_of(counts: ChangeCounts) -> str:
    """Return how many changes there are, in a few words."""
    parts = [
        f"{what}: {', '.join(f'{count:,} {kind}' for kind, count in found.items())}"
        for what, found in counts_json(counts).items()
        if found
    ]
    return "; ".join(parts) or "nothing changed"
