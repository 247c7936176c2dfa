"""What is written about the check is so: its pages, its workflow, its hook."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from check_examples import locs, wrapped

from usp.checks import RULES
from usp.checks.formats import FORMATS
from usp.cli.commands.cmd_check import command

ROOT = Path(__file__).parents[2]
CHECK = (ROOT / "docs" / "guides" / "check.md").read_text("utf-8")
CI = (ROOT / "docs" / "guides" / "ci.md").read_text("utf-8")
WORKFLOW = (ROOT / "docs" / "examples" / "check-sitemaps.yml").read_text("utf-8")
HOOK = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))[0]
GOOD = wrapped(locs("https://tea.example/{}"))


@pytest.fixture
def public(tmp_path, monkeypatch):
    """A static website in the folder public, without sitemaps."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><title>Tea</title>")
    return folder


@pytest.fixture
def status(run):
    """Run a command as it is written; return its exit status."""
    return lambda line: run(*shlex.split(line.removeprefix("usp ")))[0]


def test_every_option_and_format_is_documented():
    params = [param for param in command.params if not getattr(param, "panel", None)]
    own = [name for param in params for name in param.opts if name.startswith("--")]
    assert "--select" in own
    assert "--all" in own
    assert [name for name in own if name not in CHECK] == []
    assert [name for name in FORMATS if f"`{name}`" not in CHECK] == []
    assert [code for code in re.findall(r"SM[0-9]{3}", CHECK + CI) if code not in RULES] == []


def test_the_workflow_is_shown_and_checks_a_folder_before_it_is_deployed(public, status):
    assert WORKFLOW in CI
    jobs = yaml.safe_load(WORKFLOW)["jobs"]
    assert jobs["deploy"]["needs"] == "check"
    (line,) = (
        step["run"] for step in jobs["check"]["steps"] if step.get("run", "").startswith("usp")
    )
    assert status(line) == 2
    (public / "sitemap.xml").write_text(GOOD.format(""))
    assert status(line) == 0
    (public / "sitemap.xml").write_text(GOOD.format("#tea"))
    assert status(line) == 1


def test_commands_of_other_systems_work(public, status):
    (public / "sitemap.xml").write_text(GOOD.format(""))
    lines = re.findall(r"(?:run: |- )(usp check public/ .*)", CI)
    assert len(lines) == 3
    assert [status(line) for line in lines] == [0, 0, 0]


def test_the_hook_checks_the_sitemaps_among_the_files_that_change(public, status):
    names = ["sitemap.xml", "sitemap-news.xml.gz", "sitemap_1.txt", "robots.txt", "index.html"]
    chosen = [name for name in names if re.search(HOOK["files"], f"public/{name}")]
    assert chosen == names[:-1]
    (public / "sitemap.xml").write_text(GOOD.format(""))
    (public / "robots.txt").write_text("User-agent: *\nAllow: /\n")
    files = "public/sitemap.xml public/robots.txt"
    assert status(f"{HOOK['entry']} --fail-on error {files}") == 0
    (public / "sitemap.xml").write_text(GOOD.format("")[:-10])
    assert status(f"{HOOK['entry']} --fail-on error {files}") == 1
