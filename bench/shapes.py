"""What is measured: the sites, the jobs done on them, and who does them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.environments import CONTENDERS, OURS, PEER
from bench.wild import WAYS

if TYPE_CHECKING:
    from collections.abc import Iterator

BOTH = (OURS, PEER)
EVERYONE = tuple(CONTENDERS)
LATENCY = 0.2
_DRIP = 2_000_000.0


@dataclass(frozen=True, slots=True)
class Site:
    """A site to serve: files of a shape, URLs made while sent, or a host that is dead."""

    data: str = ""
    sitemaps: int = 0
    urls: int = 0
    generated: bool = False
    dead: str = ""
    latency: float = 0.0
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table for each contender: a job on a site, ``turns`` times a round."""

    shape: str
    label: str
    site: Site
    job: str
    contenders: tuple[str, ...] = BOTH
    expected: int = 0
    limit: float = 1800.0
    script: str | None = None
    turns: int = 1
    options: dict[str, float] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Give the name under which results are kept."""
        return f"{self.shape}: {self.label}"


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of a run."""

    plain: tuple[int, int] = (75, 2_600_000)
    rich: tuple[int, int] = (18, 180_000)
    wild: tuple[int, int] = (30, 600_000)
    way: tuple[int, int] = (5, 100_000)
    feeds: tuple[int, int] = (10, 50_000)
    latency: tuple[int, int] = (100, 2_000)
    many_small: tuple[int, int] = (5_000, 100_000)
    growth: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000)
    growth_peer: int = 1_000_000
    stream: tuple[int, int] = (50_000, 5_000_000)
    fleet: tuple[int, int] = (1000, 40)
    fleet_peer: int = 40
    limit: float = 1800.0
    dead_timeout: float = 1.0
    dead_limit: float = 600.0


FULL = Scale()
QUICK = Scale(
    plain=(20, 130_000),
    rich=(4, 8_000),
    wild=(12, 60_000),
    way=(2, 10_000),
    feeds=(4, 8_000),
    latency=(40, 800),
    many_small=(400, 8_000),
    growth=(10_000, 100_000, 400_000),
    growth_peer=10_000,
    stream=(10_000, 1_000_000),
    fleet=(200, 10),
    fleet_peer=6,
    limit=30.0,
    dead_timeout=0.5,
    dead_limit=15.0,
)

SHAPES = (
    "plain", "rich", "wild", "ways", "feeds", "gzip", "commented", "latency", "many-small",
    "growth", "dead-host", "stream", "export", "snapshot", "fleet", "same",
)  # fmt: skip


def cases(scale: Scale) -> Iterator[Case]:
    """Give everything that can be measured, in the order of the table."""
    yield from _files(scale)
    yield from _wild(scale)
    yield from _growth(scale)
    yield from _dead(scale)
    yield from _stream(scale)
    yield from _export(scale)
    yield from _snapshot(scale)
    yield from _fleet(scale)
    for data, sitemaps, urls in (("plain", *QUICK.plain), ("rich", *QUICK.rich)):
        yield Case("same", data, Site(data, sitemaps, urls), "digest", BOTH, urls, scale.limit)


def _files(scale: Scale) -> Iterator[Case]:
    limit = scale.limit
    plain, rich = Site("plain", *scale.plain), Site("rich", *scale.rich)
    yield Case("plain", "every url", plain, "urls", EVERYONE, plain.urls, limit)
    yield Case("plain", "url and three fields", plain, "fields", BOTH, plain.urls, limit)
    yield Case("rich", "every url", rich, "urls", BOTH, rich.urls, limit)
    yield Case("rich", "every field", rich, "everything", BOTH, rich.urls, limit)
    yield Case("rich", "to_dict", rich, "dictionaries", BOTH, rich.urls, limit)
    for shape in ("gzip", "commented"):
        site = Site(shape, *scale.plain)
        yield Case(shape, "every url", site, "urls", BOTH, site.urls, limit)
    slow = Site("small", *scale.latency, latency=LATENCY)
    yield Case("latency", "every url", slow, "urls", BOTH, slow.urls, limit)
    small = Site("small", *scale.many_small)
    yield Case("many-small", "every url", small, "urls", BOTH, small.urls, limit)
    script = "run_aio.py"
    yield Case("many-small", "usp.aio", small, "urls", BOTH, small.urls, limit, script)


def _wild(scale: Scale) -> Iterator[Case]:
    """Read what the web writes: all ways together, each alone, and feeds."""
    limit, wild = scale.limit, Site("wild", *scale.wild)
    yield Case("wild", "every url", wild, "urls", BOTH, wild.urls, limit)
    yield Case("wild", "url and three fields", wild, "fields", BOTH, wild.urls, limit)
    for way in WAYS:
        site = Site(f"wild {way}", *scale.way)
        yield Case("ways", way, site, "fields", BOTH, site.urls, limit)
    for kind in ("rss", "atom"):
        site = Site(kind, *scale.feeds)
        yield Case("feeds", kind, site, "everything", BOTH, site.urls, limit)


def _growth(scale: Scale) -> Iterator[Case]:
    for urls in scale.growth:
        contenders = BOTH if urls <= scale.growth_peer else (OURS,)
        site = Site(urls=urls, generated=True)
        yield Case("growth", f"{urls:,} URLs", site, "urls", contenders, urls, scale.limit)


def _dead(scale: Scale) -> Iterator[Case]:
    timeout = {"timeout": scale.dead_timeout}
    for dead in ("never answers", "refuses"):
        site = Site(dead=dead)
        turns = 9 if dead == "refuses" else 1  # a matter of milliseconds
        limit = scale.dead_limit
        yield Case("dead-host", dead, site, "urls", limit=limit, turns=turns, options=timeout)


def _stream(scale: Scale) -> Iterator[Case]:
    script = "run_stream.py"
    for urls in scale.stream:
        slow = Site(urls=urls, generated=True, rate=_DRIP)
        swift = Site(urls=urls, generated=True)
        size = f"{urls:,} URLs"
        only = (OURS,)
        limit = scale.limit
        yield Case("stream", f"first page of {size}", slow, "first", only, 1, limit, script)
        yield Case("stream", f"stop after 10 of {size}", slow, "stop", only, 10, limit, script)
        yield Case("stream", f"all of {size}", swift, "urls", only, urls, limit, script)


def _export(scale: Scale) -> Iterator[Case]:
    """Compare tables of a site with reading its URLs, which stand here once more for that."""
    site = Site("plain", *scale.plain)
    for label, job in EXPORTS.items():
        yield Case("export", label, site, job, (OURS,), site.urls, scale.limit, "run_export.py")


EXPORTS = {"every url": "urls", "parquet": "parquet", "csv": "csv", "jsonl": "jsonl"}


def _snapshot(scale: Scale) -> Iterator[Case]:
    """Record a site, load it and update it, beside crawling it and iterating over its URLs."""
    site, only, script = Site("plain", *scale.plain), (OURS,), "run_snapshot.py"
    for label, job in SNAPSHOTS.items():
        yield Case("snapshot", label, site, job, only, site.urls, scale.limit, script)


SNAPSHOTS = {
    "every url": "urls",
    "record, every url": "record",
    "iterate": "iterate",
    "load, iterate": "load",
    "update": "update",
}


def _fleet(scale: Scale) -> Iterator[Case]:
    """Crawl many sites of one kind; the peer gets a part of them, and its time is multiplied."""
    small, large = scale.fleet
    waiting, busy = Site("small", 1, 20), Site("plain", 20, 200_000)
    for label, site, count, peer, latency in (
        (f"{small:,} small sites that wait", waiting, small, scale.fleet_peer, 0.1),
        (f"{large} large sites", busy, large, -(-large // 2), 0.0),
    ):
        options = {"sites": count, "peer_sites": peer, "latency": latency}
        urls, script = count * site.urls, "run_fleet.py"
        yield Case("fleet", label, site, "fleet", BOTH, urls, scale.limit, script, options=options)
        if site is waiting:
            stored, only = f"{label}, in S3", (OURS,)
            job = "fleet in S3"
            yield Case("fleet", stored, site, job, only, urls, scale.limit, script, options=options)
