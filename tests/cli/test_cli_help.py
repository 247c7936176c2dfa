"""Help is for whoever reads it: panels on a terminal, plain lines for a pipe, a file or a pager."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import click
import pytest

from usp.cli.commands import COMMANDS, SHORT_HELP

terminals = pytest.importorskip("terminals", reason="needs pseudo-terminals")

PLAIN = """
import json, sys
from usp.cli import main
try:
    main({argv!r})
finally:
    print(json.dumps([name for name in sys.modules if name.split(".")[0] == "rich"]), file=sys.stderr)
"""


def plain(*argv: str) -> tuple[str, list[str]]:
    """Return the help of a command in a pipe, and the modules of rich that it has loaded."""
    code = PLAIN.format(argv=[*argv, "--help"])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=terminals.environment(),
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout, json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize("argv", [(), ("crawl",)])
def test_help_in_a_pipe_is_plain_text_of_80_columns_and_needs_no_rich(argv):
    text, rich = plain(*argv)
    assert text.isascii()
    assert not rich
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith(" ".join(["Usage: usp", *argv]))


def test_help_on_a_terminal_has_panels():
    assert "╭".encode() in terminals.run_on_terminal("--help", stdout="terminal").screen
    assert "╭".encode() not in terminals.run_on_terminal("--help", stdout="file").out


@pytest.mark.parametrize("name", COMMANDS)
def test_plain_help_lists_every_option(run, name):
    """Except hidden ones, which are ours alone."""
    text = run(name, "--help").out
    options = [one for one in COMMANDS[name].params if isinstance(one, click.Option)]
    for option in (one for one in options if not one.hidden):
        assert option.opts[-1] in text
        assert " ".join(option.help.split()) in " ".join(text.split())


def test_plain_help_lists_every_command_with_its_sentence(run):
    text = " ".join(run("--help").out.split())
    assert all(f"{name} {said}" in text for name, said in SHORT_HELP.items())


@pytest.mark.parametrize(("columns", "most"), [("60", 60), ("nonsense", 80), ("3", 52), ("²", 80)])
def test_plain_help_is_as_wide_as_it_is_told(run, monkeypatch, columns, most):
    monkeypatch.setenv("COLUMNS", columns)
    options = run("ls", "--help").out.partition("\nOptions:")[2].splitlines()
    assert max(map(len, options)) <= most


@pytest.fixture
def on_terminal(run, monkeypatch):
    """Return the help of a command as a terminal of 80 columns shows it, without colors."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    return lambda name: re.sub(r"\x1b\[[\d;]*m", "", run(name, "--help").out)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_panels_have_every_option_and_the_commands_own_come_first(on_terminal, name):
    text = on_terminal(name)
    shown = re.findall(r"^│ [*]? *(--[\w-]+)", text, re.MULTILINE)
    options = [one for one in COMMANDS[name].params if isinstance(one, click.Option)]
    longest = {max(one.opts, key=len) for one in options if not one.hidden}
    assert set(shown) >= longest - {"--no-fold"}
    assert re.findall("╭─ (.*?) ─", text)[0] == "Options"
    assert "--help" in text.partition("╰")[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_fit_on_a_terminal(on_terminal, name):
    for line in COMMANDS[name].help.partition("Examples:")[2].splitlines():
        assert line.strip() in on_terminal(name)


def test_options_that_belong_together_stand_together(run):
    sections = re.split(r"^(\w[\w ]*):\n", run("ls", "--help").out, flags=re.MULTILINE)
    options = dict(zip(sections[1::2], sections[2::2], strict=True))
    beginnings = {name: text.split()[0] for name, text in options.items() if name != "Usage"}
    assert beginnings == {
        "Options": "-f,",
        "Filters": "--since",
        "Where sitemaps are looked for": "-r,",
        "Requests and limits": "--user-agent",
        "Messages and exit status": "--keep-partial",
    }
