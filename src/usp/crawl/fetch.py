"""Fetches one document and takes the first look at it. All HTTP of a crawl goes through here."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp.crawl.pages import parser_for
from usp.formats.document import Role
from usp.formats.parser import ChildEntry
from usp.objects.problem import Problem
from usp.store import Exchange
from usp.web_client.abstract_client import (
    AbstractWebClientSuccessResponse,
    BrokenBody,
    WebClientErrorResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from usp.formats.document import DocumentParser
    from usp.formats.parser import Entry
    from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap
    from usp.store import Document, Store
    from usp.web_client.abstract_client import AbstractWebClient

log = logging.getLogger(__name__)

MAX_RESPONSE_BYTES = 100 * 1024 * 1024
"""How many bytes of a body are received: twice what the protocol allows, compressed or not."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """An order of the crawl: fetch this URL."""

    url: str
    role: Role = Role.SITEMAP
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Look:
    """What the first look at a document showed.

    ``kind`` is the class of its node, None if it is no sitemap; ``refusal`` then says why.
    ``pages_at`` is where among the children of an index the first stray page stands; ``broken`` says
    why the transfer ended too early, if it did.
    """

    kind: type[AbstractIndexSitemap | AbstractPagesSitemap] | None
    refusal: str | None = None
    children: tuple[ChildEntry, ...] = ()
    pages_at: int | None = None
    problems: tuple[Problem, ...] = ()
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """A document came."""

    document: Document
    look: Look


@dataclass(frozen=True, slots=True)
class Failed:
    """No document came."""

    error: WebClientErrorResponse


def look_at(
    parser: DocumentParser, chunks: Iterable[bytes], keep: Callable[[bytes], object]
) -> Look:
    """Read a document for the first time, keeping every chunk."""
    children: list[ChildEntry] = []
    pages_at: int | None = None

    def sort(entries: Iterable[Entry]) -> None:
        nonlocal pages_at
        for entry in entries:
            if isinstance(entry, ChildEntry):
                children.append(entry)
            elif pages_at is None:
                pages_at = len(children)

    broken: str | None = None
    try:
        for chunk in chunks:
            keep(chunk)
            sort(parser.feed(chunk))
            if parser.refusal:
                break
    except BrokenBody as error:
        broken = str(error)
    sort(parser.close())
    problems = parser.problems.listed()
    if broken is not None:
        problems.insert(0, Problem(f"the transfer broke off: {broken}"))
    return Look(
        kind=parser.parser.sitemap_class if parser.parser and not parser.refusal else None,
        refusal=parser.refusal,
        children=tuple(children),
        pages_at=pages_at,
        problems=tuple(problems),
        broken=broken,
    )


def fetch_document(
    order: Fetch,
    client: AbstractWebClient,
    store: Store,
    given_up: Callable[[], bool] = lambda: False,
) -> Received | Failed:
    """Fetch a document, store it and look at it; every failure is returned.

    ``given_up`` is asked while the body comes in: True ends the transfer.
    """
    started = time.monotonic()
    try:
        response = client.get(order.url)
    except Exception as error:  # a client's mistake must not end the crawl
        log.exception("The web client failed on %s", order.url)
        return Failed(WebClientErrorResponse(f"{type(error).__name__}: {error}", retryable=False))
    if isinstance(response, WebClientErrorResponse):
        return Failed(response)
    if not isinstance(response, AbstractWebClientSuccessResponse):
        return Failed(WebClientErrorResponse("the web client gave no response", retryable=False))
    try:
        return _receive(order, response, store, started, given_up)
    except Exception as error:  # noqa: BLE001 - the same
        return Failed(WebClientErrorResponse(f"{type(error).__name__}: {error}", retryable=False))
    finally:
        response.close()


def _receive(
    order: Fetch,
    response: AbstractWebClientSuccessResponse,
    store: Store,
    started: float,
    given_up: Callable[[], bool],
) -> Received | Failed:
    content_type = response.header("Content-Type")
    content_encoding = response.header("Content-Encoding")
    parser = parser_for(
        response.url(), content_type, content_encoding, role=order.role, glance=True, fast=True
    )
    writer = store.writer()

    def keep(chunk: bytes) -> None:
        if given_up():
            raise BrokenBody("the crawl was given up")
        writer.write(chunk)

    try:
        look = look_at(parser, response.body(), keep)
    except BaseException:
        writer.discard()
        raise
    if look.broken is not None and not writer.size:
        return Failed(WebClientErrorResponse(f"no data came: {look.broken}", retryable=True))
    exchange = Exchange(
        url=order.url,
        final_url=response.url(),
        status=response.status_code(),
        headers=response.headers(),
        redirects=response.redirects(),
        attempts=order.attempt,
        seconds=time.monotonic() - started,
        received=writer.size,
        content_type=content_type,
        content_encoding=content_encoding,
        charset=parser.encoding,
        broken=look.broken,
    )
    return Received(writer.finish(exchange), look)
