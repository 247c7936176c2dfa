"""Ctrl-C ends a command with status 130 and one line, at whatever moment it comes; SIGTERM as usual."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cases import cases
from patience import soon
from website import index, robots, urlset

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send"),
    pytest.mark.long,
]

TOLD = b"usp: interrupted\n"

AT_CALL = """
import signal, sys

def interrupting(frame, event, _):
    code, module = frame.f_code, frame.f_globals.get("__name__")
    if event == "call" and (module, code.co_qualname) == ({module!r}, {name!r}):
        sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)

sys.setprofile(interrupting)
sys.argv = ["usp", *{argv!r}]
from usp.cli import main
main()
"""


def at_call(argv: list[str], module: str, name: str = "<module>") -> str:
    """Return a program that is interrupted when a module is imported, or a function of it called."""
    return AT_CALL.format(module=module, name=name, argv=argv)


def python(program: str, *argv: str, **options) -> tuple[int, bytes, bytes]:
    command = [sys.executable, "-c", program, *argv]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=120, **options)
    return ended.returncode, ended.stdout, ended.stderr


def started(*argv: str, **options) -> subprocess.Popen:
    command = [sys.executable, "-m", "usp.cli", *argv]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.fixture
def document(tmp_path) -> Path:
    path = tmp_path / "s.xml"
    path.write_text(urlset(*(f"http://h/{number}" for number in range(1000))))
    return path


def test_while_modules_are_loaded(document):
    for module, argv in cases(
        [
            ("usp.cli.cli", ["--help"]),
            ("rich_click", ["--help"]),
            ("usp.cli.commands.cmd_ls", ["ls", "{document}"]),
            ("usp._crawl.crawl", ["ls", "{document}"]),
            ("requests", ["tree", "{document}"]),
            ("pyarrow", ["ls", "{document}", "-o", "{document}.parquet"]),
            ("usp.report", ["report", "{document}", "-o", "{document}.html"]),
        ]
    ):
        words = [word.replace("{document}", str(document)) for word in argv]
        assert python(at_call(words, module)) == (130, b"", TOLD)


def test_while_parquet_is_written(document):
    for name in cases(["__init__", "write_table", "close"]):
        target = document.with_name("pages.parquet")
        target.write_bytes(b"before")
        argv = ["ls", str(document), "-o", str(target)]
        program = at_call(argv, "pyarrow.parquet.core", f"ParquetWriter.{name}")
        assert python(program) == (130, b"", TOLD)
        assert target.read_bytes() == b"before"
        left = sorted(path.name for path in document.parent.iterdir())
        assert left == ["pages.parquet", "s.xml"]


WHILE_READING = """
import signal, sys, time
import usp.cli.run_options
from usp.cli import main

class Interrupting:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def in_a_destructor(*_, **__):  # what is raised there goes nowhere, but is not forgotten
    Interrupting()

def twice(*_, **__):  # the second one does not wait for what the first one puts in order
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.raise_signal(signal.SIGINT)
        time.sleep(60)

def turned_into_another_error(*_, **__):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("the query was ended") from None

usp.cli.run_options.tree_of = globals()[sys.argv[1]]
sys.argv = ["usp", "ls", sys.argv[2]]
main()
"""


def test_while_a_tree_is_read(document):
    for how in cases(["in_a_destructor", "twice", "turned_into_another_error"]):
        assert python(WHILE_READING, how, str(document)) == (130, b"", TOLD)


def test_it_is_json_for_programs(document):
    for module in ("usp.cli.cli", "pyarrow"):
        argv = ["ls", str(document), "-o", f"{document}.parquet", "--json"]
        status, _, err = python(at_call(argv, module))
        assert json.loads(err)["status"] == status == 130


def test_a_process_that_ignores_it_goes_on(document):
    """As under nohup."""

    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    argv = ["ls", str(document), "-f", "pages"]
    status, out, err = python(at_call(argv, "usp.cli.cli"), preexec_fn=ignore)
    assert (status, err) == (0, b"")
    assert len(out.splitlines()) == 1000


def test_a_program_that_runs_a_command_keeps_its_own_handler(document, run):
    before = signal.getsignal(signal.SIGINT)
    assert run("ls", str(document)).status == 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_while_workers_are_started(tmp_path):
    """A terminal sends it to all processes at once, those included that are not ready for it."""
    pytest.importorskip("pyarrow")
    sites = tmp_path / "sites.txt"
    sites.write_text("".join(f"http://127.0.0.{number}:9/\n" for number in range(2, 250)))
    crawl = ["crawl", str(sites), "-o", str(tmp_path / "dataset")]
    for after in (0.0, 0.1):
        with started(
            *crawl, "--allow-network", "any", "--workers", "3", start_new_session=True
        ) as process:
            while process.poll() is None and not workers_of(process.pid):
                time.sleep(0.002)
            time.sleep(after)
            try:
                os.killpg(process.pid, signal.SIGINT)
            except ProcessLookupError:
                continue
            _, err = process.communicate(timeout=120)
        assert b"Traceback" not in err
        assert b"Error" not in err
        assert process.returncode in (130, 0)  # 0: every site was in the dataset by then
        if process.returncode == 130:
            assert err.endswith(TOLD)


def workers_of(pid: int) -> list[str]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
    except OSError:
        return []
    return [command for command in commands if b"spawn_main" in command]


# While a website does not answer ---------------------------------------------------------------------


@pytest.fixture
def slow(serve, gate):
    """A website whose second sitemap comes when the test is over."""
    asked = threading.Event()

    def answer():
        asked.set()
        gate.wait(120)

    files = {"/robots.txt": robots("/a.xml", "/b.xml"), "/a.xml": urlset("/a"), "/b.xml": answer}
    site = serve(files)
    site.web.asked = asked
    return site


def ended_by(number: int, site, *argv: str, pause: float = 0.0) -> tuple[int, bytes, bytes]:
    """Send a signal to a command that waits for a website; return how it ends."""
    site.web.asked.clear()
    with started(*argv) as process:
        assert site.web.asked.wait(120)
        time.sleep(pause)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_ctrl_c_with_and_without_keeping_what_was_found(slow, times):
    told = TOLD + b"--keep-partial keeps what was found\n"
    assert ended_by(signal.SIGINT, slow, "ls", slow, "-k") == (130, b"", told)
    listing = ["ls", slow, "-f", "pages", "-k"]
    found = f"{slow}/a\n".encode()
    pause = 0.2 * times  # /a.xml, which is asked for together with the other, comes
    status, out, err = ended_by(signal.SIGINT, slow, *listing, pause=pause)
    assert (status, err) == (130, TOLD)
    assert out in (b"", found)  # pages are written as they are found
    status, out, err = ended_by(signal.SIGINT, slow, *listing, "--keep-partial", pause=pause)
    assert (status, out) == (0, found)
    assert f"{slow}/b.xml: ".encode() in err
    assert b"interrupted" in err
    assert b"Traceback" not in err


def test_sigterm_leaves_nothing_behind(slow, tmp_path):
    """Neither files nor a line of progress."""
    for command, name in cases([("snapshot", "out.warc.gz"), ("ls", "out.csv")]):
        argv = [command, slow, "-k", "-o", str(tmp_path / name)]
        assert ended_by(signal.SIGTERM, slow, *argv) == (-signal.SIGTERM, b"", b"")
        assert list(tmp_path.iterdir()) == []


def test_a_signal_ends_a_watch_cleanly(serve, tmp_path):
    site = serve({"/map.xml": index("/a.xml"), "/a.xml": urlset("/1")})
    for number in cases([signal.SIGINT, signal.SIGTERM]):
        path = tmp_path / number.name / "site.warc.gz"
        path.parent.mkdir()
        argv = ["watch", f"{site}/map.xml", "--snapshot", str(path), "--every", "1h"]
        with started(*argv) as process:
            assert b"watching" in process.stderr.readline()
            assert soon(path.exists)
            process.send_signal(number)
            assert process.stderr.read() == b"usp: stopped: 0 changes in 1 round\n"
            assert process.wait() == 0
        assert list(path.parent.iterdir()) == [path]
