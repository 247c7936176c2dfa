"""``usp demo``: shows what the library does, with a small bundled website."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import rich_click as click

from usp.cli import options
from usp.cli.errors import words_of
from usp.cli.output import logging_to, show

PORT = 8017  # always the same, so that the tutorial can name the address


@options.command("demo")
@options.table(
    {
        "--serve": "Only serve the website, until Ctrl-C, so that other commands and programs can "
        "read it.",
        "--port N": "Port of --serve; 0 for any that is free.",
        "--later": "Serve the website as it is a day later: two pages are new, one has changed, two "
        "are gone.",
    },
    port={"type": click.IntRange(0, 65_535), "default": PORT},
)
@options.common_options
def command(serve: bool, port: int, later: bool) -> None:
    """Read the sitemaps of a small bundled website and show them.

    The website is served on this machine; no internet access is needed. It has a nested index, news,
    images, videos, languages, a feed, a list of URLs, and sitemaps that are compressed, broken or
    missing. An HTML report on it is written to the folder for temporary files.

    \b
    Examples:
      usp demo                    show its sitemaps, and write a report
      usp demo --serve            serve it for other commands
      usp demo --serve --later    the same address, a day later
    """  # noqa: D301 - click knows the backspace
    if serve:
        _serve(port, later=later)
    else:
        _show(later=later)


def _serve(port: int, *, later: bool) -> None:
    from usp._demo import demo_site

    try:
        with demo_site(port, later=later) as url:
            show(
                f"Serving the demo website at {url} until Ctrl-C.",
                f"In another terminal, try: usp tree -p {url}",
            )
            threading.Event().wait()
    except OSError as error:
        raise click.UsageError(
            f"port {port} cannot be used ({words_of(error)}); choose another one with --port"
        ) from error
    except KeyboardInterrupt:
        pass  # the expected end


def _show(*, later: bool) -> None:
    import requests

    from usp._demo import demo_site
    from usp.cli.treeview import summary, tree_view
    from usp.options import DEFAULT_CONCURRENCY
    from usp.report import write_report
    from usp.tree import sitemap_tree_for_homepage
    from usp.web_client.requests_client import RequestsWebClient

    with logging_to(None, 0), demo_site(later=later) as url, requests.Session() as session:
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
