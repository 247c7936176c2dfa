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

from usp.cli import option_values
from usp.cli.errors import MESSAGES, common_message_options, messages
from usp.limits import DEFAULT
from usp.options import DEFAULT_CONCURRENCY, CrawlOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    # For the signatures of commands, too.
    from usp._inputs import Input as Input  # noqa: PLC0414
    from usp.cli.run_options import RunOptions as RunOptions  # noqa: PLC0414
    from usp.limits import Limits
    from usp.selection import Selection

    F = TypeVar("F", bound=Callable[..., Any])

# The columns of usp.export, which the help lists without loading it.
COLUMNS = (
    *("url", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap"),
    *("news", "images", "videos", "alternates", "mobile"),
)

_WEBSITE, _REQUESTS, _FILTERS = "Where sitemaps are looked for", "Requests and limits", "Filters"
flag = partial(click.option, is_flag=True)
_website_flag = partial(flag, panel=_WEBSITE)
request_option = partial(click.option, panel=_REQUESTS)
message_flag = partial(flag, panel=MESSAGES)
_filter_option = partial(click.option, panel=_FILTERS)
_filter_flag = partial(flag, panel=_FILTERS)


def with_options(command: F, options: Sequence[Callable[[F], F]]) -> F:
    """Return a command with these options, in the order in which the help lists them."""
    for option in reversed(options):
        command = option(command)
    return command


def set_in_config(parameter: str) -> bool:
    """Return whether the value of a parameter was read from a configuration file."""
    return get_current_context().get_parameter_source(parameter) is ParameterSource.DEFAULT_MAP


def output(*names: str, must_be_file: bool = False, **more: Any) -> Callable[[F], F]:
    """Return the option for the file that a command writes."""
    path = option_values.new_path if must_be_file else option_values.output_file
    return click.option("-o", "--output", *names, type=path, metavar="FILE", **more)


def form(*, choices: Sequence[str], **more: Any) -> Callable[[F], F]:
    """Return the option for the format in which a command writes, as the parameter ``form``."""
    return click.option("-f", "--format", "form", type=click.Choice(choices), **more)


def format_for(
    target: Path | None,
    given: str | None,
    suffixes: Mapping[str, str],
    usual: str,
    *,
    is_needed: bool = True,
) -> str:
    """Return the format that was given; the suffix of a file counts more than a configuration file.

    Without either it is the ``usual`` one, which is not enough for a file if one ``is_needed``.
    """
    if target is not None and (given is None or set_in_config("form")):
        given = suffixes.get(option_values.suffix_of(target), given)
        if given is None and is_needed:
            known = ", ".join(suffixes)
            reason = f"no format given for {target.name!r}; use -f, or one of the suffixes {known}"
            raise option_values.bad_value("--output", reason)
    return given or usual


def number(*names: str, most: int | None = None, **more: Any) -> Callable[[F], F]:
    """Return an option for a number from 1 on; the help shows its default."""
    integer = option_values.Integer(min=1, max=most)
    return click.option(*names, type=integer, metavar="N", show_default="default" in more, **more)


# What to read -------------------------------------------------------------------------------------


def input_type(text: str) -> Input:
    """Return what a user named: a website, a sitemap, a file, a folder or the standard input."""
    from usp._base.urls import BadUrl, redact_url
    from usp._inputs import read_input

    try:
        return read_input(text)
    except BadUrl:
        raise click.UsageError(
            f"{redact_url(text)!r} is neither a URL nor an existing file or folder; "
            "use for example https://example.org"
        ) from None


url_argument = click.argument("start", metavar="URL", type=input_type)


# How requests are made ----------------------------------------------------------------------------


_WEBSITE_OPTIONS = [
    _website_flag("-r", "--no-robots", help="Do not look for sitemaps in robots.txt."),
    _website_flag("-k", "--no-known", help="Do not look for sitemaps at well-known paths."),
    click.option(
        "--known-path",
        "known_paths",
        panel=_WEBSITE,
        multiple=True,
        metavar="PATH",
        help="Also look for a sitemap at this path of the website, such as maps/all.xml.",
    ),
    _website_flag(
        "--html-links",
        help="Also follow sitemaps and feeds that the homepage names in <link> elements.",
    ),
]
_CLIENT_OPTIONS = [
    request_option(
        "--user-agent", envvar="USP_USER_AGENT", metavar="NAME", help="User-Agent header to send."
    ),
    request_option(
        "--timeout",
        envvar="USP_TIMEOUT",
        type=option_values.Number(min=0, min_open=True),
        metavar="SECONDS",
        help="Time to wait for a connection, and for each part of a response.",
    ),
    request_option(
        "--wait",
        envvar="USP_WAIT",
        type=option_values.Number(min=0, max=86_400),
        default=0.0,
        metavar="SECONDS",
        help="Pause between requests to the same host, which are then sent one at a time.",
    ),
    request_option("--crawl-delay", is_flag=True, help="Respect Crawl-delay in robots.txt."),
    request_option(
        "--ca-bundle",
        envvar="USP_CA_BUNDLE",
        type=click.Path(exists=True, path_type=Path),
        metavar="FILE",
        help="Trust the certificate authorities in this PEM file or folder.",
    ),
    request_option(
        "--insecure", envvar="USP_INSECURE", is_flag=True, help="Do not verify TLS certificates."
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
_LOG_OPTIONS = [
    click.option(
        "-v",
        "--verbose",
        panel=MESSAGES,
        count=True,
        metavar="",
        help="Log more: -v logs each step, -vv every detail.",
    ),
    click.option(
        "-l",
        "--log-file",
        panel=MESSAGES,
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Append the log to this file instead of showing it.",
    ),
]
_SET_A_LIMIT = (
    "Set a limit, for example pages=1000, seconds=60, document_bytes=10MiB or depth=3; 'none' "
    "removes it."
)
log_options: Callable[[F], F] = partial(with_options, options=_LOG_OPTIONS)
concurrency = number(
    "--concurrency",
    panel=_REQUESTS,
    envvar="USP_CONCURRENCY",
    most=64,
    default=DEFAULT_CONCURRENCY,
    help="Maximum number of simultaneous requests to one host.",
)


def request_options(*, limits: str = _SET_A_LIMIT, networks: str = "") -> Callable[[F], F]:
    """Return a decorator with the options of every command that sends requests.

    :func:`read_requests` reads them. ``limits`` and ``networks`` are for the help of ``--max`` and
    ``--allow-network``.
    """
    allow = "Allow connections to this private network, address or host ('any': all of them)."
    options = [
        *_WEBSITE_OPTIONS,
        *_CLIENT_OPTIONS,
        request_option(
            "--max",
            "limits",
            multiple=True,
            envvar="USP_MAX",
            metavar="NAME=VALUE",
            help=f"{limits} Names: {', '.join(option_values.LIMIT_NAMES)}.",
        ),
        request_option(
            "--allow-network",
            multiple=True,
            envvar="USP_ALLOW_NETWORK",
            metavar="NET",
            help=f"{allow} {networks}".rstrip(),
        ),
    ]
    return partial(with_options, options=options)


def read_requests(
    values: dict[str, Any], usual: Limits = DEFAULT, *, trust_start: bool = True
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take the values of :func:`request_options` out: the options of a crawl, and of its client.

    ``usual`` are the limits of the command.
    """
    crawl = {
        "limits": option_values.read_limits(values.pop("limits"), usual),
        "use_robots": not values.pop("no_robots"),
        "use_known_paths": not values.pop("no_known"),
        "extra_known_paths": values.pop("known_paths") or None,
        "use_html_links": values.pop("html_links"),
        "crawl_delay": values.pop("crawl_delay"),
        "wait": values.pop("wait"),
    }
    client = {
        "zones": option_values.read_zones(values.pop("allow_network"), trust_start=trust_start),
        "headers": dict(map(option_values.read_header, values.pop("headers"))),
        "proxy": option_values.read_proxy(values.pop("proxy")),
        "verify": option_values.read_verify(
            values.pop("ca_bundle"), insecure=values.pop("insecure")
        ),
        "user_agent": values.pop("user_agent"),
    }
    timeout = values.pop("timeout")
    return crawl, client if timeout is None else client | {"timeout": timeout}


# A crawl of one website ---------------------------------------------------------------------------


accept = flag(
    "--accept", help="Take the website as it is now, even if more than half of the pages are gone."
)
_RUN_OPTIONS = [
    request_options(),
    concurrency,
    click.option(
        "--site",
        panel=_WEBSITE,
        metavar="URL",
        help="Website or sitemap to read from a WARC file that has several.",
    ),
    message_flag("--keep-partial", help="After Ctrl-C, keep what was found so far."),
    message_flag(
        "--strict",
        envvar="USP_STRICT",
        help="Exit with status 3 if any sitemap is missing or incomplete.",
    ),
    message_flag("-q", "--quiet", help="Show no progress and no notices."),
    *_LOG_OPTIONS,
    common_message_options,
]
_AS_GIVEN = ("strict", "quiet", "verbose", "log_file", "site")


def run_options(command: F) -> F:
    """Return a command with the options of a crawl; it receives them as ``run``."""

    def collected(**values: Any) -> Any:
        from usp.cli.output import logging_to
        from usp.cli.run_options import RunOptions

        crawl, client = read_requests(values)
        client["max_concurrent_requests"] = values.pop("concurrency")
        options = CrawlOptions(**crawl, keep_partial=values.pop("keep_partial"))
        run = RunOptions(options, client, **{name: values.pop(name) for name in _AS_GIVEN})
        messages.quiet = run.quiet
        messages.logs = run.log_file is not None and not messages.as_json
        if run.log_file is None:
            return command(run=run, **values)
        with logging_to(run.log_file, run.verbose):
            return command(run=run, **values)

    result: Any = update_wrapper(collected, command)
    return with_options(result, _RUN_OPTIONS)  # type: ignore[no-any-return]


# Which pages --------------------------------------------------------------------------------------


_FILTER_OPTIONS = [
    _filter_option(
        "--since",
        metavar="DATE",
        help="Only pages last modified (or, failing that, published) on this date or later: 2025, "
        "2025-01-31, or 12h, 7d, 4w ago. Pages without a date are kept. Sitemaps whose lastmod in the "
        "index is older are not downloaded.",
    ),
    _filter_option(
        "--until", metavar="DATE", help="Only pages last modified on or before this date."
    ),
    _filter_flag("--dated", help="Leave out pages without a date."),
    _filter_option(
        "--include",
        multiple=True,
        metavar="PATTERN",
        help="Only pages whose URL matches: '*/blog/*', '/blog/*' from the start of the path, or "
        "'re:/20[0-9]{2}/' for a regular expression. 'sitemap:*news*' matches the URL of the sitemap;"
        " others that an index lists are not downloaded.",
    ),
    _filter_option(
        "--exclude", multiple=True, metavar="PATTERN", help="Leave out pages that match."
    ),
    _filter_flag(
        "--no-skip",
        help="Download every sitemap, even where --since, --include or --exclude skip it by its date "
        "or URL in the index.",
    ),
    _filter_flag("--unique", help="Each URL once, even if several sitemaps have it."),
    _filter_flag("--same-host", help="Only pages on the website's own host."),
]


def read_selection(values: dict[str, Any], **more: Any) -> Selection | None:
    """Take the filters out of the values; return them, or None if every page is wanted.

    ``no_skip`` stays there.
    """
    from usp.selection import Selection

    names = ("since", "until", "include", "exclude", "unique", "same_host")
    given = {name: values.pop(name) for name in names} | more
    try:
        selection = Selection(**given, keep_undated=not values.pop("dated"))
    except ValueError as error:  # which names the parameters
        message = f"--{error}".replace("after until", "after --until")
        raise click.UsageError(message) from error
    return None if selection.takes_all else selection


def filter_options(command: F) -> F:
    """Return a command with the options that choose pages."""
    return with_options(command, _FILTER_OPTIONS)
