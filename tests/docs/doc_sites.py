"""The websites of the documentation: the demo site, as https://example.org/, on this machine.

Examples run as they are written. Their connections are led to a server on loopback that has a
certificate for the name; programs that an example starts get the same by their environment.
"""

import contextlib
import json
import re
import shlex
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp.connector

from usp._demo import demo_files

REDIRECTED = Path(__file__).parent / "redirected"
sys.path[:0] = [str(REDIRECTED), str(Path(__file__).parent.parent)]
from redirection import ADDRESSES, DEMO, Redirection  # noqa: E402 - needs the path

from quick_usp import usp_command  # noqa: E402 - the same
from website import Answer, Request, TaggedSite, certified  # noqa: E402 - the same

TYPES = {
    "gz": "application/gzip",
    "rss": "application/rss+xml",
    "txt": "text/plain",
    "xml": "application/xml",
}


class ExampleSite(TaggedSite):
    """The demo site, as if it were at an address of the documentation."""

    def __init__(self, address: str, tls: ssl.SSLContext | None) -> None:
        super().__init__(tls=tls)
        self.address = address
        self.change(later=False)

    def change(self, *, later: bool) -> None:
        """Serve the website as it is, or as it is a day later."""
        files = demo_files(self.address, later=later)
        text = b"".join(files.values()).decode("utf-8", "ignore")
        pages = {"/", *re.findall(rf"{self.address}(/[\w/-]+)[\s<?\"#]", text)}
        files |= dict.fromkeys(pages, files["/index.html"])
        self.answers = {path: Answer(body, headers=_type(path)) for path, body in files.items()}

    def answer(self, request: Request) -> Answer:
        """Give what a path answers, whatever its query is."""
        return super().answer(replace(request, path=request.path.partition("?")[0]))


def _type(path: str) -> dict[str, str]:
    return {"Content-Type": TYPES.get(path.rpartition(".")[2], "text/html; charset=utf-8")}


@dataclass
class Sites:
    """The websites while they are served."""

    sites: list[ExampleSite]
    environment: dict[str, str]
    """What other processes need to reach them."""
    programs: list[str]
    """Folders with the command ``usp`` and with Python."""

    def fill(self, *, later: bool) -> None:
        """Serve the websites as they are, or as they are a day later."""
        for site in self.sites:
            site.change(later=later)


@contextlib.contextmanager
def example_sites(folder: Path) -> Iterator[Sites]:
    """Serve the websites during the block, to this process and to others that have the environment."""
    certificate = folder / "certificate.pem"
    context = certified(certificate, *ADDRESSES, *(f"www.{host}" for host in ADDRESSES))
    urls = {host: f"https://{host}" for host in ADDRESSES} | {
        DEMO[0]: f"http://{DEMO[0]}:{DEMO[1]}"
    }
    with contextlib.ExitStack() as stack:
        sites = {
            host: stack.enter_context(ExampleSite(url, context if host in ADDRESSES else None))
            for host, url in urls.items()
        }
        ports = {host: int(site.base.rpartition(":")[2]) for host, site in sites.items()}
        redirection = Redirection(ports)
        redirection.begin()
        stack.callback(redirection.end)
        # aiohttp reads the certificates of the system when it is imported, which it may be already.
        aiohttp.connector._SSL_CONTEXT_VERIFIED.load_verify_locations(certificate)
        environment = {
            "EXAMPLE_SITES": json.dumps(ports),
            "PYTHONPATH": str(REDIRECTED),
            "REQUESTS_CA_BUNDLE": str(certificate),
            "SSL_CERT_FILE": str(certificate),
        }
        script = folder / "usp"
        script.write_text(
            "#!/bin/sh\ncase $1 in\n"  # the libraries of datasets have threads, which a copy lacks
            f'crawl|stats) exec {shlex.quote(sys.executable)} -m usp.cli "$@";;\n'
            f'*) exec {shlex.join(usp_command())} "$@";;\nesac\n'
        )
        script.chmod(0o700)
        programs = [str(folder), str(Path(sys.executable).parent)]
        yield Sites(list(sites.values()), environment, programs)
