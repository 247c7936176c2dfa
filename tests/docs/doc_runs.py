"""Runs the examples of a page as its reader would: Python in this process, all else in a shell."""

import contextlib
import datetime as dt
import io
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import duckdb
import yaml
from doc_blocks import Block, blocks, commands, prompts
from doc_sites import ADDRESSES, Sites

from usp._demo import demo_files

PATIENCE = 120  # seconds for a block, on a busy machine
WIDTH = "100"


READERS = {"toml": tomllib.loads, "yaml": yaml.safe_load, "json": json.loads, "xml": ET.fromstring}
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
    mine = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    mine["PATH"] = os.pathsep.join([*sites.programs, mine["PATH"]])
    mine |= {"HOME": str(folder), "COLUMNS": WIDTH, "NO_COLOR": "1", **sites.environment}
    modules = set(sys.modules)
    try:
        with (
            mock.patch.dict(os.environ, mine, clear=True),
            mock.patch.object(sys, "path", [str(folder), *sys.path]),  # as a script has its folder
            contextlib.chdir(folder),
        ):
            yield
    finally:
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
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(padded, str(block.page), "exec"), names)
        case "sh" | "run":
            _shell(block)
        case "sql" if block.text.startswith("-- DuckDB\n"):
            duckdb.execute(block.text).fetchall()
        case language if language in READERS:
            READERS[language](block.text)


# Commands -----------------------------------------------------------------------------------------

_SCRIPT = re.compile(r"<<|^\s*(?:for|while|if|case|export|cd|source|\.|\w+=\S*)\b", re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")


def _statuses(block: Block, commands: Sized) -> tuple[int, ...]:
    """Return how each of the commands of a block is to end."""
    return block.statuses * (len(commands) if len(block.statuses) == 1 else 1)


def _shell(block: Block) -> None:
    whole = _SCRIPT.search(_QUOTED.sub("", block.text))
    lines = [block.text] if whole else commands(block.text)
    for line, status in zip(lines, _statuses(block, lines), strict=True):
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
    for (line, shown), status in zip(asked, _statuses(block, asked), strict=True):
        alone = not line.startswith("python ") and "|" not in _QUOTED.sub("", line)
        ended = command(line, together=alone)
        now = steady(ended.out.decode("utf-8"))
        if ended.status != status:
            raise ExampleError(f"{block.place}: {line}\nended with {ended.status}:\n{now}")
        if now and not now.endswith("\n"):
            now += "\n"
        text += f"$ {line}\n" + (shown if comparable(shown) == comparable(now) else now)
    return text


def command(line: str, *, together: bool = False) -> Ended:
    """Run a command line; with ``together``, what it reports is among what it writes."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr or b"")


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
