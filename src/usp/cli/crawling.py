"""What the commands that crawl share: how they get a tree, and how they end."""

from __future__ import annotations

import dataclasses
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from click.exceptions import Exit
from urllib3.exceptions import InsecureRequestWarning

from usp._crawl.run import crawl_with
from usp._http.identity import DEFAULT_TIMEOUT
from usp.cli.errors import FAILED, PARTIAL, tell
from usp.cli.local import tree_of, tree_of_stdin
from usp.cli.log_handlers import logging_to
from usp.cli.progress import Progress, progress
from usp.objects.sitemap import (
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
    from pathlib import Path

    from usp._crawl.crawl import Crawl
    from usp._crawl.website import OneSitemap, Website
    from usp.cli.address import Address
    from usp.events import Listener
    from usp.objects.sitemap import AbstractSitemap


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
            shown = stack.enter_context(progress(quiet=self.quiet or tell.as_json))
            stack.enter_context(logging_to(self.log_file, self.verbose))
            stack.enter_context(_no_certificate_warnings())
            yield shown

    def tree(self, start: Address, on_event: Listener | None = None) -> AbstractSitemap:
        """Return the tree of a website or a sitemap, or of local files."""
        limits = self.options.effective_limits
        if start.is_stdin:
            return tree_of_stdin(limits)
        if start.path is not None:
            return tree_of(start.path, limits)
        options = dataclasses.replace(self.options, on_event=on_event)
        tops = (
            crawl_with(search, start.start, self.client(), options)
            for search in self._searches(start)
        )
        return next(top.tree() for top in tops if not top.is_wrong_guess)

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


@contextmanager
def _no_certificate_warnings() -> Iterator[None]:
    """Silence the warnings about certificates that are not verified: the user asked for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureRequestWarning)
        yield


def was_read(tree: AbstractSitemap, *, is_local: bool = False) -> bool:
    """Return whether anything in a tree could be read: a sitemap with pages.

    For local files an index is enough, since the sitemaps it lists are not fetched.
    """
    index = (IndexXMLSitemap, IndexRobotsTxtSitemap) if is_local else ()
    wanted = (AbstractPagesSitemap, *index)
    return any(isinstance(node, wanted) for node in (tree, *tree.all_sitemaps()))


def end_with(tree: AbstractSitemap, start: Address, *, strict: bool, shown: bool = False) -> None:
    """End the command with the exit status of a tree.

    Reports what is missing, or only how much is if the result has ``shown`` it already.
    """
    found = was_read(tree, is_local=start.is_local)
    failures = tree.failures()
    is_page = start.has_path and not start.is_local and isinstance(tree, IndexWebsiteSitemap)
    if is_page and (found or not failures):
        tell.notice(f"{start.url} is not a sitemap; its website {tree.url} was read instead")
    if not failures and not found:
        tell.notice(f"no sitemaps with pages were found at {tree.url}")
    if failures:
        status = FAILED if not found else PARTIAL if strict else 0
        tell.failures(failures, status, shown=shown)
        if status:
            raise Exit(status)
