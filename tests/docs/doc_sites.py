"""The websites of the documentation: the demo site, as https://example.org/, on this machine.

Examples run as they are written. Their connections are led to a server on loopback that has a
certificate for the name; programs that an example starts get the same by their environment.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import re
import shlex
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp.connector
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from usp._demo import demo_files

REDIRECTED = Path(__file__).parent / "redirected"
sys.path[:0] = [str(REDIRECTED), str(Path(__file__).parent.parent)]
from redirection import ADDRESSES, DEMO, Redirection  # noqa: E402 - needs the path

from quick_usp import usp_command  # noqa: E402 - the same
from website import Answer, Request, TaggedSite  # noqa: E402 - the same

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


def _certificate(folder: Path) -> Path:
    """Write a certificate for the websites, and its key; return the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "examples")])
    names = [x509.DNSName(f"{begin}{host}") for host in ADDRESSES for begin in ("", "www.")]
    today = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=2))
        .not_valid_after(today + dt.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(private + made.public_bytes(pem))
    return file


@contextlib.contextmanager
def example_sites(folder: Path) -> Iterator[Sites]:
    """Serve the websites during the block, to this process and to others that have the environment."""
    certificate = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
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
