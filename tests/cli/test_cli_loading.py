"""A command line loads what it needs, and not the rest."""

from __future__ import annotations

import json
import subprocess
import sys

from usp import graph
from usp.cli.commands import COMMANDS, SHORT_HELP
from usp.cli.commands import cmd_graph as graph_command
from usp.cli.commands import cmd_ls as list_options
from usp.export import COLUMNS, FORMATS
from usp.export.sitemaps import SITEMAP_COLUMNS, SITEMAP_FORMATS
from website import urlset

LOADED = """
import json, sys
from usp.cli import main
try:
    main({argv!r})
except SystemExit as ended:
    status = ended.code or 0
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
sys.exit(status)
"""


def loaded(*argv: str) -> set[str]:
    command = [sys.executable, "-c", LOADED.format(argv=list(argv))]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


MACHINERY = {
    *("requests", "urllib3", "aiohttp", "pyarrow", "duckdb", "dateutil", "ssl", "asyncio"),
    *("usp.tree", "usp._crawl", "usp.web_client", "usp._formats", "usp.objects", "usp.export"),
    *("usp.graph", "usp.report", "usp.fleet.run", "usp.fleet.dataset", "usp._demo"),
    *(f"usp.cli.commands.cmd_{name}" for name in COMMANDS),
}


def test_help_loads_no_machinery(subtests):
    for argv in [["--help"], ["--version"], []]:
        with subtests.test(argv=argv):
            assert not loaded(*argv) & MACHINERY


def test_the_help_of_a_command_loads_nothing_that_it_runs(subtests):
    for name in COMMANDS:
        with subtests.test(name=name):
            own = {f"usp.cli.commands.cmd_{name}", "usp.objects"}  # which has the codes of failures
            assert not loaded(name, "--help") & (MACHINERY - own)


def test_options_list_what_the_library_writes():
    assert list(list_options.TABLES) == list(FORMATS)
    assert list(list_options.COLUMNS) == list(COLUMNS)
    assert list(list_options.SITEMAP_TABLES) == list(SITEMAP_FORMATS)
    assert list(list_options.SITEMAP_COLUMNS) == list(SITEMAP_COLUMNS)
    assert set(graph_command.LANGUAGES) == set(graph.__all__)
    assert graph_command.SIBLINGS == graph.MOST_SIBLINGS


def test_a_command_loads_no_other(put):
    put({"a.xml": urlset("http://h/1")})
    modules = loaded("ls", "a.xml", "-f", "csv")
    assert not modules & {"aiohttp", "pyarrow", "duckdb", "usp.fleet", "usp.report", "usp._demo"}
    others = {f"usp.cli.commands.cmd_{name}" for name in COMMANDS if name != "ls"}
    assert not modules & others


def test_completion_of_a_name_loads_no_command(run, monkeypatch):
    asked = {"_USP_COMPLETE": "bash_complete", "COMP_WORDS": "usp ", "COMP_CWORD": "1"}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert all(f"plain,{name}" in run().lines for name in COMMANDS)
    assert "usp.cli.commands.cmd_ls" not in loaded()


def test_the_list_of_commands_says_what_their_own_help_says(subtests):
    for name in COMMANDS:
        with subtests.test(name=name):
            first = COMMANDS[name].help.split("\n\n")[0]
            assert " ".join(first.split()) == SHORT_HELP[name]
