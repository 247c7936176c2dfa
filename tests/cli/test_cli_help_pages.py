"""``usp help`` shows the pages of the documentation, readable where links cannot be followed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from usp.cli.help_pages import readable, topics

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.stem: path
    for folder in (DOCS, DOCS / "guides", DOCS / "reference")
    for path in folder.glob("*.md")
    if path.stem != "index"
} | {"cli": DOCS / "reference" / "cli" / "index.md"}


def test_every_page_of_the_documentation_is_a_topic(run):
    assert sorted(topics()) == sorted(PAGES)
    listed = re.findall(r"^  (\S+)  ", run("help").out, re.MULTILINE)
    assert sorted(listed) == sorted(PAGES)


@pytest.mark.parametrize("topic", PAGES)
def test_a_page_in_a_pipe_is_its_text_without_links_between_files(topic, run):
    shown = run("help", topic)
    assert shown.status == 0
    assert shown.out.startswith("# ")
    prose = re.sub(r"^```.*?^```", "", shown.out, flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"\]\((?!https?:)\S+\)", prose)
    assert "\n<!--" not in prose
    source = PAGES[topic].read_text("utf-8")
    assert shown.out.count("\n## ") == source.count("\n## ")


def test_a_link_becomes_the_command_that_shows_its_page():
    text = "See [what changed](../guides/diff.md#x), [diff.md](diff.md), [a](b.png), [c](#d), [e](https://e.org/f.md)."
    assert readable(text) == (
        "See what changed (`usp help diff`), `usp help diff`, a, c, [e](https://e.org/f.md)."
    )


def test_marks_for_the_site_and_its_tests_are_left_out_and_code_is_kept():
    text = "# A\n\n```{toctree}\n:hidden:\n\nb\n```\n\n:::{note}\nIt is.\n:::\n\n<!-- not run: it waits -->\n```sh\nusp [x](diff.md)\n```\n"
    assert readable(text) == "# A\n\nIt is.\n\n```sh\nusp [x](diff.md)\n```"


def test_the_topic_of_a_command_without_a_page_is_its_help(run):
    assert run("help", "snapshot").out == run("snapshot", "--help").out


def test_an_unknown_topic_is_an_error_that_names_similar_ones(run):
    ended = run("help", "steraming")
    assert ended.status == 2
    assert "unknown topic 'steraming'; did you mean streaming" in ended.err


def test_a_topic_that_is_also_a_command_is_named_once(run):
    assert "did you mean tree or rules?" in run("help", "trees").err


def test_a_link_leads_to_no_other_page_of_the_same_name(run):
    assert readable("[All](../reference/cli/index.md#exit-status).") == "All (`usp help cli`)."
    assert readable("[Zones](../reference/api/clients.md), [ls](cli/tree.md)") == "Zones, ls"
    assert "usp help tree" not in run("help", "cli").out


def test_a_page_on_a_terminal_is_drawn():
    terminals = pytest.importorskip("terminals", reason="needs pseudo-terminals")
    ran = terminals.run_on_terminal("help", "ci", stdout="terminal", env={"PAGER": "cat"})
    screen = "\n".join(terminals.shown(ran.screen))
    assert ran.status == 0
    assert "Check sitemaps in continuous integration" in screen
    assert "```" not in screen


def test_the_pages_are_in_the_wheel():
    if not (ROOT / "pyproject.toml").exists():  # pragma: no cover
        pytest.skip("these are not the sources")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "docs" in wheel["only-include"]
    assert wheel["sources"]["docs"] == "usp/_docs"
