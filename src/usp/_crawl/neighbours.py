"""The neighbours of a website: its subdomains, and its languages on other hosts, as it names them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from usp._base.urls import BadUrl, are_related, host_of, read_url
from usp._formats.abstract_parser import PageBatch

if TYPE_CHECKING:
    from usp._crawl.tree_slots import TreeSlot
    from usp._formats.abstract_parser import PageEntry

_MOST = 1000  # hosts that one document names in each way


class NamedHosts:
    """Collects where the pages of a document are, and their versions in other languages.

    Both are origins such as ``https://shop.example.org``, each once and in order.
    """

    def __init__(self) -> None:
        self.of_pages: dict[str, None] = {}
        self.of_languages: dict[str, None] = {}

    def add(self, entry: PageEntry | PageBatch) -> None:
        """Take a page, or many."""
        if isinstance(entry, PageBatch):
            _keep(self.of_pages, entry.urls)
            rows = entry.rows() if entry.texts() is None else ()
        else:
            _keep(self.of_pages, [entry.url])
            rows = [entry.fields()]
        _keep(self.of_languages, (href for row in rows for _, href in row.alternates or ()))


def _keep(origins: dict[str, None], urls: Iterable[str]) -> None:
    for origin in dict.fromkeys("/".join(url.split("/", 3)[:3]) for url in urls):
        if len(origins) < _MOST:
            origins[origin] = None


def neighbours_of(url: str, slots: Iterable[TreeSlot]) -> list[str]:
    """Return the homepages of a website's neighbours, by the slots of its tree in their order.

    Those of its sitemaps and pages are on related hosts; a language may be on any. A host with
    ``www.`` is the same as without.
    """
    own = host_of(url)
    found: dict[str, str] = {}
    for named, is_language in _named(slots):
        with suppress(BadUrl):
            there = read_url(named)
            if is_language or are_related(host_of(named), own):
                found.setdefault(_identity(there.origin), f"{there.origin}/")
    found.pop(_identity(read_url(url).origin), None)
    return list(found.values())


def _named(slots: Iterable[TreeSlot]) -> Iterator[tuple[str, bool]]:
    """Yield URLs on the hosts that slots name, and whether they are those of languages."""
    for slot in slots:
        yield slot.url, False
        if slot.received is not None:
            yield from ((origin, False) for origin in slot.received.probe.hosts)
            yield from ((origin, True) for origin in slot.received.probe.language_hosts)


def _identity(origin: str) -> str:
    """Return what an origin has in common with the same host on http, or with ``www.``."""
    return origin.partition("://")[2].removeprefix("www.")
