"""A crawl that ends, at its end or before: nothing is left behind, in this process or another."""

import contextlib
import gc
import itertools
import os
import signal
import subprocess
import sys

import pytest

from cases import cases
from fronts import every_front, needs_proc, run, spools
from patience import run_python
from usp import aio
from usp.events import SitemapFinished
from usp.tree import sitemap_tree_for_homepage
from website import Answer, index, indexed, pages_at, robots, urlset

posix = pytest.mark.skipif(os.name != "posix", reason="sends signals, forks")
INTERRUPTED = "the crawl was interrupted"
LARGE = [f"/{number:06}/" + "x" * 700 for number in range(600)]
SITE = indexed("/a.xml", "/b.xml", "/c.xml") | pages_at(*"abc")


# Exceptions of callbacks --------------------------------------------------------------------------


def fail(*_):
    raise LookupError("in a callback")


@pytest.fixture
def large(serve):
    """A site whose documents go to a temporary file."""
    gc.freeze()  # collections are quick if they do not look at what other tests have left
    site = serve(SITE | {"/a.xml": urlset(*LARGE), "/c.xml": urlset(*LARGE)})
    site.answers["/j.xml"] = index("/i.xml")
    site.answers["/robots.txt"] = robots("/j.xml")
    return site


def fail_late(event) -> None:
    if isinstance(event, SitemapFinished) and event.url.endswith("/c.xml"):
        fail()


@needs_proc
@pytest.mark.parametrize(
    "option",
    [
        {"on_event": fail_late},
        {"on_event": fail},
        {"recurse_callback": fail},
        {"recurse_list_callback": fail},
        {"recurse_entry_callback": fail},
    ],
    ids=["late event", "first event", "callback", "list callback", "entry callback"],
)
@every_front
def test_an_exception_of_the_caller_comes_out_and_leaves_nothing(
    large, threads_end, tmp_path, monkeypatch, option, front
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = spools()
    for crawl, keep_partial in cases(itertools.product((front.tree, front.pages), (False, True))):
        with pytest.raises(LookupError, match="in a callback"):
            crawl(large.base + "/", keep_partial=keep_partial, **option)
        assert threads_end()
        assert spools() == before
        assert not list(tmp_path.iterdir())


@needs_proc
@every_front
def test_a_crawl_that_is_read_to_its_end_leaves_nothing(large, threads_end, front):
    before = spools()
    assert front.tree(large.base + "/").page_count() == 1201
    pages = front.pages(large.base + "/")
    assert threads_end(1.0)
    assert spools() == before
    assert len(pages) == 1201
    assert pages[0].url == large.url(LARGE[0])  # a page outlives its stream


@needs_proc
def test_a_stream_on_asyncio_that_is_left_leaves_nothing(large):
    async def read():
        async with contextlib.aclosing(aio.pages(large.base + "/")) as stream:
            await anext(stream)

    before = spools()
    run(read())
    assert spools() == before


@needs_proc
def test_nobody_else_can_read_the_temporary_file(large):
    known = spools()
    tree = sitemap_tree_for_homepage(large.base + "/", use_known_paths=False)
    (new,) = (os.fstat(file) for file in spools() if file not in known)
    assert new.st_size > 400_000
    assert new.st_nlink == 0
    assert new.st_mode & 0o077 == 0
    assert tree.page_count() == 1201


# Other processes ----------------------------------------------------------------------------------


@posix
def test_a_forked_process_reads_the_tree_and_so_does_its_parent(large):
    """Both read the same temporary file, at the same time, from places of their own."""
    ended = run_python(
        """
        import os, sys
        from usp.tree import sitemap_tree_for_homepage
        tree = sitemap_tree_for_homepage(sys.argv[1], use_known_paths=False)
        expected = [page.url for page in tree.all_pages()]
        reading = tree.all_pages()
        begun = [next(reading).url for _ in range(100)]
        child = os.fork()
        rest = [page.url for page in reading]
        whole = [page.url for page in tree.all_pages()]
        right = begun + rest == expected == whole and len(whole) == 1201
        if child == 0:
            os._exit(0 if right else 7)
        assert os.waitpid(child, 0)[1] == 0, "the child"
        assert right
        assert [page.url for page in tree.all_pages()] == expected
        """,
        large.base + "/",
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.long
@posix
@pytest.mark.parametrize(
    "ending",
    ["sys.exit(5)", "raise SystemExit(5)", "threading.Timer(0, lambda: os._exit(5)).start()"],
)
def test_the_interpreter_ends_while_a_stream_is_being_read(serve, gate, ending):
    site = serve(SITE | {"/b.xml": Answer(urlset("/b"), gate=gate)})
    site.answers["/c.xml"] = Answer(urlset(*map(str, range(1000))), stall=gate)
    ended = run_python(
        f"""
        import os, sys, threading
        from usp.stream import pages
        stream = pages(sys.argv[1], use_known_paths=False)
        next(stream)
        {ending}
        """,
        site.base + "/",
    )
    assert ended.returncode == 5, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.long
@posix
def test_the_interpreter_ends_while_another_thread_crawls(serve, gate):
    site = serve(SITE | {"/b.xml": Answer(urlset("/b"), gate=gate)})
    ended = run_python(
        """
        import sys, threading
        from usp.tree import sitemap_tree_for_homepage
        begun = threading.Event()
        threading.Thread(
            target=sitemap_tree_for_homepage,
            args=(sys.argv[1],),
            kwargs={"use_known_paths": False, "on_event": lambda _: begun.set()},
            daemon=True,
        ).start()
        begun.wait(120)
        """,
        site.base + "/",
    )
    assert ended.returncode == 0, ended.stderr


PROGRAM = """
import sys
from usp.tree import sitemap_tree_for_homepage
left = {"a.xml", "c.xml"}
def seen(event):
    if type(event).__name__ == "SitemapFinished":
        left.discard(event.url.rpartition("/")[2])
        if not left and event.url.endswith(("/a.xml", "/c.xml")):
            print("ready", flush=True)
tree = sitemap_tree_for_homepage(
    sys.argv[1], use_known_paths=False, keep_partial=sys.argv[2] == "keep", on_event=seen
)
print(*(page.url for page in tree.all_pages()))
print(*(failure.reason for failure in tree.failures()))
"""


@pytest.mark.long
@posix
@pytest.mark.parametrize("keep", ["keep", "no"])
def test_a_real_ctrl_c(serve, gate, keep):
    site = serve(SITE | {"/b.xml": Answer(urlset("/b"), gate=gate)})
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, site.base + "/", keep],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    if keep == "keep":
        found, reasons = out.splitlines()
        assert found.split() == [site.url("/a"), site.url("/c")]
        assert INTERRUPTED in reasons
        assert process.returncode == 0
        assert "Traceback" not in err
    else:
        assert out == ""
        assert "KeyboardInterrupt" in err
