"""A command line loads what it needs, and not the rest."""

import json
import os
import subprocess
import sys

import pytest

from cases import cases
from usp import graph
from usp.cli.commands import COMMANDS, SHORT_HELP
from usp.cli.commands import cmd_tree as tree_options
from website import robots, urlset

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="runs commands in copies")

LOADED = """
import json, os, sys
from usp.cli import cli, main  # which every command loads
for argv in json.loads(sys.argv[1]):
    if os.fork() == 0:
        try:
            main(argv)
        except SystemExit as ended:
            print(json.dumps(sorted(sys.modules)), file=sys.stderr)
            os._exit(ended.code or 0)
    if os.wait()[1]:
        sys.exit(1)
"""


def loaded(*commands: list[str]) -> list[set[str]]:
    """Return the modules that each of some commands has loaded."""
    command = [sys.executable, "-c", LOADED, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return [set(json.loads(line)) for line in done.stderr.splitlines()]


MACHINERY = {
    *("requests", "urllib3", "aiohttp", "pyarrow", "duckdb", "dateutil", "ssl", "asyncio"),
    *("usp.tree", "usp._crawl", "usp.web_client", "usp._formats", "usp.objects", "usp.export"),
    *("usp.graph", "usp.report", "usp.fleet.run", "usp.fleet.dataset", "usp._demo"),
    *(f"usp.cli.commands.cmd_{name}" for name in COMMANDS),
}


def test_help_loads_no_machinery():
    for modules in cases(loaded(["--help"], ["--version"], [])):
        assert not modules & MACHINERY


def test_the_help_of_a_command_loads_nothing_that_it_runs():
    helped = loaded(*([name, "--help"] for name in COMMANDS))
    for name, modules in cases(zip(COMMANDS, helped, strict=True)):
        file = {"update": "snapshot", "convert": "stats", "forget": "stats"}.get(name, name)
        own = {f"usp.cli.commands.cmd_{file}", "usp.objects"}  # which has the codes of failures
        assert not modules & (MACHINERY - own)


def test_options_list_what_the_library_writes():
    assert set(tree_options.GRAPHS) == set(graph.__all__)
    assert tree_options.SIBLINGS == graph.MOST_SIBLINGS


def test_a_command_loads_no_other(put):
    put({"a.xml": urlset("http://h/1")})
    (modules,) = loaded(["ls", "a.xml", "-f", "csv"])
    assert not modules & {"aiohttp", "pyarrow", "duckdb", "usp.fleet", "usp.report", "usp._demo"}
    others = {f"usp.cli.commands.cmd_{name}" for name in COMMANDS if name != "ls"}
    assert not modules & others


def test_checking_a_small_website_loads_only_what_its_sitemaps_need(serve):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})
    (modules,) = loaded(["tree", str(site), "-q", "--allow-network", "any"])
    assert "usp.checks.rules" in modules
    unused = {
        *("export", "changes", "report", "stream", "tree", "fetch_parse", "selection"),
        *("_crawl.hints", "_crawl.page_stream", "_inputs.local_files"),
        *(f"_formats.{name}" for name in ("feeds", "json_feeds", "llms_txt", "opml")),
        *("checks.fetching", "checks.ignores"),
    }
    assert {f"usp.{name}" for name in unused} & modules == set()


def test_completion_knows_options_and_commands_without_loading_them(run, monkeypatch):
    monkeypatch.setenv("_USP_COMPLETE", "bash_complete")
    for words, number, known in [("usp ls --si", "2", ["--site"]), ("usp ", "1", COMMANDS)]:
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", number)
        assert {f"plain,{name}" for name in known} <= set(run().lines)
    (modules,) = loaded([])
    assert "usp.cli.commands.cmd_ls" not in modules


def test_the_list_of_commands_says_what_their_own_help_says():
    for name in cases(COMMANDS):
        first = COMMANDS[name].help.split("\n\n")[0]
        assert " ".join(first.split()) == SHORT_HELP[name]


WITHOUT = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
import usp
exec(sys.argv[2])
"""
MAIN = "from usp.cli import main; main({!r})"
NEEDS = [  # what is missing, what is run, the extra that has it
    ("aiohttp", "usp.AiohttpWebClient", "async"),
    (
        "aiohttp",
        "import asyncio; asyncio.run(usp.aio.sitemap_tree_for_sitemap('http://h/'))",
        "async",
    ),
    ("aiohttp", "usp.fleet.crawl_fleet(['http://h/'], 'dataset')", "fleet"),
    ("pyarrow", "usp.fleet.open('dataset')", "fleet"),
    ("uvicorn", "usp.mcp.create_server()", "mcp"),
    ("mcp", MAIN.format(["mcp"]), "mcp"),
    ("aiohttp", MAIN.format(["crawl", "sites.txt", "-o", "dataset"]), "fleet"),
    ("aiohttp,pyarrow", MAIN.format(["crawl", "sites.txt", "-o", "dataset"]), "fleet"),
    ("aiohttp,pyarrow", MAIN.format(["stats", "dataset"]), "fleet"),
    ("warcio", MAIN.format(["watch", "http://127.0.0.1:9/"]), "warc"),
    ("warcio", MAIN.format(["snapshot", "http://127.0.0.1:9/", "-o", "new.warc.gz"]), "warc"),
]


def test_what_lacks_an_extra_names_it_and_ends(tmp_path):
    (tmp_path / "sites.txt").write_text("http://127.0.0.1:9/\n")
    for missing, code, extra in cases(NEEDS):
        command = [sys.executable, "-c", WITHOUT, missing, code]
        options = {"capture_output": True, "text": True, "timeout": 60, "cwd": tmp_path}
        done = subprocess.run(command, check=False, **options)
        assert done.returncode == 1
        last = done.stderr.splitlines()[-1]
        assert f"pip install 'usp[{extra}]'" in last
        assert ("Traceback" in done.stderr) is ("main" not in code)
