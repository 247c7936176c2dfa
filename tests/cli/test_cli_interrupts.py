"""Ctrl-C ends a command with status 130 and one line, at whatever moment it comes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from website import urlset

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send"),
    pytest.mark.long,
]

TOLD = b"usp: interrupted\n"

AT_IMPORT = """
import signal, sys

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["usp", *{argv!r}]
from usp.cli import main
main()
"""

AT_CALL = """
import signal, sys
import {module} as module

def interrupted(*given, **options):
    setattr(owner, {name!r}, real)
    signal.raise_signal(signal.SIGINT)
    return real(*given, **options)

owner = module.{owner}
real = getattr(owner, {name!r})
setattr(owner, {name!r}, interrupted)
sys.argv = ["usp", *{argv!r}]
from usp.cli import main
main()
"""


def python(program: str, *argv: str, **options) -> subprocess.CompletedProcess:
    environment = {name: text for name, text in os.environ.items() if name != "COV_CORE_SOURCE"}
    return subprocess.run(
        [sys.executable, "-c", program, *argv],
        capture_output=True,
        check=False,
        timeout=120,
        env={**environment, "NO_PROXY": "*"},
        **options,
    )


@pytest.fixture
def document(tmp_path) -> Path:
    path = tmp_path / "s.xml"
    path.write_text(urlset(*(f"http://h/{number}" for number in range(1000))))
    return path


def test_while_modules_are_loaded(document, subtests):
    for module, argv in [
        ("usp.cli.app", ["--help"]),
        ("rich_click", ["--help"]),
        ("usp.cli.commands.cmd_ls", ["ls", "{document}"]),
        ("usp._crawl.crawl", ["ls", "{document}"]),
        ("requests", ["tree", "{document}"]),
        ("pyarrow", ["ls", "{document}", "-o", "{document}.parquet"]),
        ("usp.report", ["report", "{document}", "-o", "{document}.html"]),
    ]:
        with subtests.test(module=module, argv=argv):
            words = [word.replace("{document}", str(document)) for word in argv]
            ended = python(AT_IMPORT.format(module=module, argv=words))
            assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", TOLD)


def test_while_parquet_is_written(document, subtests):
    for name in ["__init__", "write_table", "close"]:
        with subtests.test(name=name):
            target = document.with_name("pages.parquet")
            target.write_bytes(b"before")
            argv = ["ls", str(document), "-o", str(target)]
            program = AT_CALL.format(
                module="pyarrow.parquet", owner="ParquetWriter", name=name, argv=argv
            )
            ended = python(program)
            assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", TOLD)
            assert target.read_bytes() == b"before"
            assert sorted(path.name for path in document.parent.iterdir()) == [
                "pages.parquet",
                "s.xml",
            ]


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


def test_while_a_tree_is_read(document, subtests):
    for how in ["in_a_destructor", "twice", "turned_into_another_error"]:
        with subtests.test(how=how):
            ended = python(WHILE_READING, how, str(document))
            assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", TOLD)


def test_it_is_json_for_programs(document):
    for module in ("usp.cli.app", "pyarrow"):
        argv = ["ls", str(document), "-o", f"{document}.parquet", "--json"]
        ended = python(AT_IMPORT.format(module=module, argv=argv))
        assert json.loads(ended.stderr)["status"] == ended.returncode == 130


def test_a_process_that_ignores_it_goes_on(document):
    """As under nohup."""

    def ignore():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    argv = ["ls", str(document), "-f", "pages"]
    program = AT_IMPORT.format(module="usp.cli.app", argv=argv)
    ended = python(program, preexec_fn=ignore)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert len(ended.stdout.splitlines()) == 1000


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
    command = [sys.executable, "-m", "usp.cli", *crawl]
    for after in (0.0, 0.1):
        with subprocess.Popen(
            [*command, "--allow-network", "any", "--workers", "3"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
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
