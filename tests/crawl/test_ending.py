"""A crawl that ends before its end: what is kept, and that nothing is left behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from cases import cases
from usp._crawl.receiver import BodyReceiver
from usp.events import SitemapFinished
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import (
    AbstractWebClient,
    LocalWebClientSuccessResponse,
    WebClientErrorResponse,
)
from website import Answer, index, paths, robots, urlset

FD = Path("/proc/self/fd")
needs_proc = pytest.mark.skipif(not FD.exists(), reason="looks at open files by /proc")
posix = pytest.mark.skipif(os.name != "posix", reason="sends signals, forks")
INTERRUPTED = "the crawl was interrupted"
LARGE = [f"/{number:06}/" + "x" * 700 for number in range(600)]
SITE = {
    "/robots.txt": robots("/i.xml"),
    "/i.xml": index("/a.xml", "/b.xml", "/c.xml"),
    "/a.xml": urlset("/a"),
    "/b.xml": urlset("/b"),
    "/c.xml": urlset("/c"),
}


class OneByOne(AbstractWebClient):
    """Is asked for one thing at a time; ``before`` is called with every path."""

    def __init__(self, answers, before=lambda _: None) -> None:
        self._answers, self._before = answers, before
        self.asked: list[str] = []

    def set_max_response_data_length(self, max_response_data_length) -> None:
        pass

    def get(self, url):
        path = url.removeprefix("http://h")
        self.asked.append(path)
        self._before(path)
        answer = self._answers.get(path)
        if answer is None:
            return WebClientErrorResponse("404 Not Found", retryable=False)
        return LocalWebClientSuccessResponse(url, answer.replace("{base}", "http://h"))


class Several(OneByOne):
    """Takes several things at a time."""

    max_concurrent_requests = 3


def interrupt_at(path: str):
    def before(asked: str) -> None:
        if asked == path:
            raise KeyboardInterrupt

    return before


def interrupt_after(path: str):
    """Give a listener that presses Ctrl-C, as it were, once a sitemap has come."""

    def listen(event) -> None:
        if isinstance(event, SitemapFinished) and event.url.endswith(path):
            raise KeyboardInterrupt

    return listen


def interrupted(tree) -> list[str]:
    """Give the sitemaps that an interrupt has cost; nothing else may be missing."""
    failures = tree.failures()
    assert all(INTERRUPTED in failure.reason for failure in failures), failures
    return [failure.url.rpartition("/")[2] for failure in failures]


# Ctrl-C -------------------------------------------------------------------------------------------


def test_an_interrupt_keeps_what_was_found_and_names_the_rest(threads_end):
    client = OneByOne(SITE, interrupt_at("/b.xml"))
    tree = sitemap_tree_for_homepage("http://h/", client, keep_partial=True)
    assert paths(tree, "http://h") == ["/a"]
    assert not tree.is_complete
    assert {"b.xml", "c.xml"} <= set(interrupted(tree))
    assert client.asked == ["/robots.txt", "/i.xml", "/a.xml", "/b.xml"]
    assert threads_end()


def test_an_interrupt_of_a_single_sitemap_keeps_what_was_found():
    client = OneByOne(SITE, interrupt_at("/c.xml"))
    tree = sitemap_tree_for_sitemap("http://h/i.xml", client, keep_partial=True)
    assert paths(tree, "http://h") == ["/a", "/b"]
    assert interrupted(tree) == ["c.xml"]


def test_an_interrupt_while_threads_fetch_keeps_what_was_found(serve, threads_end):
    gate = threading.Event()
    site = serve(SITE | {"/c.xml": Answer(urlset("/c"), gate=gate)})
    tree = sitemap_tree_for_homepage(
        site.base + "/",
        use_known_paths=False,
        keep_partial=True,
        on_event=interrupt_after("/b.xml"),
    )
    gate.set()
    assert "/b" in paths(tree, site.base)
    assert interrupted(tree)[-1] == "c.xml"
    assert threads_end()


def test_what_is_still_coming_is_kept_in_part(serve, threads_end, monkeypatch):
    coming = threading.Event()
    take = BodyReceiver.take

    def taking(receiver, chunk):
        going_on = take(receiver, chunk)
        if receiver._order.url.endswith("/a.xml") and b"</url>" in chunk:
            coming.set()
        return going_on

    interrupt = interrupt_after("/b.xml")

    def listen(event):
        if isinstance(event, SitemapFinished) and event.url.endswith("/b.xml"):
            assert coming.wait(120)
        interrupt(event)

    monkeypatch.setattr(BodyReceiver, "take", taking)
    filler = b"<url><loc>http://h/p</loc></url>" * 10
    site = serve(SITE | {"/a.xml": Answer("<urlset>", endless=filler)})
    tree = sitemap_tree_for_homepage(
        site.base + "/", use_known_paths=False, keep_partial=True, on_event=listen
    )
    assert "http://h/p" in [page.url for page in tree.all_pages()]
    assert "a.xml" in interrupted(tree)
    assert threads_end()


def test_an_interrupt_at_the_very_beginning_gives_an_incomplete_tree():
    for at in cases(["/robots.txt", "/i.xml"]):
        tree = sitemap_tree_for_homepage(
            "http://h/", OneByOne(SITE, interrupt_at(at)), keep_partial=True
        )
        assert tree.page_count() == 0
        assert not tree.is_complete
        assert at[1:] in interrupted(tree)


def test_an_interrupt_in_a_callback_does_not_make_the_tree_look_complete():
    def ask(url, level, parents):
        if url.endswith("/b.xml"):
            raise KeyboardInterrupt
        return True

    tree = sitemap_tree_for_homepage(
        "http://h/", OneByOne(SITE), recurse_callback=ask, keep_partial=True
    )
    assert not tree.is_complete


def test_a_second_interrupt_is_an_interrupt(threads_end):
    """The first one ends the crawl; whoever cannot wait for what is under way presses again."""
    gate = threading.Event()
    client = Several(SITE, lambda path: path == "/b.xml" and gate.wait(120))
    presses = []

    def listen(event) -> None:
        if presses or (isinstance(event, SitemapFinished) and event.url.endswith("/a.xml")):
            presses.append(event)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sitemap_tree_for_homepage("http://h/", client, keep_partial=True, on_event=listen)
    gate.set()
    assert len(presses) == 2
    assert threads_end()


@pytest.mark.parametrize("client", [OneByOne(SITE), Several(SITE)])
def test_an_interrupt_without_the_option_comes_out_and_leaves_no_thread(client, threads_end):
    with pytest.raises(KeyboardInterrupt):
        sitemap_tree_for_homepage("http://h/", client, on_event=interrupt_after("/b.xml"))
    assert threads_end()


def test_only_an_interrupt_is_kept_from_the_caller():
    def listen(event) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        sitemap_tree_for_homepage("http://h/", OneByOne(SITE), keep_partial=True, on_event=listen)


def test_without_an_interrupt_the_option_changes_nothing(serve):
    site = serve(SITE)
    tree = sitemap_tree_for_homepage(site.base + "/", keep_partial=True)
    assert tree.is_complete
    assert tree == sitemap_tree_for_homepage(site.base + "/")


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


def spools() -> int:
    """Count the open files that have no name."""
    gc.collect()
    found = 0
    for file in FD.iterdir():
        try:
            found += "(deleted)" in str(file.readlink())
        except OSError:
            continue
    return found


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
@pytest.mark.parametrize("keep_partial", [False, True])
def test_an_exception_of_the_caller_comes_out_and_leaves_nothing(
    large, threads_end, tmp_path, monkeypatch, option, keep_partial
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = spools()
    with pytest.raises(LookupError, match="in a callback"):
        sitemap_tree_for_homepage(large.base + "/", keep_partial=keep_partial, **option)
    assert threads_end()
    assert spools() == before
    assert not list(tmp_path.iterdir())


@needs_proc
def test_an_exception_out_of_a_stream_leaves_nothing(large, threads_end, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = spools()
    with pytest.raises(LookupError):
        list(pages(large.base + "/", on_event=fail_late))
    assert threads_end()
    assert spools() == before
    assert not list(tmp_path.iterdir())


@needs_proc
@pytest.mark.parametrize("how", ["close", "throw", "forget"])
def test_a_stream_that_is_left_leaves_nothing(large, threads_end, how):
    before = spools()
    stream = pages(large.base + "/")
    assert next(stream).url == large.url(LARGE[0])
    if how == "close":
        stream.close()
        assert list(stream) == []
    elif how == "throw":
        with pytest.raises(LookupError):
            stream.throw(LookupError)
    del stream
    gc.collect()
    assert threads_end()
    assert spools() == before


# Temporary files ----------------------------------------------------------------------------------


@needs_proc
def test_nobody_else_can_read_the_temporary_file(large):
    known = {file.name for file in FD.iterdir()}
    tree = sitemap_tree_for_homepage(large.base + "/", use_known_paths=False)
    new = [
        os.fstat(int(file.name))
        for file in FD.iterdir()
        if file.name not in known and _is_deleted(file)
    ]
    assert len(new) == 1
    assert new[0].st_size > 400_000
    assert new[0].st_nlink == 0
    assert new[0].st_mode & 0o077 == 0
    assert tree.page_count() == 1201


def _is_deleted(file: Path) -> bool:
    try:
        return "(deleted)" in str(file.readlink())
    except OSError:
        return False


# Other processes ----------------------------------------------------------------------------------


def run(program: str, *arguments: str, seconds: float = 20) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


@posix
def test_a_forked_process_reads_the_tree_and_so_does_its_parent(large):
    """Both read the same temporary file, at the same time, from places of their own."""
    ended = run(
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
def test_the_interpreter_ends_while_a_stream_is_being_read(serve, ending):
    gate = threading.Event()
    site = serve(SITE | {"/b.xml": Answer(urlset("/b"), gate=gate)})
    site.answers["/c.xml"] = Answer(urlset(*map(str, range(1000))), stall=gate)
    ended = run(
        f"""
        import os, sys, threading
        from usp.stream import pages
        stream = pages(sys.argv[1], use_known_paths=False)
        next(stream)
        {ending}
        """,
        site.base + "/",
        seconds=120,
    )
    gate.set()
    assert ended.returncode == 5, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.long
@posix
def test_the_interpreter_ends_while_another_thread_crawls(serve):
    gate = threading.Event()
    site = serve(SITE | {"/b.xml": Answer(urlset("/b"), gate=gate)})
    ended = run(
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
        seconds=120,
    )
    gate.set()
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
def test_a_real_ctrl_c(serve, keep):
    gate = threading.Event()
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
    gate.set()
    if keep == "keep":
        found, reasons = out.splitlines()
        assert found.split() == [site.url("/a"), site.url("/c")]
        assert INTERRUPTED in reasons
        assert process.returncode == 0
        assert "Traceback" not in err
    else:
        assert out == ""
        assert "KeyboardInterrupt" in err
