"""How the sites of a fleet are crawled: one value for every site, worker and machine."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from usp.limits import Limits
from usp.objects.failure_codes import BY_VALUE
from usp.options import DEFAULT_CONCURRENCY, CrawlOptions

if TYPE_CHECKING:
    from usp._http.identity import Timeout
    from usp.events import Listener
    from usp.selection import Selection
    from usp.web_client.zones import Zones

__all__ = ["FLEET_LIMITS", "FleetOptions", "FleetRun"]

ENGINES = ("local", "ray")  # what distributes the sites: processes on this machine, or a cluster
MAX_FAILED = 0.2  # the share of the good sites of which it is no alarm if they fail
COMMIT_SECONDS = 30.0  # after which a worker reports what it has
SITE_SECONDS = 900.0  # the default maximum time for the sitemaps of one site, in seconds
FLEET_LIMITS = Limits(
    seconds=SITE_SECONDS, spool_bytes=2 << 30, sitemaps=20_000, document_seconds=300
)
"""The default limits of each site: lower than those of a crawl of a single site."""


def _public_only() -> Zones:
    from usp.web_client.zones import Zones  # noqa: PLC0415 - the help of a command needs none

    return Zones(trust_start=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions(CrawlOptions):
    """How every site is crawled. Can be pickled, as it is sent to the workers.

    The options of a crawl are those of :class:`usp.CrawlOptions`; callbacks run in the workers, and
    the default limits are :data:`FLEET_LIMITS`.

    ``sites_per_worker`` is how many sites one worker crawls at a time, ``per_host`` how many requests
    it sends to one host at a time, for all its sites together, and ``sites_per_host`` how many sites
    that share a host or address are crawled at a time. ``pages=False`` counts the pages without a table
    of them; ``columns`` are some of :data:`usp.export.COLUMNS`. ``selection`` chooses pages, for each
    site by itself; ``selection.crawl_options(options)`` also skips sitemaps without any. ``problems``
    checks every field of every page and counts the problems, which takes several times as long.
    ``verify`` is whether certificates are verified, or a file or folder of trusted authorities;
    ``wait`` is the pause in seconds between two requests of a worker to one host. ``headers`` are sent
    to every site, those that may be secret to its own host only; ``proxy`` is for all requests.
    Neither is ever written anywhere, and no login in the URL of a site.
    """

    zones: Zones = field(default_factory=_public_only)
    user_agent: str | None = None
    timeout: Timeout = (9.05, 30.0)
    verify: bool | str = True
    sites_per_worker: int = 256
    per_host: int = DEFAULT_CONCURRENCY
    sites_per_host: int = 1
    trust_lastmod: bool = False
    pages: bool = True
    columns: tuple[str, ...] | None = None
    selection: Selection | None = None
    problems: bool = False
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    proxy: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        CrawlOptions.__post_init__(self)  # super() is another class: that of before the slots
        for name in ("record", "progress"):
            if getattr(self, name):
                raise ValueError(f"{name} is for the crawl of one site; a fleet has many")
        for name in ("sites_per_worker", "per_host", "sites_per_host"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a positive integer, not {value!r}")
        for name in ("user_agent", "proxy"):
            if not isinstance(getattr(self, name), str | None):
                raise TypeError(f"{name} must be a string or None")
        from usp._http.identity import check_options, checked_timeout  # noqa: PLC0415 - as above
        from usp.export.schema import chosen  # noqa: PLC0415

        check_options(None, self.headers, None, self.zones)
        object.__setattr__(self, "timeout", checked_timeout(self.timeout))
        if self.columns is not None:
            object.__setattr__(self, "columns", chosen(self.columns))

    @property
    def effective_limits(self) -> Limits:
        """The limits of each site: those given, or the default ones of a fleet."""
        return self.limits or FLEET_LIMITS

    @property
    def digest(self) -> str:
        """A digest of what decides which rows a site has: rows of another one are not comparable."""
        from usp.export.schema import COLUMNS  # noqa: PLC0415 - as above

        columns = sorted({"sitemap", "url", *(self.columns or COLUMNS)})
        chosen = (columns, self.pages, self.problems, self.selection)
        return hashlib.blake2b(repr(chosen).encode(), digest_size=6).hexdigest()

    @property
    def keeps_unchanged(self) -> bool:
        """Whether the pages of a sitemap can be kept: if they depend on no other."""
        selection = self.selection
        alone = selection is None or not (selection.unique or selection.limit is not None)
        return alone and self.effective_limits.pages is None

    def for_site(
        self,
        on_event: Listener,
        paths: tuple[str, ...] | None = None,
        more_paths: tuple[str, ...] = (),
    ) -> CrawlOptions:
        """Return the crawl options for one site; ``on_event`` gets its events.

        ``paths`` are the known ones that are worth a request, all by default, and ``more_paths`` those
        of its feeds.

        The worker itself pauses between requests, for all of its sites together, and a site whose
        crawl is cancelled is crawled again.
        """
        extra = (*((self.extra_known_paths or ()) if paths is None else paths), *more_paths)
        return replace(
            self,
            wait=0.0,
            keep_partial=False,
            on_event=on_event,
            use_known_paths=self.use_known_paths and paths is None,
            extra_known_paths=extra or None,
        )


# A run ----------------------------------------------------------------------------------------------


def hash_of(domain: str) -> int:
    """Return the hash of a domain that decides about its bucket, and its shard."""
    return zlib.crc32(domain.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several equal parts of all sites: those whose domain has a certain hash."""

    number: int = 0
    of: int = 1

    @classmethod
    def read(cls, text: str) -> Self:
        """Return a shard that is written as ``0/4``; raises ``ValueError`` if it is not."""
        number, separator, of = text.partition("/")
        if not (separator and number.isdecimal() and of.isdecimal() and int(number) < int(of)):
            raise ValueError(f"{text!r} is not a shard; write 0/4 for the first of four")
        return cls(int(number), int(of))

    def __contains__(self, domain: str) -> bool:
        return self.of == 1 or hash_of(domain) % self.of == self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """How a run is executed, as opposed to how each site is crawled.

    ``workers`` is the number of processes on this machine, or the maximum number of CPUs of a cluster;
    ``address`` is that of a Ray cluster. ``shard``, as ``"0/4"``, is the part of the sites that is
    crawled: other runs may crawl the others at the same time. With ``same_address``, hosts are looked
    up first, and sites at one address are kept together.

    With ``retry_failed``, sites that failed are crawled again; with ``again`` all, and with ``due``
    those of which something is due. With ``every``, that is looked for again after so many seconds,
    until the run is stopped; ``per_hour`` is then how many requests are sent to a host in an hour: what
    is more stays due. With ``codes``, ``retry_failed`` is for sites with one of these reasons, also if
    only a part of them is missing. What fails then keeps what it had, and so does a site that has lost
    more than half of its pages, until the next visit finds the same; ``accept`` takes what there is. If
    more than the share ``max_failed`` of the sites fail that were good before, the summary says so.
    """

    engine: str = ENGINES[0]
    workers: int | None = None
    address: str | None = None
    shard: str = "0/1"
    same_address: bool = False
    retry_failed: bool = False
    again: bool = False
    due: bool = False
    every: float | None = None
    per_hour: int | None = None
    codes: tuple[str, ...] = ()
    accept: bool = False
    max_failed: float = MAX_FAILED
    commit_seconds: float = COMMIT_SECONDS
    options: FleetOptions = field(default_factory=FleetOptions)

    def __post_init__(self) -> None:
        Shard.read(self.shard)
        engines = ", ".join(ENGINES)
        code = next((code for code in self.codes if code not in BY_VALUE), None)
        hourly = self.per_hour
        wrong = {
            f"unknown engine {self.engine!r}; choose from {engines}": self.engine not in ENGINES,
            "'again' is for all sites, 'retry_failed' and 'due' for some; choose one of them": (
                self.again + self.retry_failed + self.is_due > 1
            ),
            "'accept' is for sites that are crawled again; add 'again', 'retry_failed' or 'due'": (
                self.accept and not self.replaces
            ),
            "'every' must be a positive number": self.every is not None and not self.every > 0,
            "'per_hour' must be positive": hourly is not None and not hourly > 0,
            "'per_hour' is for what is due; add 'due' or 'every'": hourly and not self.is_due,
            f"unknown code {code!r}; 'usp stats' shows those of a dataset": code is not None,
            "add 'retry_failed' to 'codes': these are for sites that failed": (
                self.codes and not self.retry_failed
            ),
            "'max_failed' must be from 0 to 1": not 0 <= self.max_failed <= 1,
            "'address' is that of a Ray cluster; set 'engine' to ray": (
                self.address is not None and self.engine != "ray"
            ),
        }
        for reason in filter(wrong.__getitem__, wrong):
            raise ValueError(reason)

    @property
    def is_due(self) -> bool:
        """Whether sites are crawled of which something is due."""
        return self.due or self.every is not None

    @property
    def replaces(self) -> bool:
        """Whether sites that are in the dataset are crawled again."""
        return self.again or self.retry_failed or self.is_due
