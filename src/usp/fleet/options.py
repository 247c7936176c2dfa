"""How the sites of a fleet are crawled: one value for every site, worker and machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from usp.limits import Limits
from usp.options import DEFAULT_CONCURRENCY, CrawlOptions

if TYPE_CHECKING:
    from usp._base.urls import Login
    from usp._http.identity import Timeout
    from usp.events import Listener
    from usp.selection import Selection
    from usp.web_client.zones import Zones

__all__ = ["FLEET_LIMITS", "FleetOptions"]

ENGINES = ("local", "ray")  # what distributes the sites: processes on this machine, or a cluster
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
    ``logins`` are those in the URLs of sites. None of these three is ever written anywhere. ``feeds``
    are more known paths of some sites.
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
    logins: dict[str, Login] = field(default_factory=dict, repr=False)
    feeds: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

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

    def for_site(self, on_event: Listener, paths: tuple[str, ...] | None = None) -> CrawlOptions:
        """Return the crawl options for one site; ``on_event`` gets its events.

        ``paths`` are the known ones that are worth a request, all by default.

        The worker itself pauses between requests, for all of its sites together, and a site whose
        crawl is cancelled is crawled again.
        """
        site = replace(self, wait=0.0, keep_partial=False, on_event=on_event)
        if paths is None:
            return site
        return replace(site, use_known_paths=False, extra_known_paths=paths)
