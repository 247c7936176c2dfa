"""The exit status: 0 when anything was read, 1 when nothing was; ``--strict`` asks for everything."""

import io

import pytest
from cli_documents import index, urlset

COMMANDS = [
    ["ls"],
    ["ls", "-f", "pages"],
    ["ls", "-f", "csv"],
    ["ls", "-f", "jsonl", "--limit", "50"],
    ["tree"],
    ["graph"],
    ["report", "-o", "report.html"],
]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("USP_STRICT", raising=False)


@pytest.fixture
def itself(serve):
    """A website whose index lists itself, also by a redirect, beside a sitemap."""
    return serve(
        {
            "/robots.txt": "Sitemap: {site}/i.xml",
            "/i.xml": index("{site}/i.xml", "{site}/j.xml", "{site}/a.xml"),
            "/j.xml": index("{site}/i.xml#again"),
            "/a.xml": urlset("{site}/p"),
        }
    )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_hole_counts_only_if_it_is_strict(run, site, command):
    ended = run(command[0], site, *command[1:])
    assert ended.status == 0
    assert "incomplete" in ended.err
    assert "missing.xml" in (ended.out if command == ["tree"] else ended.err)
    assert run(command[0], site, "--strict", *command[1:]).status == 3


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("strict", [[], ["--strict"]])
def test_nothing_read_at_all_is_1(run, serve, command, strict):
    nobody = "http://127.0.0.1:9/"
    gone = serve({"/robots.txt": "Sitemap: {site}/a.xml"})
    for start in (nobody, gone, f"{gone}/missing.xml"):
        assert run(command[0], start, *strict, *command[1:]).status == 1


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_index_that_lists_itself_is_complete(run, itself, command):
    ended = run(command[0], itself, "--strict", *command[1:])
    assert ended.status == 0
    assert "incomplete" not in ended.err


def test_indexes_in_a_folder_that_list_each_other_are_complete(run, tmp_path):
    (tmp_path / "a.xml").write_text(index("http://h/b.xml", "http://h/c.xml"))
    (tmp_path / "b.xml").write_text(index("http://h/a.xml"))
    (tmp_path / "c.xml").write_text(urlset("http://h/1"))
    ended = run("ls", str(tmp_path), "-f", "pages", "--strict")
    assert (ended.status, ended.lines) == (0, ["http://h/1"])


def test_the_environment_and_a_file_can_be_strict(run, site, tmp_path, monkeypatch):
    monkeypatch.setenv("USP_STRICT", "1")
    assert run("ls", site).status == 3
    monkeypatch.setenv("USP_STRICT", "0")
    assert run("ls", site).status == 0
    monkeypatch.delenv("USP_STRICT")
    (tmp_path / "usp.toml").write_text("strict = true\n")
    for command in ("ls", "tree", "graph"):
        assert run(command, site).status == 3


def test_an_index_that_is_a_file_was_read(run, tmp_path, monkeypatch):
    """Nothing that a file declares is fetched, so that is not what was asked for."""
    text = index("http://h/a.xml", "http://h/b.xml")
    (tmp_path / "index.xml").write_text(text)
    assert run("tree", "index.xml").status == 0
    assert run("tree", "index.xml", "--strict").status == 3

    class Stdin:
        buffer = io.BytesIO(text.encode())

    monkeypatch.setattr("sys.stdin", Stdin())
    assert run("tree", "-").status == 0
