"""What this machine is short of is waited for, or ends the run; no site is blamed for it."""

import errno
import socket
import subprocess
import sys
from unittest.mock import Mock

import pytest
from fleet_support import ALLOWED, COMMAND, HERE, check_truth

from usp._base import shortage
from usp._base.shortage import shortage_of
from usp.exceptions import LocalShortageError
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, robots, urlset

resource = pytest.importorskip("resource")


def limited(descriptors: int, program: str, *arguments: str, hard: bool = True):
    """Run a program that may have so many descriptors open."""
    limit = f"({descriptors}, {descriptors if hard else 'before[1]'})"
    code = (
        "import resource\n"
        "before = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, {limit})\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code + program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE,
        timeout=300,
    )


@pytest.mark.long
@pytest.mark.parametrize(("descriptors", "hard"), [(128, True), (64, False)])
def test_a_fleet_finds_everything_with_few_descriptors(fleet, root, tmp_path, descriptors, hard):
    sites, some = tmp_path / "sites.txt", fleet.sites[:40]
    sites.write_text("\n".join(site.url for site in some))
    done = limited(descriptors, COMMAND, str(sites), "-o", str(root), *ALLOWED, hard=hard)
    assert done.returncode == 0, done.stderr
    assert "open files" not in done.stderr
    check_truth(root, some)


MANY_TREES = """
import asyncio, sys
from usp.aio import sitemap_tree_for_homepage
from usp.limits import Limits

async def main():
    trees = await asyncio.gather(*map(sitemap_tree_for_homepage, sys.argv[1:]))
    for tree in trees:
        print(tree.url, tree.page_count(), *(failure.reason for failure in tree.failures()))

asyncio.run(main())
"""


@pytest.mark.long
def test_many_trees_at_a_time_are_the_same_with_few_descriptors(fleet):
    urls = [site.url for site in fleet.sites if site.outcome == "complete"][:40]
    few = limited(100, MANY_TREES, *urls)
    assert few.returncode == 0, few.stderr
    many = limited(4096, MANY_TREES, *urls)
    assert few.stdout == many.stdout
    assert len(few.stdout.splitlines()) == len(urls)


# Errors that say so -----------------------------------------------------------------------------------


class ShortClient(RequestsWebClient):
    """A client on a machine that is short of something for its first requests."""

    max_concurrent_requests = 4

    def __init__(self, code: int, times: int) -> None:
        super().__init__()
        self.code = code
        self.times = times

    def get(self, url):
        if self.times:
            self.times -= 1
            raise OSError(self.code, "short of it")
        return super().get(url)


SITE = {"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml"), "/a.xml": urlset("/p", "/q")}
WAITED_OUT = [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS]


@pytest.mark.parametrize("code", WAITED_OUT, ids=errno.errorcode.get)
def test_a_shortage_that_passes_leaves_no_trace_and_one_that_stays_ends_the_crawl_with_advice(
    serve, monkeypatch, code
):
    site = serve(SITE)
    tree = sitemap_tree_for_homepage(site.base, ShortClient(code, 7))
    assert tree == sitemap_tree_for_homepage(site.base)
    assert tree.is_complete
    assert [page.url for page in pages(site.base, ShortClient(code, 3))] == [
        page.url for page in tree.all_pages()
    ]

    monkeypatch.setattr("usp._crawl.schedule.SHORTAGE_SECONDS", 0.3)
    with pytest.raises(LocalShortageError) as ended:
        sitemap_tree_for_homepage(site.base, ShortClient(code, 10**9))
    assert ended.value.errno == code
    assert "fetch less at a time" in str(ended.value)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT], ids=errno.errorcode.get)
def test_a_full_disk_ends_the_crawl_at_once(serve, monkeypatch, code):
    full = Mock(side_effect=OSError(code, "full"))
    monkeypatch.setattr("usp._store.tempfile.TemporaryFile", full)
    site = serve({"/a.xml": urlset(*(f"/{n}" + "x" * 500 for n in range(1000)))})
    with pytest.raises(LocalShortageError, match="TMPDIR"):
        sitemap_tree_for_sitemap(site.url("/a.xml"))


def test_an_error_of_the_website_is_still_its_own(serve):
    site = serve({"/a.xml": Answer(hang_up=True)})
    (failure,) = sitemap_tree_for_sitemap(site.url("/a.xml")).failures()
    assert failure.url == site.url("/a.xml")


# What is a shortage -----------------------------------------------------------------------------------


def test_a_shortage_is_found_wherever_a_library_has_put_it():
    inner = OSError(errno.EMFILE, "Too many open files")
    wrapped = ConnectionError("could not connect")
    wrapped.__cause__ = inner
    in_arguments = RuntimeError(RuntimeError("retries", wrapped))
    assert shortage_of(in_arguments) == errno.EMFILE
    assert shortage_of(MemoryError()) == errno.ENOMEM
    for other in (OSError(errno.ECONNREFUSED, "refused"), ValueError("x"), TimeoutError()):
        assert shortage_of(other) is None


def test_a_name_that_cannot_be_looked_up_is_a_shortage_only_without_descriptors(monkeypatch):
    unknown = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    assert shortage_of(unknown) is None
    monkeypatch.setattr(shortage, "_left", lambda: 0)
    assert shortage_of(unknown) == errno.EMFILE


def test_requests_are_begun_while_there_are_descriptors_for_them(monkeypatch):
    guard = shortage._Descriptors()
    monkeypatch.setattr(shortage, "descriptor_limit", lambda: 100)
    monkeypatch.setattr(shortage, "_open_descriptors", lambda: 60)
    assert guard.begin(10) == 10
    assert guard.begin(10) == 5  # a quarter is for others
    assert guard.begin(10) == 0
    guard.give_back(3)
    assert guard.begin(10) == 3
    assert guard.scarce()
    monkeypatch.setattr(shortage, "descriptor_limit", lambda: None)
    guard._counted_at = 0.0
    assert guard.begin(1000) == 1000
    assert not guard.scarce()


def test_the_limit_is_raised_for_a_while_only():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    low = min(256, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, before[1]))
    try:
        with shortage.more_descriptors():
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= low
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (low, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
