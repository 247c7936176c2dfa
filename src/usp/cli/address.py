"""The URL argument: a website, a sitemap, a file, a folder or the standard input."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import rich_click as click

from usp._base.urls import BadUrl, read_url, shown, url_parts, with_login, without_login

if TYPE_CHECKING:
    from usp._base.urls import Login

_DOCUMENTS = (".xml", ".txt", ".rss", ".atom")
_PAGES = (".html", ".htm", ".xhtml")


@dataclass(frozen=True, slots=True)
class Address:
    """A URL, and whether it is the URL of a sitemap; or a file, a folder or the standard input.

    ``url`` may be shown: user name and password are taken out of it, into ``login``.
    """

    url: str
    is_sitemap: bool
    path: Path | None = None
    is_stdin: bool = False
    login: Login | None = field(default=None, repr=False)

    @property
    def start(self) -> str:
        """The URL with its login, for the crawl only."""
        return self.url if self.login is None else with_login(self.url, self.login)

    @property
    def is_local(self) -> bool:
        """Whether nothing needs to be fetched."""
        return self.is_stdin or self.path is not None

    @property
    def has_path(self) -> bool:
        """Whether the URL has a path or a query, and so is not just a website."""
        parts = url_parts(self.url)
        return bool(parts.path.strip("/") or parts.query)

    @property
    def may_be_sitemap(self) -> bool:
        """Whether only the content can show that this is a sitemap, as with ``/feed/``."""
        if self.is_local or self.is_sitemap:
            return False
        return self.has_path and not url_parts(self.url).path.endswith(_PAGES)


def address(text: str) -> Address:
    """Return the address that a user wrote; the default scheme is https.

    The name of an existing file or folder means that; ``-`` is the standard input.
    """
    stripped = text.strip()
    if stripped == "-":
        return Address("-", is_sitemap=True, is_stdin=True)
    local = _existing(text)
    if local is not None:
        return Address(local.resolve().as_uri(), is_sitemap=local.is_file(), path=local)
    given = stripped if "://" in stripped else _with_scheme(stripped)
    try:
        login = read_url(given).login
    except BadUrl:
        raise click.UsageError(
            f"{shown(text)!r} is neither a URL nor an existing file or folder; "
            "use for example https://example.org"
        ) from None
    parts = url_parts(without_login(given))
    if not parts.path and not parts.query:
        parts = parts._replace(path="/")
    url = parts.geturl()
    return Address(url, looks_like_sitemap(url), login=login)


def _existing(text: str) -> Path | None:
    """Return the file or folder of that name, if there is one."""
    if "://" in text or not text.strip():
        return None
    try:
        path = Path(text)
        return path if path.exists() else None
    except (OSError, ValueError):
        return None


def looks_like_sitemap(url: str) -> bool:
    """Return whether a URL looks like that of a sitemap rather than of a website.

    It does if the last segment of its path has a suffix of sitemaps, feeds or robots.txt (``.xml``,
    ``.txt``, ``.rss``, ``.atom``, also compressed) or contains ``sitemap``, or if its query has a key
    ``sitemap``. A path that ends in a slash or in ``.html`` stands for its website, like any other URL.
    """
    parts = url_parts(url)
    name = parts.path.rpartition("/")[2].lower().removesuffix(".gz")
    if name.endswith(_PAGES):
        return False
    if name.endswith(_DOCUMENTS) or "sitemap" in name:
        return True
    return "sitemap" in parse_qs(parts.query, keep_blank_values=True)


def _with_scheme(text: str) -> str:
    """Return the URL of a host written without a scheme; a word or a file name is not a host."""
    host = text.partition("/")[0].lower().strip(".").removesuffix(".gz")
    named = "." in host or host.partition(":")[0] == "localhost"
    return f"https://{text}" if named and not host.endswith(_DOCUMENTS) else ""
