"""``usp mcp``: serves the library to language models and agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp._base.names import load_extra
from usp.cli import options
from usp.cli.errors import messages
from usp.cli.option_values import bad_value, value_of
from usp.cli.output import logging_to
from usp.mcp import CACHE_SECONDS, SERVER_LIMITS, ServerOptions
from usp.options import CrawlOptions

if TYPE_CHECKING:
    import socket

_ADDRESS = "127.0.0.1:8000"
_HTTP_PORT = 80  # which clients leave out
_BACKLOG = 2048
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@options.command("mcp")
@options.table(
    {
        "--http [HOST:PORT]": "Serve over HTTP instead of the standard input and output; "
        f"{_ADDRESS} unless another address is given. Port 0 is any that is free.",
        "--expose": "With --http: allow an address that other machines can reach; needs --token.",
        "--token TEXT": "With --http: require this text as 'Authorization: Bearer TEXT'. Other users "
        "of the machine can see options: set USP_MCP_TOKEN instead.",
        "--allow-host NAME...": "With --http: accept this Host header, NAME or NAME:PORT. Requests "
        "for other names are refused, which keeps web pages in a browser from using the server.",
        "--snapshots FOLDER": "Folder of snapshots that websites can be compared with. No other file "
        "is ever read.",
        "--cache TIME": "How long to keep what was fetched, for the next part of a list and for "
        "other calls.",
    },
    http={"flag_value": _ADDRESS},
    token={"envvar": "USP_MCP_TOKEN"},
    allow_host={"name": "hosts"},
    snapshots={"type": click.Path(exists=True, file_okay=False, path_type=Path)},
    cache={"default": f"{CACHE_SECONDS / 60:.0f}m"},
)
@options.request_options(
    limits="Set a limit for each call, as in 'usp ls'. The usual ones are "
    f"seconds={SERVER_LIMITS.seconds:g}, sitemaps={SERVER_LIMITS.sitemaps}, "
    f"pages={SERVER_LIMITS.pages}.",
    networks="Without it, only public addresses are connected to, whatever a call names.",
)
@options.concurrency
@options.log_options
@options.log_format
def command(
    http: str | None,
    expose: bool,
    token: str | None,
    hosts: tuple[str, ...],
    log_file: Path | None,
    **values: Any,
) -> None:
    """Serve the library to language models and agents (MCP).

    It speaks on the standard input and output, as MCP clients start it, or with --http over HTTP.
    Its tools list the sitemaps of a website, list and search pages, summarise and check a website,
    compare it with a snapshot, and explain what was found. They only read; what they return is
    bounded and comes in parts.

    Examples:
      usp mcp                                as an MCP client starts it
      usp mcp --snapshots archive/           compare websites with these, too
      usp mcp --max seconds=60 --cache 1h
      usp mcp --http                         at http://127.0.0.1:8000/mcp
      usp mcp --http 0.0.0.0:8000 --expose --allow-host box.lan
                                             for others, with a token
    """
    crawl, client = options.read_requests(values, SERVER_LIMITS, trust_start=False)
    client["max_concurrent_requests"] = values["concurrency"]
    kept = {"cache_seconds": values["cache"], "snapshots": values["snapshots"]}
    with value_of("--header"):
        server = ServerOptions(crawl=CrawlOptions(**crawl), client=client, **kept)
    load_extra("usp.mcp.server", "usp mcp needs the MCP SDK", "mcp")
    if http is None and (expose or hosts):
        raise click.UsageError("--expose and --allow-host need --http")
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        # Which does not repeat it.
        raise bad_value("--token", "use letters, digits and punctuation, without blanks")
    if expose and not token:
        raise click.UsageError(
            "--expose needs --token, which clients send as 'Authorization: Bearer TOKEN'; set it in "
            "the environment, for example USP_MCP_TOKEN=$(openssl rand -hex 16)"
        )
    listening = None if http is None else _listening(http, expose=expose, hosts=hosts)
    with logging_to(log_file, values["verbose"]):
        if listening is None:
            _serve_streams(server)
        else:
            _serve_http(server, listening, hosts, token or None)


def _serve_streams(given: ServerOptions) -> None:
    import signal

    from usp.cli import INTERRUPTED
    from usp.mcp.server import create_server, serve_stdio

    def interrupt(*_: object) -> None:
        messages.error("interrupted", INTERRUPTED)
        os._exit(INTERRUPTED)  # a thread waits for the standard input, and would until it ends

    signal.signal(signal.SIGINT, interrupt)
    serve_stdio(create_server(given))


def _serve_http(
    given: ServerOptions, listening: socket.socket, hosts: tuple[str, ...], token: str | None
) -> None:
    from usp.mcp.server import PATH, create_server, serve_http

    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{port}{PATH}"
    own = (shown, *_LOOPBACK) if shown in _LOOPBACK else (shown,)
    names = [*(f"{name}:{port}" for name in (*own, *hosts)), *hosts]  # a proxy has another port
    if port == _HTTP_PORT:
        names += own
    server = create_server(given)
    with listening:
        messages.notice(f"serving MCP at {url}; Ctrl-C ends it", url=url)
        serve_http(server, listening, names, token)


def _listening(given: str, *, expose: bool, hosts: tuple[str, ...]) -> socket.socket:
    """Return a socket that is bound to an address; raises ``BadParameter`` if it should not be."""
    import ipaddress
    import socket

    host, _, port = given.rpartition(":")
    if not host or not port.isdecimal() or int(port) >= 1 << 16:
        raise bad_value("--http", f"{given!r} is not an address; use for example {_ADDRESS}")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise bad_value("--http", f"no such host: {host}") from error
    family, _, _, _, address = found[0]
    number = ipaddress.ip_address(str(address[0]))
    if not (number.is_loopback or expose):
        instead = f"use {_ADDRESS}, or add --expose and --token if that is intended"
        raise bad_value("--http", f"other machines can reach {host}; {instead}")
    if number.is_unspecified and not hosts:
        ask = f"by which name do clients reach {given}? Name it with --allow-host"
        raise bad_value("--http", ask)
    dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=dual)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise click.ClickException(f"cannot listen at {given}: {reason}") from error
