"""What people write where a URL is expected: a website or one of its sitemaps."""

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
    """A URL, and whether it is a sitemap's own; or a file or folder, or the standard input.

    ``login`` is that of the URL, which itself has none: it is shown.
    """

    url: str
    is_sitemap: bool
    path: Path | None = None
    is_stdin: bool = False
    login: Login | None = field(default=None, repr=False)

    @property
    def start(self) -> str:
        """The URL with its login, for the crawl and nobody else."""
        return self.url if self.login is None else with_login(self.url, self.login)

    @property
    def is_local(self) -> bool:
        """Whether nothing has to be fetched."""
        return self.is_stdin or self.path is not None

    @property
    def has_path(self) -> bool:
        """Whether the URL is of something on a website, and not of the website itself."""
        parts = url_parts(self.url)
        return bool(parts.path.strip("/") or parts.query)

    @property
    def may_be_sitemap(self) -> bool:
        """Whether only its content tells that a URL is a sitemap's, as with ``/feed/``."""
        if self.is_local or self.is_sitemap:
            return False
        return self.has_path and not url_parts(self.url).path.endswith(_PAGES)


def address(text: str) -> Address:
    """Complete and check a URL; without a scheme, https is meant.

    The name of a file or folder that exists is that; ``-`` is the standard input.
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
            f"{shown(text)!r} is not the URL of a website or a sitemap, and no file or folder; "
            "write for example https://example.org"
        ) from None
    parts = url_parts(without_login(given))
    if not parts.path and not parts.query:
        parts = parts._replace(path="/")
    url = parts.geturl()
    return Address(url, looks_like_sitemap(url), login=login)


def _existing(text: str) -> Path | None:
    """Give the file or folder of that name, if there is one."""
    if "://" in text or not text.strip():
        return None
    try:
        path = Path(text)
        return path if path.exists() else None
    except (OSError, ValueError):
        return None


def looks_like_sitemap(url: str) -> bool:
    """Tell whether a URL is that of a sitemap rather than that of a website.

    It is if the last part of its path ends as sitemaps, feeds and robots.txt do (``.xml``, ``.txt``,
    ``.rss``, ``.atom``, packed or not) or has ``sitemap`` in it, or if ``sitemap`` is one of the keys
    of its query. A path that ends in a slash is a folder, and what ends in ``.html`` is a page: both
    stand for their website, as any other URL does.
    """
    parts = url_parts(url)
    name = parts.path.rpartition("/")[2].lower().removesuffix(".gz")
    if name.endswith(_PAGES):
        return False
    if name.endswith(_DOCUMENTS) or "sitemap" in name:
        return True
    return "sitemap" in parse_qs(parts.query, keep_blank_values=True)


def _with_scheme(text: str) -> str:
    """Give a URL for a host without a scheme; a word or the name of a file is no host."""
    host = text.partition("/")[0].lower().strip(".").removesuffix(".gz")
    named = "." in host or host.partition(":")[0] == "localhost"
    return f"https://{text}" if named and not host.endswith(_DOCUMENTS) else ""
