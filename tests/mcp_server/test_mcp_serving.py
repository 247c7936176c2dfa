"""The command itself: as a process on the standard streams, over HTTP, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest
import requests
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_documents import robots, urlset

from usp.cli import main
from usp.mcp import serving

USP = [sys.executable, "-m", "usp", "mcp"]


@pytest.fixture
def site(serve):
    return serve({"/robots.txt": robots("{base}/a.xml"), "/a.xml": urlset(("{base}/tea", ""))})


def test_a_client_starts_the_server_and_talks_to_it_on_the_standard_streams(site, tmp_path):
    """Nothing but messages of the protocol comes on its standard output: the log goes elsewhere."""
    odd = []

    async def heard(message):
        if isinstance(message, Exception):  # a line that is not a message
            odd.append(message)

    async def whole(log):
        command, *arguments = USP
        server = StdioServerParameters(
            command=command, args=[*arguments, "-vv", "--allow-network", "127.0.0.1"]
        )
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


def test_a_client_that_goes_away_ends_the_server_quietly(monkeypatch):
    """Writing to it fails in a task, whose failure comes in a group."""

    async def gone(_):
        raise ExceptionGroup("tasks", [ExceptionGroup("of a task", [BrokenPipeError()])])

    monkeypatch.setattr(serving, "_stdio", gone)
    serving.serve_stdio(None)


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
        for header in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            answer = requests.post(url, json={}, headers=header, timeout=60)
            assert answer.status_code in (403, 421)
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=60)
    assert out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--http", "0.0.0.0:0"], "there is no login"),
        (["--http", "[::]:0"], "there is no login"),
        (["--http", "0.0.0.0:0", "--expose"], "Name it with --allow-host"),
        (["--http", "8000"], "is not an address"),
        (["--http", "127.0.0.1:99999"], "is not an address"),
        (["--expose"], "need --http"),
        (["--allow-host", "x"], "need --http"),
        (["--snapshots", "nowhere"], "nowhere"),
        (["--max", "tea=1"], "unknown limit 'tea'"),
        (["--cache", "soon"], "is not a time"),
        (["-H", "Authorization: Bearer tea"], "sent to every website that a model names"),
        (["--allow-network", "10.0.0.1/8"], "is not a network"),
    ],
)
def test_what_cannot_be_served_is_refused_before_anything_is(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["mcp", *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_folder_in_which_a_client_starts_it_cannot_open_it(monkeypatch, tmp_path, capsys):
    (tmp_path / "usp.toml").write_text('[mcp]\nexpose = true\nallow-host = "x"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["mcp", "--http", "0.0.0.0:0"])
    assert ended.value.code == 2
    assert "there is no login" in capsys.readouterr().err


def test_without_the_extra_the_command_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(SystemExit) as ended:
        main(["mcp"])
    assert ended.value.code == 1
    assert "usp mcp needs the MCP SDK: pip install 'usp[mcp]'" in capsys.readouterr().err


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
