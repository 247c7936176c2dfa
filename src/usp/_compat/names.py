"""Names that can be imported from our modules although they live elsewhere.

ultimate-sitemap-parser 1.8.1 imported them into its modules, so programs can import them from there:
``from usp.helpers import urlparse``. Names of our own that have moved are imported where they are
missed; those of other libraries, and modules of ours, are loaded when somebody asks for them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "usp": {
        "cli": "usp.cli",
        "exceptions": "usp.exceptions",
        "fetch_parse": "usp.fetch_parse",
        "helpers": "usp.helpers",
        "objects": "usp.objects",
        "tree": "usp.tree",
        "version": "importlib.metadata:version",
        "web_client": "usp.web_client",
    },
    "usp.cli": {"cli": "usp.cli.cli"},
    "usp.cli.cli": {"__version__": "usp:__version__", "ls_cmd": "usp.cli.commands.ls"},
    "usp.fetch_parse": {
        "Decimal": "decimal:Decimal",
        "InvalidOperation": "decimal:InvalidOperation",
        "OrderedDict": "collections:OrderedDict",
        "abc": "abc",
        "logging": "logging",
        "re": "re",
        "xml": "xml",
    },
    "usp.helpers": {
        "Callable": "collections.abc:Callable",
        "HTTPStatus": "http:HTTPStatus",
        "TypeAlias": "typing:TypeAlias",
        "datetime": "datetime",
        "dateutil_isoparse": "dateutil.parser:isoparse",
        "dateutil_parse": "dateutil.parser:parse",
        "gzip_lib": "gzip",
        "html": "html",
        "io": "io",
        "logging": "logging",
        "re": "re",
        "sys": "sys",
        "time": "time",
        "unquote_plus": "urllib.parse:unquote_plus",
        "urlparse": "urllib.parse:urlparse",
        "urlunparse": "urllib.parse:urlunparse",
    },
    "usp.objects": {"page": "usp.objects.page", "sitemap": "usp.objects.sitemap"},
    "usp.objects.page": {"datetime": "datetime"},
    "usp.objects.sitemap": {
        "Iterator": "collections.abc:Iterator",
        "cache": "functools:cache",
        "logging": "logging",
        "os": "os",
        "pickle": "pickle",
        "tempfile": "tempfile",
    },
    "usp.tree": {"logging": "logging"},
    "usp.web_client": {
        "abstract_client": "usp.web_client.abstract_client",
        "requests_client": "usp.web_client.requests_client",
    },
    "usp.web_client.requests_client": {
        "AbstractWebClientSuccessResponse": (
            "usp.web_client.abstract_client:AbstractWebClientSuccessResponse"
        ),
        "HTTPStatus": "http:HTTPStatus",
        "WebClientErrorResponse": "usp.web_client.abstract_client:WebClientErrorResponse",
        "__version__": "usp:__version__",
    },
}
"""By module and name: where it is, as ``module`` or ``module:name``."""


def elsewhere(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module, which finds the names of this table."""
    names = ELSEWHERE[module]

    def getattr_of_module(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        place, _, attribute = names[name].partition(":")
        found = importlib.import_module(place)
        return getattr(found, attribute) if attribute else found

    return getattr_of_module
