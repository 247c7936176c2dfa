"""One contender, one job, one fresh process; and the server that it talks to."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bench.data import VERSION
from bench.environments import CACHE, CONTENDERS, HERE, PROJECT, NotInstallableError, python_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.shapes import Case, Site


def data_of(site: Site) -> Path:
    """Give the folder of a site's files; makes it the first time."""
    root = CACHE / "data" / f"v{VERSION}" / f"{site.data}-{site.sitemaps}-{site.urls}"
    if not (root / "about.json").exists():
        print(f"making {root.name} …", file=sys.stderr, flush=True)
        arguments = [site.data, str(site.sitemaps), str(site.urls), str(root)]
        subprocess.run([sys.executable, "-m", "bench.data", *arguments], check=True, cwd=PROJECT)
    return root


@contextlib.contextmanager
def served(site: Site) -> Iterator[str]:
    """Serve a site on loopback while the block runs; gives its homepage."""
    if site.dead:
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            if site.dead == "never answers":
                # The kernel completes connections up to the backlog; nobody ever takes one.
                holder.listen(4096)
            yield f"http://127.0.0.1:{holder.getsockname()[1]}/"
        return
    command = [sys.executable, "-m", "bench.server", "--latency", str(site.latency)]
    command += ["--generated", str(site.urls)] if site.generated else ["--root", str(data_of(site))]
    command += ["--rate", str(site.rate)] if site.rate else []
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT)
    try:
        assert server.stdout
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/"
    finally:
        server.terminate()
        server.wait()


def run(case: Case, contender: str, homepage: str) -> dict[str, Any]:
    """Let a contender do the case's job once; gives what it measured, or an ``error``."""
    if not case.site.dead:
        _control(homepage, "reset")
    result = {"case": case.key, "contender": contender} | _run(case, contender, homepage)
    if not case.site.dead:
        stats = _control(homepage, "stats")
        result |= {"requests": stats["requests"], "max_active": stats["max_active"]}
    found = result.get("found")
    result["wrong"] = found is not None and found != case.expected
    return result


def _run(case: Case, name: str, homepage: str) -> dict[str, Any]:
    contender = CONTENDERS[name]
    options: dict[str, Any] = {"homepage": homepage, "job": case.job, **case.options}
    options |= dict(contender.options)
    if case.site.data:
        options["root"] = str(data_of(case.site))
    if case.job.endswith("in S3"):
        if find_spec("moto") is None:
            return {"error": "moto is not installed"}
        options["moto"] = sys.executable
    script = HERE / "contenders" / (case.script or contender.script)
    try:
        command = [python_of(name), str(script), json.dumps(options)]
    except NotInstallableError as error:
        return {"error": str(error)}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=case.limit,
            check=False,
            env=contender_environment(),
            cwd=CACHE,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {case.limit:g} s", "at_least": case.limit}
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"error": lines[-1][:120] if lines else f"ended with {done.returncode}"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def contender_environment() -> dict[str, str]:
    """Give the environment without what could lead a contender elsewhere than to loopback."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in dropped and not name.lower().endswith("_proxy")
    }


def _control(homepage: str, word: str) -> dict[str, int]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{homepage}-/{word}") as answer:
        return dict(json.load(answer))
