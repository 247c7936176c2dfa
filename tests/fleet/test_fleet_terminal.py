"""A fleet on a terminal: the live line leaves nothing behind, and captures nothing."""

import re
import sys

import pytest

from website import SITEMAP_NS, Answer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs pseudo-terminals")

if sys.platform == "linux":
    from terminals import run_on_terminal, run_plain, shown


def neutral(line: str) -> str:
    return re.sub(r"\d+\.\d+(?: s)?|\b\d+ ms", "N", line)


@pytest.mark.long
def test_a_dataset_is_made_and_summed_up_the_same(serve, tmp_path):
    pytest.importorskip("duckdb")

    body = f'<urlset xmlns="{SITEMAP_NS}"><url><loc>http://h/1</loc></url></urlset>'
    site = serve({"/sitemap.xml": Answer(body, delay=0.4)})
    (tmp_path / "sites.txt").write_text(f"{site.base}\n")
    argv = ["crawl", "sites.txt", "--allow-network", "any", "--workers", "1", "-o"]
    plain = run_plain(*argv, "plain", cwd=tmp_path)
    ran = run_on_terminal(*argv, "shown", stdout="file", cwd=tmp_path)
    assert (ran.status, ran.out) == (plain.returncode, plain.stdout) == (0, b"")
    assert b"sites/s" in ran.screen
    told = [neutral(line).replace("plain", "shown") for line in plain.stderr.decode().splitlines()]
    assert list(map(neutral, shown(ran.screen))) == told
    plain = run_plain("stats", "plain", cwd=tmp_path)
    ran = run_on_terminal("stats", "plain", stdout="file", cwd=tmp_path)
    assert (ran.status, ran.out) == (0, plain.stdout)
    ran = run_on_terminal("stats", "plain", stdout="terminal", cwd=tmp_path)
    lines = [line.rstrip() for line in plain.stdout.decode().splitlines()]
    assert [line.rstrip() for line in shown(ran.screen)] == lines
