"""Arguments and options that several commands share, and how their values are read.

They are declared without loading what they are for: the help needs none of it.
"""

from __future__ import annotations

import dataclasses
import errno
import math
import os
import re
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click
from click import get_current_context
from click.core import ParameterSource

from usp.cli.errors import json_option, tell
from usp.limits import Limits
from usp.options import DEFAULT_CONCURRENCY, CrawlOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from usp.cli.crawling import Address
    from usp.web_client.zones import Zones

    F = TypeVar("F", bound=Callable[..., Any])

_COUNTS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}
_SIZES = _COUNTS | {"kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_TIMES = {"": 1, "s": 1, "min": 60, "h": 3600}
_PROXIES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", re.IGNORECASE)
_LARGEST = 1e15
_FLOATS = frozenset({"ratio", "document_seconds", "lowest_rate", "seconds"})
_IN_BYTES = frozenset({"document_bytes", "unpacked_bytes", "spool_bytes", "lowest_rate"})
# The columns of usp.export, which the help lists without loading it.
COLUMNS = (
    *("url", "lastmod", "lastmod_precision", "changefreq", "priority", "sitemap"),
    *("news", "images", "videos", "alternates", "mobile"),
)

LIMIT_NAMES = tuple(field.name for field in dataclasses.fields(Limits))


# Where to read, and where to write ----------------------------------------------------------------


def address_type(text: str) -> Address:
    """Return the address that a user wrote."""
    from usp.cli.crawling import address

    return address(text)


url_argument = click.argument("start", metavar="URL", type=address_type)
"""A website, a sitemap, a file, a folder or the standard input."""


class Target(click.ParamType):  # type: ignore[type-arg]  # generic in new versions only
    """The value of ``-o``: the path of a file, or None for ``-``, which is the standard output.

    A file that cannot be written is refused before anything is fetched for it.
    """

    name = "file"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | None:
        """Return the path, after checking that a file can be created there."""
        if str(value) == "-":
            return None
        path = Path(value)
        reason = _refusal(path)
        if reason:
            self.fail(reason, param, ctx)
        return path


def _refusal(path: Path) -> str | None:
    """Return why a file cannot be written; None if it can."""
    from usp._base.files import new_file

    try:
        if path.is_dir():
            return f"{str(path)!r} is a folder; name a file in it"
        if path.exists() and not path.is_file():
            return None if os.access(path, os.W_OK) else f"cannot write to {str(path)!r}"
        if not path.parent.is_dir():
            return f"there is no folder {str(path.parent)!r}; create it first"
        with new_file(path):
            return None
    except OSError as error:
        # Folders such as /proc take no files, and report that they do not exist.
        is_odd = error.errno == errno.ENOENT
        reason = "no file can be created in that folder" if is_odd else error.strerror or error
        return f"cannot write to {str(path)!r}: {reason}"


def is_from_file(parameter: str) -> bool:
    """Return whether the value of a parameter was read from a configuration file."""
    return get_current_context().get_parameter_source(parameter) is ParameterSource.DEFAULT_MAP


# Numbers ----------------------------------------------------------------------------------------


class Integer(click.IntRange):
    """An integer within bounds."""

    name = "integer"  # click's messages call it an integer range


class Number(click.FloatRange):
    """A number within bounds."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, after checking that it is one."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):  # passes every bound
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return number


# How requests are made ----------------------------------------------------------------------------


_WEBSITE_OPTIONS = [
    click.option("-r", "--no-robots", is_flag=True, help="Do not look for sitemaps in robots.txt."),
    click.option(
        "-k", "--no-known", is_flag=True, help="Do not look for sitemaps at well-known paths."
    ),
    click.option(
        "--known-path",
        "known_paths",
        multiple=True,
        metavar="PATH",
        help="Also look for a sitemap at this path of the website, such as maps/all.xml.",
    ),
    click.option(
        "--html-links", is_flag=True, help="Also follow sitemaps that the homepage links to."
    ),
]
_FETCH_OPTIONS = [
    click.option(
        "--timeout",
        envvar="USP_TIMEOUT",
        type=Number(min=0, min_open=True),
        metavar="SECONDS",
        help="Time to wait for a connection, and for each part of a response.",
    ),
    click.option(
        "--wait",
        envvar="USP_WAIT",
        type=Number(min=0, max=86_400),
        default=0.0,
        metavar="SECONDS",
        help="Pause between requests to the same host, which are then sent one at a time.",
    ),
    click.option(
        "--ca-bundle",
        envvar="USP_CA_BUNDLE",
        type=click.Path(exists=True, path_type=Path),
        metavar="FILE",
        help="Trust the certificate authorities in this PEM file or folder.",
    ),
    click.option(
        "--insecure",
        envvar="USP_INSECURE",
        is_flag=True,
        help="Do not verify TLS certificates.",
    ),
    click.option(
        "-H",
        "--header",
        "headers",
        multiple=True,
        metavar="NAME:VALUE",
        help="Additional header to send. Headers that may hold secrets are sent to the website's own "
        "host only.",
    ),
    click.option(
        "--proxy", envvar="USP_PROXY", metavar="URL", help="Send all requests through this proxy."
    ),
]
_CRAWL_OPTIONS = [
    *_WEBSITE_OPTIONS,
    click.option(
        "--user-agent",
        envvar="USP_USER_AGENT",
        metavar="NAME",
        help="User-Agent header to send.",
    ),
    click.option(
        "--concurrency",
        envvar="USP_CONCURRENCY",
        type=Integer(min=1, max=64),
        metavar="N",
        default=DEFAULT_CONCURRENCY,
        show_default=True,
        help="Maximum number of simultaneous requests to one host.",
    ),
    *_FETCH_OPTIONS,
    click.option(
        "--max",
        "limits",
        multiple=True,
        envvar="USP_MAX",
        metavar="NAME=VALUE",
        help="Set a limit, for example pages=1000, seconds=60, document_bytes=10MiB or depth=3; "
        f"'none' removes it. Names: {', '.join(LIMIT_NAMES)}.",
    ),
    click.option(
        "--allow-network",
        multiple=True,
        envvar="USP_ALLOW_NETWORK",
        metavar="NET",
        help="Allow connections to this private network, address or host ('any': all of them).",
    ),
    click.option(
        "--site",
        metavar="URL",
        help="Website or sitemap to read from a WARC file that has several.",
    ),
    click.option("--crawl-delay", is_flag=True, help="Respect Crawl-delay in robots.txt."),
    click.option("--keep-partial", is_flag=True, help="After Ctrl-C, keep what was found so far."),
    click.option(
        "--strict",
        is_flag=True,
        envvar="USP_STRICT",
        help="Exit with status 3 if any sitemap is missing or incomplete.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
    click.option(
        "-v",
        "--verbose",
        count=True,
        metavar="",
        help="Log more: -v logs each step, -vv every detail.",
    ),
    click.option(
        "-l",
        "--log-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Append the log to this file instead of showing it.",
    ),
    json_option,
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


def read_limits(given: tuple[str, ...]) -> Limits:
    """Return the limits of ``NAME=VALUE`` pairs."""
    values: dict[str, Any] = {}
    for pair in given:
        name, _, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if name not in LIMIT_NAMES:
            raise click.BadParameter(
                f"unknown limit {name!r}; choose from {', '.join(LIMIT_NAMES)}", param_hint="--max"
            )
        values[name] = _read_number(name, text.strip())
    return Limits(**values)


def _read_number(name: str, text: str) -> float | None:
    if text.lower() == "none":
        return None
    match = _NUMBER.fullmatch(text)
    units = _TIMES if name.endswith("seconds") else _SIZES if name in _IN_BYTES else _COUNTS
    unit = units.get(match[2].lower()) if match else None
    is_part = match is not None and unit == 1 and "." in match[1] and name not in _FLOATS
    if match is None or unit is None or is_part:
        example = "10MiB" if name.endswith("_bytes") else "1000"
        raise click.BadParameter(
            f"{text!r} is not a valid value for {name}; use for example {name}={example}, or "
            f"{name}=none for no limit",
            param_hint="--max",
        )
    number = float(match[1]) * unit
    if number > _LARGEST:
        raise click.BadParameter(
            f"{text[:20]} is too large for {name}; use {name}=none", param_hint="--max"
        )
    return number if name in _FLOATS else int(number)


def read_zones(given: tuple[str, ...], *, trust_start: bool = True) -> Zones:
    """Return the networks that may be connected to."""
    from usp.web_client.zones import Zones

    try:
        return Zones(allow=given, trust_start=trust_start)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--allow-network") from error


def read_header(given: str) -> tuple[str, str]:
    """Return the name and the value of a header."""
    name, colon, value = given.partition(":")
    if not colon or not name.strip() or not given.isprintable():
        raise click.BadParameter(
            f"{given!r} is not a header; use for example 'Accept-Language: de'",
            param_hint="--header",
        )
    return name.strip(), value.strip()


def read_proxy(given: str | None) -> str | None:
    """Return the URL of a proxy; a message does not repeat it, since it may hold a password."""
    scheme, colon, _ = (given or "").partition("://")
    if colon and scheme.lower() not in _PROXIES:
        raise click.BadParameter(
            f"{scheme!r} is not the scheme of a proxy; use for example http://localhost:3128",
            param_hint="--proxy",
        )
    return given


def read_verify(ca_bundle: Path | None, *, insecure: bool) -> bool | str:
    """Return whether certificates are verified, or the path of the authorities to trust."""
    from usp._http.identity import trusting

    if insecure:
        if ca_bundle is not None:
            raise click.UsageError("--insecure and --ca-bundle cannot be used together")
        return False
    if ca_bundle is None:
        return True
    try:
        trusting(str(ca_bundle))
    except OSError as error:
        raise click.BadParameter(
            f"no certificates found in {str(ca_bundle)!r}; it must be PEM",
            param_hint="--ca-bundle",
        ) from error
    return str(ca_bundle)
