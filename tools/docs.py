"""Builds the documentation site, or builds it and serves it on this machine.

    python tools/docs.py build          into build/docs; a warning is an error
    python tools/docs.py serve [PORT]   at http://127.0.0.1:8000/, built again when a page changes

It needs the dependency group ``docs``: ``pip install --group docs``.
"""

# ruff: noqa: INP001, T201 - a script
from __future__ import annotations

import functools
import subprocess
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "docs"
BUILT = ROOT / "build" / "docs"


def build() -> bool:
    """Build the site, and the pages made from the code; return whether it is without warnings."""
    pages = [sys.executable, "-m", "tools.reference_pages"]
    subprocess.run(pages, cwd=ROOT, check=True)  # noqa: S603 - our own command
    sphinx = [sys.executable, "-m", "sphinx", "-b", "html", "-j", "auto", "--quiet"]
    cache = ["-d", str(BUILT.with_name("doctrees"))]
    strict = ["--fail-on-warning", "--keep-going"]
    command = [*sphinx, *cache, *strict, str(SOURCE), str(BUILT)]
    return subprocess.run(command, check=False).returncode == 0  # noqa: S603 - our own command


def serve(port: int) -> None:
    """Serve the site until Ctrl-C, and build it again when something in ``docs`` or ``src`` changes."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=BUILT)
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        seen = _state()
        print(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends)", flush=True)
        while True:
            time.sleep(1)
            if (now := _state()) != seen:
                seen = now
                build()


def _state() -> dict[Path, int]:
    files = [path for folder in (SOURCE, ROOT / "src") for path in folder.rglob("*.*")]
    return {path: path.stat().st_mtime_ns for path in files if "__pycache__" not in path.parts}


def main(arguments: list[str]) -> int:
    """Do what the arguments say; return the exit status."""
    match arguments:
        case ["build"]:
            if not build():
                return 1
            print((BUILT / "index.html").relative_to(ROOT))
            return 0
        case ["serve", *port] if len(port) <= 1:
            build()
            try:
                serve(int(*port or [8000]))
            except KeyboardInterrupt:
                return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
