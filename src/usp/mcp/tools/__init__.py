"""The tools, a module each, and a table of them.

A tool is a name, a description that a model chooses it by, models of its arguments and its result,
and a function from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usp.mcp.tools import check, diff, explain, pages, sitemaps, summary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from usp.mcp.call import Call
    from usp.mcp.options import ServerOptions
    from usp.mcp.schemas import Arguments, Result

__all__ = ["TOOLS", "Tool", "tools_for"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool; ``fetches`` tells whether it sends requests to websites."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    result: type[Result]
    run: Callable[[Call, Any], Awaitable[Result]]
    fetches: bool = True
    needs_snapshots: bool = False


TOOLS: tuple[Tool, ...] = (
    Tool(
        "list_sitemaps",
        "List the sitemaps of a website",
        "Find and fetch the sitemaps of a website (from robots.txt, well-known paths and indexes) and "
        "list them in the order of their tree: type, HTTP status, number of pages, problems, and why "
        "one failed. Use it to see how a site organises its sitemaps, or why pages are missing.",
        sitemaps.SitemapArguments,
        sitemaps.SitemapList,
        sitemaps.list_sitemaps,
    ),
    Tool(
        "list_pages",
        "List or search the pages of a website",
        "List the pages that the sitemaps of a website declare, the newest first: URL, date of the "
        "last change, and for news title and publication date. Filter by date, URL pattern, or text in "
        "URL or title. This reads sitemaps, not the pages themselves.",
        pages.PageArguments,
        pages.PageResult,
        pages.list_pages,
    ),
    Tool(
        "summarise_site",
        "Summarise the sitemaps of a website",
        "Count what the sitemaps of a website declare: pages, news, images, videos; sections by path, "
        "hosts, languages, the range of dates and pages per month, formats of sitemaps, and what "
        "failed with what to do about it. The best first call for an unknown site.",
        summary.SummaryArguments,
        summary.SiteSummary,
        summary.summarise_site,
    ),
    Tool(
        "check_site",
        "Check the sitemaps of a website for mistakes",
        "Check the sitemaps of a website against the sitemap protocol and the rules of search engines. "
        "Returns what was found by rule, the most severe first, with examples and how to fix it. The "
        "tool explain has the full documentation of a rule.",
        check.CheckArguments,
        check.CheckResult,
        check.check_site,
    ),
    Tool(
        "list_snapshots",
        "List the snapshots to compare with",
        "List the snapshots (recorded crawls) that the operator of this server has provided, for the "
        "tool diff_site.",
        diff.SnapshotArguments,
        diff.SnapshotList,
        diff.list_snapshots,
        fetches=False,
        needs_snapshots=True,
    ),
    Tool(
        "diff_site",
        "Compare a website with a snapshot",
        "Compare the sitemaps of a website as they are now with a snapshot from list_snapshots: pages "
        "and sitemaps that were added, removed, changed or moved, with counts. What cannot be told "
        "because a sitemap failed is unknown, not removed.",
        diff.DiffArguments,
        diff.DiffResult,
        diff.diff_site,
        needs_snapshots=True,
    ),
    Tool(
        "explain",
        "Explain a rule or a problem code",
        "Explain what a code in another result means and what to do about it: a rule of check_site "
        "(SM401, relative-url, or SM4 for a group), or the code of a failure or a problem of a sitemap "
        "(not-found, bare-ampersand).",
        explain.ExplainArguments,
        explain.Explanations,
        explain.explain,
        fetches=False,
    ),
)


def tools_for(options: ServerOptions) -> tuple[Tool, ...]:
    """Return the tools of a server: those about snapshots only if it has a folder of them."""
    return tuple(
        tool for tool in TOOLS if options.snapshots is not None or not tool.needs_snapshots
    )
