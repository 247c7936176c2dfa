"""Names and modules that are loaded on first use, and optional dependencies.

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
from collections.abc import Callable, Mapping
from typing import Any

_MODULES = (
    *("aio", "changes", "checks", "cli", "events", "exceptions", "export", "fetch_parse", "fleet"),
    *("graph", "helpers", "limits", "mcp", "objects", "options", "report", "selection", "snapshot"),
    *("stream", "tree", "web_client"),
)

_OFFERED = {
    "usp.changes": ("diff",),
    "usp.changes.watching": ("watch",),
    "usp.checks": ("check",),
    "usp.exceptions": ("LocalShortageError", "SitemapException", "SnapshotError"),
    "usp.limits": ("Limits",),
    "usp.objects.child": ("ChildSitemap",),
    "usp.objects.page": (
        *("SitemapImage", "SitemapNewsStory", "SitemapPage", "SitemapPageChangeFrequency"),
    ),
    "usp.objects.exchange": ("Exchange",),
    "usp.objects.problem": ("Failure", "FailureCode", "Problem", "ProblemCode"),
    "usp.objects.sitemap": (
        *("AbstractIndexSitemap", "AbstractPagesSitemap", "AbstractSitemap", "InvalidSitemap"),
        *("IndexRobotsTxtSitemap", "IndexWebsiteSitemap", "IndexXMLSitemap"),
        *("PagesAtomSitemap", "PagesRSSSitemap", "PagesTextSitemap", "PagesXMLSitemap"),
    ),
    "usp.objects.video": ("SitemapVideo",),
    "usp.options": ("CrawlOptions",),
    "usp.selection": ("Selection",),
    "usp.snapshot": ("Update", "load", "update"),
    "usp.stream": ("pages", "pages_of_sitemap"),
    "usp.tree": (
        *("sitemap_from_bytes", "sitemap_from_file", "sitemap_from_str"),
        *("sitemap_tree_for_homepage", "sitemap_tree_for_sitemap"),
    ),
    "usp.web_client.abstract_client": ("AbstractAsyncWebClient", "AbstractWebClient"),
    "usp.web_client.aiohttp_client": ("AiohttpWebClient",),
    "usp.web_client.requests_client": ("RequestsWebClient",),
    "usp.web_client.zones": ("Zones",),
}
"""The names of ``usp`` itself, by the module that defines them."""

PUBLIC_NAMES = {name for names in _OFFERED.values() for name in names} - {"AiohttpWebClient"}
"""Those of a star import: all that need no extra."""

_FLEET = {
    "crawler": ("crawl_sites",),
    "dataset": ("DatasetError",),
    "options": ("FLEET_LIMITS", "FleetOptions"),
    "run": ("FleetProgress", "FleetRun", "crawl_fleet"),
    "site_list": ("SiteListError", "read_sites"),
    "stats": ("dataset_stats",),
    "tables": ("schema_of", "unwrap", "wide_schema"),
}
"""The same for ``usp.fleet``: workers and the help of a command need only parts of it."""

LAZY_NAMES: Mapping[str, Mapping[str, str]] = {
    "usp": {
        **{name: f"usp.{name}" for name in _MODULES},
        **{name: f"{module}:{name}" for module, names in _OFFERED.items() for name in names},
        "version": "importlib.metadata:version",
    },
    "usp.aio": {
        "check": "usp.checks:check_async",
        "diff": "usp.changes:diff_async",
        "watch": "usp.changes.watching:watch_async",
    },
    "usp.checks": {
        "RULES": "usp.checks.rules:RULES",
        **{name: f"usp.checks.finding:{name}" for name in ("Baseline", "Finding", "Severity")},
        **{name: f"usp.checks.registry:{name}" for name in ("Group", "Rule")},
        **{name: f"usp.checks.checking:{name}" for name in ("check", "check_async")},
    },
    "usp.cli": {"cli": "usp.cli.cli"},
    "usp.cli.cli": {"__version__": "usp:__version__", "ls_cmd": "usp.cli.commands.cmd_ls"},
    "usp.fetch_parse": {
        "Decimal": "decimal:Decimal",
        "InvalidOperation": "decimal:InvalidOperation",
        "OrderedDict": "collections:OrderedDict",
        "RequestsWebClient": "usp.web_client.requests_client:RequestsWebClient",
        **{name: name for name in ("abc", "logging", "re", "xml")},
    },
    "usp.fleet": {
        **{module: f"usp.fleet.{module}" for module in _FLEET},
        **{
            name: f"usp.fleet.{module}:{name}" for module, names in _FLEET.items() for name in names
        },
    },
    "usp.mcp": {"create_server": "usp.mcp.server:create_server"},
    "usp.helpers": {
        "Callable": "collections.abc:Callable",
        "HTTPStatus": "http:HTTPStatus",
        "TypeAlias": "typing:TypeAlias",
        "dateutil_isoparse": "dateutil.parser:isoparse",
        "dateutil_parse": "dateutil.parser:parse",
        "gzip_lib": "gzip",
        **{name: name for name in ("datetime", "html", "io", "logging", "re", "sys", "time")},
        **{name: f"urllib.parse:{name}" for name in ("unquote_plus", "urlparse", "urlunparse")},
    },
    "usp.report": {
        "FetchLog": "usp.report.charts:FetchLog",
        "html": "usp.report.html_page:html",
        "summarise": "usp.report.summary:summarise",
        "write_report": "usp.report.html_page:write_report",
    },
    "usp.objects": {"page": "usp.objects.page", "sitemap": "usp.objects.sitemap"},
    "usp.objects.page": {"datetime": "datetime"},
    "usp.objects.sitemap": {
        "Iterator": "collections.abc:Iterator",
        "cache": "functools:cache",
        **{name: name for name in ("abc", "logging", "os", "pickle", "tempfile")},
    },
    "usp.tree": {"logging": "logging"},
    "usp.web_client": {
        "abstract_client": "usp.web_client.abstract_client",
        "requests_client": "usp.web_client.requests_client",
    },
    "usp.web_client.abstract_client": {
        "RequestWaiter": "usp._http.identity:RequestWaiter",
        "random": "random",
        "time": "time",
    },
    "usp.web_client.requests_client": {
        "AbstractWebClientSuccessResponse": (
            "usp.web_client.abstract_client:AbstractWebClientSuccessResponse"
        ),
        "HTTPStatus": "http:HTTPStatus",
        "RETRYABLE_HTTP_STATUS_CODES": (
            "usp.web_client.abstract_client:RETRYABLE_HTTP_STATUS_CODES"
        ),
        "__version__": "usp:__version__",
    },
}
"""By module and name: where it is, as ``module`` or ``module:name``."""


def lazy_getattr(module: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a module that finds the names in this table."""
    names = LAZY_NAMES[module]

    def getattr_of_module(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        place, _, attribute = names[name].partition(":")
        found = importlib.import_module(place)
        return getattr(found, attribute) if attribute else found

    return getattr_of_module


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
