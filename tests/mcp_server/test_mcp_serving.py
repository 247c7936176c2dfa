"""The command itself: as a process on the standard streams, over HTTP, and what it refuses."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest
import requests
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from starlette.testclient import TestClient

from together import together
from usp.mcp import server as serving
from usp.mcp.server import create_server
from website import ONE_PAGE

USP = [sys.executable, "-m", "usp", "mcp"]


@pytest.fixture
def site(serve):
    return serve(ONE_PAGE)


def test_a_client_starts_the_server_and_talks_to_it_on_the_standard_streams(site, tmp_path):
    """Nothing but messages of the protocol comes on its standard output: the log goes elsewhere."""
    odd = []

    async def heard(message):
        if isinstance(message, Exception):  # a line that is not a message
            odd.append(message)

    async def whole(log):
        command, *arguments = [*USP, "-vv", "--allow-network", "127.0.0.1"]
        server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        async with Client(stdio_client(server, errlog=log), message_handler=heard) as client:
            tools = await client.list_tools()
            found = await client.call_tool("list_pages", {"url": site.base})
            refused = await client.call_tool("list_pages", {"url": "http://10.0.0.1/"})
        return tools, found, refused

    with (tmp_path / "log").open("w") as log:
        tools, found, refused = asyncio.run(whole(log))
    assert len(tools.tools) == 5
    assert found.structured_content["pages"][0]["url"] == f"{site.base}/tea"
    assert refused.is_error
    assert not odd
    assert f"{site.base}/a.xml" in (tmp_path / "log").read_text()


def test_a_client_that_goes_away_ends_the_server_quietly():
    """Writing to it fails in a task, whose failure comes in a group."""

    async def gone():
        raise ExceptionGroup("tasks", [ExceptionGroup("of a task", [BrokenPipeError()])])

    serving.serve_stdio(SimpleNamespace(run_stdio_async=gone))


def test_over_http_only_the_names_of_this_machine_are_served(site):
    process = subprocess.Popen(
        [*USP, "--http", "127.0.0.1:0", "--allow-network", "127.0.0.1", "--json"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = json.loads(process.stderr.readline())["url"]

        async def whole():
            async with Client(url) as client:
                return await client.call_tool("list_pages", {"url": site.base})

        assert asyncio.run(whole()).structured_content["total"] == 1
        port = url.split(":")[2].removesuffix("/mcp")
        for (name, status), values in NAMED.items():
            for value in (text.replace("PORT", port) for text in values):
                answer = requests.post(url, json={}, headers={name: value}, timeout=60)
                assert answer.status_code == status, (name, value)
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=60)
    assert out == ""


SERVED = 400  # a request that means nothing
NAMED = {
    ("Host", SERVED): ["localhost:PORT", "[::1]:PORT"],
    ("Host", 421): [
        *("evil.example", "evil.example:PORT", "localhost.evil.example:PORT", "localhost"),
        *("localhost:PORT.evil.example", "localhost:PORT0", "127.0.0.1:PORT@x", "localhost.:PORT"),
        *("[::1%25lo]:PORT", "127.0.0.2:PORT", "localhost:1", ""),
    ],
    ("Origin", SERVED): [f"http://{name}:PORT" for name in ("localhost", "127.0.0.1", "[::1]")],
    ("Origin", 403): [
        *("http://localhost.evil.example", "http://localhost:PORT.evil.example", "null"),
        *("http://localhost", "http://localhost:1", "http://localhost:PORT0"),
        *("http://localhost:PORT/", "ftp://localhost:PORT", "localhost:PORT"),
        *("http://x@localhost:PORT", "http://localhost:PORT http://evil.example"),
        "http://evil.example",
    ],
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def initialize(said):
    client = {"name": said, "version": "1"}
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}


def test_what_a_client_says_of_itself_is_short_and_not_kept():
    app = serving.http_app(create_server(), ["tea.example"])
    with TestClient(app, "http://tea.example") as client:
        answers = [client.post("/mcp", json=initialize("x"), headers=ACCEPT) for _ in range(3)]
        large = client.post("/mcp", json=initialize("x" * serving.MOST_BODY), headers=ACCEPT)
        listening, ending = client.get("/mcp", headers=ACCEPT), client.delete("/mcp")
    assert [answer.status_code for answer in answers] == [200] * 3
    assert not any("mcp-session-id" in answer.headers for answer in answers)
    assert large.status_code == 413
    assert listening.status_code == ending.status_code == 405


def test_with_a_token_only_those_that_have_it_are_served():
    app = serving.http_app(create_server(), ["tea.example"], "tea")
    wrong = ("Bearer teapot", "Bearer te", "Bearer ", "Basic tea", "tea")
    with TestClient(app, "http://tea.example") as client:
        for status, values in ((200, ("Bearer tea", "bearer tea")), (401, (None, *wrong))):
            for value in values:
                sent = {} if value is None else {"Authorization": value}
                answer = client.post("/mcp", json=initialize("x"), headers=ACCEPT | sent)
                assert answer.status_code == status, value


@pytest.fixture
def refused(run):
    """Check that the command ends at once, with a status and with words."""

    def check(arguments, said, status=2):
        ended, _, told = run("mcp", *shlex.split(arguments))
        assert ended == status
        assert said in told

    return check


@together(
    "arguments, said",
    [
        ("--http 0.0.0.0:0", "add --expose and --token"),
        ("--http [::]:0", "add --expose and --token"),
        ("--http 0.0.0.0:0 --expose", "--expose needs --token"),
        ("--http 127.0.0.1:0 --expose", "--expose needs --token"),
        ("--http 0.0.0.0:0 --expose --token ''", "--expose needs --token"),
        ("--http 0.0.0.0:0 --expose --token 'a b'", "without blanks"),
        ("--http 0.0.0.0:0 --expose --token tea", "Name it with --allow-host"),
        *(("--http 8000", "is not an address"), ("--http 127.0.0.1:99999", "is not an address")),
        *(("--expose", "need --http"), ("--allow-host x", "need --http")),
        *(("--snapshots nowhere", "nowhere"), ("--max tea=1", "unknown limit 'tea'")),
        *(("--cache soon", "is not a time"), ("--allow-network 10.0.0.1/8", "is not a network")),
        ("-H 'Authorization: Bearer tea'", "sent to every website that a model names"),
    ],
)
def test_what_cannot_be_served_is_refused_before_anything_is(arguments, said, refused):
    refused(arguments, said)


def test_the_folder_in_which_a_client_starts_it_cannot_open_it(monkeypatch, tmp_path, refused):
    (tmp_path / "usp.toml").write_text('[mcp]\nexpose = true\nallow-host = "x"\n')
    monkeypatch.chdir(tmp_path)
    refused("--http 0.0.0.0:0", "add --expose and --token")


def test_without_the_extra_the_command_says_how_to_install_it(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "usp.mcp.server", None)
    refused("", "usp mcp needs the MCP SDK: pip install 'usp[mcp]'", 1)


def test_the_library_and_the_help_do_not_load_the_sdk():
    code = (
        "import sys, usp.mcp\nusp.mcp.ServerOptions()\n"
        "from usp.cli import main\n"
        "try:\n    main(['mcp', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "print(sorted({'mcp', 'pydantic', 'aiohttp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
