"""``list_snapshots`` and ``diff_site``: what changed since a crawl that the operator has recorded.

A snapshot is named by the name of its file in the folder of the operator, which is looked up there: no
path is made of what a caller writes, and links are not followed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BeforeValidator, Field

from usp._base.urls import host_in
from usp._snapshot.snapshot_file import start_of
from usp._snapshot.warc import is_warc
from usp.changes import Change, Diff, PageChange
from usp.exceptions import SitemapException
from usp.mcp.tool_call import (
    Cancelled,
    CancelToken,
    Cursor,
    Limit,
    ListResult,
    Refresh,
    SiteAddress,
    SiteText,
    SiteUrl,
    ToolCall,
    ToolContext,
    ToolValue,
    clean,
    fitting,
    listed,
    optional,
    utc,
)
from usp.snapshot import load

if TYPE_CHECKING:
    from usp.mcp import ServerOptions
    from usp.objects.sitemap import AbstractSitemap

ChangeWord = Literal["added", "removed", "changed", "moved", "unknown", "failed", "recovered"]
_MOST_FILES = 500


class RecordedSite(ToolValue):
    """A recorded crawl."""

    name: SiteText = Field(description="What diff_site takes as snapshot.")
    site: SiteAddress | None = optional("Website or sitemap that was recorded.")
    modified: str = Field(description="When the file was written, in UTC.")
    bytes: int = Field(description="Size of the file.")


class SnapshotList(ToolValue):
    """Snapshots, the newest first."""

    snapshots: list[RecordedSite]


def _text(value: object) -> str:
    return clean(value.isoformat() if isinstance(value, datetime) else str(value), 100)


FieldText = Annotated[str, BeforeValidator(_text)]


class FieldOfPage(ToolValue):
    """A field of a page that changed."""

    name: str
    before: FieldText | None = None
    after: FieldText | None = None


class ChangeOf(ToolValue):
    """A page or a sitemap that is not what it was."""

    what: Literal["page", "sitemap"]
    kind: ChangeWord
    url: SiteAddress
    fields: list[FieldOfPage] | None = optional("What changed of a page.")
    reason: SiteText | None = optional("Why a sitemap failed or is unknown.")

    @classmethod
    def of(cls, change: Change) -> ChangeOf:
        """Return a change of a tree."""
        if isinstance(change, PageChange):
            fields = [FieldOfPage.model_validate(one) for one in change.fields[:10]]
            return cls(what="page", kind=change.kind.value, url=change.url, fields=fields or None)
        return cls(what="sitemap", kind=change.kind.value, url=change.url, reason=change.reason)


class DiffResult(ListResult):
    """What changed since the snapshot."""

    snapshot: SiteText
    pages: dict[str, int] = Field(description="Number of pages by kind of change.")
    sitemaps: dict[str, int] = Field(description="Number of sitemaps by kind of change.")
    changes: list[ChangeOf] = Field(description="Sitemaps first, then pages.")


async def list_snapshots(ctx: ToolContext) -> SnapshotList:
    """List the snapshots (recorded crawls) that the operator of this server has provided.

    They are for the tool diff_site.
    """
    call = ToolCall(ctx)
    return SnapshotList(snapshots=fitting(await call.read(_snapshots, call.options)))


def _snapshots(token: CancelToken, options: ServerOptions) -> list[RecordedSite]:
    """Return the snapshots, the newest first; which website each is of, if time allows."""
    found = []
    for entry in _files(options).values():
        with suppress(OSError, ValueError, OverflowError):  # gone by now, or written in no year
            facts, site = entry.stat(), None
            with suppress(Cancelled, OSError):
                token.step()
                site = start_of(entry.path)
            written = utc(datetime.fromtimestamp(facts.st_mtime, UTC))
            found.append(
                RecordedSite(name=entry.name, site=site, modified=written, bytes=facts.st_size)
            )
    return sorted(found, key=lambda one: one.modified, reverse=True)


def _files(options: ServerOptions) -> dict[str, os.DirEntry[str]]:
    """Return the snapshots in the folder, by their names."""
    try:
        with os.scandir(options.snapshots or "") as entries:
            files = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError as error:
        raise ToolError("The folder of snapshots cannot be read; tell the operator.") from error
    found: dict[str, os.DirEntry[str]] = {}
    for entry in sorted(files, key=lambda one: one.name)[:_MOST_FILES]:
        with suppress(OSError):  # one that cannot be read hides no other
            if entry.name.isprintable() and is_warc(Path(entry.path)):
                found[entry.name] = entry
    return found


async def diff_site(
    ctx: ToolContext,
    url: SiteUrl,
    snapshot: str = Field(
        min_length=1, max_length=255, description="Name of a snapshot, from list_snapshots."
    ),
    refresh: Refresh = False,
    cursor: Cursor = "",
    kinds: Annotated[list[ChangeWord], BeforeValidator(listed)] = Field(
        [],
        max_length=20,
        description="List only these. Default: all. Counts are of all of them anyway.",
    ),
    limit: Limit = 50,
) -> DiffResult:
    """Compare the sitemaps of a website as they are now with a snapshot from list_snapshots.

    Returns pages and sitemaps that were added, removed, changed or moved, with counts. What
    nobody can know because a sitemap failed is unknown, not removed.
    """
    wanted = frozenset(kinds or get_args(ChangeWord))
    first = ToolCall(ctx, url)
    before, written = await first.read(_loaded, first.options, snapshot)
    call = ToolCall(ctx, url, refresh, cursor, ("diff_site", sorted(wanted), snapshot, written))
    cached = await call.tree()
    if _host(before.url) != _host(cached.url):
        raise ToolError(clean(f"The snapshot is of {before.url}, not of {cached.url}."))
    diff = Diff(before, cached.tree)
    total, found = await call.read(_changes, diff, wanted, call.begin, limit)
    counts = diff.counts()
    return DiffResult(
        **call.part(cached, total, changes=found),
        snapshot=snapshot,
        pages={kind.value: number for kind, number in counts.pages.items() if number},
        sitemaps={kind.value: number for kind, number in counts.sitemaps.items() if number},
    )


def _host(url: str) -> str:
    return host_in(url).removeprefix("www.")


def _loaded(_: CancelToken, options: ServerOptions, name: str) -> tuple[AbstractSitemap, int]:
    """Return the tree of a snapshot, and when its file was written."""
    files = _files(options)
    if name not in files:
        named = ", ".join([*files][:20]) or "the operator has provided none"
        raise ToolError(f"There is no snapshot {clean(name)!r}. Snapshots: {named}.")
    try:
        tree = load(files[name].path, limits=options.crawl.effective_limits)
        return tree, files[name].stat(follow_symlinks=False).st_mtime_ns
    except (OSError, SitemapException) as error:
        raise ToolError("The snapshot cannot be read; tell the operator.") from error


def _changes(
    token: CancelToken, diff: Diff, kinds: frozenset[str], begin: int, limit: int
) -> tuple[int, list[ChangeOf]]:
    """Return how many changes of these kinds there are, and some of them."""
    found: list[ChangeOf] = []
    number = 0
    for change in diff:
        token.step()
        if change.kind in kinds:
            if begin <= number < begin + limit:
                found.append(ChangeOf.of(change))
            number += 1
    return number, found
