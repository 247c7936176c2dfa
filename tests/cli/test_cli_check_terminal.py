"""``usp check`` and ``usp rule`` on terminals, narrow ones too: colors, and lines that fit."""

from __future__ import annotations

import re
import sys

import pytest

from website import urlset

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pseudo-terminals")

if sys.platform == "linux":
    from terminals import run_on_terminal

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sitemap.xml").write_text(
        urlset("<url><loc>/tea</loc></url>", "https://example.org/a-green-tea#x")
    )
    return tmp_path


def shown(*argv: str, cwd, stdout: str = "terminal", columns: int = 40) -> str:
    ran = run_on_terminal(*argv, cwd=cwd, stdout=stdout, columns=columns)
    return (ran.screen if stdout == "terminal" else ran.out).decode().replace("\r\n", "\n")


def test_lines_fit_into_a_narrow_terminal(folder):
    text = _STYLE.sub("", shown("check", ".", "--select", "SM401,SM407", "-q", cwd=folder))
    assert "the URL is relative: '/tea'" in text
    assert "  SM401 Write the whole URL, with its\n        scheme and host.\n" in text
    page = _STYLE.sub("", shown("rule", "SM407", cwd=folder))
    long = [line for line in page.split("\n") if len(line) > 40]
    assert [line for line in long if "http" not in line] == []


def test_severities_have_colors_on_a_terminal_only(folder):
    argv = ("check", ".", "--select", "SM401", "-q")
    assert "\x1b[31m\x1b[1merror" in shown(*argv, cwd=folder)
    assert "\x1b" not in shown(*argv, cwd=folder, stdout="pipe")
    assert "\x1b" not in shown("rule", "SM401", cwd=folder, stdout="pipe")
