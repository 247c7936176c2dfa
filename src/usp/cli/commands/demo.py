"""``usp demo``: shows what the library does, with a small bundled website."""

from __future__ import annotations

import tempfile
from pathlib import Path

import rich_click as click

from usp.cli.errors import json_option
from usp.cli.output import Command


@click.command("demo", cls=Command)
@json_option
def command() -> None:
    """Read the sitemaps of a small bundled website and show them.

    The website is served on this machine; no internet access is needed. It has a nested index, news,
    images, videos, languages, a feed, a list of URLs, and sitemaps that are compressed, broken or
    missing. An HTML report on it is written to the folder for temporary files.
    """
    import requests

    from usp._demo import demo_site
    from usp.cli.output import no_logging, show
    from usp.cli.treeview import summary, tree_view
    from usp.options import DEFAULT_CONCURRENCY
    from usp.report import write_report
    from usp.tree import sitemap_tree_for_homepage
    from usp.web_client.requests_client import RequestsWebClient

    with no_logging(), demo_site() as url, requests.Session() as session:
        session.trust_env = False  # a proxy cannot reach this machine
        client = RequestsWebClient(session=session, max_concurrent_requests=DEFAULT_CONCURRENCY)
        tree = sitemap_tree_for_homepage(url, client)
    report = Path(tempfile.mkdtemp(prefix="usp-demo-")) / "report.html"
    write_report(tree, report)
    show(
        tree_view(tree),
        "",
        summary(tree),
        f"HTML report: {report}",
        "Next, try a real site: usp tree -p example.org",
    )
