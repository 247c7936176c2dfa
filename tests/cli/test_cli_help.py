"""Help is for whoever reads it: panels on a terminal, plain lines for a pipe, a file or a pager."""

import re
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path

import click
import pytest

from cases import cases
from usp.cli.commands import COMMANDS, SHORT_HELP
from usp.cli.commands.cmd_help import readable, topics
from usp.fleet import FleetOptions

terminals = pytest.importorskip("terminals", reason="needs pseudo-terminals")

PLAIN = """
import sys
from usp.cli import main
try:
    main({argv!r})
finally:
    assert "rich" not in sys.modules
"""


def test_help_in_a_pipe_is_plain_text_of_80_columns_and_needs_no_rich():
    for argv in cases([[], ["crawl"]]):
        command = [sys.executable, "-c", PLAIN.format(argv=[*argv, "--help"])]
        told = {"env": terminals.environment(), "capture_output": True, "text": True}
        text = subprocess.run(command, check=True, **told).stdout
        assert text.isascii()
        assert max(map(len, text.splitlines())) <= 80
        assert text.startswith(" ".join(["Usage: usp", *argv]))


def test_help_on_a_terminal_has_panels():
    assert "╭".encode() in terminals.run_on_terminal("--help", stdout="terminal").screen
    assert "╭".encode() not in terminals.run_on_terminal("--help", stdout="file").out


def options_of(name: str) -> list[click.Option]:
    """Return the options of a command, except hidden ones, which are ours alone."""
    options = (one for one in COMMANDS[name].params if isinstance(one, click.Option))
    return [option for option in options if not option.hidden]


def test_plain_help_lists_every_option_and_every_command_with_its_sentence(run):
    for name in COMMANDS:
        text = run(name, "--help-all").out
        for option in options_of(name):
            assert option.opts[-1] in text
            assert " ".join(option.help.split()) in " ".join(text.split())
    text = " ".join(run("--help").out.split())
    assert all(f"{name} {said}" in text for name, said in SHORT_HELP.items())


def test_plain_help_is_as_wide_as_it_is_told(run, monkeypatch):
    for columns, most in [("60", 60), ("nonsense", 80), ("3", 52), ("²", 80)]:
        monkeypatch.setenv("COLUMNS", columns)
        options = run("ls", "--help").out.partition("\nOptions:")[2].splitlines()
        assert max(map(len, options)) <= most


@pytest.fixture
def on_terminal(run, monkeypatch):
    """Return the help of a command as a terminal of 80 columns shows it, without colors."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    return lambda name: re.sub(r"\x1b\[[\d;]*m", "", run(name, "--help-all").out)


def test_the_help_of_usp_and_of_ls_fit_on_a_screen_of_50_lines_and_none_needs_two(run, monkeypatch):
    for columns, people in product(("80", "100"), ("", "1")):
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("FORCE_COLOR", people)
        for words in cases([[], *([name] for name in COMMANDS)]):
            assert len(run(*words, "--help").lines) <= (50 if words in ([], ["ls"]) else 80)


def test_the_panels_have_every_option_the_commands_own_first_and_examples_fit(on_terminal):
    for name in cases(COMMANDS):
        text = on_terminal(name)
        shown = re.findall(r"^│ [*]? *(--[\w-]+)", text, re.MULTILINE)
        longest = {max(option.opts, key=len) for option in options_of(name)}
        assert set(shown) >= longest - {"--no-fold"}
        assert {"--help", "--help-all"} <= set(shown)
        assert re.findall("╭─ (.*?) ─", text)[0] == "Options"
        for line in COMMANDS[name].help.partition("Examples:")[2].splitlines():
            assert line.strip() in text


def test_the_json_of_a_command_is_a_format_that_it_has(run):
    for name in cases(COMMANDS):
        forms = next((list(one.type.choices) for one in options_of(name) if one.name == "form"), [])
        said = re.findall(r"--json +The same as -f (\w+)\.", run(name, "--help").out)
        assert said == [one for one in ("json", "jsonl") if one in forms][:1]


def test_the_usual_timeout_is_that_of_the_command(run):
    for name, usual in (("ls", 60), ("crawl", FleetOptions().timeout[1])):
        help_text = " ".join(run(name, "--help-all").out.split())
        assert f"Default: 9 for a connection, {usual:g} for a part." in help_text


def test_options_that_belong_together_stand_together(run):
    sections = re.split(r"^(\w[\w ]*):\n", run("ls", "--help-all").out, flags=re.MULTILINE)
    options = dict(zip(sections[1::2], sections[2::2], strict=True))
    beginnings = {name: text.split()[0] for name, text in options.items() if name != "Usage"}
    assert beginnings == {
        "Options": "-f,",
        "Filters": "--since",
        "Where sitemaps are looked for": "-r,",
        "Requests and limits": "--user-agent",
        "Messages and exit status": "--keep-partial",
    }


ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.stem: path
    for folder in (DOCS, DOCS / "guides", DOCS / "reference")
    for path in folder.glob("*.md")
    if path.stem != "index"
} | {"cli": DOCS / "reference" / "cli" / "index.md"}


def test_every_page_is_a_topic_and_in_a_pipe_its_text_without_links_between_files(run):
    assert sorted(topics()) == sorted(PAGES)
    listed = re.findall(r"^  (\S+)  ", run("help").out, re.MULTILINE)
    assert sorted(listed) == sorted(PAGES)
    for topic in PAGES:
        shown = run("help", topic).ends(0)
        assert shown.out.startswith("# ")
        prose = re.sub(r"^```.*?^```", "", shown.out, flags=re.MULTILINE | re.DOTALL)
        assert not re.findall(r"\]\((?!https?:)\S+\)", prose)
        assert "\n<!--" not in prose
        source = PAGES[topic].read_text("utf-8")
        assert shown.out.count("\n## ") == source.count("\n## ")


def test_links_become_commands_marks_for_the_site_are_left_out_and_code_is_kept(run):
    text = "See [what changed](../guides/diff.md#x), [diff.md](diff.md), [a](b.png), [c](#d), [e](https://e.org/f.md)."
    assert readable(text) == (
        "See what changed (`usp help diff`), `usp help diff`, a, c, [e](https://e.org/f.md)."
    )
    assert readable("[All](../reference/cli/index.md#exit-status).") == "All (`usp help cli`)."
    assert readable("[Zones](../reference/api/clients.md), [ls](cli/tree.md)") == "Zones, ls"
    assert "usp help tree" not in run("help", "cli").out
    text = "# A\n\n```{toctree}\n:hidden:\n\nb\n```\n\n:::{note}\nIt is.\n:::\n\n<!-- not run: it waits -->\n```sh\nusp [x](diff.md)\n```\n"
    assert readable(text) == "# A\n\nIt is.\n\n```sh\nusp [x](diff.md)\n```"


def test_a_command_without_a_page_is_a_topic_and_an_unknown_one_names_similar_ones(run):
    assert run("help", "snapshot").out == run("snapshot", "--help").out
    run("help", "steraming").ends(2, "unknown topic 'steraming'; did you mean streaming")
    assert "did you mean tree or recipes or rules?" in run("help", "trees").err


def test_a_page_on_a_terminal_is_drawn():
    ran = terminals.run_on_terminal("help", "ci", stdout="terminal", env={"PAGER": "cat"})
    screen = "\n".join(terminals.shown(ran.screen))
    assert ran.status == 0
    assert "Check sitemaps in continuous integration" in screen
    assert "```" not in screen


def test_the_pages_are_in_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "docs" in wheel["only-include"]
    assert wheel["sources"]["docs"] == "usp/_docs"
