"""Crawls websites for ``peer.py``: one line in, one line out. Runs on either library."""

from __future__ import annotations

import json
import logging
import resource
import sys
import time

from usp.tree import sitemap_tree_for_homepage
from usp.web_client.requests_client import RequestsWebClient


def main() -> None:
    logging.disable(logging.CRITICAL)
    for line in sys.stdin:
        job = json.loads(line)
        started = time.monotonic()
        client = RequestsWebClient()
        client.set_timeout((1, 1))
        try:
            tree = sitemap_tree_for_homepage(
                job["url"], client, use_known_paths=job["use_known_paths"]
            )
            answer = {"pages": [page.url for page in tree.all_pages()]}
        except Exception as error:  # noqa: BLE001 - what is counted
            answer = {"pages": [], "raised": f"{type(error).__name__}: {error}"[:200]}
        answer["seconds"] = time.monotonic() - started
        answer["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
