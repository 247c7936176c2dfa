"""Arguments and options that several commands share; how values are read is in ``option_values``.

They are declared without loading what they are for: the help needs none of it.
"""

from __future__ import annotations

from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click
from click import get_current_context
from click.core import ParameterSource

from usp.cli.errors import MESSAGES, json_message_option, tell
from usp.cli.option_values import (
    LIMIT_NAMES,
    Integer,
    Number,
    read_header,
    read_limits,
    read_proxy,
    read_verify,
    read_zones,
)
from usp.options import DEFAULT_CONCURRENCY, CrawlOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from usp.cli.crawling import Address

    F = TypeVar("F", bound=Callable[..., Any])

# The columns of usp.export, which the help lists without loading it.
COLUMNS = (
    *("url", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap"),
    *("news", "images", "videos", "alternates", "mobile"),
)


# Where to read, and where to write ----------------------------------------------------------------


def address_type(text: str) -> Address:
    """Return the address that a user wrote."""
    from usp.cli.crawling import address

    return address(text)


url_argument = click.argument("start", metavar="URL", type=address_type)
"""A website, a sitemap, a file, a folder or the standard input."""


def is_from_file(parameter: str) -> bool:
    """Return whether the value of a parameter was read from a configuration file."""
    return get_current_context().get_parameter_source(parameter) is ParameterSource.DEFAULT_MAP


# How requests are made ----------------------------------------------------------------------------


_website_option = partial(click.option, panel="Where sitemaps are looked for")
request_option = partial(click.option, panel="Requests and limits")
message_option = partial(click.option, panel=MESSAGES)

_WEBSITE_OPTIONS = [
    _website_option(
        "-r", "--no-robots", is_flag=True, help="Do not look for sitemaps in robots.txt."
    ),
    _website_option(
        "-k", "--no-known", is_flag=True, help="Do not look for sitemaps at well-known paths."
    ),
    _website_option(
        "--known-path",
        "known_paths",
        multiple=True,
        metavar="PATH",
        help="Also look for a sitemap at this path of the website, such as maps/all.xml.",
    ),
    _website_option(
        "--html-links",
        is_flag=True,
        help="Also follow sitemaps and feeds that the homepage names in <link> elements.",
    ),
]
_FETCH_OPTIONS = [
    request_option(
        "--timeout",
        envvar="USP_TIMEOUT",
        type=Number(min=0, min_open=True),
        metavar="SECONDS",
        help="Time to wait for a connection, and for each part of a response.",
    ),
    request_option(
        "--wait",
        envvar="USP_WAIT",
        type=Number(min=0, max=86_400),
        default=0.0,
        metavar="SECONDS",
        help="Pause between requests to the same host, which are then sent one at a time.",
    ),
    request_option(
        "--ca-bundle",
        envvar="USP_CA_BUNDLE",
        type=click.Path(exists=True, path_type=Path),
        metavar="FILE",
        help="Trust the certificate authorities in this PEM file or folder.",
    ),
    request_option(
        "--insecure",
        envvar="USP_INSECURE",
        is_flag=True,
        help="Do not verify TLS certificates.",
    ),
    request_option(
        "-H",
        "--header",
        "headers",
        multiple=True,
        metavar="NAME:VALUE",
        help="Additional header to send. Headers that may hold secrets are sent to the website's own "
        "host only.",
    ),
    request_option(
        "--proxy", envvar="USP_PROXY", metavar="URL", help="Send all requests through this proxy."
    ),
]
user_agent_option = request_option(
    "--user-agent", envvar="USP_USER_AGENT", metavar="NAME", help="User-Agent header to send."
)
concurrency_option = request_option(
    "--concurrency",
    envvar="USP_CONCURRENCY",
    type=Integer(min=1, max=64),
    metavar="N",
    default=DEFAULT_CONCURRENCY,
    show_default=True,
    help="Maximum number of simultaneous requests to one host.",
)
_CRAWL_OPTIONS = [
    *_WEBSITE_OPTIONS,
    user_agent_option,
    concurrency_option,
    *_FETCH_OPTIONS,
    request_option(
        "--max",
        "limits",
        multiple=True,
        envvar="USP_MAX",
        metavar="NAME=VALUE",
        help="Set a limit, for example pages=1000, seconds=60, document_bytes=10MiB or depth=3; "
        f"'none' removes it. Names: {', '.join(LIMIT_NAMES)}.",
    ),
    request_option(
        "--allow-network",
        multiple=True,
        envvar="USP_ALLOW_NETWORK",
        metavar="NET",
        help="Allow connections to this private network, address or host ('any': all of them).",
    ),
    _website_option(
        "--site",
        metavar="URL",
        help="Website or sitemap to read from a WARC file that has several.",
    ),
    request_option("--crawl-delay", is_flag=True, help="Respect Crawl-delay in robots.txt."),
    message_option(
        "--keep-partial", is_flag=True, help="After Ctrl-C, keep what was found so far."
    ),
    message_option(
        "--strict",
        is_flag=True,
        envvar="USP_STRICT",
        help="Exit with status 3 if any sitemap is missing or incomplete.",
    ),
    message_option("-q", "--quiet", is_flag=True, help="Show no progress and no notices."),
    message_option(
        "-v",
        "--verbose",
        count=True,
        metavar="",
        help="Log more: -v logs each step, -vv every detail.",
    ),
    message_option(
        "-l",
        "--log-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Append the log to this file instead of showing it.",
    ),
    json_message_option,
]
_AS_GIVEN = (
    *("strict", "user_agent", "timeout", "concurrency"),
    *("quiet", "verbose", "log_file", "site"),
)


def fetch_options(command: F) -> F:
    """Return a command with the options of every command that sends requests."""
    for option in reversed([*_WEBSITE_OPTIONS, *_FETCH_OPTIONS]):
        command = option(command)
    return command


def crawl_options(command: F) -> F:
    """Return a command with the options of a crawl; it receives them as ``crawling``."""

    def collected(**values: Any) -> Any:
        from usp.cli.crawling import Crawling
        from usp.cli.output import logging_to

        crawling = Crawling(
            options=CrawlOptions(
                limits=read_limits(values.pop("limits")),
                **website_values(values),
                **{name: values.pop(name) for name in ("crawl_delay", "keep_partial", "wait")},
            ),
            zones=read_zones(values.pop("allow_network")),
            headers=tuple(map(read_header, values.pop("headers"))),
            proxy=read_proxy(values.pop("proxy")),
            verify=read_verify(values.pop("ca_bundle"), insecure=values.pop("insecure")),
            **{name: values.pop(name) for name in _AS_GIVEN},
        )
        tell.quiet = crawling.quiet
        tell.logs = crawling.log_file is not None and not tell.as_json
        if crawling.log_file is None:
            return command(crawling=crawling, **values)
        with logging_to(crawling.log_file, crawling.verbose):
            return command(crawling=crawling, **values)

    result: Any = update_wrapper(collected, command)
    for option in reversed(_CRAWL_OPTIONS):
        result = option(result)
    return result  # type: ignore[no-any-return]


# Their values -------------------------------------------------------------------------------------


def website_values(values: dict[str, Any]) -> dict[str, Any]:
    """Take where a website's sitemaps are looked for out of the values; return it as options."""
    return {
        "use_robots": not values.pop("no_robots"),
        "use_known_paths": not values.pop("no_known"),
        "extra_known_paths": values.pop("known_paths") or None,
        "use_html_links": values.pop("html_links"),
    }
