"""The public names: a list of all, and pages on which each is described once."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import re
import sys
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from tools.reference_pages.markup import table

import usp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


@dataclass(frozen=True)
class Page:
    """A page: its title, what it says first, and its modules with a phrase about each."""

    title: str
    intro: str
    modules: dict[str, str]


FIRST = (
    "what most programs need; loaded lazily. `usp.AiohttpWebClient` as well, except by `import *`: it needs the "
    "extra `async`"
)
PAGES = {
    "trees": Page(
        "Trees",
        "Functions that fetch a website, a sitemap or nothing at all, and the nodes of the tree that they return. All "
        "options: [options of a crawl](../options.md#options-of-a-crawl).",
        {
            "usp.tree": "the tree of a website, of one sitemap, or of a given document",
            "usp.objects.sitemap": "the nodes of a tree",
            "usp.objects.child": "the argument of `recurse_entry_callback`; children that were skipped",
            "usp.objects.exchange": "how a document was fetched",
        },
    ),
    "pages": Page(
        "Pages",
        "What a sitemap says about a page. [Formats](../formats.md) says which elements it is read from.",
        {
            "usp.objects.page": "a page and what a sitemap says about it",
            "usp.objects.video": "videos of a page",
            "usp.selection": "filters of pages",
            "usp.matching": "pages that fit some words best",
        },
    ),
    "streams": Page(
        "Streams and asyncio",
        "Pages while their sitemaps are still downloading, and everything on asyncio: "
        "[streaming](../../guides/streaming.md).",
        {
            "usp.stream": "pages while their sitemaps are still downloading",
            "usp.aio": "trees, streams, snapshots and checks on asyncio",
        },
    ),
    "options": Page(
        "Options, limits and events",
        "The values that describe a crawl. Their meanings, with defaults: [options](../options.md), "
        "[limits](../limits.md), [events](../events.md).",
        {
            "usp.options": "the options of a crawl",
            "usp.limits": "the limits of a crawl",
            "usp.events": "the events for `on_event`",
        },
    ),
    "problems": Page(
        "Problems and exceptions",
        "What a website gets wrong is data; exceptions are for wrong calls. [Every code](../problems.md) is explained.",
        {
            "usp.objects.problem": "what went wrong, and what is missing",
            "usp.exceptions": "exceptions",
        },
    ),
    "clients": Page(
        "Web clients",
        "What sends the requests. All options: [options of a client](../options.md#options-of-a-client).",
        {
            "usp.web_client.requests_client": "the client on `requests`",
            "usp.web_client.aiohttp_client": "the client on `aiohttp` (extra `async`)",
            "usp.web_client.abstract_client": "the interface of a client of your own",
            "usp.web_client.zones": "which addresses may be connected to",
        },
    ),
    "snapshots": Page(
        "Snapshots and changes",
        "A website as it was, and what changed since: [snapshots](../../guides/snapshots.md), "
        "[what changed](../../guides/diff.md), [watch a website](../../guides/watch.md).",
        {
            "usp.snapshot": "[snapshots](../../guides/snapshots.md): loaded, updated",
            "usp.changes": "[what changed](../../guides/diff.md) between two trees",
            "usp.changes.watching": "[watch](../../guides/watch.md) a website",
        },
    ),
    "checks": Page(
        "Checks",
        "What `usp check` does: [check sitemaps](../../guides/check.md), [rules](../rules.md).",
        {"usp.checks": "[what is wrong](../../guides/check.md) with sitemaps"},
    ),
    "export": Page(
        "Tables, reports and graphs",
        "Pages in files and tables, trees as HTML and as drawings: [pages as data](../../guides/data.md), "
        "[the report](../../guides/report.md).",
        {
            "usp.export": "pages into files",
            "usp.export.arrow": "pages as Arrow tables (extra `arrow`)",
            "usp.report": "a tree as one HTML page",
            "usp.graph": "a tree as a diagram",
        },
    ),
    "fleet": Page(
        "Many sites",
        "What `usp crawl` does: [many sites](../../guides/fleet.md).",
        {
            "usp.fleet": "[many sites](../../guides/fleet.md): a run, the job of a worker, what is in a dataset "
            "(extra `fleet`)",
            "usp.fleet.run": "many sites into a dataset of Delta tables (extra `fleet`)",
        },
    ),
    "contrib": Page(
        "Other programs",
        "What connects the library with other programs.",
        {
            "usp.mcp": "a [server for language models and agents](../../guides/agents.md) (extra `mcp`)",
            "usp.contrib.scrapy": "[spiders](../../guides/scrapy.md) that begin with sitemaps (extra `scrapy`)",
        },
    ),
    "compatibility": Page(
        "Names of ultimate-sitemap-parser",
        "Programs that were written for ultimate-sitemap-parser 1.8.1 import these; new ones need none of "
        "them. What is the same and what is not: [compatibility](../compatibility.md).",
        {
            "usp.fetch_parse": "one sitemap, and the parsers of 1.8.1",
            "usp.helpers": "small functions of 1.8.1, and the types of callbacks",
            "usp.cli": "the command line",
            "usp.cli.cli": "the command line under the name of 1.8.1",
        },
    ),
}

TOPICS = {  # what people call, first: a question, and the names that answer it
    "Find the pages of a site": (
        *("sitemap_tree_for_homepage", "pages", "sitemap_tree_for_sitemap", "pages_of_sitemap"),
        *("CrawlOptions", "Limits", "aio.sitemap_tree_for_homepage", "aio.pages"),
    ),
    "Look at a tree": ("AbstractSitemap", "SitemapPage", "Failure", "Problem", "Exchange"),
    "Choose pages": ("AbstractSitemap.select", "Selection", "best_pages"),
    "Read files": ("sitemap_from_file", "sitemap_from_bytes", "sitemap_from_str"),
    "Snapshots": ("AbstractSitemap.save", "load", "update"),
    "Check": ("check", "checks.Finding", "checks.verdict", "checks.Baseline"),
    "Compare and watch": ("diff", "changes.Diff", "watch"),
    "Export": (
        *("AbstractSitemap.to_arrow", "AbstractSitemap.to_dict", "export.write"),
        *("report.write_report", "graph.svg"),
    ),
    "Many sites": ("fleet.crawl_fleet", "fleet.FleetOptions", "fleet.open", "fleet.ChangesFeed"),
    "Clients": ("RequestsWebClient", "AiohttpWebClient", "AbstractWebClient", "Zones"),
    "Build a tree by hand": (
        *("IndexWebsiteSitemap", "IndexXMLSitemap", "PagesXMLSitemap", "InvalidSitemap"),
        "SitemapPage",
    ),
    "Exceptions": ("SitemapException", "SnapshotError", "LocalShortageError"),
}
_COMMENT = "<!-- Generated by python -m tools.reference_pages from the modules. -->"


def pages() -> dict[str, str]:
    """Return the list of names, and the pages that describe them."""
    found = {f"api/{name}.md": _page(page) for name, page in PAGES.items()}
    return {**found, "api/index.md": _index()}


_SECOND = {
    "usp.tree",
    "usp.web_client.requests_client",
    "usp.fleet.run",
    *PAGES["compatibility"].modules,
}
"""Modules that have names of others, too."""


@functools.cache
def _homes() -> dict[tuple[str, int], str]:
    """Return the module that describes each public name: the one that defines it, or the first."""
    modules = [module for page in PAGES.values() for module in page.modules]
    modules.sort(key=lambda module: module in _SECOND)
    homes: dict[tuple[str, int], str] = {}
    for module in modules:
        loaded = importlib.import_module(module)
        for name in loaded.__all__:
            value = getattr(loaded, name)
            if getattr(value, "__module__", None) == module:
                homes[name, id(value)] = module
            homes.setdefault((name, id(value)), module)
    return homes


def home(value: object, name: str) -> str:
    """Return the module that describes a public name."""
    return _homes()[name, id(value)]


def _names(module: ModuleType) -> list[str]:
    return sorted(module.__all__, key=str.lower)


def _index() -> str:
    rows = [("`usp`", FIRST, _linked("usp"))]
    for page in PAGES.values():
        rows += [(f"`{name}`", about, _linked(name)) for name, about in page.modules.items()]
    return "\n\n".join(
        [
            "# The Python API",
            _COMMENT,
            "What people call, by topic. All of these are attributes of `usp`.",
            *(
                f"## {topic}\n\n{table('name |  ', _topic(names))}"
                for topic, names in TOPICS.items()
            ),
            "## All modules",
            (
                "Everything listed here is public, and changes only with an entry in the changelog. A name or a "
                "package that begins with an underscore is internal, and so are modules inside a package that are "
                "not listed. Everything can also be imported from where 1.8.1 has it: see "
                "[compatibility](../compatibility.md)."
            ),
            table("module |  | names", rows),
            "```{toctree}\n:hidden:\n\n" + "\n".join([*PAGES, "modules"]) + "\n```\n",
        ]
    )


def _topic(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return rows of attributes of ``usp``: links, and the first paragraphs of their docstrings."""
    rows = []
    for name in names:
        owner, _, member = name.rpartition(".")
        holder = attrgetter(owner)(usp) if owner else usp
        if inspect.isclass(holder):
            link = _link(usp, owner).replace(owner, name)
        else:
            link = _link(holder, member).replace(f"[`{member}`]", f"[`{name}`]")
        text = inspect.getdoc(getattr(holder, member)) or ""
        summary = " ".join(text.partition("\n\n")[0].replace("``", "`").split())
        rows.append((link, re.sub(r":\w+:(?=`)", "", summary)))
    return rows


def _linked(module: str) -> str:
    """Return the names of a module, with links to where each is described."""
    loaded = importlib.import_module(module)
    return ", ".join(_link(loaded, name) for name in _names(loaded))


def _link(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    if name == "__version__" or inspect.ismodule(value):
        return f"`{name}`"
    place = home(value, name)
    page = next(one for one, page in PAGES.items() if place in page.modules)
    return f"[`{name}`]({page}.md#{place}.{name})"


def _page(page: Page) -> str:
    parts = [f"# {page.title}", _COMMENT, page.intro]
    for module, about in page.modules.items():
        target = f"```{{eval-rst}}\n.. py:module:: {module}\n```"
        text = about[0].upper() + about[1:] + "."
        parts += [f"## {module}", target, text, *_described(module)]
    return "\n\n".join(parts) + "\n"


def _described(module: str) -> Iterator[str]:
    loaded = importlib.import_module(module)
    elsewhere = []
    for name in sorted(_names(loaded), key=lambda one: _is_from_elsewhere(loaded, one)):
        value = getattr(loaded, name)
        if inspect.ismodule(value):
            continue
        if home(value, name) == module:
            yield "```{eval-rst}\n" + "\n".join(_directive(module, name, value)) + "\n```"
        else:
            elsewhere.append(_link(loaded, name))
    if elsewhere:
        yield f"Also here: {', '.join(elsewhere)}."


def _is_from_elsewhere(module: ModuleType, name: str) -> bool:
    """Return whether a module only offers what another one defines: that comes last."""
    return getattr(getattr(module, name), "__module__", module.__name__) != module.__name__


def _directive(module: str, name: str, value: Any) -> list[str]:
    if inspect.isclass(value) and not value.__module__.startswith("usp"):
        real = f"{value.__module__}.{value.__qualname__}"
        return [f".. py:class:: {module}.{name}", "", f"   ``{real}``, where 1.8.1 has it."]
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        return [f".. auto{kind}:: {module}.{name}", "   :members:"]
    if inspect.isroutine(value):
        return [f".. autofunction:: {module}.{name}"]
    return [f".. py:data:: {name}", f"   :module: {module}", "", f"   {_text(name, value)}"]


def _text(name: str, value: object) -> str:
    """Return what is said about a constant, in a string after it, wherever it is defined."""
    for module in list(sys.modules.values()):
        if module.__name__.startswith("usp") and getattr(module, name, None) is value:
            text = _said(module).get(name)
            if text:
                return " ".join(text.split())
    raise LookupError(f"{name} has no documentation: a string after it")


@functools.cache
def _said(module: ModuleType) -> dict[str, str]:
    found: dict[str, str] = {}
    body = ast.parse(inspect.getsource(module)).body
    for node, text in itertools.pairwise(body):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        said = text.value if isinstance(text, ast.Expr) else None
        if isinstance(target, ast.Name) and isinstance(said, ast.Constant):
            found[target.id] = str(said.value)
    return found
