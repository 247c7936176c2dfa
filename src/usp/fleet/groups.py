"""Which sites belong together: those that one machine answers for are asked by one worker."""

from __future__ import annotations

import socket
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["by_address", "grouped", "host_key", "parcels"]

_RESOLVERS = 64
_AHEAD = 1024  # names that are being looked up, or wait for those before them


def host_key(site: str) -> str:
    """Give the host of a site, without its port; of what is no URL the text itself."""
    try:
        host = urlsplit(site).hostname
    except ValueError:
        host = None
    return (host or site).rstrip(".").removeprefix("www.")


def address_of(host: str) -> str:
    """Look up the first address of a host; the host itself if there is none."""
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError):
        return host


def by_address(
    sites: Iterable[str], resolve: Callable[[str], str] = address_of
) -> Iterator[tuple[str, str]]:
    """Give each site with the address of its host; so many names are looked up at a time, no more."""
    waiting: deque[tuple[str, Future[str]]] = deque()
    with ThreadPoolExecutor(_RESOLVERS, "usp-fleet-names") as pool:
        for site in sites:
            waiting.append((site, pool.submit(resolve, host_key(site))))
            if len(waiting) >= _AHEAD:
                wait([waiting[0][1]], return_when=FIRST_COMPLETED)
            while waiting and waiting[0][1].done():
                first, future = waiting.popleft()
                yield first, future.result()
        for site, future in waiting:
            yield site, future.result()


def grouped(keyed: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Give sites by key, the largest groups first: they take longest, since their sites take turns."""
    groups: dict[str, list[str]] = {}
    for site, key in keyed:
        groups.setdefault(key, []).append(site)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def parcels(groups: Iterable[tuple[str, list[str]]], size: int) -> Iterator[list[tuple[str, str]]]:
    """Put groups together to parcels of so many sites or a few more; a group is never divided."""
    parcel: list[tuple[str, str]] = []
    for key, sites in groups:
        parcel += [(site, key) for site in sites]
        if len(parcel) >= size:
            yield parcel
            parcel = []
    if parcel:
        yield parcel
