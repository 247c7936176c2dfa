"""What comes through a pipe is bounded by the limits of a document, as what a website sends."""

import gzip
import itertools
import os
import random
import threading
from contextlib import contextmanager

import pytest

from cases import cases
from usp._inputs.local_files import piped
from usp.limits import LimitReached, Limits
from website import urlset

NOISE = random.Random(1).randbytes(1000).hex().encode()
ENDLESS = {
    "urlset": (b"<urlset>", b"<url><loc>http://h/%d</loc></url>"),
    "index": (b"<sitemapindex>", b"<sitemap><loc>http://h/%d</loc></sitemap>"),
    "text": (b"http://h/\n", b"http://h/%d\n"),
    "robots.txt": (b"User-agent: *\n", b"Sitemap: http://h/%d\n"),
    "a comment": (b"<urlset><url><loc>http://h/</loc></url><!--", b"x%d"),
    "blanks": (b"", b" " * 1000),
}
pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes of another kind")


@contextmanager
def pipe_of(chunks):
    """Open a pipe that is written to until nobody reads it any more."""
    read_end, write_end = os.pipe()

    def write():
        try:
            with open(write_end, "wb") as file:  # noqa: PTH123
                file.writelines(chunks)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    with open(read_end, "rb") as file:  # noqa: PTH123
        yield file
    thread.join(60)
    assert not thread.is_alive()


def endless(kind):
    head, entry = ENDLESS[kind]
    yield head
    for number in itertools.count():
        yield b"".join(
            entry % (number * 100 + one) if b"%d" in entry else entry for one in range(100)
        )


@pytest.fixture
def from_pipe(process):
    """Run a command that reads data from a pipe."""

    def _run(chunks, *argv):
        with pipe_of(chunks) as file:
            return process(*argv, stdin=file, text=True)

    return _run


def test_an_endless_standard_input_ends_at_the_limit_of_a_document(from_pipe):
    for kind in cases(ENDLESS):
        limit = ["--max", "document_bytes=100KiB"]
        ended = from_pipe(endless(kind), "ls", "-", "-f", "pages", *limit)
        assert "Traceback" not in ended.stderr
        assert "document_bytes=102,400" in ended.stderr
        if kind in ("urlset", "text"):
            assert ended.returncode == 0
            assert 1000 < len(ended.stdout.splitlines()) < 100 * 1024 / len("http://h/1")


def test_a_pipe_with_a_name_is_bounded_too(from_pipe):
    arguments = ("tree", "/dev/stdin", "--max", "document_bytes=100KiB", "--strict")
    ended = from_pipe(endless("urlset"), *arguments)
    assert ended.returncode == 3
    assert "document_bytes" in ended.stderr + ended.stdout


@pytest.mark.parametrize("limit", ["seconds", "document_seconds"])
def test_a_silent_standard_input_ends_in_time(process, limit):
    over = threading.Event()

    def slow():
        yield urlset("http://h/1").partition("</urlset>")[0].encode()
        over.wait(100)

    with pipe_of(slow()) as file:
        argv = ("ls", "-", "-f", "pages", "--max", f"{limit}=1")
        ended = process(*argv, stdin=file, text=True)
        over.set()
    assert f"the limit {limit}=1 is reached" in ended.stderr
    assert ended.returncode in (0, 1)


@pytest.fixture
def pipe(put, here):
    """A pipe that nobody writes to, beside a sitemap."""
    os.mkfifo(here / "pipe")
    put({"a.xml": urlset("http://h/1")})
    return here / "pipe"


def test_a_pipe_that_nobody_writes_to_ends_in_time(pipe, run, here):
    for command in [
        *(["ls"], ["ls", "-f", "pages"], ["tree"], ["graph"], ["check"], ["report", "-o", "-"]),
        *(["diff", "a.xml"], ["report", "a.xml", "--compare"], ["check", "a.xml", "--baseline"]),
    ]:
        for limit in ["seconds", "document_seconds"]:
            ended = run(*command, "pipe", "--max", f"{limit}=0.05")
            assert ended.status in (1, 2)
            assert f"the limit {limit}" in ended.err + ended.out
            assert not (here / "report.html").exists()
    run("crawl", "pipe", "-o", "dataset", "--max", "seconds=0.05").ends(
        2, "'pipe': nothing was written to it within 0.05 s"
    )


def test_a_pipe_is_waited_for_without_a_limit_of_time(pipe):
    chunks = piped(pipe, Limits(seconds=None, document_seconds=None))
    late = threading.Timer(0.1, pipe.write_bytes, [NOISE])
    late.start()
    assert b"".join(chunks) == NOISE
    late.join()


def test_a_pipe_cannot_be_what_is_read_more_than_once(pipe, run):
    for command in [["update", "pipe"], ["ls", "a.xml", "--ca-bundle", "pipe"]]:
        assert run(*command).status == 2


def test_what_fits_is_read_whole(from_pipe):
    pages = [f"http://h/{number}" for number in range(20_000)]
    document = gzip.compress(urlset(*pages).encode())
    pieces = [document[at : at + 1000] for at in range(0, len(document), 1000)]
    ended = from_pipe(pieces, "ls", "-", "-f", "pages", "--max", f"document_bytes={len(document)}")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == pages


def test_exactly_as_much_as_allowed_is_taken():
    with pipe_of([NOISE]) as file:
        assert b"".join(piped(file, Limits(document_bytes=len(NOISE)))) == NOISE
    with pipe_of([NOISE]) as file:
        taken = []
        with pytest.raises(LimitReached):
            taken.extend(piped(file, Limits(document_bytes=len(NOISE) - 1)))
        assert b"".join(taken) in (NOISE[:-1], b"")
