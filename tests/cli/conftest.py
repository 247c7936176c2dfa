"""A small website for the commands to read, and ways to run them."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from quick_usp import usp_command
from usp.cli import main
from website import Site, index, urlset


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def ends(
        self, status: int, *told: str, out: str | None = None, err: str | None = None
    ) -> Ended:
        """Check the exit status, what the standard error tells, and all that was written."""
        assert self.status == status
        for words in told:
            assert words in self.err
        assert out in (None, self.out)
        assert err in (None, self.err)
        return self


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command line in this process; pytest shows the last one if the test fails."""
    monkeypatch.setenv("COLUMNS", "80")

    def _run(*argv: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(argv))
        captured = capsys.readouterr()
        print("usp", *map(repr, argv))
        return Ended(ended.value.code, captured.out, captured.err)

    return _run


@pytest.fixture
def process():
    """Run a command line in a process of its own."""

    def _process(*argv: str, **options) -> subprocess.CompletedProcess:
        told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120, **options}
        return subprocess.run([*usp_command(), *argv], check=False, **told)

    return _process


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def put(here):
    """Write files into the current folder, which is the test's own."""

    def _put(files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            (here / name).parent.mkdir(exist_ok=True)
            data = content.encode() if isinstance(content, str) else content
            (here / name).write_bytes(data)

    return _put


@pytest.fixture
def stdin(monkeypatch):
    """Give data to the standard input."""

    def _stdin(data: str | bytes) -> None:
        data = data.encode() if isinstance(data, str) else data
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    return _stdin


class Address(str):
    """The address of a website, as commands take it; ``web`` is the website itself."""

    __slots__ = ("web",)


@pytest.fixture
def serve():
    """Serve a table of answers; return the address, which is ``{site}`` in them."""
    with ExitStack() as stack:

        def start(answers: Mapping[str, object], **how) -> Address:
            web = stack.enter_context(Site(answers, **how))
            address = Address(web.base)
            address.web = web
            return address

        yield start


@pytest.fixture
def site(serve):
    """A website with a robots.txt, an index with a missing child, and one at a known path."""
    return serve(
        {
            "/robots.txt": "User-agent: *\nSitemap: {site}/main.xml\n",
            "/main.xml": index("/a.xml", "/missing.xml"),
            "/a.xml": urlset("/one", "http://other.example/two", "/a b?x=1&amp;y=2"),
            "/sitemap.xml": urlset("/known", "{site}", "/"),
        }
    )
