"""Names and modules that are loaded on first use, optional dependencies, columns and formats.

``usp`` itself offers what most programs need. The other modules also offer the names that those of
ultimate-sitemap-parser 1.8.1 imported, so that ``from usp.helpers import urlparse`` works.

Importing this module warns of ultimate-sitemap-parser, which has the same import name and overwrites
our files. ``usp`` imports it first, and so does ``usp._crawl`` in case ``usp/__init__.py`` itself was
overwritten.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_OFFERED = {
    "usp.changes": "diff",
    "usp.changes.watching": "watch",
    "usp.checks": "check",
    "usp.exceptions": "LocalShortageError SitemapException SnapshotError",
    "usp.limits": "Limits",
    "usp.matching": "best_pages",
    "usp.objects.child": "ChildSitemap",
    "usp.objects.page": "SitemapImage SitemapNewsStory SitemapPage SitemapPageChangeFrequency",
    "usp.objects.exchange": "Exchange",
    "usp.objects.problem": "Failure FailureCode Problem ProblemCode",
    "usp.objects.sitemap": (
        "AbstractIndexSitemap AbstractPagesSitemap AbstractSitemap InvalidSitemap "
        "IndexJSONFeedSitemap IndexLlmsTxtSitemap IndexOPMLSitemap IndexResourceSyncSitemap "
        "IndexRobotsTxtSitemap IndexWebsiteSitemap IndexXMLSitemap PagesAtomSitemap PagesHTMLSitemap "
        "PagesJSONFeedSitemap PagesLlmsTxtSitemap PagesResourceSyncSitemap PagesRSSSitemap "
        "PagesTextSitemap PagesXMLSitemap"
    ),
    "usp.objects.video": "SitemapVideo",
    "usp.options": "CrawlOptions",
    "usp.selection": "Selection",
    "usp.snapshot": "Update load update",
    "usp.stream": "pages pages_of_sitemap",
    "usp.tree": (
        "sitemap_from_bytes sitemap_from_file sitemap_from_str "
        "sitemap_tree_for_homepage sitemap_tree_for_sitemap"
    ),
    "usp.web_client.abstract_client": "AbstractAsyncWebClient AbstractWebClient",
    "usp.web_client.aiohttp_client": "AiohttpWebClient",
    "usp.web_client.requests_client": "RequestsWebClient",
    "usp.web_client.zones": "Zones",
}  # the names of usp itself

_SOURCES = {  # by module: where its names are from; those of a key with a dot at its end are modules
    "usp": {
        "usp.": (
            "aio changes checks cli events exceptions export fetch_parse fleet graph helpers limits "
            "matching mcp objects options report selection snapshot stream tree web_client"
        ),
        **_OFFERED,
        "importlib.metadata": "version",
    },
    "usp.aio": {
        "usp.checks": "check=check_async",
        "usp.changes": "diff=diff_async",
        "usp.changes.watching": "watch=watch_async",
    },
    "usp.checks": {
        "usp.checks.rules": "RULES",
        "usp.checks.finding": "Baseline Finding Severity",
        "usp.checks.registry": "Group Rule",
        "usp.checks.verdicts": "Color RuleRow Verdict verdict",
        "usp.checks.checking": "check check_async findings_of",
    },
    "usp.cli": {"usp.cli.": "cli"},
    "usp.cli.cli": {
        "argparse": "ArgumentParser",
        "usp": "__version__",
        "usp.cli.commands.": "ls_cmd=cmd_ls",
    },
    "usp.fetch_parse": {
        "decimal": "Decimal InvalidOperation",
        "collections": "OrderedDict",
        "usp._formats.values": "MAX_VALID_PRIORITY MIN_VALID_PRIORITY",
        "usp.exceptions": "SitemapException SitemapXMLParsingException",
        "usp.helpers": (
            "RecurseCallbackType RecurseListCallbackType get_url_retry_on_client_errors "
            "html_unescape_strip is_http_url parse_iso8601_date parse_rfc2822_date "
            "ungzipped_response_content"
        ),
        "usp.objects.page": (
            "SITEMAP_PAGE_DEFAULT_PRIORITY SitemapImage SitemapNewsStory SitemapPage "
            "SitemapPageChangeFrequency"
        ),
        "usp.objects.sitemap": (
            "AbstractSitemap IndexRobotsTxtSitemap IndexXMLSitemap InvalidSitemap PagesAtomSitemap "
            "PagesRSSSitemap PagesTextSitemap PagesXMLSitemap"
        ),
        "usp.web_client.abstract_client": (
            "AbstractWebClient AbstractWebClientResponse AbstractWebClientSuccessResponse "
            "LocalWebClient LocalWebClientSuccessResponse NoWebClientException WebClientErrorResponse"
        ),
        "usp.web_client.requests_client": "RequestsWebClient",
        "": "abc logging re xml",
    },
    "usp.fleet": {  # workers and the help of a command need only parts of it
        "usp.fleet.": "crawler dataset options run site_list tables",
        "usp.fleet.crawler": "crawl_sites",
        "usp.fleet.current": "ChangesFeed OpenDataset current_sql dataset_stats open=OpenDataset",
        "usp.fleet.dataset": "DatasetError",
        "usp.fleet.options": "FLEET_LIMITS FleetOptions",
        "usp.fleet.run": "FleetProgress FleetRun crawl_fleet",
        "usp.fleet.site_list": "SiteListError read_sites",
        "usp.fleet.tables": "schema_of unwrap wide_schema",
    },
    "usp.mcp": {"usp.mcp.server": "create_server"},
    "usp.helpers": {
        "collections.abc": "Callable",
        "http": "HTTPStatus",
        "typing": "TypeAlias",
        "dateutil.parser": "dateutil_isoparse=isoparse dateutil_parse=parse",
        "": "gzip_lib=gzip datetime html io logging re sys time",
        "urllib.parse": "unquote_plus urlparse urlunparse",
    },
    "usp.report": {
        "usp.report.charts": "FetchLog",
        "usp.report.html_page": "html write_report",
        "usp.report.summary": "summarise",
    },
    "usp.objects": {"usp.objects.": "page sitemap"},
    "usp.objects.page": {"": "datetime"},
    "usp.objects.sitemap": {
        "collections.abc": "Iterator",
        "functools": "cache",
        "": "abc logging os pickle tempfile",
    },
    "usp.tree": {
        "usp._crawl.website": "log",
        "usp.fetch_parse": "SitemapFetcher SitemapStrParser",
        "": "logging",
    },
    "usp.web_client": {"usp.web_client.": "abstract_client requests_client"},
    "usp.web_client.abstract_client": {"usp._http.identity": "RequestWaiter", "": "random time"},
    "usp.web_client.requests_client": {
        "usp.web_client.abstract_client": (
            "AbstractWebClientSuccessResponse RETRYABLE_HTTP_STATUS_CODES"
        ),
        "http": "HTTPStatus",
        "usp": "__version__",
    },
}


def _places(sources: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for where, names in sources.items():
        start = where if where[-1:] in ("", ".") else f"{where}:"
        for name, _, renamed in (one.partition("=") for one in names.split()):
            yield name, start + (renamed or name)


LAZY_NAMES = {module: dict(_places(sources)) for module, sources in _SOURCES.items()}
"""By module and name: where it is, as ``module`` or ``module:name``."""

_EXTRAS = {
    "usp.web_client.aiohttp_client": ("aiohttp", "async"),
    "usp.mcp.server": ("the MCP SDK", "mcp"),
}
"""By module: what it needs, and the extra that has it. Others load it themselves."""

PUBLIC_NAMES = {*" ".join(_OFFERED.values()).split()} - {"AiohttpWebClient"}
"""The names of a star import: all that need no extra."""


def lazy_getattr(module: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a module that finds the names in this table."""
    names = LAZY_NAMES[module]

    def getattr_of_module(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        place, _, attribute = names[name].partition(":")
        needs, extra = _EXTRAS.get(place, ("", ""))
        if extra:
            found = load_extra(place, f"{module}.{name} needs {needs}", extra)
        else:
            found = importlib.import_module(place)
        return getattr(found, attribute) if attribute else found

    return getattr_of_module


# Columns and formats, which help texts list without loading what writes them -----------------------


PAGE_COLUMNS = (
    *("url", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap"),
    *("news", "images", "videos", "alternates", "mobile"),
)
"""The columns of a table of pages."""

COMPUTED_COLUMNS = ("path", "section", "news.title", "news.date", "image_count", "resource")
"""More columns of such a table: what is in the others, as spreadsheets can show it."""

PAGE_FORMATS = ("csv", "json", "jsonl", "parquet", "xml")

SITEMAP_COLUMNS = (
    *("url", "parent", "type", "status", "bytes", "pages", "problems", "problem_codes"),
    *("failure", "code"),
)
SITEMAP_FORMATS = ("text", "csv", "json", "jsonl", "parquet")
"""Of a table of sitemaps; ``text`` has tabs between the columns."""


# The other distribution of the same name -----------------------------------------------------------


_OTHER = "ultimate_sitemap_parser"
_FOLDERS = ("site-packages", "dist-packages")


def warn_of_the_other() -> None:
    """Warn if ultimate-sitemap-parser is installed where Python looks for packages.

    This only lists folders, since ``importlib.metadata`` takes longer than the rest of ``import usp``.
    If warnings are errors, it logs instead: the import itself has worked.
    """
    here = __file__
    for _ in ("names.py", "_base", "usp"):
        here = os.path.dirname(here)  # noqa: PTH120 - pathlib takes too long
    packages = (folder for folder in sys.path if folder.rstrip("/\\").endswith(_FOLDERS))
    if not any(map(_holds_the_other, {here, *packages})):
        return
    import logging  # noqa: PLC0415 - in this case only
    import warnings  # noqa: PLC0415

    message = (
        "ultimate-sitemap-parser is installed alongside usp; both are imported as 'usp' and overwrite "
        "each other's files. Uninstall both (pip uninstall -y ultimate-sitemap-parser usp), then "
        "install usp again."
    )
    try:
        warnings.warn(message, UserWarning, stacklevel=2)
    except UserWarning:
        logging.getLogger("usp").warning(message)


def _holds_the_other(folder: str) -> bool:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return False
    return any(name.lower().replace("-", "_").startswith(_OTHER) for name in names)


warn_of_the_other()


# Optional dependencies -----------------------------------------------------------------------------


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message says how to install it."""


def load_extra(module: str, needs: str, extra: str) -> Any:
    """Return a module of an extra.

    Raises :class:`MissingExtraError`, which says what needs it and how to install it. Since usp is
    installed, pip only adds the packages of the extra, wherever usp came from.
    """
    loaded = sys.modules.get(module)
    if loaded is not None:  # as whenever it is needed once more
        return loaded
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(f"{needs}: pip install 'usp[{extra}]'") from error
