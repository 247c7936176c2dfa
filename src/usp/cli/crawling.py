"""What every command that fetches shares: its options, its tree, and how it ends."""

from __future__ import annotations

import dataclasses
import re
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click
from click.exceptions import Exit

from usp._crawl.run import crawl_with
from usp._http.identity import DEFAULT_CONCURRENCY, DEFAULT_TIMEOUT
from usp.cli import fetching
from usp.cli.errors import FAILED, PARTIAL, json_option, tell
from usp.cli.fetching import no_warnings, read_verify
from usp.cli.local import tree_of, tree_of_stdin
from usp.cli.log import logging_to
from usp.cli.progress import Progress, progress
from usp.limits import Limits
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
)
from usp.options import CrawlOptions
from usp.stream import PageBlocks
from usp.tree import sitemap_search, website_search
from usp.web_client.requests_client import RequestsWebClient
from usp.web_client.zones import Zones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp._crawl.crawl import Crawl
    from usp._crawl.website import OneSitemap, Website
    from usp.cli.address import Address
    from usp.events import Listener
    from usp.objects.sitemap import AbstractSitemap

    F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {
    "": 1,
    "k": 1e3,
    "kb": 1e3,
    "m": 1e6,
    "mb": 1e6,
    "g": 1e9,
    "gb": 1e9,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "s": 1,
    "min": 60,
    "h": 3600,
}
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", re.IGNORECASE)
_LARGEST = 1e15
_FLOATS = frozenset({"ratio", "document_seconds", "lowest_rate", "seconds"})


@dataclass(frozen=True, slots=True)
class Crawling:
    """How the command line wants to crawl."""

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
        """Make the client that these options ask for."""
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
        """Log, and show progress, while the block runs."""
        with ExitStack() as stack:
            shown = stack.enter_context(progress(quiet=self.quiet or tell.as_json))
            stack.enter_context(logging_to(self.log_file, self.verbose))
            stack.enter_context(no_warnings())
            yield shown

    def tree(self, start: Address, on_event: Listener | None = None) -> AbstractSitemap:
        """Fetch the tree of a website or of a sitemap, or read what is here already."""
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
        """Yield the streams to try, in blocks of pages: the first one that is not a wrong guess."""
        options = dataclasses.replace(self.options, on_event=on_event)
        for search in self._searches(start):
            yield PageBlocks(search, start.start, self.client(), options, any_thread=True)

    def _searches(self, start: Address) -> Iterator[Callable[[Crawl], Website | OneSitemap]]:
        """Yield where to begin; what may be a sitemap is tried before the website is."""
        if start.is_sitemap or start.may_be_sitemap:
            yield sitemap_search(start.start, guess=start.may_be_sitemap)
        if not start.is_sitemap:
            yield website_search(start.start, self.options)


_LIMITS = ", ".join(field.name for field in dataclasses.fields(Limits))

_OPTIONS = [
    click.option("-r", "--no-robots", is_flag=True, help="Do not look for sitemaps in robots.txt."),
    click.option("-k", "--no-known", is_flag=True, help="Do not look for sitemaps at known paths."),
    click.option(
        "--user-agent",
        envvar="USP_USER_AGENT",
        metavar="NAME",
        help="User-Agent header to send.",
    ),
    click.option(
        "-H",
        "--header",
        "headers",
        multiple=True,
        metavar="NAME:VALUE",
        help="Send this header too; all but harmless ones go to the website's own host only.",
    ),
    click.option(
        "--proxy", envvar="USP_PROXY", metavar="URL", help="Fetch everything through this proxy."
    ),
    click.option(
        "--timeout",
        envvar="USP_TIMEOUT",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="How long to wait for a connection, and for each piece of an answer.",
    ),
    click.option(
        "--concurrency",
        envvar="USP_CONCURRENCY",
        type=click.IntRange(min=1, max=64),
        default=DEFAULT_CONCURRENCY,
        show_default=True,
        help="How many requests to one host at a time.",
    ),
    *fetching.OPTIONS,
    click.option(
        "--max",
        "limits",
        multiple=True,
        envvar="USP_MAX",
        metavar="NAME=VALUE",
        help="Set a limit, for example pages=1000, seconds=60, document_bytes=10MiB, depth=3; "
        f"'none' lifts one. Names: {_LIMITS}.",
    ),
    click.option(
        "--allow-network",
        multiple=True,
        envvar="USP_ALLOW_NETWORK",
        metavar="NET",
        help="Allow connections to this private network, address or host ('any': all of them).",
    ),
    click.option("--crawl-delay", is_flag=True, help="Respect Crawl-delay in robots.txt."),
    click.option("--keep-partial", is_flag=True, help="After Ctrl-C, print what was found so far."),
    click.option(
        "--strict",
        is_flag=True,
        envvar="USP_STRICT",
        help="End with status 3 if any sitemap is missing or incomplete.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
    click.option(
        "-v",
        "--verbose",
        count=True,
        metavar="",
        help="Log more: -v what is done, -vv every detail.",
    ),
    click.option(
        "-l",
        "--log-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Append the log to this file and keep the console quiet.",
    ),
    json_option,
]


def crawl_options(command: F) -> F:
    """Give a command the options of crawling; it gets them as ``crawling``."""

    def collected(**values: Any) -> Any:
        crawling = Crawling(
            options=CrawlOptions(
                limits=read_limits(values.pop("limits")),
                use_robots=not values.pop("no_robots"),
                use_known_paths=not values.pop("no_known"),
                **{name: values.pop(name) for name in ("crawl_delay", "keep_partial", "wait")},
            ),
            zones=_read_zones(values.pop("allow_network")),
            headers=tuple(map(_read_header, values.pop("headers"))),
            verify=read_verify(values.pop("ca_bundle"), insecure=values.pop("insecure")),
            **{name: values.pop(name) for name in _SAME},
        )
        tell.quiet = crawling.quiet
        tell.logs = crawling.log_file is not None and not tell.as_json
        return command(crawling=crawling, **values)

    result: Any = update_wrapper(collected, command)
    for option in reversed(_OPTIONS):
        result = option(result)
    return result  # type: ignore[no-any-return]


_SAME = (
    *("strict", "user_agent", "proxy", "timeout", "concurrency"),
    *("quiet", "verbose", "log_file"),
)


def read_limits(given: tuple[str, ...]) -> Limits:
    """Read ``NAME=VALUE`` pairs."""
    known = [field.name for field in dataclasses.fields(Limits)]
    values: dict[str, Any] = {}
    for pair in given:
        name, _, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if name not in known:
            raise click.BadParameter(
                f"there is no limit {name!r}; there are {', '.join(known)}", param_hint="--max"
            )
        values[name] = _read_number(name, text.strip())
    return Limits(**values)


def _read_number(name: str, text: str) -> float | None:
    if text.lower() == "none":
        return None
    match = _NUMBER.fullmatch(text)
    unit = _UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise click.BadParameter(
            f"{text!r} is no value for {name}; write for example {name}=1000, {name}=10MiB or "
            f"{name}=none",
            param_hint="--max",
        )
    number = float(match[1]) * unit
    if number > _LARGEST:
        raise click.BadParameter(
            f"{text[:20]} is too much for {name}; write {name}=none", param_hint="--max"
        )
    return number if name in _FLOATS else int(number)


def _read_zones(given: tuple[str, ...]) -> Zones:
    try:
        return Zones(allow=given)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--allow-network") from error


def _read_header(given: str) -> tuple[str, str]:
    name, colon, value = given.partition(":")
    if not colon or not name.strip() or not given.isprintable():
        raise click.BadParameter(
            f"{given!r} is no header; write for example 'Accept-Language: de'",
            param_hint="--header",
        )
    return name.strip(), value.strip()


def was_read(tree: AbstractSitemap, *, is_local: bool = False) -> bool:
    """Return whether anything of a tree could be read: a sitemap with pages.

    Of files an index is enough, since nothing that it declares is fetched.
    """
    index = (IndexXMLSitemap, IndexRobotsTxtSitemap) if is_local else ()
    wanted = (AbstractPagesSitemap, *index)
    return any(isinstance(node, wanted) for node in (tree, *tree.all_sitemaps()))


def end_with(tree: AbstractSitemap, start: Address, *, strict: bool, shown: bool = False) -> None:
    """End the command with the status of a tree.

    Says what is missing, unless that is ``shown`` already; then it says how much.
    """
    found = was_read(tree, is_local=start.is_local)
    failures = tree.failures()
    if start.has_path and not start.is_local and isinstance(tree, IndexWebsiteSitemap):
        tell.notice(f"{start.url} is a page: its website {tree.url} was read")
    if not failures and not found:
        tell.notice(f"no sitemaps with pages were found at {tree.url}")
    if failures:
        status = FAILED if not found else PARTIAL if strict else 0
        tell.failures(failures, status, shown=shown)
        if status:
            raise Exit(status)
