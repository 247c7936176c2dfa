"""Who runs, and the virtual environment of each, made once below bench/.cache."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parent
CACHE = HERE / ".cache"

OURS = "usp"
PEER = "ultimate-sitemap-parser"


class NotInstallableError(Exception):
    """A contender's environment could not be made; the message says why."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A script, and what has to be installed for it (nothing: this very Python runs it)."""

    script: str
    requirements: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()


CONTENDERS = {
    OURS: Contender("run_tree.py", (f"{PROJECT}[fleet,warc]",)),
    PEER: Contender("run_tree.py", ("ultimate-sitemap-parser==1.8.1",)),
    # Its import of curl_cffi breaks with 0.16, which its own requirement allows.
    "fundus": Contender("run_fundus.py", ("fundus", "curl_cffi<0.16")),
    "scrapy": Contender("run_scrapy.py", ("scrapy",)),
    "crawlee": Contender("run_crawlee.py", ("crawlee",), (("variant", "load"),)),
    "crawlee-loader": Contender("run_crawlee.py", ("crawlee",), (("variant", "loader"),)),
    # It asks for lxml[html_clean], an extra that the newest lxml spells in another way.
    "trafilatura": Contender("run_trafilatura.py", ("trafilatura", "lxml_html_clean")),
    "advertools": Contender("run_advertools.py", ("advertools",)),
    "curl": Contender("run_curl.py"),
    "expat": Contender("run_expat.py"),
}

USUAL = tuple(name for name in CONTENDERS if name != "crawlee-loader")
"""Who takes part unless told otherwise."""


@cache
def python_of(name: str) -> str:
    """Give the Python that runs a contender; makes or renews its environment if need be."""
    contender = CONTENDERS[name]
    if not contender.requirements:
        return sys.executable
    folder = CACHE / "venv" / name.removesuffix("-loader")
    python = folder / "bin" / "python"
    stamp = folder / "installed.json"
    wanted = json.dumps(
        [contender.requirements, sys.version, _fingerprint() if name == OURS else ""]
    )
    if stamp.exists() and stamp.read_text() == wanted:
        return str(python)
    print(f"installing {name} …", file=sys.stderr, flush=True)
    if not python.exists():
        venv.create(folder, with_pip=True)
    again = ["--force-reinstall", "--no-deps"] if name == OURS and stamp.exists() else []
    pip = [str(python), "-m", "pip", "install", "--quiet", *again, *contender.requirements]
    run = subprocess.run(pip, capture_output=True, text=True, check=False)
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if not line.startswith("WARNING")]
        raise NotInstallableError(f"pip install failed: {lines[-1] if lines else run.returncode}")
    stamp.write_text(wanted)
    return str(python)


def version_of(name: str) -> str:
    """Give the installed version, or an empty text; of ours also which sources it is."""
    distribution = name.removesuffix("-loader")
    code = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    run = subprocess.run([python_of(name), "-c", code], capture_output=True, text=True, check=False)
    version = run.stdout.strip()
    return f"{version} (src {_fingerprint()[:8]})" if name == OURS else version


@cache
def _fingerprint() -> str:
    """Give a digest of what an installation of ours depends on, as it was when first asked."""
    digest = hashlib.sha256()
    for path in [PROJECT / "pyproject.toml", *sorted((PROJECT / "src").rglob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
