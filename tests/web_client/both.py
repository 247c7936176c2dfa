"""Asks both clients the same, and fakes what is around them: names, and where addresses are."""

import asyncio
import contextlib
import inspect
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import aiohttp
import requests

from usp.limits import Limits
from usp.web_client import zones
from usp.web_client.abstract_client import BrokenBody, WebClientErrorResponse
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient

KINDS = ["requests", "requests, own session", "aiohttp", "aiohttp, own session"]
OURS = ["requests", "aiohttp"]


def fetch(
    kind, *urls, start=None, limits=None, most=None, each=None, copied=None, **options
) -> list:
    """Fetch URLs with one client, in a crawl if there is a start: bodies, or errors, or what broke.

    What broke has what was received before as ``kept``. ``most`` is the limit of bytes; ``each`` is called
    with every response before its body is read. ``session`` is what a session of the user's has. With
    ``copied``, a function, every URL is fetched by a new copy of the client.
    """
    facts = start, limits or Limits(), most, each, copied
    return asyncio.run(_fetch(kind, urls, facts, options))


def respond(kind, url, **options) -> object:
    """Fetch one URL, and return its response, closed."""
    seen = []
    fetch(kind, url, each=seen.append, **options)
    return seen[0]


def _made(kind, options) -> tuple:
    """Return a client, and its session if that is a user's."""
    session, mine = dict(options.pop("session", {})), None
    if kind.startswith("requests"):
        mine = requests.Session() if "own session" in kind else None
        for name, value in session.items():
            getattr(mine, name).update(value) if name != "auth" else setattr(mine, name, value)
        return RequestsWebClient(session=mine, **options), mine
    if "own session" in kind:
        if "auth" in session:
            session["auth"] = aiohttp.BasicAuth(*session["auth"])
        mine = aiohttp.ClientSession(auto_decompress=False, **session)
    return AiohttpWebClient(session=mine, **options), mine


async def _fetch(kind, urls, facts, options) -> list:
    start, limits, most, each, copied = facts
    given, mine = _made(kind, options)
    client = given.for_crawl(start, limits) if start else given
    client.set_max_response_data_length(most)
    results, used = [], [given, mine]
    for url in urls:
        used.append(client)
        if copied is not None:
            client = copied(client)
            used.append(mine and client._session)
        results.append(await _result(await _now(client.get(url)), each))
    for one in (client, *used):
        if one is not None:
            await _now(one.close())
    return results


async def _now(value: object) -> object:
    """Return what a function of either client returns."""
    return await value if inspect.isawaitable(value) else value


async def _result(response, each) -> object:
    if each:
        each(response)
    if isinstance(response, WebClientErrorResponse):
        return response
    body, pieces = response.body(), []
    try:
        if hasattr(body, "__anext__"):
            async for piece in body:
                pieces.append(piece)  # noqa: PERF401 - those before the end are wanted too
        else:
            pieces.extend(body)
    except BrokenBody as error:
        error.kept = b"".join(pieces)
        return error
    finally:
        await _now(response.close())
    return b"".join(pieces)


def fake_names(monkeypatch, names: dict[str, list[str] | list[list[str]]]) -> list[str]:
    """Give names their addresses, one list for ever or one for each time; gives what was looked up."""
    real, asked = socket.getaddrinfo, []

    def getaddrinfo(host, port, *args, **options):
        host = host.decode() if isinstance(host, bytes) else host
        if host not in names:
            return real(host, port, *args, **options)
        asked.append(host)
        answers = names[host]
        if isinstance(answers[0], list):
            answers = answers.pop(0) if len(answers) > 1 else answers[0]
        found = (real(address, port or 0, type=socket.SOCK_STREAM) for address in answers)
        return [place for places in found for place in places]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def fake_zones(monkeypatch, **places: str) -> None:
    """Let addresses count as if they were elsewhere: ``fake_zones(patch, public="127.0.0.1")``."""
    real = zones.zone_of
    table = {
        address: zones.Zone[name.upper()]
        for name, line in places.items()
        for address in line.split()
    }
    monkeypatch.setattr(zones, "zone_of", lambda address: table.get(str(address)) or real(address))


@contextlib.contextmanager
def speaking(
    talk: Callable[[socket.socket], object],
    host: str = "127.0.0.1",
    tls=None,
    *,
    first: bool = True,
) -> Iterator[str]:
    """Serve whatever ``talk`` sends on each connection, after the first request has come; gives the URL."""
    with socket.create_server((host, 0)) as server:

        def answer(connection: socket.socket) -> None:
            with contextlib.suppress(OSError), connection:
                if tls is not None:
                    connection = tls.wrap_socket(connection, server_side=True)
                with connection:
                    if first:
                        connection.recv(65536)
                    talk(connection)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=answer, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://{host}:{server.getsockname()[1]}/"
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        thread.join(60)


def reset(connection: socket.socket) -> None:
    """Let a connection end with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
