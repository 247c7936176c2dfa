"""Runs a crawl on threads from start to end, and reads a document that is at hand."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._base.urls import read_url, without_login
from usp._crawl import journal
from usp._crawl.crawl import Crawl
from usp._crawl.driving import concurrency_of, prepared
from usp._crawl.look import FirstLook, read_whole
from usp._crawl.pages import parser_for
from usp._crawl.places import document_node
from usp._crawl.thread_driver import ThreadDriver
from usp._crawl.values import UNFETCHED, Received, left_out_problem
from usp._formats.document import Role
from usp._formats.values import date
from usp._store import Store
from usp.limits import DEFAULT, LimitReached
from usp.objects.exchange import Exchange
from usp.objects.problem import Failure, FailureCode
from usp.objects.sitemap import AbstractSitemap, InvalidSitemap
from usp.web_client.abstract_client import WebClientErrorResponse
from usp.web_client.requests_client import RequestsWebClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol, TypeVar

    from usp._crawl.schedule import RetryPolicy
    from usp.limits import Limits
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractWebClient, AbstractWebClientResponse

    T = TypeVar("T")
    N = TypeVar("N", bound=AbstractSitemap)
    N_co = TypeVar("N_co", bound=AbstractSitemap, covariant=True)

    class Top(Protocol[N_co]):
        """What a crawl began with: a website or a sitemap."""

        def tree(self) -> N_co: ...


LOCAL_URL = "http://usp-local-dummy.local/"
"""The address of a document that has none."""


INTERRUPTED = Reason(FailureCode.INTERRUPTED, "the crawl was interrupted")
"""Why a crawl ends on Ctrl-C if what was found is to be kept."""


def crawl_with(
    search: Callable[[Crawl], T],
    start_url: str,
    web_client: AbstractWebClient | None,
    options: CrawlOptions,
) -> T:
    """Run a crawl from start to end; return what ``search`` made of it, the top of the tree."""
    with client_for(web_client, start_url, options) as client:
        crawl = begin(client, start_url, options)
        top = search(crawl)
        with ThreadDriver(crawl, client, store_for(crawl), options.on_event) as driver:
            try:
                driver.run()
            except KeyboardInterrupt:
                if not options.keep_partial:
                    raise
                crawl.end(INTERRUPTED)
                driver.run()
    return top


def begin(client: object, start_url: str, options: CrawlOptions) -> Crawl:
    """Return a new crawl with a client; a login in ``start_url`` is used for its host."""
    return Crawl(options, per_host=concurrency_of(client), start=read_url(start_url))


def store_for(crawl: Crawl) -> Store:
    """Return a new store for what a crawl fetches."""
    return Store(spool=crawl.limits.spool_bytes)


def tree_of(top: Top[N], options: CrawlOptions) -> N:
    """Return the tree of a complete crawl, after ``on_failure`` was told what is missing in it."""
    tree = top.tree()
    if options.on_failure is not None:
        for failure in tree.failures():
            options.on_failure(failure)
    return tree


@contextmanager
def client_for(
    web_client: AbstractWebClient | None, start_url: str, options: CrawlOptions
) -> Iterator[AbstractWebClient]:
    """Yield what fetches for one crawl: a client of ours, or the caller's."""
    given = web_client if web_client is not None else RequestsWebClient()
    client = prepared(given, without_login(start_url), options.effective_limits)
    try:
        yield client
    finally:
        if client is not web_client:
            client.close()


def parse_document(
    chunks: Iterable[bytes],
    url: str | None,
    *,
    content_type: str | None = None,
    role: Role = Role.SITEMAP,
    name: str = LOCAL_URL,
    limits: Limits = DEFAULT,
    store: Store | None = None,
) -> AbstractSitemap:
    """Parse a document that is at hand; ``url`` is where it came from, if that is known.

    Otherwise ``name`` is the address of its node. Chunks that end with ``LimitReached`` are what
    there is of the document.
    """
    writer = (store or Store()).writer()
    first = FirstLook(
        parser_for(
            url,
            content_type,
            None,
            role=role,
            glance=limits.pages is None,
            fast=True,
            limits=limits,
        ),
        limits,
    )
    ended = None
    try:
        for chunk in chunks:
            writer.write(chunk)
            if not first.feed(chunk):
                break
    except LimitReached as limit:
        ended = limits.reached(limit.name)
    look = first.close(ended=ended)
    node_url = url or name
    exchange = Exchange(
        node_url,
        node_url,
        status=None,
        attempts=0,
        received=writer.size,
        content_type=content_type,
        charset=first.parser.encoding,
    )
    document = writer.finish(exchange)
    if not first.is_enough:
        look = read_whole(document, url, limits)
    journal.received(exchange, look)
    if look.kind is None:
        why = ended or look.refusal
        assert why is not None
        failure = Failure.of(node_url, why.at(f"No parsers support sitemap from {node_url}"))
        return InvalidSitemap(
            node_url, failure.reason, problems=look.problems, failure=failure, exchange=exchange
        )
    children: list[AbstractSitemap] = [
        InvalidSitemap(
            child.loc,
            str(UNFETCHED),
            last_modified=date(child.lastmod),
            failure=Failure.of(child.loc, UNFETCHED),
        )
        for child in look.children
    ]
    missing = look.unfinished
    most = limits.pages if limits.pages is not None and (look.pages or 0) > limits.pages else None
    if most is not None:
        missing = missing or limits.reached("pages")
    problems = []
    if look.left_out is not None:
        problems.append(left_out_problem(look.left_out, "sitemaps"))
        missing = missing or look.left_out.reason.after("some of its sitemaps were left out")
    return document_node(
        Received(document, look),
        children,
        url=node_url,
        base=url,
        problems=problems,
        failure=Failure.of(node_url, missing) if missing else None,
        limits=limits,
        most=most,
    )


def get_with_retries(
    url: str, web_client: AbstractWebClient, policy: RetryPolicy, *, quiet_404: bool = False
) -> AbstractWebClientResponse:
    """Fetch a URL in this thread, sleeping between the tries."""
    attempt = 1
    while True:
        response = web_client.get(url)
        if not isinstance(response, WebClientErrorResponse):
            return response
        pause = policy.delay(attempt, response)
        journal.request_failed(without_login(url), response, retry_in=pause, quiet_404=quiet_404)
        if pause is None:
            return response
        time.sleep(pause)
        attempt += 1
