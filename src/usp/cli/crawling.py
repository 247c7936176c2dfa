"""What the commands that crawl share: the URL they are given, how they get a tree, how they end."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit
from urllib3.exceptions import InsecureRequestWarning

from usp._base.sitemap_urls import ARCHIVES, DOCUMENTS, PAGES, looks_like_sitemap
from usp._base.urls import BadUrl, read_url, shown, url_parts, with_login, without_login
from usp._crawl.thread_driver import crawl_with
from usp._http.identity import DEFAULT_TIMEOUT
from usp.cli.errors import FAILED, PARTIAL, tell
from usp.cli.local import tree_of, tree_of_stdin
from usp.cli.output import logging_to
from usp.cli.progress import Progress, progress
from usp.limits import Limits
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
)
from usp.options import DEFAULT_CONCURRENCY, CrawlOptions
from usp.stream import PageBlocks
from usp.tree import sitemap_search, website_search
from usp.web_client.requests_client import RequestsWebClient
from usp.web_client.zones import Zones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp._base.urls import Login
    from usp._crawl.crawl import Crawl
    from usp._crawl.website import OneSitemap, Website
    from usp.events import Listener
    from usp.objects.sitemap import AbstractSitemap


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
    def is_snapshot(self) -> bool:
        """Whether this is a file in which a crawl was recorded, rather than a sitemap."""
        if self.path is None or not self.path.is_file():
            return False
        from usp._snapshot.warc import is_warc

        return is_warc(self.path)

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
        return self.has_path and not url_parts(self.url).path.endswith(PAGES)


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


def _with_scheme(text: str) -> str:
    """Return the URL of a host written without a scheme; a word or a file name is not a host."""
    host = text.partition("/")[0].lower().strip(".").removesuffix(".gz")
    named = "." in host or host.partition(":")[0] == "localhost"
    return f"https://{text}" if named and not host.endswith((*DOCUMENTS, *ARCHIVES)) else ""


# How a command gets a tree, and how it ends --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Crawling:
    """The options of a crawl, and of the client that it is made with."""

    options: CrawlOptions = dataclasses.field(default_factory=CrawlOptions)
    zones: Zones = dataclasses.field(default_factory=Zones)
    strict: bool = False
    user_agent: str | None = None
    headers: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)
    proxy: str | None = dataclasses.field(default=None, repr=False)
    timeout: float | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    verify: bool | str = True
    quiet: bool = False
    verbose: int = 0
    log_file: Path | None = None
    site: str | None = None

    def client(self) -> RequestsWebClient:
        """Return a client with these options."""
        return RequestsWebClient(
            verify=self.verify,
            zones=self.zones,
            user_agent=self.user_agent,
            headers=dict(self.headers),
            timeout=DEFAULT_TIMEOUT if self.timeout is None else self.timeout,
            proxy=self.proxy,
            max_concurrent_requests=self.concurrency,
        )

    @contextmanager
    def running(self) -> Iterator[Progress]:
        """Log and show progress during the block."""
        with ExitStack() as stack:
            stack.enter_context(ending_at_sigterm())
            shown = stack.enter_context(progress(quiet=self.quiet or tell.as_json))
            if self.log_file is None:  # which has the whole command, its end included
                stack.enter_context(logging_to(None, self.verbose))
            stack.enter_context(_no_certificate_warnings())
            yield shown

    def tree(self, start: Address, on_event: Listener | None = None) -> AbstractSitemap:
        """Return the tree of a website or a sitemap, or of local files."""
        limits = self.options.effective_limits
        if start.is_stdin:
            return tree_of_stdin(limits)
        options = dataclasses.replace(self.options, on_event=on_event)
        if start.path is not None:
            return self._local_tree(start, options)
        tops = (
            crawl_with(search, start.start, self.client(), options)
            for search in self._searches(start)
        )
        return next(top.tree() for top in tops if not top.is_wrong_guess)

    def _local_tree(self, start: Address, options: CrawlOptions) -> AbstractSitemap:
        assert start.path is not None
        if start.is_snapshot:
            from usp.snapshot import load

            return load(start.path, self.site, **given_options(options))
        tree = tree_of(start.path, options.effective_limits)
        if options.record is not None:
            tree.save(options.record)
        return tree

    def blocks(self, start: Address, on_event: Listener | None = None) -> Iterator[PageBlocks]:
        """Yield streams of blocks of pages to try in turn, until one is not a wrong guess."""
        options = dataclasses.replace(self.options, on_event=on_event)
        for search in self._searches(start):
            yield PageBlocks(search, start.start, self.client(), options, any_thread=True)

    def _searches(self, start: Address) -> Iterator[Callable[[Crawl], Website | OneSitemap]]:
        """Yield where to start: a URL that may be a sitemap is tried before its website."""
        if start.is_sitemap or start.may_be_sitemap:
            yield sitemap_search(start.start, guess=start.may_be_sitemap)
        if not start.is_sitemap:
            yield website_search(start.start, self.options)


def given_options(options: CrawlOptions) -> dict[str, Any]:
    """Return the options that are not the usual ones: a snapshot has those of its crawl."""
    usual = CrawlOptions(limits=Limits())
    return {
        field.name: value
        for field in dataclasses.fields(CrawlOptions)
        if (value := getattr(options, field.name)) != getattr(usual, field.name)
        and value is not None
    }


class Terminated(BaseException):
    """Raised by SIGTERM."""


@contextmanager
def ending_at_sigterm() -> Iterator[None]:
    """Raise ``Terminated`` at SIGTERM, so that the block can clean up; then end as it usually does."""
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one does not wait
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    except Terminated:
        os.kill(os.getpid(), signal.SIGTERM)
        # The first process of a container survives that.
        raise SystemExit(128 + signal.SIGTERM) from None
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _no_certificate_warnings() -> Iterator[None]:
    """Silence the warnings about certificates that are not verified: the user asked for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureRequestWarning)
        yield


def was_read(tree: AbstractSitemap, *, is_local: bool = False) -> bool:
    """Return whether anything in a tree could be read: a sitemap with pages, or a skipped one.

    For local files an index is enough, since the sitemaps it lists are not fetched.
    """
    index = (IndexXMLSitemap, IndexRobotsTxtSitemap) if is_local else ()
    wanted = (AbstractPagesSitemap, *index)
    return any(
        isinstance(node, wanted) or (isinstance(node, AbstractIndexSitemap) and node.skipped)
        for node in (tree, *tree.all_sitemaps())
    )


def tell_website(tree: AbstractSitemap, start: Address) -> None:
    """Report that a website was read although the URL of a page was given."""
    if start.has_path and not start.is_local and isinstance(tree, IndexWebsiteSitemap):
        tell.notice(f"{start.url} is not a sitemap; its website {tree.url} was read instead")


def _elsewhere(tree: AbstractSitemap, start: Address, crawling: Crawling) -> str:
    """Return which options look for sitemaps in more places, if any does."""
    if start.is_local or not isinstance(tree, IndexWebsiteSitemap):
        return ""
    if crawling.options.use_html_links:
        return " (--known-path PATH looks at another path)"
    return " (--html-links looks at the homepage, --known-path PATH at another path)"


def end_with(
    tree: AbstractSitemap, start: Address, crawling: Crawling, *, shown: bool = False
) -> None:
    """End the command with the exit status of a tree.

    Reports what is missing, or only how much is if the result has ``shown`` it already.
    """
    found = was_read(tree, is_local=start.is_local and not start.is_snapshot)
    failures = tree.failures()
    if found or not failures:
        tell_website(tree, start)
    if not failures and not found:
        elsewhere = _elsewhere(tree, start, crawling)
        tell.notice(f"no sitemaps with pages were found at {tree.url}{elsewhere}")
    if failures:
        status = FAILED if not found else PARTIAL if crawling.strict else 0
        tell.failures(failures, status, shown=shown)
        if status:
            raise Exit(status)
