"""Files that the command line reads and writes: whose they are, where they lead, who may read them."""

from __future__ import annotations

import os
import stat

import pytest

from usp._base.files import replacing
from usp.cli import config, main
from website import index, urlset


@pytest.fixture
def below(tmp_path, monkeypatch):
    """A folder below one that may have a file of options; the command runs in it."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code, capsys.readouterr()


def test_options_in_a_folder_above_count_if_they_are_the_users_own(below, monkeypatch):
    (below.parent / "usp.toml").write_text('user-agent = "x"\n')
    assert config.find(below) == (below.parent / "usp.toml", {"user-agent": "x"})
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert config.find(below) is None
    assert config.find(below.parent) is not None  # the user's own choice of a folder


def test_a_link_of_another_user_in_a_folder_above_does_not_count(below, tmp_path, monkeypatch):
    own = tmp_path / "own.toml"
    own.write_text('user-agent = "x"\n')
    link = below.parent / "usp.toml"
    link.symlink_to(own)
    assert config.find(below) is not None

    def lstat(path):
        found = list(os.lstat(path))
        if path == link:
            found[stat.ST_UID] = 4711
        return os.stat_result(found)

    monkeypatch.setattr(type(link), "lstat", lstat)
    assert config.find(below) is None


@pytest.mark.parametrize("table", ["", "[tree]\n"])
@pytest.mark.parametrize("proxy", ["http://me:hidden-1@proxy:1", "me:hidden-1@proxy:1"])
def test_the_password_of_a_proxy_from_above_is_not_told(below, capsys, table, proxy):
    (below / "a.xml").write_text(urlset("http://h/p"))
    (below.parent / "usp.toml").write_text(f'{table}proxy = "{proxy}"\n')
    _, said = run(capsys, "ls", "a.xml")
    assert "sets proxy" in said.err
    assert "proxy:1" in said.err
    assert "hidden-1" not in said.out + said.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('log-file = "log.txt"\n', "sets log-file = 'log.txt'"),
        ('[ls]\nproxy = "http://proxy:1"\n', "sets proxy = 'http://proxy:1'"),
        ('user-agent = "x"\n', None),
    ],
)
def test_options_from_above_that_send_data_elsewhere_are_told(below, capsys, text, told):
    (below / "a.xml").write_text(urlset("http://h/p"))
    (below.parent / "usp.toml").write_text(text)
    _, above = run(capsys, "ls", "a.xml", "-f", "pages")
    assert (told in above.err) if told else above.err == ""
    assert above.out == "http://h/p\n"
    (below.parent / "usp.toml").rename(below / "usp.toml")
    _, here = run(capsys, "ls", "a.xml", "-f", "pages")
    assert "sets " not in here.err


def test_links_in_a_folder_lead_nowhere_outside(below, tmp_path, capsys):
    secret = tmp_path / "secret.xml"
    secret.write_text(urlset("http://h/secret"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "more.xml").write_text(urlset("http://h/more"))
    folder = below / "maps"
    folder.mkdir()
    (folder / "index.xml").write_text(index("http://h/a.xml", "http://h/link.xml"))
    (folder / "a.xml").write_text(urlset("http://h/p"))
    (folder / "link.xml").symlink_to(secret)
    (folder / "folder").symlink_to(elsewhere)
    (folder / "inside.xml").symlink_to(folder / "a.xml")
    _, said = run(capsys, "ls", folder, "-f", "pages")
    assert set(said.out.split()) == {"http://h/p"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "pages.csv"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as file:
        file.write(b"new")
        (part,) = tmp_path.glob(".pages.csv.*")
        assert stat.S_IMODE(part.stat().st_mode) == mode  # from the first byte on
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
