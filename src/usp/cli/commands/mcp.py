"""``usp mcp``: serves the library to language models and agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp.cli.errors import json_option, system_words, tell
from usp.cli.option_values import (
    LIMIT_NAMES,
    Interval,
    changed_limits,
    read_header,
    read_proxy,
    read_verify,
    read_zones,
)
from usp.cli.output import Command
from usp.cli.shared_options import (
    concurrency_option,
    fetch_options,
    user_agent_option,
    website_values,
)
from usp.mcp.options import CACHE_SECONDS, SERVER_LIMITS, ServerOptions
from usp.options import CrawlOptions

if TYPE_CHECKING:
    import socket

_ADDRESS = "127.0.0.1:8000"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@click.command("mcp", cls=Command)
@click.option(
    "--http",
    is_flag=False,
    flag_value=_ADDRESS,
    metavar="[HOST:PORT]",
    help="Serve over HTTP instead of the standard input and output; "
    f"{_ADDRESS} unless another address is given. Port 0 is any that is free.",
)
@click.option(
    "--expose",
    is_flag=True,
    help="With --http: allow an address that other machines can reach. There is no login: whoever "
    "reaches it can use it.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="With --http: a host name by which clients reach the server. Requests for other names are "
    "refused, which keeps web pages in a browser from using it.",
)
@click.option(
    "--snapshots",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Folder of snapshots that websites can be compared with. No other file is ever read.",
)
@click.option(
    "--cache",
    type=Interval(),
    metavar="TIME",
    default=f"{CACHE_SECONDS / 60:.0f}m",
    show_default=True,
    help="How long to keep what was fetched, for the next part of a list and for other calls.",
)
@click.option(
    "--max",
    "limits",
    multiple=True,
    envvar="USP_MAX",
    metavar="NAME=VALUE",
    help="Set a limit for each call, as in 'usp ls'. The usual ones are "
    f"seconds={SERVER_LIMITS.seconds:g}, sitemaps={SERVER_LIMITS.sitemaps}, "
    f"pages={SERVER_LIMITS.pages}. Names: {', '.join(LIMIT_NAMES)}.",
)
@click.option(
    "--allow-network",
    multiple=True,
    envvar="USP_ALLOW_NETWORK",
    metavar="NET",
    help="Allow connections to this private network, address or host ('any': all of them). Without "
    "it, only public addresses are connected to, whatever a call names.",
)
@user_agent_option
@concurrency_option
@fetch_options
@click.option("--crawl-delay", is_flag=True, help="Respect Crawl-delay in robots.txt.")
@click.option(
    "-v", "--verbose", count=True, metavar="", help="Log more: -v logs each step, -vv every detail."
)
@click.option(
    "-l",
    "--log-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append the log to this file instead of showing it.",
)
@json_option
def command(
    http: str | None, expose: bool, hosts: tuple[str, ...], log_file: Path | None, **values: Any
) -> None:
    """Serve the library to language models and agents: a Model Context Protocol server.

    It speaks on the standard input and output, as MCP clients start it, or with --http over HTTP.
    Its tools list the sitemaps of a website, list and search pages, summarise and check a website,
    compare it with a snapshot, and explain what was found. They only read; what they return is
    bounded and comes in parts.

    \b
    Examples:
      usp mcp                                as an MCP client starts it
      usp mcp --snapshots archive/           compare websites with these, too
      usp mcp --max seconds=60 --cache 1h
      usp mcp --http                         at http://127.0.0.1:8000/mcp
    """  # noqa: D301 - click knows the backspace
    from usp._base.names import MissingExtraError, load_extra
    from usp.cli.output import logging_to

    options = _options(values)
    verbose: int = values["verbose"]
    try:
        load_extra("mcp.server", "usp mcp needs the MCP SDK", "mcp")
        load_extra("aiohttp", "usp mcp needs aiohttp", "mcp")
    except MissingExtraError as error:
        raise click.ClickException(str(error)) from error
    listening = None if http is None else _listening(http, expose=expose, hosts=hosts)
    if http is None and (expose or hosts):
        raise click.UsageError("--expose and --allow-host need --http")
    with logging_to(log_file, verbose):
        if listening is None:
            _serve_streams(options)
        else:
            _serve_http(options, listening, hosts)


def _options(values: dict[str, Any]) -> ServerOptions:
    try:
        return _given_options(values)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--header") from error


def _given_options(values: dict[str, Any]) -> ServerOptions:
    return ServerOptions(
        crawl=CrawlOptions(
            limits=changed_limits(SERVER_LIMITS, values["limits"]),
            **website_values(values),
            crawl_delay=values["crawl_delay"],
            wait=values["wait"],
        ),
        zones=read_zones(values["allow_network"], trust_start=False),
        headers=tuple(map(read_header, values["headers"])),
        proxy=read_proxy(values["proxy"]),
        verify=read_verify(values["ca_bundle"], insecure=values["insecure"]),
        cache_seconds=values["cache"],
        **{name: values[name] for name in ("snapshots", "user_agent", "timeout", "concurrency")},
    )


def _serve_streams(options: ServerOptions) -> None:
    from usp.cli import INTERRUPTED
    from usp.mcp import create_server
    from usp.mcp.serving import serve_stdio

    try:
        serve_stdio(create_server(options))
    except KeyboardInterrupt:
        tell.error("interrupted", INTERRUPTED)
        os._exit(INTERRUPTED)  # a thread waits for the standard input, and would until it ends


def _serve_http(options: ServerOptions, listening: socket.socket, hosts: tuple[str, ...]) -> None:
    from usp.mcp import create_server
    from usp.mcp.serving import PATH, serve_http

    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{port}{PATH}"
    names = dict.fromkeys((*hosts, shown, *(_LOOPBACK if _is_loopback(host) else ())))
    with listening:
        serve_http(
            create_server(options),
            listening,
            tuple(names),
            lambda: tell.notice(f"serving MCP at {url}; Ctrl-C ends it", url=url),
        )


def _listening(given: str, *, expose: bool, hosts: tuple[str, ...]) -> socket.socket:
    """Return a socket that is bound to an address; raises ``BadParameter`` if it should not be."""
    import socket

    host, colon, port = given.rpartition(":")
    host = host.strip("[]") if colon else ""
    if not host or not port.isdecimal() or int(port) >= 1 << 16:
        raise click.BadParameter(
            f"{given!r} is not an address; use for example {_ADDRESS}", param_hint="--http"
        )
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[
            0
        ]
    except OSError as error:
        raise click.BadParameter(f"no such host: {host}", param_hint="--http") from error
    if not _is_loopback(str(address[0])):
        if not expose:
            raise click.BadParameter(
                f"other machines can reach {host}, and there is no login; use {_ADDRESS}, or add "
                "--expose if that is intended",
                param_hint="--http",
            )
        if not hosts and _is_any(str(address[0])):
            raise click.BadParameter(
                f"by which name do clients reach {given}? Name it with --allow-host",
                param_hint="--http",
            )
    listening = socket.socket(family, kind)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise click.ClickException(f"cannot listen at {given}: {system_words(error)}") from error
    return listening


def _is_loopback(address: str) -> bool:
    import ipaddress

    return ipaddress.ip_address(address).is_loopback


def _is_any(address: str) -> bool:
    import ipaddress

    return ipaddress.ip_address(address).is_unspecified
