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
from usp.mcp.tool_call import CachedTree, Cancelled, CancelToken, ToolCall, ToolContext, fitting
from usp.mcp.tool_values import (
    NextPart,
    Refresh,
    ResultSource,
    SiteAddress,
    SiteText,
    SiteUrl,
    ToolValue,
    clean,
    clean_url,
    listed,
    optional,
    utc,
)
from usp.snapshot import load

if TYPE_CHECKING:
    from usp.mcp import ServerOptions

ChangeWord = Literal["added", "removed", "changed", "moved", "unknown", "failed", "recovered"]
_MOST_FILES = 500


def _text(value: object) -> str:
    return clean(value.isoformat() if isinstance(value, datetime) else str(value), 100)


class RecordedSite(ToolValue):
    """A recorded crawl."""

    name: SiteText = Field(description="What diff_site takes as snapshot.")
    site: SiteAddress | None = optional("Website or sitemap that was recorded.")
    modified: str = Field(description="When the file was written, in UTC.")
    bytes: int


class SnapshotList(ToolValue):
    """Snapshots, the newest first."""

    snapshots: list[RecordedSite]


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


class DiffResult(ToolValue):
    """What changed since the snapshot."""

    source: ResultSource
    snapshot: SiteText
    pages: dict[str, int] = Field(description="Number of pages by kind of change.")
    sitemaps: dict[str, int] = Field(description="Number of sitemaps by kind of change.")
    changes: list[ChangeOf] = Field(description="Sitemaps first, then pages.")
    next_cursor: str | None = None


async def list_snapshots(ctx: ToolContext) -> SnapshotList:
    """List the snapshots (recorded crawls) that the operator of this server has provided.

    They are for the tool diff_site.
    """
    call = ToolCall(ctx)
    return SnapshotList(snapshots=fitting(await call.read(_snapshots, call.options)))


def _snapshots(token: CancelToken, options: ServerOptions) -> list[RecordedSite]:
    """Return the snapshots, the newest first; which website each is of, if time allows."""
    listed = []
    for entry in _files(options).values():
        with suppress(OSError, ValueError, OverflowError):  # gone by now, or written in no year
            facts, site = entry.stat(), None
            with suppress(Cancelled, OSError):
                token.step()
                site = start_of(entry.path)
            written = utc(datetime.fromtimestamp(facts.st_mtime, UTC))
            listed.append(
                RecordedSite(name=entry.name, site=site, modified=written, bytes=facts.st_size)
            )
    return sorted(listed, key=lambda one: one.modified, reverse=True)


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
    cursor: NextPart = "",
    kinds: Annotated[list[ChangeWord], BeforeValidator(listed)] = Field(
        [],
        max_length=20,
        description="List only these. Default: all. Counts are of all of them anyway.",
    ),
    limit: int = Field(50, ge=1, le=200, description="Most changes in one result."),
) -> DiffResult:
    """Compare the sitemaps of a website as they are now with a snapshot from list_snapshots.

    Returns pages and sitemaps that were added, removed, changed or moved, with counts. What cannot be
    told because a sitemap failed is unknown, not removed.
    """
    wanted = frozenset(kinds or get_args(ChangeWord))
    before = await _loaded(ToolCall(ctx, url), snapshot)
    asked = ("diff_site", sorted(wanted), snapshot, before.fetched)
    call = ToolCall(ctx, url, refresh, asked)
    cached = await call.tree(cursor)
    cached.require_pages()
    if _host(before.url) != _host(cached.url):
        raise ToolError(
            f"The snapshot is of {clean_url(before.url)}, not of {clean_url(cached.url)}; "
            "list_snapshots tells which there are."
        )
    diff = Diff(before.tree, cached.tree)
    found, total = await call.read(_changes, diff, wanted, call.begin, limit)
    counts = diff.counts()
    return DiffResult(
        **call.part(cached, total, changes=found),
        snapshot=snapshot,
        pages={kind.value: number for kind, number in counts.pages.items() if number},
        sitemaps={kind.value: number for kind, number in counts.sitemaps.items() if number},
    )


def _host(url: str) -> str:
    return host_in(url).removeprefix("www.")


async def _loaded(call: ToolCall, name: str) -> CachedTree:
    """Return the tree of a snapshot; it is kept like that of a website while its file is the same."""
    files = await call.read(lambda _: _files(call.options))
    entry = files.get(name)
    if entry is None:
        named = ", ".join([*files][:20])
        hint = f"choose from {named}" if files else "the operator has provided none"
        raise ToolError(f"There is no snapshot {clean(name)!r}; {hint}.")
    facts = entry.stat(follow_symlinks=False)
    key = ("snapshot", name, facts.st_mtime_ns, facts.st_size)
    cached = call.state.newest(key)
    if cached is not None:
        return cached

    def loaded(token: CancelToken) -> CachedTree:
        token.step()
        try:
            recorded = datetime.fromtimestamp(facts.st_mtime, UTC)
            tree = load(entry.path, limits=call.options.crawl.effective_limits)
        except (OSError, SitemapException, ValueError, OverflowError) as error:
            raise ToolError(
                "The snapshot cannot be read; tell the operator, and choose another one."
            ) from error
        return CachedTree(key, tree.url, tree, recorded)

    cached = await call.read(loaded)
    call.state.keep(cached)
    return cached


def _changes(
    token: CancelToken, diff: Diff, kinds: frozenset[str], begin: int, limit: int
) -> tuple[list[ChangeOf], int]:
    found: list[ChangeOf] = []
    number = 0
    for change in diff:
        token.step()
        if change.kind not in kinds:
            continue
        if begin <= number < begin + limit:
            found.append(_change(change))
        number += 1
    return found, number


def _change(change: Change) -> ChangeOf:
    if isinstance(change, PageChange):
        more: dict[str, object] = {"what": "page", "fields": list(change.fields[:10]) or None}
    else:
        more = {"what": "sitemap", "reason": change.reason}
    return ChangeOf.model_validate({"kind": change.kind.value, "url": change.url, **more})
