"""What the explanations list is what the library has."""

from __future__ import annotations

from doc_blocks import ROOT, blocks

from usp._crawl.website import KNOWN_SITEMAP_PATHS
from usp.objects.failure_codes import FailureCode


def test_the_known_paths_are_listed_in_their_order():
    listed = [block.text.split() for block in blocks(ROOT / "docs" / "process.md")]
    assert list(KNOWN_SITEMAP_PATHS) in listed


def test_every_failure_has_something_to_do_where_a_site_yields_nothing():
    guide = (ROOT / "docs" / "guides" / "nothing.md").read_text("utf-8")
    missing = [
        code.value
        for code in FailureCode
        if f"[`{code.value}`]" not in guide and not code.value.startswith("limit-")
    ]
    assert missing == []
