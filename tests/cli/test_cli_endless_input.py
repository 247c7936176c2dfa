"""What comes through a pipe is bounded by the limits of a document, as what a website sends."""

import gzip
import itertools
import os
import random
import subprocess
import threading

import pytest

from quick_usp import usp_command
from usp._inputs.sources import piped
from usp.cli import main
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


class Pipe:
    """A pipe that is written to until nobody reads it any more."""

    def __init__(self, chunks):
        self.read_end, self._write_end = os.pipe()
        self._chunks = chunks
        self.thread = threading.Thread(target=self._write, daemon=True)
        self.thread.start()

    def _write(self):
        try:
            with open(self._write_end, "wb") as file:  # noqa: PTH123
                file.writelines(self._chunks)
        except BrokenPipeError:
            pass


def endless(kind):
    head, entry = ENDLESS[kind]
    yield head
    for number in itertools.count():
        yield b"".join(
            entry % (number * 100 + one) if b"%d" in entry else entry for one in range(100)
        )


def from_pipe(chunks, *arguments):
    pipe = Pipe(chunks)
    try:
        return subprocess.run(
            [*usp_command(), *arguments],
            stdin=pipe.read_end,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(pipe.read_end)
        pipe.thread.join(60)
        assert not pipe.thread.is_alive()


def test_an_endless_standard_input_ends_at_the_limit_of_a_document(subtests):
    for kind in ENDLESS:
        with subtests.test(kind=kind):
            ended = from_pipe(
                endless(kind), "ls", "-", "-f", "pages", "--max", "document_bytes=100KiB"
            )
            assert "Traceback" not in ended.stderr
            assert "document_bytes=102,400" in ended.stderr
            if kind in ("urlset", "text"):
                assert ended.returncode == 0
                assert 1000 < len(ended.stdout.splitlines()) < 100 * 1024 / len("http://h/1")


def test_a_pipe_with_a_name_is_bounded_too():
    arguments = ("tree", "/dev/stdin", "--max", "document_bytes=100KiB", "--strict")
    ended = from_pipe(endless("urlset"), *arguments)
    assert ended.returncode == 3
    assert "document_bytes" in ended.stderr + ended.stdout


@pytest.mark.parametrize("limit", ["seconds", "document_seconds"])
def test_a_silent_standard_input_ends_in_time(limit):
    more = threading.Event()

    def slow():
        yield urlset("http://h/1").partition("</urlset>")[0].encode()
        more.wait(100)

    pipe = Pipe(slow())
    process = subprocess.Popen(
        [*usp_command(), "ls", "-", "-f", "pages", "--max", f"{limit}=1"],
        stdin=pipe.read_end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _out, err = process.communicate(timeout=120)
        assert f"the limit {limit}=1 is reached" in err
        assert process.returncode in (0, 1)
    finally:
        process.kill()
        more.set()
        os.close(pipe.read_end)


def test_a_pipe_that_nobody_writes_to_ends_in_time(tmp_path, monkeypatch, capsys, subtests):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    monkeypatch.chdir(tmp_path)
    for command in [
        *(["ls"], ["ls", "-f", "pages"], ["tree"], ["graph"], ["check"], ["report", "-o", "-"]),
        *(["diff", "a.xml"], ["report", "a.xml", "--compare"], ["check", "a.xml", "--baseline"]),
    ]:
        for limit in ["seconds", "document_seconds"]:
            with subtests.test(command=command, limit=limit):
                with pytest.raises(SystemExit) as ended:
                    main([*command, "pipe", "--max", f"{limit}=0.05"])
                assert ended.value.code in (1, 2)
                said = capsys.readouterr()
                assert f"the limit {limit}" in said.err + said.out
                assert not (tmp_path / "report.html").exists()


def test_a_pipe_is_waited_for_without_a_limit_of_time(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    chunks = piped(tmp_path / "pipe", Limits(seconds=None, document_seconds=None))
    late = threading.Timer(0.1, (tmp_path / "pipe").write_bytes, [NOISE])
    late.start()
    assert b"".join(chunks) == NOISE
    late.join()


def test_a_pipe_cannot_be_what_is_read_more_than_once(tmp_path, monkeypatch, subtests):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.xml").write_text(urlset("http://h/1"))
    monkeypatch.chdir(tmp_path)
    for command in [["update", "pipe"], ["ls", "a.xml", "--ca-bundle", "pipe"]]:
        with subtests.test(command=command):
            with pytest.raises(SystemExit) as ended:
                main(command)
            assert ended.value.code == 2


def test_what_fits_is_read_whole():
    pages = [f"http://h/{number}" for number in range(20_000)]
    document = gzip.compress(urlset(*pages).encode())
    pieces = [document[at : at + 1000] for at in range(0, len(document), 1000)]
    ended = from_pipe(pieces, "ls", "-", "-f", "pages", "--max", f"document_bytes={len(document)}")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == pages


def test_exactly_as_much_as_allowed_is_taken():
    pipe = Pipe([NOISE])
    with open(pipe.read_end, "rb") as file:  # noqa: PTH123
        chunks = piped(file, Limits(document_bytes=len(NOISE)))
        assert b"".join(chunks) == NOISE
    pipe = Pipe([NOISE])
    with open(pipe.read_end, "rb") as file:  # noqa: PTH123
        chunks = piped(file, Limits(document_bytes=len(NOISE) - 1))
        taken = []
        with pytest.raises(LimitReached):
            taken.extend(chunks)
        assert b"".join(taken) in (NOISE[:-1], b"")
