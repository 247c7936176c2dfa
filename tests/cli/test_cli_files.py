"""Files that the command line reads and writes: whose they are, where they lead, who may read them."""

import os
import stat
from types import SimpleNamespace

import pytest

from cases import cases
from usp._base.files import replacing
from usp.cli import config
from usp.cli.commands import COMMANDS
from website import index, urlset


@pytest.fixture
def below(put, here, monkeypatch):
    """A folder below one that may have a file of options; the command runs in it."""
    put({"work/a.xml": urlset("http://h/p")})
    monkeypatch.chdir(here / "work")
    return here / "work"


def found(folder):
    file, _ = config.find(folder)
    return file and file.path


def test_options_count_if_the_file_is_the_users_own_and_others_are_told_if_they_have_any(
    below, monkeypatch
):
    for place in cases([".", ".."]):
        path = (below / place).resolve() / "usp.toml"
        path.write_text('user-agent = "x"\n')
        assert found(below) == path
        with monkeypatch.context() as patched:
            patched.setattr(os, "geteuid", lambda: 4711)
            file, (notice,) = config.find(below)
        path.unlink()
        assert file is None
        assert notice.endswith(f"belongs to another user; --config {path} reads it")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    (below / "pyproject.toml").write_text("[tool.other]\n")
    assert config.find(below) == (None, [])
    (below / "pyproject.toml").write_text("[tool.usp]\n")
    assert len(config.find(below)[1]) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_options_do_not_count_if_others_can_write_the_file(below, monkeypatch):
    monkeypatch.setattr(config, "_is_private", lambda *_: False)
    (below / "usp.toml").write_text('user-agent = "x"\n')
    for mode in cases([0o600, 0o644, 0o646, 0o664, 0o666]):
        (below / "usp.toml").chmod(mode)
        assert (found(below) is not None) == (mode in (0o600, 0o644))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such groups")
def test_a_group_of_one_user_only_may_write_the_file(monkeypatch):
    grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")
    groups = {1: ("me", []), 2: ("me", ["me"]), 3: ("me", ["you"]), 4: ("users", [])}
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_name="me"))
    monkeypatch.setattr(
        grp, "getgrgid", lambda gid: SimpleNamespace(gr_name=groups[gid][0], gr_mem=groups[gid][1])
    )
    assert [gid for gid in groups if config._is_private(gid, 1)] == [1, 2]


@pytest.mark.parametrize("place", [".", ".."])
def test_a_link_of_another_user_does_not_count(below, tmp_path, monkeypatch, place):
    own = tmp_path / "own.toml"
    own.write_text('user-agent = "x"\n')
    link = (below / place).resolve() / "usp.toml"
    link.symlink_to(own)
    assert found(below) is not None

    def lstat(path):
        found = list(os.lstat(path))
        if path == link:
            found[stat.ST_UID] = 4711
        return os.stat_result(found)

    monkeypatch.setattr(type(link), "lstat", lstat)
    assert found(below) is None


ELSEWHERE = {
    "watch": ['exec = "touch run"', 'snapshot = "old.csv"'],
    "crawl": ['output = "old.csv"', 'address = "ray://h"'],
    "check": ['output = "old.csv"', 'write-baseline = "old.csv"'],
    "report": ['compare = "http://h/"', 'output = "old.csv"'],
    "ls": [
        *('header = ["Authorization: hidden-1"]', 'proxy = "http://me:hidden-1@proxy:1"'),
        *("insecure = true", 'ca-bundle = "old.csv"', 'allow-network = ["any"]'),
        *('output = "old.csv"', 'log-file = "old.csv"', 'log-file = "../log"'),
        *('log-file = ".ssh/x"', 'log-file = "/log"', 'log-file = "link"', 'log-file = "."'),
        *('log_file = "pipe"', 'log-file = "a\\u0000"'),
    ],
}


def test_a_file_that_is_not_named_runs_replaces_and_sends_nothing(below):
    (below / "old.csv").write_text("old")
    (below / "link").symlink_to(below.parent / "log")
    if hasattr(os, "mkfifo"):
        os.mkfifo(below / "pipe")
    path = below / "usp.toml"
    for is_table in [False, True]:
        for command, setting in cases(
            [(name, one) for name, many in ELSEWHERE.items() for one in many]
        ):
            path.write_text(f"[{command}]\n{setting}\n" if is_table else f"{setting}\n")
            values, (notice,) = config.defaults(config.find(below)[0], command, COMMANDS, below)
            assert values == {}
            name = setting.partition(" ")[0].replace("_", "-")
            assert notice.startswith(f"{path}: {name} is ignored: ")
            assert notice.endswith(f"; --config {path} allows it")
            assert "hidden-1" not in notice
            if "\\u0000" not in setting:
                named = config.read_named(path)
                assert config.defaults(named, command, COMMANDS, below)[0] != {}


def test_what_is_ignored_is_told_and_the_file_can_be_named(below, run):
    (below / "usp.toml").write_text('[ls]\noutput = "pages.csv"\n')
    run("ls", "a.xml", "-f", "pages").ends(0, "output is ignored", out="http://h/p\n")
    run("ls", "a.xml", "--config", "usp.toml").ends(
        0, out="", err="usp: wrote 1 page to pages.csv\n"
    )
    assert "http://h/p" in (below / "pages.csv").read_text()


def test_a_log_file_is_in_the_folder_of_the_file_that_names_it(below, run):
    (below.parent / "usp.toml").write_text('log-file = "usp.log"\nverbose = 1\n')
    for command in ["ls", "check"]:
        for _ in range(2):  # the second time, it exists
            said = f"sets log-file = {str(below.parent / 'usp.log')!r}"
            assert said in run(command, "a.xml").err
        assert not (below / "usp.log").exists()
        assert "a.xml" in (below.parent / "usp.log").read_text()


WRONG = {
    "usp.toml": [
        *("timeout = [1]", "concurrency = inf", "concurrency = nan", "limit = -1"),
        *("strict = 1", 'strict = "maybe"', "verbose = 'x'", "ls = 3"),
        *("user-agent = true", "user-agent = {a = 1}", 'user-agent = "a\\u0000"'),
        *("max = {pages = [1]}", "max = [[1]]", 'columns = ["url"]', "include = [true]"),
        "since = [2020-01-01]",
        *("a = " + "[" * 5000, "a = " + "{a=" * 5000),
        *(f"timeout = 0x{'f' * 5000}", f"a = 1{'0' * 5000}"),
    ],
    "no command has an option --nonsense": ["nonsense = 1\n"],
    "usp ls has no option --siblings": ["[ls]\nsiblings = 1\n"],
    "cannot read ": ["a = "],
    "--since '00:00:00' is not a date": ["since = 00:00:00"],
}


def test_what_is_wrong_in_a_file_is_an_error_in_words_that_names_it(below, run):
    for said, text in [(said, text) for said, texts in WRONG.items() for text in texts]:
        (below / "usp.toml").write_text(text)
        ended = run("ls", "a.xml").ends(2, out="")
        assert ended.err.startswith("usp ls: ")
        assert said in ended.err
        assert "usp.toml" in ended.err or "--since" in said
        assert len(ended.err) < 1000


def test_a_pyproject_without_our_table_is_left_alone(below, run):
    texts = ["tool = 3", "[tool]\nusp = 3", "tool = [[1]]", "[tool.other]\nx = 1\n", "broken = "]
    for text in texts:
        (below / "pyproject.toml").write_text(text)
        assert run("ls", "a.xml").status == 0
        assert run("ls", "a.xml", "--config", "pyproject.toml").status == 2


def test_links_in_a_folder_lead_nowhere_outside(put, here, run):
    put({"secret.xml": urlset("http://h/secret"), "elsewhere/more.xml": urlset("http://h/more")})
    children = index("http://h/a.xml", "http://h/link.xml")
    put({"maps/index.xml": children, "maps/a.xml": urlset("http://h/p")})
    for link, target in {
        "link.xml": "secret.xml", "folder": "elsewhere", "inside.xml": "maps/a.xml",
    }.items():  # fmt: skip
        (here / "maps" / link).symlink_to(here / target)
    assert set(run("ls", "maps", "-f", "pages").lines) == {"http://h/p"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path):
    for mode in cases([0o600, 0o640, 0o644]):
        path = tmp_path / "pages.csv"
        path.write_text("old")
        path.chmod(mode)
        with replacing(path) as file:
            file.write(b"new")
            (part,) = tmp_path.glob(".pages.csv.*")
            assert stat.S_IMODE(part.stat().st_mode) == mode  # from the first byte on
        assert path.read_text() == "new"
        assert stat.S_IMODE(path.stat().st_mode) == mode
