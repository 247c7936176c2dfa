"""Runs the examples of the documentation, and writes the output of those that show it.

    python tools/doc_examples.py [PAGE…]            run them; say which fail
    python tools/doc_examples.py --write [PAGE…]    also write the output of console blocks

How examples are written is at the top of ``tests/docs/doc_blocks.py``. It needs the dependency group
``test``.
"""

# ruff: noqa: INP001, T201 - a script
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "docs"))

from doc_blocks import pages
from doc_runs import ExampleError, reader, run_page
from doc_sites import Sites, example_sites


def main(arguments: list[str]) -> int:
    """Do what the arguments say; return the exit status."""
    write = "--write" in arguments
    chosen = [Path(name).resolve() for name in arguments if not name.startswith("--")]
    texts = pages()
    failed = 0
    for page in chosen or texts:
        with tempfile.TemporaryDirectory(prefix="usp-docs-") as place:
            folder = Path(place) / "home"
            folder.mkdir()
            with example_sites(Path(place)) as sites, reader(folder, sites):
                failed += not _page(page, texts[page], sites, write=write)
    return 1 if failed else 0


def _page(page: Path, text: str, sites: Sites, *, write: bool) -> bool:
    """Run a page; return whether it is as it should be, at the end."""
    lines = text.splitlines(keepends=True)
    moved = 0  # lines that were added before
    right = True
    try:
        for block, now in run_page(page, text, sites):
            if now == block.text:
                continue
            begin = block.line - 1 + moved
            new = [f"{block.indent}{line}".rstrip() + "\n" for line in now.splitlines()]
            old = block.text.count("\n")
            lines[begin : begin + old] = new
            moved += len(new) - old
            print(f"{block.place}: {'written' if write else 'the output differs'}")
            right = write
    except ExampleError as error:
        print(error, file=sys.stderr)
        right = False
    if write and page.exists():
        page.write_text("".join(lines), "utf-8")
    return right


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
