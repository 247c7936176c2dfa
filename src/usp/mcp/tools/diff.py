"""``list_snapshots`` and ``diff_site``: what changed since a crawl that the operator has recorded.

A snapshot is named by the name of its file in the folder of the operator, which is looked up there: no
path is made of what a caller writes, and links are not followed.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from usp._base.display import counted, size
from usp._base.urls import host_in
from usp._snapshot.snapshot import open_snapshot
from usp._snapshot.warc import is_warc
from usp.changes import Diff, PageChange
from usp.exceptions import SitemapException
from usp.mcp.options import SERVER_LIMITS
from usp.mcp.reading import Stopped
from usp.mcp.schemas import Arguments, ListArguments, Result, Source, Texts, Value, fitting
from usp.mcp.trees import Visit
from usp.mcp.words import Refusal, clean, clean_url, nothing_read
from usp.objects.abstract_sitemap import walk
from usp.objects.sitemap import AbstractPagesSitemap
from usp.snapshot import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.changes import Change
    from usp.mcp.call import Call
    from usp.mcp.reading import Reading

Kind = Literal["added", "removed", "changed", "moved", "unknown", "failed", "recovered"]
_MOST_FILES = 500


class SnapshotArguments(Arguments):
    """Nothing is asked for."""


class Snapshot(Value):
    """A recorded crawl."""

    name: str = Field(description="What diff_site takes as snapshot.")
    site: str | None = Field(default=None, description="Website or sitemap that was recorded.")
    modified: str = Field(description="When the file was written, in UTC.")
    bytes: int


class SnapshotList(Result):
    """Snapshots, the newest first."""

    snapshots: list[Snapshot]

    def lines(self) -> Iterable[str]:
        """Yield the result as text."""
        yield f"{counted(len(self.snapshots), 'snapshot')}:"
        for one in self.snapshots:
            yield f"{one.name}: {one.site or 'unknown site'}, {one.modified}, {size(one.bytes)}"


class DiffArguments(ListArguments):
    """What to compare."""

    snapshot: str = Field(
        min_length=1, max_length=255, description="Name of a snapshot, from list_snapshots."
    )
    kinds: Texts = Field(
        default_factory=list,
        description="List only these: added, removed, changed, moved, unknown, failed, recovered. "
        "Default: all. Counts are of all of them anyway.",
    )
    limit: int = Field(default=50, ge=1, le=200, description="Most changes in one result.")


class FieldOfPage(Value):
    """A field of a page that changed."""

    name: str
    before: str | None = None
    after: str | None = None


class ChangeOf(Value):
    """A page or a sitemap that is not what it was."""

    what: Literal["page", "sitemap"]
    kind: Kind
    url: str
    fields: list[FieldOfPage] | None = Field(default=None, description="What changed of a page.")
    reason: str | None = Field(default=None, description="Why a sitemap failed or is unknown.")


class DiffResult(Result):
    """What changed since the snapshot."""

    source: Source
    snapshot: str
    pages: dict[str, int] = Field(description="Number of pages by kind of change.")
    sitemaps: dict[str, int] = Field(description="Number of sitemaps by kind of change.")
    changes: list[ChangeOf] = Field(description="Sitemaps first, then pages.")
    next_cursor: str | None = None

    def lines(self) -> Iterable[str]:
        """Yield the result as text."""
        yield from self.source.lines()
        for noun, counts in (("Pages", self.pages), ("Sitemaps", self.sitemaps)):
            said = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
            yield f"{noun} since {self.snapshot}: {said or 'no changes'}."
        for one in self.changes:
            fields = ", ".join(f"{f.name}: {f.before} → {f.after}" for f in one.fields or ())
            more = fields or one.reason
            yield f"{one.kind} {one.what} {one.url}{f' ({more})' if more else ''}"
        if self.next_cursor:
            yield f"More with cursor={self.next_cursor}"


async def list_snapshots(call: Call, given: SnapshotArguments) -> SnapshotList:
    """Return the snapshots that the operator has provided."""
    del given
    return SnapshotList(snapshots=fitting(await call.read(_snapshots, call)))


def _snapshots(reading: Reading, call: Call) -> list[Snapshot]:
    """Return the snapshots, the newest first; which website each is of, if time allows."""
    listed = [
        Snapshot(
            name=clean(entry.name),
            site=_site(reading, entry.path),
            modified=_written(entry),
            bytes=entry.stat().st_size,
        )
        for entry in _files(call).values()
    ]
    return sorted(listed, key=lambda one: one.modified, reverse=True)


def _site(reading: Reading, path: str) -> str | None:
    try:
        reading.step()
        start = open_snapshot(path, SERVER_LIMITS).start
    except (Stopped, OSError, SitemapException, ValueError):
        return None
    return next((clean_url(str(url)) for url in start.values()), None)


def _files(call: Call) -> dict[str, os.DirEntry[str]]:
    """Return the snapshots in the folder, by their names."""
    folder = call.options.snapshots
    try:
        with os.scandir(folder or "") as entries:
            files = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError as error:
        raise Refusal("The folder of snapshots cannot be read; tell the operator.") from error
    return {
        entry.name: entry
        for entry in islice(sorted(files, key=lambda one: one.name), _MOST_FILES)
        if entry.name.isprintable() and is_warc(Path(entry.path))
    }


def _written(entry: os.DirEntry[str]) -> str:
    moment = datetime.fromtimestamp(entry.stat().st_mtime, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


async def diff_site(call: Call, given: DiffArguments) -> DiffResult:
    """Return what changed since a snapshot."""
    kinds = _kinds(given.kinds)
    before = await _loaded(call, given.snapshot)
    if given.cursor is None:
        visit, kept = await call.visit(given.url, refresh=given.refresh)
        begin = 0
    else:
        visit, cursor = call.begun(given.cursor, 2, refresh=given.refresh)
        begin, kept = max(int(cursor.position[0] or 0), 0), True
        if int(cursor.position[1] or 0) != _number(before):
            raise Refusal("The snapshot has changed since; call the tool again without a cursor.")
    if visit.failures and not any(isinstance(n, AbstractPagesSitemap) for n in walk(visit.tree)):
        raise nothing_read(visit.url, visit.failures)
    if _host(before.url) != _host(visit.url):
        raise Refusal(
            f"The snapshot is of {clean_url(before.url)}, not of {clean_url(visit.url)}; "
            "list_snapshots tells which there are."
        )
    diff = Diff(before.tree, visit.tree)
    found, total = await call.read(_changes, diff, kinds, begin, given.limit)
    taken = fitting(found)
    end = begin + len(taken)
    counts = diff.counts()
    return DiffResult(
        source=Source.of(visit, kept=kept),
        snapshot=clean(given.snapshot),
        pages={kind.value: number for kind, number in counts.pages.items() if number},
        sitemaps={kind.value: number for kind, number in counts.sitemaps.items() if number},
        changes=taken,
        next_cursor=call.cursor(visit, end, _number(before)) if taken and end < total else None,
    )


def _host(url: str) -> str:
    return host_in(url).removeprefix("www.")


def _kinds(given: list[str]) -> frozenset[str]:
    known = frozenset(Kind.__args__)  # type: ignore[attr-defined]
    wanted = frozenset(text.strip().lower() for text in given)
    if not wanted <= known:
        wrong = clean(", ".join(sorted(wanted - known)))
        raise Refusal(
            f"Wrong arguments: unknown kinds {wrong}; choose from {', '.join(sorted(known))}."
        )
    return wanted or known


async def _loaded(call: Call, name: str) -> Visit:
    """Return the tree of a snapshot; it is kept like that of a website while its file is the same."""
    files = await call.read(lambda _: _files(call))
    entry = files.get(name)
    if entry is None:
        named = ", ".join([*files][:20])
        hint = f"choose from {named}" if files else "the operator has provided none"
        raise Refusal(f"There is no snapshot {clean(name)!r}; {hint}.")
    facts = entry.stat(follow_symlinks=False)
    key = ("snapshot", name, facts.st_mtime_ns, facts.st_size)
    known = call.trees.kept_as(key)
    if known is not None:
        return known
    visit = await call.read(_load, entry.path, facts.st_mtime)
    call.trees.keep(key, visit)
    return visit


def _load(reading: Reading, path: str, modified: float) -> Visit:
    reading.step()
    try:
        tree = load(path)
    except (OSError, SitemapException, ValueError) as error:
        raise Refusal(
            "The snapshot cannot be read; tell the operator, and choose another one."
        ) from error
    return Visit.of(tree.url, tree, datetime.fromtimestamp(modified, UTC))


def _number(visit: Visit) -> int:
    """Return a number that tells one state of a snapshot from another."""
    return int(visit.fetched.timestamp())


def _changes(
    reading: Reading, diff: Diff, kinds: frozenset[str], begin: int, limit: int
) -> tuple[list[ChangeOf], int]:
    """Return some changes, and how many there are of these kinds."""
    found: list[ChangeOf] = []
    number = 0
    for change in _stepping(reading, diff):
        if change.kind.value not in kinds:
            continue
        if begin <= number < begin + limit:
            found.append(_change(change))
        number += 1
    return found, number


def _stepping(reading: Reading, diff: Diff) -> Iterator[Change]:
    for change in diff:
        reading.step()
        yield change


def _change(change: Change) -> ChangeOf:
    url = clean_url(change.url)
    if not isinstance(change, PageChange):
        reason = None if change.reason is None else clean(change.reason)
        return ChangeOf(what="sitemap", kind=change.kind.value, url=url, reason=reason)
    fields = [
        FieldOfPage(name=one.name, before=_text(one.before), after=_text(one.after))
        for one in change.fields[:10]
    ]
    return ChangeOf(what="page", kind=change.kind.value, url=url, fields=fields or None)


def _text(value: object) -> str | None:
    if value is None:
        return None
    return clean(value.isoformat() if isinstance(value, datetime) else str(value), 100)
