"""What the commands that crawl share: their options, how they get a tree, how they end."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from click.exceptions import Exit
from urllib3.exceptions import InsecureRequestWarning

from usp._base.progress_line import Progress, can_show, live_line
from usp._inputs import Input, searches, tree_of
from usp.cli.errors import PARTIAL, messages
from usp.cli.output import logging_to
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexOPMLSitemap,
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
)
from usp.web_client.requests_client import RequestsWebClient

if TYPE_CHECKING:
    from pathlib import Path

    from usp.events import Listener
    from usp.options import CrawlOptions
    from usp.stream import PageBlocks


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a crawl, and of the client that it is made with."""

    options: CrawlOptions
    client_options: Mapping[str, Any] = field(repr=False)
    strict: bool
    verbose: int
    log_file: Path | None
    site: str | None

    def client(self) -> RequestsWebClient:
        """Return a client with these options."""
        return RequestsWebClient(**self.client_options)

    @contextmanager
    def running(self, line: Callable[[], str] | None = None) -> Iterator[Progress]:
        """Log and show progress, or a ``line`` instead, during the block."""
        # A log file has the whole command, its end included.
        log = logging_to(None, self.verbose) if self.log_file is None else nullcontext()
        progress = Progress("--timeout 5")
        is_shown = can_show() and not (messages.quiet or messages.as_json)
        shown = live_line(line or (lambda: repr(progress))) if is_shown else nullcontext()
        with ending_at_sigterm(), shown, log, warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureRequestWarning)  # the user asked for it
            yield progress

    def needed_tree(self, start: Input, on_event: Listener | None = None) -> AbstractSitemap:
        """Return the tree; end the command if nothing of it could be read."""
        tree = self.tree(start, on_event)
        self.exit_if_nothing(tree, start)
        return tree

    def tree(self, start: Input, on_event: Listener | None = None) -> AbstractSitemap:
        """Return the tree of a website or a sitemap, or of local files."""
        options = replace(self.options, on_event=on_event)
        if start.is_local:
            return tree_of(start, None, options, site=self.site)
        try:
            return tree_of(start, self.client(), options)
        except KeyboardInterrupt:
            if not options.keep_partial:
                messages.if_interrupted = "--keep-partial keeps what was found"
            raise

    def blocks(
        self, start: Input, on_event: Listener | None = None, *, unordered: bool = False
    ) -> Iterator[PageBlocks]:
        """Yield streams of blocks of pages to try in turn, until one is not a wrong guess."""
        from usp.stream import PageBlocks

        options = replace(self.options, on_event=on_event)
        for search in searches(start, options):
            yield PageBlocks(search, self.client(), any_thread=True, unordered=unordered)

    def exit_for(self, tree: AbstractSitemap, start: Input, *, shown: bool = False) -> None:
        """End the command with the exit status of a tree.

        Reports what is missing, or only how much is if the result has ``shown`` it already.
        """
        found = found_anything(tree, start)
        failures = tree.failures()
        if found or not failures:
            notice_website(tree, start)
        if not failures and not found:
            from usp.checks.verdicts import html_everywhere

            same = html_everywhere(tree)
            more = f", which answers every path with {same}" if same else ""
            if isinstance(tree, IndexWebsiteSitemap) and not start.is_local:
                homepage = "--html-links looks at the homepage, --known-path PATH at another path"
                path = "--known-path PATH looks at another path"
                more += f" ({path if self.options.use_html_links else homepage})"
            messages.notice(f"no sitemaps with pages were found at {tree.url}{more}")
        if failures:
            from usp.checks.node_findings import failure_codes

            status = messages.failed if not found else PARTIAL if self.strict else 0
            messages.failures(failures, status, shown=shown, rules=failure_codes(tree))
            if status:
                raise Exit(status)

    def keep_file(self, output: Path | None, tree: AbstractSitemap, start: Input) -> None:
        """End the command if nothing could be read, and a good file would be replaced."""
        if output is not None and output.is_file():
            self.exit_if_nothing(tree, start)

    def exit_if_nothing(self, tree: AbstractSitemap, start: Input) -> None:
        """End the command if nothing could be read: an empty result must not look like a good one."""
        if tree.failures() and not found_anything(tree, start):
            self.exit_for(tree, start)


class Terminated(BaseException):
    """Raised by SIGTERM."""


@contextmanager
def ending_at_sigterm() -> Iterator[None]:
    """Raise ``Terminated`` at SIGTERM, so that the block can clean up; then end as it usually does."""

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one does not wait
        raise Terminated

    is_usual = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    try:
        with handling(end, signal.SIGTERM) if is_usual else nullcontext():
            yield
    except Terminated:
        os.kill(os.getpid(), signal.SIGTERM)
        # The first process of a container survives that.
        raise SystemExit(128 + signal.SIGTERM) from None


@contextmanager
def handling(handle: Callable[..., object], *numbers: signal.Signals) -> Iterator[None]:
    """Call a function at these signals during the block, unless they are ignored."""
    is_main = threading.current_thread() is threading.main_thread()  # no other one can
    now = {number: signal.getsignal(number) for number in numbers if is_main}
    before = {number: now[number] for number in now if now[number] is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def found_anything(tree: AbstractSitemap, start: Input) -> bool:
    """Return whether anything in a tree could be read: a sitemap with pages, or a skipped one.

    For local files an index is enough, since the sitemaps it lists are not fetched; a snapshot has
    what was fetched.
    """
    is_file = start.is_local and not start.is_snapshot
    index = (IndexXMLSitemap, IndexRobotsTxtSitemap, IndexOPMLSitemap) if is_file else ()
    wanted = (AbstractPagesSitemap, *index)
    return any(
        isinstance(node, wanted) or (isinstance(node, AbstractIndexSitemap) and node.skipped)
        for node in (tree, *tree.all_sitemaps())
    )


def notice_website(tree: AbstractSitemap, start: Input) -> None:
    """Report that a website was read although the URL of a page was given."""
    if start.has_path and not start.is_local and isinstance(tree, IndexWebsiteSitemap):
        messages.notice(f"{start.url} is not a sitemap; its website {tree.url} was read instead")
