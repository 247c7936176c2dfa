"""Runs the examples of a page as its reader would, in this process where that makes no difference."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import yaml
from doc_blocks import Block, blocks, commands, prompts
from doc_sites import ADDRESSES, Sites

from usp._demo import demo_files
from usp.cli import main

PATIENCE = 120  # seconds for a block, on a busy machine
WIDTH = "100"


READERS = {
    "json": json.loads,
    "toml": tomllib.loads,
    "xml": ET.fromstring,
    "yaml": yaml.safe_load,
}

_SERVE = re.compile(r"usp demo --serve\b")


class ExampleError(AssertionError):
    """An example that does not do what its page says."""


@dataclass
class Ended:
    """How a command ended, and what it wrote."""

    status: int
    out: bytes
    err: bytes


@contextlib.contextmanager
def reader(folder: Path, sites: Sites) -> Iterator[None]:
    """Be a reader of the documentation during the block: in a folder, with what it needs."""
    folder.joinpath("sites.txt").write_text("".join(f"{host}\n" for host in ADDRESSES), "utf-8")
    for path, content in demo_files("https://example.org").items():
        file = folder / f"public{path}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    before, place, modules, cpus = dict(os.environ), Path.cwd(), set(sys.modules), os.cpu_count
    os.cpu_count = lambda: 1  # a crawl of three sites needs one worker
    mine = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    mine["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{mine['PATH']}"
    mine |= {"HOME": str(folder), "COLUMNS": WIDTH, "NO_COLOR": "1", **sites.environment}
    os.environ.clear()
    os.environ.update(mine)
    os.chdir(folder)
    sys.path.insert(0, str(folder))  # as that of a script has its folder
    try:
        yield
    finally:
        os.cpu_count = cpus
        sys.path.remove(str(folder))
        os.chdir(place)
        os.environ.clear()
        os.environ.update(before)
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(folder):
                del sys.modules[name]  # a file of an example: the next page may have its own


def run_page(page: Path, text: str, sites: Sites) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in order; yield those of consoles with their text as it is now.

    Raise ``ExampleError`` for the first block that fails.
    """
    names = {"__name__": "__main__"}
    for block in blocks(page, text):
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(PATIENCE)
        try:
            if _SERVE.search(block.text):
                sites.fill(later="--later" in block.text)
            if block.not_run is not None:
                continue
            if block.language == "console":
                yield block, _console(block)
            else:
                _run(block, names)
        except ExampleError:
            raise
        except Exception as error:
            raise ExampleError(f"{block.place}: {type(error).__name__}: {error}") from error
        finally:
            signal.alarm(0)


def _too_long(*_: object) -> None:
    raise ExampleError(f"it does not end within {PATIENCE} seconds")


def _run(block: Block, names: dict[str, object]) -> None:
    match block.language:
        case "python" if block.file:
            Path(block.file).write_text(block.text, "utf-8")
        case "python":
            padded = "\n" * (block.line - 1) + block.text  # for the lines of a traceback
            with caught():
                exec(compile(padded, str(block.page), "exec"), names)
        case "sh" | "run":
            _shell(block)
        case "sql" if block.text.startswith("-- DuckDB\n"):
            duckdb.execute(block.text).fetchall()
        case language if language in READERS:
            READERS[language](block.text)


# Commands -----------------------------------------------------------------------------------------

_SCRIPT = re.compile(r"<<|^\s*(?:for|while|if|case|export|cd|source|\.|\w+=\S*)\b", re.MULTILINE)
_USP = re.compile(r"usp( [^\\|<>&;$`(){}*?~]*)(?:(\|)|(?<!\d)(>>?) *(\S+)\s*)?", re.DOTALL)
_COMMENT = re.compile(r"\s#[^\n]*")


def _shell(block: Block) -> None:
    whole = _SCRIPT.search(_masked(block.text))
    lines = [block.text] if whole else commands(block.text)
    statuses = block.statuses
    if len(statuses) == 1:
        statuses *= len(lines)
    for line, status in zip(lines, statuses, strict=True):
        ended = command(line)
        if ended.status != status:
            raise ExampleError(
                f"{block.place}: {line.strip()}\nended with {ended.status}, not {status}:\n"
                + (ended.out + ended.err).decode("utf-8", "replace")[-2000:]
            )


def _console(block: Block) -> str:
    """Return the text of a block with the output of its commands."""
    text = ""
    asked = prompts(block.text)
    statuses = block.statuses * (len(asked) if len(block.statuses) == 1 else 1)
    for (line, shown), status in zip(asked, statuses, strict=True):
        ended = command(line, together=not line.startswith("python "))
        now = steady(ended.out.decode("utf-8"))
        if ended.status != status:
            raise ExampleError(f"{block.place}: {line}\nended with {ended.status}:\n{now}")
        if now and not now.endswith("\n"):
            now += "\n"
        text += f"$ {line}\n" + (shown if comparable(shown) == comparable(now) else now)
    return text


def command(line: str, *, together: bool = False) -> Ended:
    """Run a command line; with ``together``, what it reports is among what it writes."""
    masked = _masked(line)
    if comment := _COMMENT.search(masked):
        masked, line = masked[: comment.start()], line[: comment.start()]
    line, masked = line.rstrip(), masked.rstrip()
    call = _USP.match(masked)
    if call is None or not (call[2] or call.end() == len(masked)):
        return _bash(line, together=together)
    words = shlex.split(line[call.start(1) : call.end(1)])
    ended = _usp(words, together=together and not call[2])
    if call[2]:
        after = _bash(line[call.end(2) :], ended.out, together=together)
        return Ended(ended.status or after.status, after.out, ended.err + after.err)
    if call[3]:
        with Path(call[4]).open("ab" if call[3] == ">>" else "wb") as file:
            file.write(ended.out)
        return Ended(ended.status, b"", ended.err)
    return ended


def _masked(line: str) -> str:
    """Return a line in which what stands in quotes cannot be mistaken for syntax."""
    return re.sub(r"'[^']*'|\"[^\"$`]*\"", lambda quoted: "_" * len(quoted[0]), line)


def _bash(line: str, given: bytes = b"", *, together: bool = False) -> Ended:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr or b"")


def _usp(words: list[str], *, together: bool) -> Ended:
    with caught(together=together) as ended:
        try:
            main(words)
        except SystemExit as end:
            ended.status = int(end.code or 0)
    return ended


@contextlib.contextmanager
def caught(*, together: bool = False) -> Iterator[Ended]:
    """Catch what is written to the standard streams during the block, by whatever means."""
    ended = Ended(0, b"", b"")
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(tempfile.TemporaryFile())
        err = out if together else stack.enter_context(tempfile.TemporaryFile())
        nothing = stack.enter_context(Path(os.devnull).open("rb"))
        for number, file in enumerate((nothing, out, err)):
            saved = os.dup(number)
            stack.callback(os.close, saved)
            stack.callback(os.dup2, saved, number)
            os.dup2(file.fileno(), number)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            stack.callback(setattr, sys, name, getattr(sys, name))
            mode = "w" if number else "r"
            stream = open(number, mode, buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
            stack.callback(stream.close)
            setattr(sys, name, stream)
        yield ended
        sys.stdout.flush()
        sys.stderr.flush()
        out.seek(0)
        ended.out = out.read()
        if not together:
            err.seek(0)
            ended.err = err.read()


# Output -------------------------------------------------------------------------------------------

_TODAY, _YESTERDAY = "2025-05-15", "2025-05-14"
"""The days on which an example was run, for its reader."""


def steady(text: str) -> str:
    """Return output as it is on every day, in every folder, with no white space at the end of lines."""
    today = dt.datetime.now(dt.UTC).date()
    text = text.replace(str(Path.cwd()), "/home/you").replace("\r\n", "\n")  # CSV has CRLF
    text = re.sub(rf"{today}T(?!00:00)[\d:.]+", f"{_TODAY}T12:00:00", text)
    text = text.replace(str(today), _TODAY)
    text = text.replace(str(today - dt.timedelta(days=1)), _YESTERDAY)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def comparable(text: str) -> str:
    """Return output without what differs from run to run: durations, ports, temporary folders."""
    text = re.sub(r"\b\d+(?:\.\d+)? m?s\b", "TIME", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    return re.sub(r"/tmp/[\w-]+", "/tmp/FOLDER", text)
