"""``usp demo``: shows what the library does, on a small website of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import requests
import rich_click as click

from usp._demo import demo_site
from usp._http.identity import DEFAULT_CONCURRENCY
from usp.cli.console import Output
from usp.cli.errors import json_option
from usp.cli.log import no_logging
from usp.cli.treeview import summary, tree_view
from usp.report import FetchLog, write_report
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.requests_client import RequestsWebClient


@click.command("demo")
@json_option
def command() -> None:
    """Read the sitemaps of a small bundled website and show them.

    It is served on this machine: no internet is needed. It has an index in an index, news, images,
    videos, languages, a feed, a list of URLs, a compressed sitemap, a broken one and a missing one. A
    report of it, to be opened in a browser, is left in the folder for temporary files.
    """
    log = FetchLog()
    with no_logging(), demo_site() as url, requests.Session() as session:
        session.trust_env = False  # a proxy does not know the way to this machine
        client = RequestsWebClient(session=session, max_concurrent_requests=DEFAULT_CONCURRENCY)
        tree = sitemap_tree_for_homepage(url, client, on_event=log)
    report = Path(tempfile.mkdtemp(prefix="usp-demo-")) / "report.html"
    write_report(tree, report, log)
    console = Output()
    console.print(tree_view(tree))
    console.print()
    console.print(summary(tree), soft_wrap=True)
    console.print(f"A report of it to look at: {report}", soft_wrap=True)
    console.print("Next, a site of the real world: usp tree -p example.org", soft_wrap=True)
