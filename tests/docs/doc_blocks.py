"""How examples are written, so that each of them can be run: the code blocks of a page.

- The websites of examples are ``https://example.org/``, ``example.com``, ``example.net`` and ``http://127.0.0.1:8017/``:
  the demo site (``usp demo``), on this machine. Every page runs in a folder of its own, which has ``sites.txt``, the list
  of the first three, and ``public/``, the files of the demo site.
- ``python``: the blocks of a page are one program, in one namespace. A block whose first line is
  ``# file: crawl.py`` is that file instead, for later blocks: ``python crawl.py``.
- ``sh``: commands that end with status 0, or with that of the comment before the block:
  ``<!-- exit status 1 -->`` for all of them, ``<!-- exit status 0, 1 -->`` for one after another.
- ``console``: commands after ``$``, each with its output, which ``python tools/doc_examples.py --write`` writes.
  Of ``python crawl.py`` that is the standard output: the order of log messages is never the same.
- ``sql``: statements of DuckDB if the first line is ``-- DuckDB``.
- ``toml``, ``yaml``, ``json`` and ``xml`` must be well-formed.
- ``<!-- run: usp snapshot example.org -o site.warc.gz -->`` in a line of its own runs a command that the reader
  does not see: it makes what an example needs.
- ``<!-- a day later -->`` in a line of its own changes the websites to what they are a day later, and so does
  a block with ``usp demo --serve --later``.
- ``<!-- not run: needs a cluster -->`` before a block gives one of the reasons for which it is not run.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tools import reference_pages  # noqa: E402 - needs the path

REASONS = {
    *(
        "installs packages",
        "needs a browser",
        "needs a cluster",
        "needs a container engine",
        "needs a credential",
    ),
    *("needs another program", "needs an object store", "needs Java", "needs the repository"),
    *("runs on a schedule", "runs until it is stopped", "sends a mail", "takes minutes"),
}
"""Why a block may be left out; there is no other reason."""

RUN = {"python", "sh", "console", "sql"}
READ = {"toml", "yaml", "json", "xml"}
SHOWN = {"text", "dockerfile", "ini", "mermaid", "diff", "html"}
"""Languages of blocks that are no programs."""

_STOPPED = "runs until it is stopped"
_LATER = "<!-- a day later -->"
_COMMENT = re.compile(r"^ *<!-- (exit status|not run|run):? (.*?) -->$")


@dataclass
class Block:
    """A code block, or a command in a comment (language ``run``), and where it is."""

    page: Path
    line: int
    """The number of its first line of text, from 1."""
    language: str
    text: str
    indent: str = ""
    not_run: str | None = None
    statuses: tuple[int, ...] = (0,)

    @property
    def place(self) -> str:
        """Return the place as a reader of the repository writes it."""
        return f"{self.page}:{self.line}".removeprefix(f"{ROOT}/")

    @property
    def file(self) -> str | None:
        """Return the name of the file that the block is, if it is one."""
        first = re.match(r"# file: (\S+)\n", self.text)
        return first[1] if first else None


def written() -> list[Path]:
    """Return the pages that stand in the repository."""
    top = [path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"]
    return sorted([*top, *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")])


@cache
def pages() -> dict[Path, str]:
    """Return the texts of the pages whose examples are run, those that are made from the code too."""
    texts = {page: page.read_text("utf-8") for page in written()}
    made = reference_pages.all_pages()
    return texts | {reference_pages.FOLDER / path: text for path, text in made.items()}


def blocks(page: Path, text: str) -> Iterator[Block]:
    """Yield the blocks of a page, in order."""
    lines = text.splitlines()
    comments: dict[str, str] = {}
    for token in MarkdownIt().parse(text):
        if token.type == "html_block":
            for at, line in enumerate(token.content.splitlines(), token.map[0] + 1):
                if line.strip() == _LATER:
                    yield Block(page, at, "run", "usp demo --serve --later\n", not_run=_STOPPED)
                elif (comment := _COMMENT.match(line)) and comment[1] == "run":
                    yield Block(page, at, "run", f"{comment[2]}\n")
                elif comment:
                    comments[comment[1]] = comment[2]
        elif token.type == "fence":
            begin = lines[token.map[0]]
            not_run, statuses = comments.get("not run"), comments.get("exit status", "0")
            told = (not_run, tuple(map(int, statuses.split(","))))
            indent = begin[: -len(begin.lstrip())]
            yield Block(page, token.map[0] + 2, token.info.strip(), token.content, indent, *told)
            comments = {}
        elif token.type == "inline":
            comments = {}


def commands(text: str) -> list[str]:
    """Return the commands of a block of shell: lines, with those that continue them."""
    found: list[str] = []
    whole = True
    for line in text.splitlines():
        if not whole:
            found[-1] += f"\n{line}"
        elif line.strip() and not line.lstrip().startswith("#"):
            found.append(line)
        else:
            continue
        whole = not re.search(r"(\\|\||&&)\s*$", line)
    return found


def prompts(text: str) -> list[tuple[str, str]]:
    """Return the commands of a block of a console, each with its output."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].rstrip("\n"), ""))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line.rstrip()}", "")
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line)
        else:
            raise ValueError(f"a console begins with '$ ', not with {line!r}")
    return found
