"""What a user names, on the command line or in a call, and the tree of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from usp._base import urls
from usp._base.files import is_remote
from usp._base.filters import period
from usp._crawl.thread_driver import crawl_with
from usp._crawl.website import sitemap_search, website_search
from usp._crawl.website import tree_of as finished
from usp.limits import Limits
from usp.objects.abstract_sitemap import AbstractSitemap
from usp.options import CrawlOptions

if TYPE_CHECKING:
    from datetime import datetime

    from usp._crawl.website import Search
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient


Source: TypeAlias = AbstractSitemap | str | PathLike[str]
"""A tree; the URL of a website or of a sitemap; the path of a snapshot, a sitemap or a folder."""


@dataclass(frozen=True, slots=True)
class Input:
    """A URL, and whether it is the URL of a sitemap; or a file, a folder or the standard input.

    ``url`` may be shown: user name and password are taken out of it, into ``login``. Only the content
    can show whether something that ``may_be_sitemap`` is one, as with ``/feed/``. A ``dataset`` is read
    as it is now, or was ``at`` a time.
    """

    url: str
    is_sitemap: bool
    path: Path | None = None
    is_stdin: bool = False
    login: urls.Login | None = field(default=None, repr=False)
    may_be_sitemap: bool = False
    dataset: str | None = None
    at: datetime | None = None

    @property
    def start(self) -> str:
        """The URL with its login, for the crawl only."""
        return self.url if self.login is None else urls.with_login(self.url, self.login)

    @property
    def is_local(self) -> bool:
        """Whether nothing needs to be fetched."""
        return self.is_stdin or self.path is not None or self.dataset is not None

    @property
    def is_snapshot(self) -> bool:
        """Whether this is a file in which a crawl was recorded, rather than a sitemap."""
        if self.path is None or not self.path.is_file():
            return False
        from usp._snapshot.warc import is_warc  # noqa: PLC0415 - most inputs are not files

        return is_warc(self.path)

    @property
    def has_path(self) -> bool:
        """Whether the URL has a path or a query, and so is not just a website."""
        parts = urls.url_parts(self.url)
        return bool(parts.path.strip("/") or parts.query)


def read_input(text: str) -> Input:
    """Return what a user wrote on a command line; the default scheme is https.

    The name of an existing file or folder means that; ``-`` is the standard input. ``DATASET@7d`` is a
    dataset as it was then. Raises ``BadUrl``, and ``ValueError`` for such a time.
    """
    stripped = text.strip()
    if stripped == "-":
        return Input("-", is_sitemap=True, is_stdin=True)
    if stripped and "://" not in text and os.path.exists(text):  # noqa: PTH110 - it takes any text
        return file_input(Path(text))
    root, at, time = stripped.rpartition("@")
    if is_remote(stripped) or (at and (is_remote(root) or _is_dataset(Path(root)))):
        is_whole = not at or ("/" in time and is_remote(stripped))
        return _dataset_input(stripped if is_whole else root, "" if is_whole else time)
    url = stripped if "://" in stripped else _with_scheme(stripped)
    if root and not url and ":" not in root and _is_time(time):  # and no password
        raise ValueError(f"there is no dataset {root!r} that could be read as it was at {time!r}")
    return read_web_input(url)


def read_web_input(given: str) -> Input:
    """Return what a URL means that a user wrote; raises ``BadUrl``."""
    login = urls.read_url(given).login
    parts = urls.url_parts(urls.without_login(given))
    if not parts.path and not parts.query:
        parts = parts._replace(path="/")
    url = parts.geturl()
    start = Input(url, urls.looks_like_sitemap(url), login=login)
    may_be_sitemap = not start.is_sitemap and start.has_path and not parts.path.endswith(urls.PAGES)
    return replace(start, may_be_sitemap=may_be_sitemap)


def _is_dataset(path: Path) -> bool:
    return (path / "visits" / "_delta_log").is_dir()


def _is_time(text: str) -> bool:
    try:
        period("the time after @", text)
    except ValueError:
        return False
    return True


def _dataset_input(root: str, time: str = "") -> Input:
    """Return a dataset as what was named."""
    at = period("the time after @", time)[0] if time else None
    url = root if is_remote(root) else Path(root).resolve().as_uri()
    return Input(url, is_sitemap=False, dataset=root, at=at)


def file_input(path: Path) -> Input:
    """Return a file or a folder as what was named."""
    if _is_dataset(path):
        return _dataset_input(str(path))
    return Input(path.resolve().as_uri(), is_sitemap=path.is_file(), path=path)


def _with_scheme(text: str) -> str:
    """Return the URL of a host written without a scheme; a word or a file name is not a host."""
    host = text.partition("/")[0].lower().strip(".").removesuffix(".gz")
    is_named = "." in host or host.partition(":")[0] == "localhost" or host.startswith("[")
    is_file = host.endswith((*urls.DOCUMENTS, *urls.ARCHIVES, *urls.TABLES))
    return f"https://{text}" if is_named and not is_file else ""


def is_url(given: object) -> TypeGuard[str]:
    """Return whether a source is a URL."""
    return isinstance(given, str) and "://" in given


def _input(given: str | PathLike[str]) -> Input:
    """Return what a program names: a text with a scheme is a URL, any other a path."""
    return web_input(given) if is_url(given) else file_input(Path(given))


def web_input(url: str, *, is_sitemap: bool | None = None) -> Input:
    """Return a URL as what was named; by default, its form decides whether it is that of a sitemap."""
    url = url.strip()
    return Input(url, urls.looks_like_sitemap(url) if is_sitemap is None else is_sitemap)


# The tree of it -------------------------------------------------------------------------------------


def tree_of(
    given: Source | Input,
    web_client: AbstractWebClient | None,
    options: CrawlOptions | None,
    *,
    site: str | None = None,
) -> AbstractSitemap:
    """Return the tree of what was named; ``site`` is the website to read from a WARC file."""
    if isinstance(given, AbstractSitemap):
        return given
    options = options or CrawlOptions()
    start = given if isinstance(given, Input) else _input(given)
    if start.is_local:
        return _local_tree(start, options if start is given else _only_limits(options), site)
    for search in searches(start, options):
        top = crawl_with(search, web_client)
        if not top.is_wrong_guess:
            break
    return finished(top)


async def tree_of_async(
    given: Source | Input,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions | None,
) -> AbstractSitemap:
    """Return the same on asyncio."""
    from usp import aio  # noqa: PLC0415 - most programs do without asyncio

    if isinstance(given, AbstractSitemap):
        return given
    start = given if isinstance(given, Input) else _input(given)
    if start.is_local:
        return await asyncio.to_thread(_local_tree, start, _only_limits(options))
    for search in searches(start, options or CrawlOptions()):
        top = await aio.top_of(search, web_client)
        if not top.is_wrong_guess:
            break
    return finished(top)


def searches(start: Input, options: CrawlOptions) -> Iterator[Search]:
    """Yield where to start: a URL that may be a sitemap is tried before its website."""
    is_guess = start.may_be_sitemap or (options.use_html_sitemaps and start.has_path)
    if start.is_sitemap or is_guess:
        yield sitemap_search(start.start, options, guess=not start.is_sitemap)
    if not start.is_sitemap:
        yield website_search(start.start, options)


def _local_tree(start: Input, options: CrawlOptions, site: str | None = None) -> AbstractSitemap:
    limits = options.effective_limits
    if start.dataset is not None:
        from usp._inputs.table_input import tree_of_batches  # noqa: PLC0415
        from usp.fleet.current import OpenDataset  # noqa: PLC0415

        pages = OpenDataset(start.dataset, start.at).pages()
        return tree_of_batches(pages, start.url, limits)
    if start.is_snapshot and start.path is not None:
        from usp.snapshot import load  # noqa: PLC0415

        return load(start.path, site, **given_options(options))
    from usp._inputs import local_files  # noqa: PLC0415

    if start.path is not None and start.path.is_dir():
        return local_files.tree_of_folder(start.path, limits)
    return local_files.tree_of_document(start.path, limits)


def _only_limits(options: CrawlOptions | None) -> CrawlOptions:
    """Return what counts of a program's options for a file: the others are for what is fetched."""
    return CrawlOptions(limits=None if options is None else options.limits)


def given_options(options: CrawlOptions) -> dict[str, Any]:
    """Return the options that are not the usual ones: a snapshot has those of its crawl."""
    usual = CrawlOptions(limits=Limits())
    return {
        field.name: value
        for field in fields(CrawlOptions)
        if (value := getattr(options, field.name)) != getattr(usual, field.name)
        and value is not None
    }
