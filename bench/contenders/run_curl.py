"""The floor's first half: curl downloads the page sitemaps of a site, eight at a time."""

from __future__ import annotations

import resource
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from measure import measure


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Download everything to nowhere."""
    names = [path.name for path in sorted(Path(options["root"], "pages").iterdir())]
    with tempfile.NamedTemporaryFile("w", suffix=".curl") as config:
        for name in names:
            config.write(f'url = "{options["homepage"]}pages/{name}"\noutput = "/dev/null"\n')
        config.flush()
        command = ["curl", "--silent", "--fail", "--parallel", "--parallel-max", "8"]
        subprocess.run([*command, "--config", config.name], check=True)
    curl = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = curl.ru_utime + curl.ru_stime
    return {"documents": len(names), "cpu": cpu, "memory": curl.ru_maxrss * 1024}


measure(work)
