"""A small website for the commands to read, and a way to run them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

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


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command line in this process."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("COLUMNS", "80")

    def _run(*argv: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(argv))
        captured = capsys.readouterr()
        return Ended(ended.value.code, captured.out, captured.err)

    return _run


class Address(str):
    """The address of a website, as commands take it; ``web`` is the website itself."""

    __slots__ = ("web",)


@pytest.fixture
def serve():
    """Serve a table of answers; return the address, which is ``{site}`` in them."""
    sites = []

    def start(answers: Mapping[str, object], **how) -> Address:
        sites.append(Site(answers, **how))
        address = Address(sites[-1].base)
        address.web = sites[-1]
        return address

    yield start
    for site in sites:
        site.close()


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
